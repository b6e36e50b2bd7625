"""Areas on the antimeridian, around a pole, on longitudes to 360, and of very many corners."""

import tracemalloc

import geopandas as gpd
import numpy as np
import pytest
import shapely
import xarray as xr

from tests.geo.test_polygons import bagged, raster
from workbench.bagging.findings import listing
from workbench.checks import DataWarning, InputError
from workbench.geo import bag_children

box = shapely.box


def world(west=-180.0):
    """A pixel for every two degrees."""
    values = np.add.outer(np.arange(90.0), np.arange(180.0))
    return raster("height", values, crs="EPSG:4326", cell=2.0, origin=(west, 90.0))


def frame(*shapes):
    names = [f"n{k}" for k in range(len(shapes))]
    return gpd.GeoDataFrame({"code": names, "cases": np.arange(1.0, len(shapes) + 1),
                             "land": "p"}, geometry=list(shapes), crs="EPSG:4326")


def weights(grid, *shapes):
    ds = bagged(frame(*shapes), grid, (0 * grid + 1).rename("people"))
    return np.bincount(ds["membership"], ds["weight"]), ds.attrs["treatments"]


@pytest.mark.filterwarnings("ignore:longitudes reach from")    # true of these, and not the matter
def test_areas_cut_at_the_antimeridian_have_both_their_sides():
    found, told = weights(world(), shapely.union_all([box(176, -20, 180, -16),
                                                      box(-180, -20, -178, -16)]),
                          box(150, -30, 160, -20))
    assert found.tolist() == [6.0, 25.0] and "half the globe" not in told


def test_an_edge_over_the_antimeridian_is_reported():
    over = shapely.Polygon([(177, -19), (-179, -19), (-179, -16), (177, -16)])
    found, told = weights(world(), over, box(150, -30, 160, -20))
    assert found[0] > 200                       # around the globe, as its corners say
    assert "1 areas (first: ['n0']) with an edge over more than half the globe" in told
    assert "cut them there with ogr2ogr -wrapdateline" in told


def test_a_cap_of_all_longitudes_is_taken_whole_and_reported_by_nobody():
    found, told = weights(world(), box(-180, 80, 180, 90), box(0, 60, 40, 70))
    assert found.tolist() == [900.0, 100.0] and "half the globe" not in told


@pytest.mark.parametrize(("grid", "shape"), [
    (world(), box(176, -20, 182, -16)),                 # beyond 180 on a raster to 180
    (world(0.0), box(-10, 40, 10, 50)),                 # on both sides of 0 on one from 0 to 360
    (world(0.0), box(-30, 40, -10, 50))])
def test_areas_that_the_raster_has_one_turn_further_are_refused(grid, shape):
    with pytest.raises(InputError, match="n0.*one turn further; .*360 taken off longitudes above "
                                         "180: .* ogr2ogr -wrapdateline"):
        weights(grid, shape, box(20, 40, 40, 50))


@pytest.mark.filterwarnings("ignore:1 area lies in part beyond")       # of which one does
def test_areas_beyond_a_raster_of_one_region_are_no_matter_of_turns():
    part = world().isel(x=slice(90, 120))               # 0 to 60 degrees east
    found, _ = weights(part, box(-10, 40, 10, 50), box(20, 40, 40, 50))
    assert found.tolist() == [25.0, 50.0]


def test_an_area_around_a_pole_is_reprojected_with_its_curve():
    grid = raster("height", np.add.outer(np.arange(60.0), np.arange(60.0)), crs="EPSG:3995",
                  cell=1e5, origin=(-3e6, 3e6))
    found, _ = weights(grid, box(-180, 75, 180, 90), box(0, 66, 40, 72))
    edge = gpd.GeoSeries([shapely.Point(0, 75)], crs="EPSG:4326").to_crs("EPSG:3995")[0]
    circle = np.pi * (edge.x**2 + edge.y**2) / 1e10     # in pixels
    assert found[0] == pytest.approx(circle, rel=1e-3)


def places(*shapes):
    """Where small polygons are put, and their dataset."""
    ds = bag_children(frame(*shapes), parent="land", value="cases")
    return np.column_stack([ds["x"], ds["y"]]), ds


BOTH = shapely.union_all([box(176, -20, 180, -16), box(-180, -20, -170, -16)])


@pytest.mark.filterwarnings("ignore:longitudes reach from")    # true of these, and not the matter
def test_small_polygons_on_both_sides_of_the_antimeridian_are_put_where_they_lie():
    wide = shapely.segmentize(box(-90, 0, 92, 2), 10)
    found, ds = places(BOTH, box(150, -30, 160, -20), box(-180, -90, 180, -60), wide)
    assert found == pytest.approx(np.array([[-177, -18], [155, -25], [0, -75], [1, 1]]))
    assert "half the globe" not in ds.treatments
    east = shapely.transform(BOTH, lambda xy: np.column_stack([xy[:, 0] % 360, xy[:, 1]]))
    greenwich = shapely.union_all([box(356, 50, 360, 54), box(0, 50, 2, 54)])
    found, _ = places(east, greenwich)
    assert found == pytest.approx(np.array([[183, -18], [359, 52]]))


@pytest.mark.filterwarnings("ignore:longitudes reach from")    # true of these, and not the matter
def test_a_small_polygon_that_was_not_cut_at_the_antimeridian_is_reported():
    over = shapely.Polygon([(177, -19), (-179, -19), (-179, -16), (177, -16)])
    found, ds = places(over, box(150, -30, 160, -20))
    assert found[0] == pytest.approx([179, -17.5])
    assert "1 polygons (first: ['0']) with an edge over more than half the globe" in ds.treatments


def test_small_polygons_on_either_side_of_the_antimeridian_are_warned_of():
    with pytest.warns(DataWarning, match="both ends are taken to be 355 degrees apart"):
        places(box(176, -20, 178, -16), box(-180, -20, -176, -16))


@pytest.mark.slow
def test_memory_grows_with_the_corners_of_an_outline_alone():
    turn = np.linspace(0, 2 * np.pi, 200_001)[:-1]
    radius = 20 + 0.5 * np.sin(1000 * turn)
    rough = shapely.Polygon(np.column_stack([radius * np.cos(turn), radius * np.sin(turn)]))
    tracemalloc.start()
    try:
        found, _ = weights(world(), rough, box(60, 40, 80, 50))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert found[0] == pytest.approx(rough.area / 4, rel=1e-2)
    assert peak < 30 * 3.2e6                    # thirty times what the corners take


@pytest.mark.parametrize(("west", "east", "said"), [
    (250.0, -110.0, "polygons' longitudes run from 0 to 360.*take 360 off those above 180"),
    (-110.0, 250.0, r"raster's longitudes run from 0 to 360.*take 360 off the raster's above 180, "
     r"by ds.assign_coords\("),
    (-110.0, 10.0, "One of them states a wrong CRS, or they are of different places")])
def test_areas_and_rasters_wholly_apart_are_a_turn_apart_or_elsewhere(west, east, said):
    grid = raster("height", np.ones((10, 10)), crs="EPSG:4326", origin=(east, 45.0), cell=1.0)
    areas = frame(box(west, 38, west + 3, 42), box(west + 3, 38, west + 8, 42))
    with pytest.raises(InputError, match=said):
        bagged(areas, grid, (0 * grid + 1).rename("people"))
    with listing() as found:
        with pytest.raises(InputError):
            bagged(areas, grid, (0 * grid + 1).rename("people"))
    assert ("another-turn" if "360" in said else "apart") in [one.code for one in found]


@pytest.mark.parametrize(("east", "said"), [
    (360.0, "its longitudes run from 0 to 360, the weight's from -180 to 180: take 360 off those"),
    (-360.0, "the weight's longitudes run from 0 to 360, its own from -180 to 180"),
    (90.0, "it does not overlap the weight")])
def test_a_covariate_of_another_turn_is_no_other_place(east, said):
    from workbench.geo.resampling import _safe

    def raster(west):
        return xr.DataArray(np.arange(30.0).reshape(5, 6) / 7, {
            "y": 50.0 - np.arange(5), "x": west + np.arange(6)}, ("y", "x")).rio.write_crs(4326)

    start = -100.0 if east > 0 else 260.0
    with pytest.raises(InputError, match=said):
        _safe("rain", raster(start + east), raster(start))
