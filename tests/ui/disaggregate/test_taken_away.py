"""What is exported is what the page shows: programs and notebooks are run, files read back."""

import io
import json
from dataclasses import replace

import nbformat
import numpy as np
import pandas as pd
import pytest
import xarray as xr

from tests.kit import write_kit
from tests.ui.disaggregate.test_insights import shown
from tests.ui.kit import layer as read_layer
from tests.ui.kit import ran
from workbench.ui.disaggregate import engine, exporting, layers, own
from workbench.ui.disaggregate.layers import COMPONENTS, INFORMATION, RANKS
from workbench.ui.disaggregate.state import State
from workbench.ui.disaggregate.store import Store
from workbench.ui.disaggregate.views.exports import Exports

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("one_thread")]
PREVIEW = "Preview, not fitted"
NEAR = 1e-4         # of the posterior's sd: both are conditioned at the same place
GIVEN = {"area", "x", "y", "roll_1", "roll_3", "weight", "observed", "known"}
ENDS = ("rate_quantile_0.05", "rate_quantile_0.95")
SETTINGS = "model=vbagg&kernel=linear&beside="


def looked_at(query):
    """A store that shows a preview, and beside it the layer of a query."""
    store = shown(query)
    store.threshold = store.state.threshold
    if store.state.beside in layers.LAYERS:
        store.layer = layers.layer(store.answer, store.scene, store.state.beside)
    return store


def same(again, page, near=NEAR):
    """Whether a table is that of the page, what was computed nearly, and what was given exactly."""
    assert list(again) == list(page) and len(again) == len(page)
    pd.testing.assert_frame_equal(again[[*GIVEN & {*page}]], page[[*GIVEN & {*page}]])
    np.testing.assert_allclose(again["std"], page["std"], rtol=2 * near)
    for name in ("mean", *ENDS):
        assert (np.abs(again[name] - page[name]) / page["std"]).max() < 2 * near, name
    for name in {*page} - GIVEN - {"std", "mean", *ENDS}:
        np.testing.assert_allclose(again[name], page[name], rtol=near, atol=near, err_msg=name)


@pytest.mark.parametrize("query, kinds, columns", [
    (f"dataset=simulated-country&granularity=region&{SETTINGS}{COMPONENTS}",
     (".tif", ".gpkg", ".nc"), ["component_covariates_and_place", "component_area_effect"]),
    (f"dataset=korea&granularity=30&{SETTINGS}{RANKS}",
     (".gpkg", ".nc"), list(layers.RANKED.values())),
    (f"dataset=swiss-roll&granularity=10&{SETTINGS}{INFORMATION}", (".nc",), ["information"])])
def test_programs_and_files_hold_what_is_on_the_page(query, kinds, columns):
    store = looked_at(query)
    found, answer, scene = exporting.bundle(store), store.answer, store.scene
    page = found.table()
    assert found.kinds == kinds and [n for n in page if n in columns] == columns
    np.testing.assert_array_equal(page["mean"], answer.mean)
    np.testing.assert_array_equal(page["known"], scene.known)
    np.testing.assert_allclose(page["exceedance"], store.exceedance, rtol=1e-12)
    pd.testing.assert_frame_equal(pd.read_csv(found.csv(), dtype={"area": str}), page)
    same(ran(found.program)["table"], page)
    for said in (found.program, found.caption, found.notebook(), found.report(), found.stem,
                 *found.told[:1]):
        assert PREVIEW in said or said == f"disaggregated-{store.state.dataset}-preview"
    with xr.open_dataset(io.BytesIO(found.file(".nc").getvalue())) as held:
        assert held.attrs["status"].startswith(PREVIEW)
        np.testing.assert_array_equal(held["mean"], page["mean"])
        np.testing.assert_array_equal(held[columns[0]], page[columns[0]])
    assert [n for n in page if "quantile" in n] == list(ENDS)       # which say their level
    if ".gpkg" in kinds:
        frame = read_layer(found, "pixels" if ".tif" in kinds else "individual")
        assert {*ENDS} <= {*frame}                                  # and have one name everywhere
        for name in ("mean", "known", columns[0]):
            low, high = page[name].min(), page[name].max()
            assert frame[name].min() >= low and frame[name].max() <= high
        if ".tif" not in kinds:         # one polygon for each
            np.testing.assert_allclose(np.sort(frame["mean"]), np.sort(page["mean"]))
    if ".tif" in kinds:
        bands_hold(found, scene, page, columns)
    store.close()


def bands_hold(found, scene, page, columns):
    import rasterio

    with rasterio.open(io.BytesIO(found.file(".tif").getvalue())) as file:
        bands = {name: file.read(k) for k, name in enumerate(file.descriptions, 1)}
        assert file.tags()["status"].startswith(PREVIEW) and file.crs is not None
    whole = scene.data["coverage"].values == 1
    where = scene.data["row"].values[whole], scene.data["column"].values[whole]
    for name in ("mean", "std", "exceedance", "observed", "known", *columns):
        np.testing.assert_allclose(bands[name][where], page[name][whole], err_msg=name)


def test_a_fit_is_called_one_and_is_learnt_again_from_its_program():
    store = looked_at(f"dataset=swiss-roll&granularity=10&{SETTINGS}std")
    store.answer = learnt = engine.learn(store.state.spec())
    found = exporting.bundle(store)
    assert found.stem == "disaggregated-swiss-roll-fitted" and PREVIEW not in found.notebook()
    assert "model.fit(ds)" in found.program and found.told[0] == "Fitted."
    same(ran(found.program)["table"], found.table(), 0.01)
    store.answer = replace(learnt, rough=True)      # while a slider is dragged
    assert exporting.bundle(store) is None
    store.close()


def test_the_notebook_of_own_data_runs_beside_their_files(tmp_path, monkeypatch):
    folder = write_kit(tmp_path)
    files = own.kept({path.name: path.read_bytes() for path in sorted(folder.iterdir())})
    try:
        given = own.options_of(files, "cases", "people.tif", "code")
        state = State()
        state.add("own-1", own.choice_of(own.check(*given).data, "Own: areas.gpkg", *given))
        state.param.update(model="vbagg", kernel="linear")
        spec, store = state.spec(), Store(state)
        answer = engine.quick(spec)
        store.param.update(scene=engine.scene(spec), answer=answer,
                           exceedance=answer.exceedance(spec.threshold))
        found = exporting.bundle(store)
        page = found.table()
        assert set(found.kinds) == {".tif", ".gpkg", ".nc"}
        assert "address" not in found.maps().attrs      # which no other session would know
        store.close()
    finally:
        files.remove()
    book = nbformat.reads(found.notebook(), 4)
    assert PREVIEW in book.cells[0].source
    assert book.cells[1].source.startswith(
        "# Put this beside the files areas.gpkg, height.tif and people.tif.")
    assert "\n\n".join(cell.source for cell in book.cells[1:-1]) == found.program.strip()
    nbformat.validate(book)
    monkeypatch.chdir(tmp_path)
    same(ran("\n\n".join(cell.source for cell in book.cells[1:]))["table"], page)


@pytest.mark.filterwarnings("ignore:Both 'variant':PendingDeprecationWarning")  # of the widget
def test_settings_are_there_before_a_map_and_what_a_map_cannot_be_is_not_offered():
    roll = looked_at(f"dataset=swiss-roll&granularity=10&{SETTINGS}std")
    view = Exports(roll)
    assert {suffix: each.visible for suffix, each in view.maps.items()} == {
        ".tif": False, ".gpkg": False, ".nc": True}
    assert not any(each.disabled for each in view._all)
    view._draw("png")
    assert view.pictures.asked[:2] == ["png", "disaggregated-swiss-roll-preview.png"]
    assert PREVIEW in view.pictures.asked[3]
    roll.work = "updating the maps"
    assert roll.stale and all(each.disabled for each in view._all)
    roll.param.update(work="", answer=None)
    assert all(each.disabled for each in view._all) and not view.settings.disabled
    name, content = view._settings()
    assert name == "settings-swiss-roll-preview.json" and json.load(content)["status"] == "preview"
    roll.close()
