"""Files of one's own: kept, checked, offered, mapped and tested, or refused in words."""

import time
import zipfile

import numpy as np
import pytest
import rasterio
import xarray as xr

from tests.kit import write_kit
from workbench.checks import InputError
from workbench.ui.disaggregate import engine, own, recovery
from workbench.ui.disaggregate.state import State
from workbench.ui.disaggregate.store import Store
from workbench.ui.disaggregate.views.own import AREA, Own


@pytest.fixture(scope="module")
def contents(tmp_path_factory):
    folder = write_kit(tmp_path_factory.mktemp("own"))
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def test_dropped_files_become_a_dataset_that_is_mapped_and_tested(contents):
    files = own.kept(contents)
    assert files.polygons.name == "areas.gpkg"
    assert set(files.rasters) == {"height.tif", "people.tif"}
    assert "cases" in files.columns and files.names == ("code",)
    given = own.options_of(files, "cases", "people.tif", "code")
    found = own.check(*given)
    assert found.ok and found.data.sizes["bag"] == 12
    choice = own.choice_of(found.data, "Own: areas.gpkg", *given)
    assert choice.threshold in choice.thresholds
    assert choice.lengthscales[0] < choice.lengthscales[1] and choice.unit == "m"
    state = State()
    state.add("own-1", choice)
    state.param.update(model="vbagg", kernel="linear")
    spec = state.spec()
    assert (spec.dataset, spec.level, spec.areas) == ("polygons", None, None)
    scene, answer = engine.scene(spec), engine.quick(spec)
    assert scene.known is None and set(scene.data["bag"].values[:2]) == {"c0", "c1"}
    assert np.isfinite(answer.mean).all() and answer.mean.size == 1_200
    recovered = recovery.recover(answer, scene.plain, lambda *told: None)
    assert recovered["model"].values.tolist()[:2] == ["vbagg", "population split"]


@pytest.mark.parametrize("change, said", [
    (lambda c: c | {"notes.txt": b"x"}, "notes.txt is of a kind that is not read here"),
    (lambda c: c | {"more.geojson": b"{}"}, "drop one file of areas"),
    (lambda c: {"people.tif": c["people.tif"]}, "the areas are missing"),
    (lambda c: {"areas.gpkg": b"nonsense"}, "areas.gpkg cannot be read"),
    (lambda c: {"areas.gpkg": bytes(16_000_000)}, "more than 15")])
def test_what_cannot_be_used_is_said(contents, change, said):
    with pytest.raises(InputError, match=said):
        own.kept(change(contents))


def packed_zip(path):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("areas.shp", bytes(3_000_000))


def packed_tif(path):
    with rasterio.open(path, "w", driver="GTiff", width=1000, height=1000, count=1, dtype="float32",
                       compress="deflate", crs="EPSG:3035",
                       transform=rasterio.Affine(1, 0, 0, 0, -1, 1000)) as raster:
        raster.write(np.zeros((1, 1000, 1000), dtype="float32"))


def packed_nc(path):
    xr.Dataset({"a": ("x", np.zeros(500_000))}).to_netcdf(
        path, encoding={"a": {"zlib": True}}, engine="h5netcdf")


@pytest.mark.parametrize("name, make", [
    ("bomb.zip", packed_zip), ("bomb.tif", packed_tif), ("bomb.nc", packed_nc)])
def test_small_files_that_grow_when_they_are_read_are_refused(tmp_path, monkeypatch, name, make):
    make(tmp_path / name)
    content = (tmp_path / name).read_bytes()
    assert len(content) < 100_000
    monkeypatch.setattr(own, "MOST_READ", 1)
    with pytest.raises(InputError, match=f"{name} would take [34] MB when it is read"):
        own.kept({name: content})


def test_the_dialog_checks_and_uses_what_was_dropped(contents):
    store = Store(State())
    view = Own(store)
    view.drop.param.update(filename=["a.txt"], value=[b"x"])
    assert view.check.disabled and "not read here" in view.told.object
    view.drop.param.update(filename=list(contents), value=list(contents.values()))
    assert not view.check.disabled and view.weight.options[0] == AREA
    view.value.value, view.weight.value = "cases", "people.tif"
    view._check()
    deadline = time.monotonic() + 60
    while store.own is None:
        assert time.monotonic() < deadline and not store.error, store.error
        time.sleep(0.02)
    assert view.use.visible and len(view.cards) == len(store.own.findings)
    view._use()
    assert store.state.choice.title == "Own: areas.gpkg"
    store.close()

