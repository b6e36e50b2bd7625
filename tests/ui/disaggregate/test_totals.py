"""What exports say of the areas' totals, maps that are rescaled to them, and how pixels count."""

import json

import geopandas
import numpy as np
import pytest
import shapely

from tests.ui.disaggregate import made_files
from tests.ui.kit import ran, restored
from workbench.pipeline.spec import Spec
from workbench.ui.disaggregate import engine, exporting, exports, labels, messages, own, totals
from workbench.ui.disaggregate.pixels import counted, in_parts, in_words
from workbench.ui.disaggregate.state import State
from workbench.ui.disaggregate.store import UPDATING, Store
from workbench.ui.disaggregate.views.exports import Exports

pytestmark = pytest.mark.usefixtures("removed", "one_thread")
SHIFT = 0.5 * made_files.CELL


@pytest.fixture
def shared(tmp_path):
    """A store that shows own areas whose borders run through the middle of pixels."""
    frame = made_files.districts()
    moved = frame.set_geometry([shapely.affinity.translate(one, SHIFT, SHIFT)
                                for one in frame.geometry])
    files = made_files.kit(tmp_path) | {"districts.gpkg": made_files.written(
        geopandas.GeoDataFrame(moved, crs=made_files.CRS), tmp_path / "moved.gpkg")}
    held = own.kept(files)
    for name, content in files.items():     # where the program looks for them
        (tmp_path / name).write_bytes(content)
    given = own.options_of(held, "cases", "people.tif", "district")
    state = State()
    state.add("own-1", own.choice_of(own.check(*given).data, "Own: districts.gpkg", *given))
    state.param.update(model="vbagg", kernel="linear")
    spec, store = state.spec(), Store(state)
    answer = engine.quick(spec)
    store.param.update(scene=engine.scene(spec), answer=answer, work="",
                       exceedance=answer.exceedance(spec.threshold))
    yield store
    store.close()


@pytest.mark.filterwarnings("ignore:Both 'variant':PendingDeprecationWarning")  # of the widget
def test_exports_say_how_far_they_are_from_the_totals_and_can_be_made_to_add_up(
        shared, tmp_path, monkeypatch):
    store, state = shared, shared.state
    observed = store.scene.data["value"].to_series()

    def expected():
        table = exporting.bundle(store).table()
        return (table["mean"] * table["weight"]).groupby(table["area"]).sum()[observed.index]

    gap = np.abs(expected() - observed)
    area, ours, theirs = totals.farthest(store.answer, store.scene)
    assert gap.max() > 1 and gap[area] == pytest.approx(gap.max())
    assert abs(ours - theirs) == pytest.approx(gap.max())
    view = Exports(store)
    assert f"({area}: " in view.told.object and "do not add up" in view.told.object
    shown = store.answer.mean.copy()
    view.rescale.value = True
    assert state.rescale and labels.RESCALED in exporting.bundle(store).told
    assert "not rescaled" in view.told.object
    assert np.abs(expected() - observed).max() < 1e-8 * observed.max()
    np.testing.assert_array_equal(store.answer.mean, shown)     # nor is it fitted again
    assert engine.fit_spec(state.spec()) == store.answer.spec
    told = json.loads(exports.settings(store.answer, state))
    assert told["rescale_to_totals"] and Spec.from_json(json.dumps(told)).rescale_to_totals
    found = exporting.bundle(store)
    assert "preserve_totals=True" in found.program
    assert "preserve_totals=True" in found.report() and "rescale=yes" in state.query()
    page = found.table()
    monkeypatch.chdir(tmp_path)
    again = ran(found.program)["table"]
    np.testing.assert_allclose(again["mean"], page["mean"], rtol=0.02)
    sums = (again["mean"] * again["weight"]).groupby(again["area"]).sum()[observed.index]
    assert np.abs(sums - observed).max() < 1e-8 * observed.max()


@pytest.mark.filterwarnings("ignore:Both 'variant':PendingDeprecationWarning")  # of the widget
def test_what_is_said_of_totals_stays_while_maps_follow_a_slider(shared):
    """Hidden, it would have the page arranged twice for each step of the slider."""
    view = Exports(shared)
    said = view.told.object
    assert view.totals.visible
    shared.work = UPDATING
    assert shared.stale and view.totals.visible and view.told.object == said
    shared.work = ""
    assert view.totals.visible and view.told.object == said
    shared._spec = State().spec()           # other data are chosen
    shared.work = UPDATING
    assert shared.of_other_data and not view.totals.visible


def test_whether_exports_are_rescaled_is_in_the_address():
    state = State()
    assert not state.rescale and not state.spec().rescale_to_totals
    state.rescale = True
    assert restored(state, {"rescale": True}).spec().rescale_to_totals


def test_a_pixel_that_areas_share_is_one_pixel(shared):
    data = shared.scene.data
    pixels = len({*zip(data["row"].values, data["column"].values, strict=True)})
    assert counted(data) == pixels < data.sizes["individual"] and in_parts(data)
    assert in_words(data).startswith(f"{pixels:,} pixels ({data.sizes['individual']:,} indiv")
    assert [messages.individuals(432, one) for one in (None, 432)] == [
        "432 individuals", "432 pixels"]
