"""Areas that a raster covers in part: what lies beyond is said, as their value is not divided."""

import geopandas
import numpy as np
import pytest
import rioxarray  # noqa: F401
import shapely
import xarray as xr

import workbench as wb
from workbench.checks import DataWarning

N, SIDE = 20, 500.0
CRS = "EPSG:32633"


def raster(values, name) -> xr.DataArray:
    rows, columns = values.shape
    place = SIDE * np.arange(columns) + SIDE / 2, SIDE * (np.arange(rows)[::-1] + 0.5)
    return xr.DataArray(values, dims=("y", "x"), name=name,
                        coords={"x": place[0], "y": place[1]}).rio.write_crs(CRS)


@pytest.fixture
def height():
    return raster(np.random.default_rng(0).normal(size=(N, N)), "height")


@pytest.fixture
def people():
    return raster(np.full((N, N), 100.0), "people")


@pytest.fixture
def areas():
    """Four columns and four rows, of five by five pixels each."""
    side = 5 * SIDE
    boxes = [shapely.box(side * i, side * j, side * (i + 1), side * (j + 1))
             for i in range(4) for j in range(4)]
    return geopandas.GeoDataFrame({"id": [f"a{k}" for k in range(16)], "cases": range(20, 36)},
                                  geometry=boxes, crs=CRS)


def found(*given, **options):
    return {one.code: one for one in wb.check(*given, **options).findings}


@pytest.mark.filterwarnings("ignore::workbench.checks.DataWarning")
def test_areas_beyond_the_raster_are_named_with_their_shares(areas, height, people):
    cut = found(areas, height, people.isel(x=slice(0, 16)), "cases", id="id")["area-cut"]
    assert cut.severity == "warning" and cut.where == ("a12", "a13", "a14", "a15")
    assert "'a12' 80%, 'a13' 80%, 'a14' 80%, …" in cut.what and "beyond the raster" in cut.what
    assert "rates there are too high" in cut.effect
    with pytest.warns(DataWarning, match="4 areas lie in part beyond the raster 'people'"):
        ds = wb.bag_polygons(areas, height, people.isel(x=slice(0, 16)), "cases", id="id")
    assert "4 areas lie in part beyond" in ds.attrs["treatments"]


@pytest.mark.filterwarnings("ignore::workbench.checks.DataWarning")
def test_of_means_it_is_the_mean_that_is_taken_for_that_of_a_part(areas, height, people):
    cut = found(areas.assign(cases=areas["cases"] / 7), height, people.isel(x=slice(0, 16)),
                "cases", id="id", aggregation="mean")["area-cut"]
    assert cut.effect == "their mean is taken for that of the part that the raster covers"


@pytest.mark.filterwarnings("ignore::workbench.checks.DataWarning")
def test_so_are_those_of_a_grid_of_covariates(areas, height):
    cut = found(areas, height.isel(y=slice(1, None)), "uniform", "cases", id="id")["area-cut"]
    assert cut.count == 4 and "20%" in cut.what


def test_whole_areas_and_slivers_beyond_are_not(areas, height, people):
    assert not {"area-cut", "area-without-weight"} & set(
        found(areas, height, people, "cases", id="id"))
    moved = areas.set_geometry(areas.geometry.translate(0.04 * 5 * SIDE))     # by 4 % of each
    assert "area-cut" not in found(moved, height, people, "cases", id="id")


@pytest.mark.filterwarnings("ignore::workbench.checks.DataWarning")
def test_they_are_measured_in_the_crs_of_the_raster(areas, height, people):
    turned = areas.to_crs("EPSG:4326")
    assert "area-cut" not in found(turned, height, people, "cases", id="id")
    cut = found(turned, height, people.isel(x=slice(0, 16)), "cases", id="id")["area-cut"]
    assert cut.count == 4 and "80%" in cut.what


def test_areas_mostly_without_a_weight_are_a_note(areas, height, people):
    lake = people.copy()
    lake[:4, :5] = np.nan           # four of five rows of one area; two fifths of another are few
    lake[5:7, :5] = np.nan
    note = found(areas, height, lake, "cases", id="id")["area-without-weight"]
    assert note.severity == "note" and note.where == ("a3",)
    assert "most of the ground of 1 area has no weight in 'people' ('a3' 80%)" in note.what
