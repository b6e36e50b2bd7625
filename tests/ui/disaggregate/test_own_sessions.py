"""Sessions of own data as files: the same numbers elsewhere, and nothing a stranger may slip in."""

import tempfile
from dataclasses import replace
from pathlib import Path

import geopandas
import numpy as np
import pytest
import rasterio
import rasterio.features
import rioxarray

from tests.kit import write_kit
from tests.ui.disaggregate.sessions import Session
from tests.ui.kit import ran
from workbench.checks import InputError
from workbench.ui.base import handover, leftovers
from workbench.ui.base.session import pack, unpack
from workbench.ui.disaggregate import keeping, kinds, own
from workbench.ui.disaggregate.engine import _ANSWERS, _SCORES, _WITHOUT_EFFECT
from workbench.ui.disaggregate.scenes import _SCENES
from workbench.ui.disaggregate.state import State
from workbench.ui.disaggregate.views.exports import Exports

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("one_thread")]
ALLOWED = [keeping.FIT, *keeping.FILES]
SIMPLE = {"model": "vbagg", "kernel": "linear"}


@pytest.fixture(scope="module")
def contents(tmp_path_factory):
    folder = write_kit(tmp_path_factory.mktemp("own"))
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


@pytest.fixture
def begin():
    """Start sessions, each as if in a server of its own; they end with the test."""
    sessions = []

    def make(state=None):
        for cache in (_ANSWERS, _SCORES, _WITHOUT_EFFECT, _SCENES):
            cache._kept.clear()
        state = state or State()
        if not sessions:
            state.read("dataset=swiss-roll&granularity=10&model=vbagg&kernel=linear")
        sessions.append(Session(state))
        return sessions[-1]

    yield make
    for session in sessions:
        session.store.leave()


def with_own(session, contents, weight="people.tif"):
    """The session with files chosen as its data, and their maps there."""
    store = session.store
    session.maps()
    files = store.keep_own(contents)
    given = own.options_of(files, "cases", weight, "code")
    with session.state.together():
        store.use_own(own.choice_of(own.check(*given).data, own.title_of(files), *given), files)
        session.state.param.update(**SIMPLE)
    session.maps()
    return session


def opening(session, packed):
    before = session.maps().answer
    assert session.store.open(packed) == []
    session.wait(lambda: session.store.error or session.store.answer is not before
                 and session.store.work in ("scoring", ""))
    return session.store


@pytest.fixture(scope="module")
def saved(contents, one_thread):
    session = Session(State(dataset="swiss-roll"))
    with_own(session, contents)
    packed = session.store.save()
    session.store.leave()
    return packed


def test_a_session_of_own_data_shows_the_same_numbers_in_another_server(begin, contents):
    mine = with_own(begin(), contents)
    mine.store.fit()
    mine.settled()
    assert mine.store.unsaved
    packed = mine.store.save()
    assert packed == mine.store.save() and not mine.store.unsaved
    assert leftovers.OWN.encode() not in packed
    kept = unpack(packed, "disaggregate", ALLOWED)
    assert keeping.own_contents(kept) == contents and len(kept.members) == 4
    mine.store.leave()                                  # their files are gone
    theirs = begin()
    theirs.state.read("dataset=swiss-roll&granularity=10&model=vbagg&kernel=linear")
    store = opening(theirs, packed)
    assert store.error == "" and not store.unsaved and store.subject == "areas"
    assert theirs.state.choice.title == "Own: areas.gpkg" and theirs.state.dataset == "own-1"
    shown, before = store.answer, mine.store.answer
    assert shown.kind == "learnt" and shown.fitted == before.fitted
    np.testing.assert_allclose(shown.mean, before.mean, rtol=1e-10)
    np.testing.assert_allclose(shown.std, before.std, rtol=1e-10)
    np.testing.assert_allclose(store.exceedance, mine.store.exceedance, rtol=1e-8)
    folder = Path(shown.spec.dataset_options["polygons"]).parent
    assert folder.exists() and folder != Path(before.spec.dataset_options["polygons"]).parent
    again = opening(theirs, packed)                     # a second time: another dataset
    assert theirs.state.choice.title == "Own: areas.gpkg (2)" and again.error == ""
    assert unpack(again.save(), "disaggregate", ALLOWED).members.keys() == kept.members.keys()
    again.leave()
    assert not folder.exists()


def test_a_session_without_a_fit_has_its_data_all_the_same(begin, contents):
    mine = with_own(begin(), contents, weight="")
    assert mine.store.unsaved
    mine.state.dataset = "swiss-roll"
    mine.store.save()
    assert mine.store.unsaved               # own data are not of the example
    mine.state.dataset = "own-1"
    mine.maps()
    bare = pack("disaggregate", keeping.session_of(
        mine.state.query(), None, mine.state.choice, mine.store._used["own-1"]))
    store = opening(begin(), bare)
    assert store.error == "" and store.answer.kind == "start"
    np.testing.assert_allclose(store.answer.mean, mine.store.answer.mean, rtol=1e-6)
    assert "weight" not in store.state.spec().dataset_options


def warped(contents, folder):
    """The files with heights in degrees, as downloads are, and an area where nobody lives."""
    for name, content in contents.items():
        (folder / name).write_bytes(content)
    areas = geopandas.read_file(folder / "areas.gpkg")
    with rioxarray.open_rasterio(folder / "height.tif") as height:
        height.rio.reproject("EPSG:4326").rio.to_raster(folder / "height.tif.new", driver="GTiff")
    (folder / "height.tif.new").replace(folder / "height.tif")
    with rasterio.open(folder / "people.tif", "r+") as people:
        values = people.read(1)
        inside = rasterio.features.geometry_mask(
            areas.geometry[:1], values.shape, people.transform, all_touched=True, invert=True)
        people.write(np.where(inside, 0.0, values), 1)
    return {name: (folder / name).read_bytes() for name in contents}


@pytest.mark.parametrize("kind", ["count", "mean"])
def test_what_was_chosen_and_corrected_is_in_the_session(begin, contents, tmp_path, kind):
    """Values that are means, a raster resampled as was asked for, an area left out."""
    mine = begin()
    mine.maps()
    files = mine.store.keep_own(warped(contents, tmp_path))
    chosen = kinds.options_of(kind, unit="USD" if kind == "mean" else "")
    dataset, options = own.options_of(files, "cases", "people.tif", "code", read=chosen)
    refused = own.check(dataset, options)
    assert {one.code for one in refused.of("error")} == {"area-empty"}, refused
    options |= {"align": "nearest", "empty": "drop"}
    found = own.check(dataset, options)
    assert found.ok
    with mine.state.together():
        mine.store.use_own(own.choice_of(found.data, own.title_of(files), dataset, options), files)
        mine.state.param.update(**SIMPLE)
    mine.maps()
    assert mine.state.choice.kind == kind
    packed, before = mine.store.save(), mine.store.answer
    mine.store.leave()
    theirs = begin()
    theirs.state.read("dataset=swiss-roll&granularity=10&model=vbagg&kernel=linear")
    store = opening(theirs, packed)
    assert store.error == "" and theirs.state.choice.kind == kind
    read = store.answer.spec.dataset_options.plain()
    assert {name: read[name] for name in ("align", "empty", *chosen)} == {
        "align": "nearest", "empty": "drop", **chosen}
    np.testing.assert_allclose(store.answer.mean, before.mean, rtol=1e-10)


def changed(packed, options=None, **facts):
    kept = unpack(packed, "disaggregate", ALLOWED)
    told = kept.facts["own"] | facts
    if options is not None:
        told["options"] = told["options"] | options
    return replace(kept, facts=kept.facts | {"own": told})


NAMES = ["areas.gpkg", "height.tif", "people.tif"]


@pytest.mark.parametrize(("facts", "said"), [
    ({"names": ["../../areas.gpkg", *NAMES[1:]]}, "no plain name"),
    ({"names": ["/etc/areas.gpkg", *NAMES[1:]]}, "no plain name"),
    ({"names": ["..\\areas.gpkg", *NAMES[1:]]}, "no plain name"),
    ({"names": ["a\0.gpkg", *NAMES[1:]]}, "no plain name"),
    ({"names": ["a" * 300 + ".gpkg", *NAMES[1:]]}, "no plain name"),
    ({"names": ["", *NAMES[1:]]}, "no plain name"),
    ({"names": [*NAMES[:2], NAMES[1]]}, "names a file twice"),
    ({"names": NAMES[:2]}, "lacks files"), ({"names": [1, 2, 3]}, "lacks files"),
    ({"names": "abc"}, "lacks files")])
def test_names_that_are_no_names_are_refused_at_once(saved, facts, said):
    with pytest.raises(InputError, match=said):
        keeping.own_contents(changed(saved, **facts))


@pytest.mark.parametrize(("facts", "said"), [
    ({"names": [*NAMES[:2], "people.vrt"]}, "people.vrt is of a kind that is not read here"),
    ({"options": {"value": "no such"}}, "value is 'no such'"),
    ({"options": {"weight": "../x.tif"}}, "weight is '../x.tif'"),
    ({"options": {"weight": "/etc/passwd"}}, "weight is '/etc/passwd'"),
    ({"options": {"polygons": "/etc/passwd"}}, "polygons is '/etc/passwd'"),
    ({"options": {"totals": "people.tif"}}, "totals is 'people.tif'"),
    ({"options": {"covariates": ["height.tif", "../x.tif"]}}, "covariates is .*x.tif"),
    ({"options": {"covariates": "height.tif"}}, "covariates is 'height.tif'"),
    ({"options": {"id": "cases"}}, "id is 'cases'"),
    ({"options": {"value": {"cases": 1}}}, "which its files do not have"),
    ({"options": {"align": {"path": "x"}}}, "which its files do not have"),
    ({"options": {"directory": "/etc"}}, "option of the session's own data 'directory' is unknown"),
    ({"options": {"classes": "/etc/secret.tif"}}, "classes is '/etc/secret.tif'"),
    ({"options": {"classes": ["height", "../x.tif"]}}, "which its files do not have"),
    ({"options": {"value": ["cases"]}}, "which its files do not have"),
    ({"options": {"id": ["code"]}}, "which its files do not have"),
    ({"options": {"polygons": ["areas.gpkg"]}}, "which its files do not have"),
    ({"options": {"kind": 5}}, "kind is '5'"), ({"options": {"nodata": "abc"}}, "nodata is 'abc'"),
    ({"options": {"polygon_crs": "+init=/etc/passwd:root"}}, "is no code such as EPSG:4326"),
    ({"options": {"polygon_crs": 'GEOGCS["x",EXTENSION["PROJ4","+nadgrids=/etc/x"]]'}},
     "is no code such as EPSG:4326"),
    ({"options": {"raster_crs": "http://example.org/crs"}}, "is no code such as EPSG:4326"),
])
def test_what_files_do_not_have_is_refused_and_nothing_stays(saved, facts, said, tmp_path,
                                                            monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with pytest.raises(InputError, match=said):
        keeping.opened(changed(saved, **facts))
    assert not list(tmp_path.iterdir())


def bomb(folder):
    with rasterio.open(folder / "b.tif", "w", driver="GTiff", width=1000, height=1000, count=1,
                       dtype="float32", compress="deflate", crs="EPSG:3035",
                       transform=rasterio.Affine(1, 0, 0, 0, -1, 1000)) as raster:
        raster.write(np.zeros((1, 1000, 1000), dtype="float32"))
    return (folder / "b.tif").read_bytes()


@pytest.mark.parametrize(("content", "said"), [
    (lambda folder: b"<VRTDataset rasterXSize='2' rasterYSize='2'></VRTDataset>", "is XML"),
    (lambda folder: b"\x89PNG\r\n\x1a\n", "not that of a .tif file"),
    (lambda folder: bytes(16_000_000), "more than 15"),
    (bomb, "people.tif would take 4 MB when it is read")])
def test_files_in_a_session_are_looked_at_as_dropped_ones(saved, content, said, tmp_path,
                                                         monkeypatch):
    monkeypatch.setattr(own, "MOST_READ", 1)
    kept = unpack(saved, "disaggregate", ALLOWED)
    with pytest.raises(InputError, match=said):
        keeping.opened(replace(kept, members=kept.members | {"own.3": content(tmp_path)}))


def test_a_session_of_the_first_version_opens(saved):
    """It has columns and the raster of the population, and no corrections."""
    kept = unpack(saved, "disaggregate", ALLOWED)
    own_facts = {"names": kept.facts["own"]["names"], "value": "cases", "weight": "people.tif",
                 "name": "code"}
    found = keeping.opened(replace(kept, facts={**kept.facts, "own": own_facts}))
    try:
        assert found.choice.loader["value"] == "cases" and found.choice.loader["id"] == "code"
        assert Path(found.choice.loader["weight"]).name == "people.tif"
        assert [Path(one).name for one in found.choice.loader["covariates"]] == ["height.tif"]
    finally:
        found.files.remove()


def test_refusals_are_told_and_the_maps_stay(begin, saved, contents, monkeypatch):
    session = begin()
    before = session.maps().answer
    wrong = changed(saved, {"value": "no such"})
    assert opening(session, pack("disaggregate", wrong)).error.startswith("the session says")
    assert session.store.answer is before and session.store.work == ""
    other = changed(saved, {"value": "Value"})               # another column: the fit is not of it
    assert "of other data" in opening(session, pack("disaggregate", other)).error
    monkeypatch.setattr(own, "MOST_KEPT", 0)
    with pytest.raises(InputError, match="open the page again"):
        session.store.open(saved)
    monkeypatch.setattr(own, "MOST", 0.001)
    with pytest.raises(InputError, match="more than the 0.001 MB that can be opened again"):
        session.store.save()
    assert "beside your files" in session.store.error


@pytest.mark.filterwarnings("ignore:Both 'variant':PendingDeprecationWarning")       # of the widget
def test_own_data_are_handed_to_one_session_that_compares_models(contents, begin, tmp_path,
                                                                 monkeypatch):
    session = begin()
    exports = Exports(session.store)
    assert not exports.compare.visible                  # the catalogue's are in both apps
    with_own(session, contents)
    assert exports.compare.visible and exports.compare.target == "_blank"
    first = exports.compare.href.partition("compare?dataset=")[2]
    assert len(first) > 30
    exports.compare.clicks += 1                         # the browser has opened the first
    second = exports.compare.href.partition("=")[2]
    assert second != first
    handed = handover.claim(first)
    assert handed.data is handover.claim(second).data
    assert handover.claim(first) is None is handover.claim(second)
    assert handed.data is session.store.scene.data and "areas.gpkg" in handed.needed
    for name, content in contents.items():
        (tmp_path / name).write_bytes(content)
    monkeypatch.chdir(tmp_path)
    found = ran(f"import workbench as wb\n{handed.program}")["ds"]
    assert np.array_equal(found["value"], handed.data["value"])
    exports.compare.clicks += 1
    third = exports.compare.href.partition("=")[2]
    session.store.leave()
    assert handover.claim(third) is None
