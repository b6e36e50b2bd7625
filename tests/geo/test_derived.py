"""Distances to features and slopes, in the plane and on the globe."""

import geopandas as gpd
import numpy as np
import pytest
import shapely
from pyproj import Geod

import workbench as wb
from tests.geo.files import CRS, areas, grid, height, kit, people, table
from workbench.checks import InputError
from workbench.pipeline.inputs import data_of


def features(*shapes, crs=CRS):
    return gpd.GeoDataFrame(geometry=list(shapes), crs=crs)


def test_distances_in_the_plane_are_exact():
    road = shapely.LineString([(500_000, 5_000_000), (512_000, 5_000_000)])
    lake = shapely.box(503_000, 5_006_000, 506_000, 5_009_000)
    found = wb.distance_to(features(road), height())
    north = (height()["y"].values[:, None] - 5e6) / 1000
    assert found.values == pytest.approx(north + np.zeros(12))
    assert found.attrs["units"] == "km" and found.name == "distance to features"
    inside = wb.distance_to(features(lake), height())
    assert (inside.values == 0).sum() == 9
    feet = wb.distance_to(features(road).to_crs("EPSG:4326"), height())
    assert feet.values == pytest.approx(found.values, abs=0.02)


def test_distances_on_the_globe_are_geodesic():
    like = grid(np.zeros((6, 8)), cell=0.5, crs="EPSG:4326", origin=(20.0, 62.0))
    well = shapely.Point(23.1, 60.3)
    found = wb.distance_to(features(well, crs="EPSG:4326"), like)
    x, y = np.meshgrid(like["x"], like["y"])
    exact = Geod(ellps="WGS84").inv(x, y, np.full_like(x, 23.1), np.full_like(x, 60.3))[2] / 1000
    assert found.values == pytest.approx(exact, rel=6e-3)      # a sphere for an ellipsoid
    border = shapely.LineString([(20, 60), (24, 60)])
    along = wb.distance_to(features(border, crs="EPSG:4326"), like)
    assert along.values[:, 3] == pytest.approx(111.2 * np.abs(like["y"].values - 60), rel=0.05)


def test_slopes_of_a_plane():
    north, east = np.mgrid[:5, :6]
    plane = grid(300.0 * east + 400.0 * north, "height", 1000.0)
    assert wb.slope(plane).values == pytest.approx(np.degrees(np.arctan(0.5)))
    globe = grid(1000.0 * east, "height", 0.1, "EPSG:4326", (10.0, 60.25))
    steep = 1000 / (11_119.5 * np.cos(np.radians(60)))
    assert wb.slope(globe).values[2] == pytest.approx(np.degrees(np.arctan(steep)), rel=1e-3)


@pytest.mark.parametrize(("call", "said"), [
    (lambda: wb.distance_to(features(), height()), "holds no features"),
    (lambda: wb.distance_to("none.gpkg", height()), "there is no file of features 'none.gpkg'"),
    (lambda: wb.distance_to(gpd.GeoDataFrame(geometry=[shapely.Point(0, 0)]), height()),
     "have no CRS; state it with crs="),
    (lambda: wb.distance_to([1, 2], height()), "expected features as a GeoDataFrame"),
    (lambda: wb.slope(grid(np.ones((1, 5)))), "expected y and x"),
])
def test_what_cannot_be_made_is_refused(call, said):
    with pytest.raises(InputError, match=said):
        call()


def test_both_become_covariates_of_polygons_by_a_spec(tmp_path, monkeypatch):
    monkeypatch.chdir(kit(tmp_path))
    well = features(shapely.Point(503_500, 5_004_500))
    well.to_file("wells.gpkg")
    options = dict(covariates=["height.tif"], weight="people.tif", value="cases", id="code",
                   slope_of="height", distance_to=["wells.gpkg"])
    ds = data_of(wb.Spec("polygons", {"polygons": "full.gpkg", **options}))
    assert ds["covariate"].values.tolist() == ["height", "slope", "distance to wells"]
    assert ds["covariate_units"].values.tolist() == ["1", "degree", "km"]
    exact = np.hypot(ds["x"] - 503_500, ds["y"] - 5_004_500) / 1000
    assert ds["covariates"][:, 2].values == pytest.approx(exact.values)
    own = wb.bag_polygons(areas(**table().drop(columns="code")), None, people(), "cases",
                          distance_to=well)
    assert own["covariates"].values[:, 0] == pytest.approx(exact.values)
