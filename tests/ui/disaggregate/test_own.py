"""Files of one's own: kept, checked, offered, mapped and tested, or refused in words."""

import dataclasses
import io
import os
import subprocess
import sys
import tempfile
import time
import zipfile

import geopandas
import h5py
import numpy as np
import pandas
import pyogrio
import pytest
import rasterio
import xarray as xr

from tests.kit import write_kit
from workbench.checks import InputError
from workbench.ui.base import leftovers
from workbench.ui.disaggregate import engine, exporting, exports, labels, messages, own, recovery
from workbench.ui.disaggregate.state import State
from workbench.ui.disaggregate.store import Store
from workbench.ui.disaggregate.views.own import AREA, Own

pytestmark = pytest.mark.usefixtures("removed")


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
    for told in (exports.settings(None, state), exports.settings(answer, state),
                 exporting.program(answer, None)):
        assert "areas.gpkg" in told and leftovers.OWN not in told
    assert scene.known is None and set(scene.data["bag"].values[:2]) == {"c0", "c1"}
    assert np.isfinite(answer.mean).all() and answer.mean.size == 1_200
    recovered = recovery.recover(answer, scene.plain, lambda *told: None)
    assert recovered["model"].values.tolist()[:2] == ["vbagg", "population split"]


@pytest.mark.parametrize("change, said", [
    (lambda c: c | {"notes.txt": b"x"}, "notes.txt is of a kind that is not read here"),
    (lambda c: {"areas.parquet": b"PAR1"}, "areas.parquet is of a kind that is not read here"),
    (lambda c: c | {"more.geojson": b"{}"}, "drop one file of areas"),
    (lambda c: {"people.tif": c["people.tif"]}, "the areas are missing"),
    (lambda c: {"people.tif": c["people.tif"][:-300]},
     "people.tif cannot be read .*export or copy it again. Besides, the areas are missing"),
    (lambda c: {"areas.gpkg": b"nonsense"}, "areas.gpkg cannot be read"),
    (lambda c: {"areas.gpkg": bytes(16_000_000)}, "more than 15")])
def test_what_cannot_be_used_is_said(contents, change, said):
    with pytest.raises(InputError, match=said):
        own.kept(change(contents))


def packed_zip(path):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("areas.shp", b"\0\0\x27\x0a" + bytes(3_000_000))


def packed_tif(path):
    with rasterio.open(path, "w", driver="GTiff", width=1000, height=1000, count=1, dtype="float32",
                       compress="deflate", crs="EPSG:3035",
                       transform=rasterio.Affine(1, 0, 0, 0, -1, 1000)) as raster:
        raster.write(np.zeros((1, 1000, 1000), dtype="float32"))


def packed_nc(path):
    xr.Dataset({"a": ("x", np.zeros(500_000))}).to_netcdf(
        path, encoding={"a": {"zlib": True}}, engine="h5netcdf")


@pytest.fixture(scope="module")
def shapefile(tmp_path_factory, contents):
    folder = tmp_path_factory.mktemp("shapes")
    (folder / "areas.gpkg").write_bytes(contents["areas.gpkg"])
    geopandas.read_file(folder / "areas.gpkg").to_file(folder / "districts.shp")
    return {path.name: path.read_bytes() for path in sorted(folder.glob("districts.*"))}


def test_a_shapefile_is_dropped_in_its_parts_or_zipped(shapefile):
    loose = own.kept(shapefile)
    assert loose.polygons.name == "districts.shp" and not loose.rasters
    packed = own.kept({"d.ZIP": zipped(**{n.replace(".", "_"): c for n, c in shapefile.items()})})
    assert loose.columns == packed.columns and "cases" in loose.columns


def test_a_shapefile_without_its_parts_is_refused(contents, shapefile):
    with pytest.raises(InputError, match="zip the shapefile with its .dbf, .shx and .prj"):
        own.kept({"districts.shp": shapefile["districts.shp"]})
    with pytest.raises(InputError, match="districts.dbf is part of a shapefile"):
        own.kept({"areas.gpkg": contents["areas.gpkg"],
                  "districts.dbf": shapefile["districts.dbf"]})


def test_messages_do_not_tell_the_folder_of_the_server(contents):
    with pytest.raises(InputError) as broken:
        own.kept({"areas.gpkg": contents["areas.gpkg"][:5_000]})
    files = own.kept(contents)
    files.rasters["people.tif"].write_bytes(b"nothing")
    found = own.check(*own.options_of(files, "cases", "people.tif"))
    told = [str(broken.value), *(f"{one.what} {one.fix} {one.told}" for one in found.findings)]
    assert not found.ok and "people.tif" in " ".join(told)
    assert "workbench-own-" not in " ".join(told)


def zipped(**members):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, content in members.items():
            archive.writestr(name.replace("__", "/").replace("_", "."), content)
    return packed.getvalue()


OGR = b" \n<OGRVRTDataSource><OGRVRTLayer name='a'></OGRVRTLayer></OGRVRTDataSource>"
SHP = b"\0\0\x27\x0a" + bytes(96)
PROGRAM = (b'{"type": "gdal_streamed_alg", "command_line": "gdal vector pipeline ! read /secret", '
           b'"type": "FeatureCollection", "features": []}')


@pytest.mark.parametrize("name, content, said", [
    ("t.json", OGR, "t.json cannot be read: its content is XML"),
    ("t.tif", b"<VRTDataset rasterXSize='2' rasterYSize='2'></VRTDataset>", "its content is XML"),
    ("t.tif", b"\x89PNG\r\n\x1a\n", "not that of a .tif file"),
    ("t.gpkg", b"\xef\xbb\xbf<x>", "its content is XML"),
    ("t.json", PROGRAM, "t.json is not GeoJSON"),
    ("t.json", b'{"type": "Topology"}', "t.json is not GeoJSON"),
    ("t.json", b"[" * 100_000, "t.json cannot be read, it is not valid JSON"),
    ("t.zip", zipped(a_shp=SHP, a_vrt=OGR), "t.zip holds a.vrt; zip one shapefile alone"),
    ("t.zip", zipped(a_shp=OGR), "a.shp in t.zip cannot be read: its content is "),
    ("t.zip", zipped(a_shp=SHP, a_prj=OGR), "a.prj in t.zip cannot be read: its content is "),
    ("t.zip", zipped(__a_shp=SHP), "in no folder"),
    ("t.zip", zipped(a_shp=SHP, b_shp=SHP), "t.zip holds 2 shapefiles")])
def test_files_that_could_lead_to_others_are_refused(name, content, said):
    with pytest.raises(InputError, match=said):
        own.kept({name: content})


def test_netcdf_that_takes_numbers_from_other_files_is_refused(tmp_path):
    (tmp_path / "secret").write_bytes(bytes(80))
    with h5py.File(tmp_path / "raw.nc", "w") as file:
        file.create_group("g").create_dataset("a", (10,), "f8",
                                              external=[(str(tmp_path / "secret"), 0, 80)])
    with h5py.File(tmp_path / "link.nc", "w") as file:
        file["b"] = h5py.ExternalLink(str(tmp_path / "raw.nc"), "/g")
    for name in ("raw.nc", "link.nc"):
        with pytest.raises(InputError, match=f"{name} takes '[ab]' from another file"):
            own.kept({name: (tmp_path / name).read_bytes()})


@pytest.mark.parametrize("name, make", [
    ("bomb.zip", packed_zip), ("bomb.tif", packed_tif), ("bomb.nc", packed_nc)])
def test_small_files_that_grow_when_they_are_read_are_refused(tmp_path, monkeypatch, name, make):
    make(tmp_path / name)
    content = (tmp_path / name).read_bytes()
    assert len(content) < 100_000
    monkeypatch.setattr(own, "MOST_READ", 1)
    with pytest.raises(InputError, match=f"{name} would take [34] MB when it is read"):
        own.kept({name: content})


def dropped(view, contents):
    """Drop files, as the field of the browser tells of them."""
    view.drop.param.update(filename=list(contents), value=list(contents.values()))


def removed_by(view, label):
    """Press a button that removes files."""
    [button] = [one for one in view.held if one.label == label]
    button.clicks += 1


def test_files_dropped_later_are_added_and_one_of_them_can_be_removed(contents, monkeypatch):
    store = Store(State())
    view = Own(store)
    dropped(view, {"people.tif": contents["people.tif"]})       # whichever comes first
    assert view.check.disabled and "the areas are missing" in view.told.object
    dropped(view, {"areas.gpkg": contents["areas.gpkg"][:5_000]})
    assert view.check.disabled and "areas.gpkg cannot be read" in view.told.object
    dropped(view, {"areas.gpkg": contents["areas.gpkg"]})       # replaces that of the same name
    assert not view.check.disabled and not view.told.object
    assert view.weight.value == "people.tif" and set(view._files.rasters) == {"people.tif"}
    dropped(view, {"height.tif": contents["height.tif"]})
    assert set(view._files.rasters) == {"people.tif", "height.tif"} and len(view.held) == 4
    assert view.drop.uploaded_label == labels.DROPPED
    view.weight.value = other = view.weight.options[-1]     # what is chosen, if it is still there,
    removed_by(view, "Remove height.tif")
    dropped(view, {"height.tif": contents["height.tif"]})
    assert view.weight.value == other != "people.tif"       # outlives files that come and go
    view.weight.value = "people.tif"
    removed_by(view, "Remove people.tif")
    assert set(view._files.rasters) == {"height.tif"} and "people.tif" not in view.weight.options
    assert view.weight.value in view.weight.options
    view._take({"totals.csv": b""})             # as the browser tells of what has no content
    assert view.check.disabled and "totals.csv has no content" in view.told.object
    [button] = [one for one in view.held if one.label == "Remove totals.csv"]
    dropped(view, {"people.tif": contents["people.tif"]})       # the page still shows that button
    button.clicks += 1
    assert set(view._files.rasters) == {"people.tif", "height.tif"}
    removed_by(view, "Remove people.tif")
    assert not view.check.disabled
    monkeypatch.setattr(own, "MOST", sum(map(len, view._held.values())) / 1e6)
    dropped(view, {"people.tif": contents["people.tif"]})
    assert "MB together" in view.told.object and "people.tif" not in view._held
    removed_by(view, "Remove all")
    assert view.check.disabled and not view.held.visible and not view.values.column.visible
    assert view.drop.uploaded_label == view.drop.label == labels.DROP     # as before any file
    store.leave()


def checked(view, contents, value):
    """Drop files, say what is what, and wait for the check."""
    dropped(view, contents)
    assert not view.check.disabled and view.weight.options[0] == AREA
    view.values.column.value, view.weight.value = value, "people.tif"
    view._check()
    deadline = time.monotonic() + 20
    while messages.CHECKING in view.told.object:
        assert time.monotonic() < deadline and not view.store.error, view.store.error
        time.sleep(0.02)


def test_the_dialog_checks_and_uses_what_was_dropped(contents):
    store = Store(State())
    view = Own(store)
    dropped(view, {"a.txt": b"x"})
    assert view.check.disabled and "not read here" in view.told.object
    removed_by(view, "Remove a.txt")
    checked(view, contents, "cases")
    assert view.use.visible and len(view.corrections.column) == len(store.own.findings)
    view._use()
    assert store.state.choice.title == "Own: areas.gpkg"
    store.leave()


def test_a_table_without_shapes_is_refused(tmp_path):
    pyogrio.write_dataframe(pandas.DataFrame({"cases": [1, 2]}), tmp_path / "table.gpkg")
    with pytest.raises(InputError, match="table.gpkg is a table without shapes"):
        own.kept({"table.gpkg": (tmp_path / "table.gpkg").read_bytes()})


def test_data_that_cannot_be_shown_are_refused(contents):
    given = own.options_of(own.kept(contents), "cases", "people.tif")
    ds = own.check(*given).data
    with pytest.raises(InputError, match="no coordinates x and y"):
        own.choice_of(ds.drop_vars(["x", "y"]), "a", *given)
    with pytest.raises(InputError, match="zero or missing"):
        own.choice_of(ds.assign(value=0 * ds["value"]), "a", *given)


def test_the_dialog_says_why_files_cannot_be_checked_or_used(contents):
    store = Store(State())
    view = Own(store)
    checked(view, contents, "cases")
    store.own = dataclasses.replace(store.own, data=store.own.data.drop_vars("x"))
    view.dialog.open = True
    view._use()
    assert "no coordinates x and y" in view.told.object and view.dialog.open
    store.check_own("polygons", {"polygons": 3})
    deadline = time.monotonic() + 20
    while not store.own_refused and time.monotonic() < deadline:
        time.sleep(0.02)
    assert "could not be checked: " in view.told.object and not view.use.visible
    store.leave()


def test_data_that_are_used_again_are_another_dataset(contents):
    store = Store(State())
    view, used = Own(store), []
    for value in ("cases", "Value"):
        checked(view, contents, value)
        view._use()
        assert store.state.spec().dataset_options["value"] == value
        used.append((store.state.dataset, store.state.choice.title))
        store._receive("scene", engine.scene(store.state.spec()))
    assert used == [("own-1", "Own: areas.gpkg"), ("own-2", "Own: areas.gpkg (2)")]
    assert store.scene.data["value"].sum() == 66
    store.leave()


def test_files_go_when_others_come_and_when_the_session_ends(contents, monkeypatch):
    store = Store(State())
    view, folders = Own(store), []
    for value in ("cases", "Value", "cases"):
        checked(view, contents, value)
        folders.append(view._files.polygons.parent)
        if value == "Value":
            view._use()
    assert [folder.exists() for folder in folders] == [False, True, True]
    monkeypatch.setattr(own, "MOST_KEPT", 0)
    with pytest.raises(InputError, match="open the page again"):
        store.keep_own(contents)
    store.close()           # as each change does
    assert folders[1].exists()
    store.leave()
    assert not any(folder.exists() for folder in folders)


def test_what_a_killed_server_left_goes_when_the_next_one_starts(contents, tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    code = ("import os, signal, sys; from pathlib import Path\n"
            "from workbench.ui.disaggregate import own\n"
            "files = own.kept({'areas.gpkg': Path(sys.argv[1]).read_bytes()})\n"
            "os.kill(os.getpid(), signal.SIGKILL)\n")
    dropped = tmp_path / "areas.gpkg"
    dropped.write_bytes(contents["areas.gpkg"])
    subprocess.run([sys.executable, "-c", code, str(dropped)], timeout=100,
                   env={**os.environ, "TMPDIR": str(tmp_path)})
    [left] = tmp_path.glob("workbench-own-*")
    assert (left / "areas.gpkg").is_file()
    mine = own.kept({"areas.gpkg": contents["areas.gpkg"]})
    others = [tmp_path / name for name in ("workbench-own-notes", "workbench-own-99999999-a.b",
                                           "workbench-other-99999999-abc")]
    for other in others:
        other.mkdir()
    (tmp_path / "workbench-own-99999999-link").symlink_to(others[0])
    assert leftovers.remove() == [left] and not left.exists()
    assert mine.polygons.is_file() and all(other.is_dir() for other in others)


def test_files_that_are_refused_are_not_kept(contents, tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with pytest.raises(InputError):
        own.kept({"areas.gpkg": contents["areas.gpkg"][:5_000]})
    assert not list(tmp_path.iterdir())
