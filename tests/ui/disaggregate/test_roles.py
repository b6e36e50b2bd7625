"""What dropped files are taken for is said; what cannot be taken as it is, with a way on."""

import time

import geopandas
import numpy as np
import pandas
import pytest
import shapely

from workbench.checks import InputError
from workbench.plots.outlines import lines
from workbench.ui.disaggregate import labels, messages, own
from workbench.ui.disaggregate.roles import taken_as
from workbench.ui.disaggregate.state import State
from workbench.ui.disaggregate.steps import steps_of
from workbench.ui.disaggregate.store import Store
from workbench.ui.disaggregate.views.checks import Checks
from workbench.ui.disaggregate.views.own import Own
from workbench.ui.disaggregate.views.verdict import verdict_of

pytestmark = pytest.mark.usefixtures("removed")


def packed(folder, crs="EPSG:32638", **columns):
    """A GeoPackage of nine areas, 300 m across in all."""
    shapes = [shapely.box(100 * c, 100 * r, 100 * c + 100, 100 * r + 100)
              for r in range(3) for c in range(3)]
    path = folder / "areas.gpkg"
    geopandas.GeoDataFrame({"cases": range(3, 12)} | columns, geometry=shapes, crs=crs
                           ).to_file(path)
    return path.read_bytes()


def pixels(**columns):
    x, y = (one.ravel() for one in np.meshgrid(np.arange(5, 300, 10), np.arange(5, 300, 10)))
    return pandas.DataFrame({"x": x, "y": y} | columns).to_csv(index=False).encode()


def checked(view):
    deadline = time.monotonic() + 30
    while messages.CHECKING in view.told.object:
        assert time.monotonic() < deadline and not view.store.error, view.store.error
        time.sleep(0.02)
    return view.store.own


def test_totals_that_are_text_are_refused_with_the_entries_that_made_them_so(tmp_path):
    texts = [*map(str, range(3, 10)), "n/a", "1,234"]
    said = r"no numeric column.*Column 'cases' of areas.gpkg is text.*'n/a' in row 7.*'1,234'"
    with pytest.raises(InputError, match=said):
        own.kept({"areas.gpkg": packed(tmp_path, cases=texts)})
    files = own.kept({"areas.gpkg": packed(tmp_path, cases=texts, households=range(9))})
    assert files.numbers == ("households",) and "'1,234' in row 8" in files.texts[0]
    named = own.kept({"areas.gpkg": packed(tmp_path, code=[f"0{k}" for k in range(9)])})
    assert named.texts == ()                # these number the areas


@pytest.mark.slow
def test_a_column_of_a_table_of_pixels_is_the_population_and_others_are_covariates(tmp_path):
    table = pixels(residents=np.full(900, 2.0), height=np.arange(900.0))
    store = Store(State())
    try:
        view = Own(store)
        view.drop.param.update(filename=["areas.gpkg", "fine.csv"],
                               value=[packed(tmp_path), table])
        assert view.weight.value == labels.OF_PIXELS.format("residents", "fine.csv")
        said = "population: residents of fine.csv; covariates: height of fine.csv."
        assert said in view.taken.object
        view._check()
        found = checked(view)
        assert {one.code for one in found.of("error")} == {"crs-missing"}   # a table has none
        assert view.crs.visible and "EPSG" in view.crs.label
        view.crs.value = "99"
        assert labels.no_such_crs("EPSG:99") in view.told.object and not view._done
        view.crs.value = "32638"
        found = checked(view)
        assert found.ok and not view.crs.visible
        assert found.data.sizes["individual"] == 900
        assert list(found.data["covariate"].values) == ["height"]
        assert float(found.data["weight"].sum()) == pytest.approx(1800)
        view.weight.value = labels.NO_RASTER
        assert "population" not in view.taken.object and "covariates: fine.csv" in view.taken.object
    finally:
        store.leave()


def test_a_crs_that_cannot_be_is_not_offered_but_one_can_be_typed(tmp_path):
    far = geopandas.GeoDataFrame({"cases": range(4)}, geometry=shapely.box(
        [3e5, 4e5, 3e5, 4e5], [5e6, 5e6, 6e6, 6e6], [4e5, 5e5, 4e5, 5e5], [6e6, 6e6, 7e6, 7e6]))
    path = tmp_path / "areas.gpkg"
    with pytest.warns(UserWarning, match="'crs' was not provided"):
        far.to_file(path)
    store = Store(State())
    try:
        view = Own(store)
        view.drop.param.update(filename=["areas.gpkg"], value=[path.read_bytes()])
        view._check()
        assert not checked(view).ok and view.crs.visible
        offered = [one.label for row in view.corrections.column for one in row[1:]]
        assert offered == []                # no degrees: the coordinates are far beyond
        view.crs.value = "EPSG:32638"
        assert checked(view).ok and view.use.visible
        assert view._given[1]["polygon_crs"] == "EPSG:32638"
    finally:
        store.leave()


def test_a_file_of_points_or_lines_is_refused_with_what_to_do_instead(tmp_path):
    places = shapely.points([1, 2, 3], [4, 5, 6])
    for name, shapes, said in (("points.gpkg", places, r"--points points.gpkg --value cases"),
                               ("lines.gpkg", shapely.linestrings([[[0, 0], [1, 1]]] * 3),
                                "holds LineString, which have no inside")):
        path = tmp_path / name
        geopandas.GeoDataFrame({"fid_1": range(3), "cases": range(3)}, geometry=shapes,
                               crs="EPSG:32638").to_file(path)
        with pytest.raises(InputError, match=said):
            own.kept({name: path.read_bytes()})
    assert lines(places).shape == (0, 2)


def test_a_check_is_not_under_way_after_an_unexpected_error(tmp_path, monkeypatch):
    store = Store(State())
    try:
        view, checks = Own(store), Checks(store)
        view.drop.param.update(filename=["areas.gpkg"], value=[packed(tmp_path)])

        def fail(*args, **options):
            raise KeyError("broken")

        monkeypatch.setattr(view.corrections, "show", fail)
        view._check()
        checked(view)
        assert "could not be checked: KeyError" in view.told.object and not view.use.visible
        store._hear_check("failed", KeyError("broken"))
        assert "KeyError" in checks._panel.title and messages.CHECKING not in checks._panel.title
        [step] = [one for one in steps_of(store, verdict_of(store)) if one.name == "check"]
        assert (step.mark, step.told) == ("wrong", labels.STEP_UNCHECKED)
    finally:
        store.leave()


def test_a_population_that_was_chosen_for_files_that_are_gone_gives_way_to_the_next(tmp_path):
    given = packed(tmp_path, people=range(9), cases=range(9))
    table = pixels(residents=np.full(900, 2.0))
    store = Store(State())
    try:
        view = Own(store)
        view.drop.param.update(filename=["areas.gpkg"], value=[given])
        view.weight.value = labels.NO_RASTER
        view.drop.param.update(filename=["fine.csv"], value=[table])
        assert view.weight.value == labels.NO_RASTER        # further files, the same choice
        view._hold({})
        view.drop.param.update(filename=["areas.gpkg", "fine.csv"], value=[given, table])
        assert view.weight.value == labels.OF_AREAS.format("people")
    finally:
        store.leave()


def test_what_files_are_taken_for(tmp_path):
    files = own.kept({"areas.gpkg": packed(tmp_path)})
    assert taken_as(files, "") == "Taken as areas: areas.gpkg; no covariates."
