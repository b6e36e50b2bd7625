"""Populations summed to other grids: by the share of each pixel, none of it lost."""

import geopandas
import numpy as np
import pytest
import shapely
import xarray as xr

import workbench as wb
from workbench.geo.resampling import summed
from workbench.geo.treatments import Record

RNG = np.random.default_rng(3)
SIDE = 0.1
FINE = RNG.lognormal(0, 2, (60, 80))
CORNERS = [(20.0, 60.0), (30.0, 5.0), (43.2, -11.9)]


def raster(values, corner, side, crs="EPSG:4326", name="fine"):
    values = np.asarray(values, dtype=float)
    rows, columns = values.shape
    return xr.DataArray(values, dims=("y", "x"), name=name, coords={
        "y": corner[1] - side * (np.arange(rows) + 0.5),
        "x": corner[0] + side * (np.arange(columns) + 0.5)}).rio.write_crs(crs).rio.write_nodata(
            np.nan)


def parts(start, side, count, other, length, cells):
    """Share of each pixel in each cell along an axis, from its borders."""
    low, begin = start + side * np.arange(count), other + length * np.arange(cells)[:, None]
    return np.maximum(np.minimum(low + side, begin + length) - np.maximum(low, begin), 0) / side


def expected(fine, grid, corner, shift, side):
    down = parts(0, SIDE, fine.shape[0], shift[1], side, grid.shape[0])
    across = parts(0, SIDE, fine.shape[1], shift[0], side, grid.shape[1])
    return down @ np.nan_to_num(fine) @ across.T


@pytest.mark.parametrize("corner", CORNERS)
@pytest.mark.parametrize("crs", ["EPSG:4326", "EPSG:4258", "EPSG:3035"])
def test_sums_are_those_of_blocks(corner, crs):
    record = Record()
    ours = summed(raster(FINE, corner, SIDE, crs), raster(np.ones((12, 16)), corner, 0.5, crs),
                  "height", record)
    assert ours.values == pytest.approx(FINE.reshape(12, 5, 16, 5).sum((1, 3)), rel=1e-9)
    assert "lie beyond" not in str(record)
    assert ours.name == "fine" and ours.rio.crs == crs and np.isnan(ours.rio.nodata)


@pytest.mark.parametrize("corner", CORNERS)
@pytest.mark.parametrize(("ratio", "shift", "shape"), [
    (2.5, (0, 0), (24, 32)), (2.5, (1.13, 0.77), (11, 9)), (5, (-0.4, -1.1), (20, 20)),
    (5, (2.0, 1.0), (4, 6)), (0.4, (0, 0), (150, 200))])
def test_sums_are_those_of_overlaps(corner, ratio, shift, shape):
    fine = np.where(FINE > 0.3, FINE, np.nan)
    fine[:30, :30] = np.nan
    side = ratio * SIDE
    grid = raster(np.ones(shape), (corner[0] + shift[0], corner[1] - shift[1]), side)
    record = Record()
    ours = summed(raster(fine, corner, SIDE), grid, "height", record)
    made = expected(fine, grid, corner, shift, side)
    assert np.nan_to_num(ours.values) == pytest.approx(made, rel=1e-7, abs=1e-9)
    there = expected(np.where(np.isfinite(fine), 1.0, np.nan), grid, corner, shift, side) > 1e-6
    assert np.array_equal(np.isfinite(ours.values), there)       # missing where nothing is known
    lost = 1 - made.sum() / np.nansum(fine)
    assert (f"{lost:.2%} of it lie beyond" in str(record)) == (lost > 1e-6)


def test_degrees_of_two_crs_are_the_same():
    fine = raster(FINE, CORNERS[0], SIDE)
    ours = summed(fine, raster(np.ones((12, 16)), CORNERS[0], 0.5, "EPSG:4258"), "h", Record())
    assert ours.values == pytest.approx(FINE.reshape(12, 5, 16, 5).sum((1, 3)), rel=1e-9)
    assert ours.rio.crs == "EPSG:4258"


@pytest.mark.parametrize(("crs", "other", "corner", "side", "length"), [
    ("EPSG:4326", "EPSG:32633", (14.0, 50.0), 0.01, 3000.0),
    ("EPSG:32633", "EPSG:4326", (4e5, 5.5e6), 1000.0, 0.05),
    ("EPSG:3035", "EPSG:32633", (4.5e6, 3e6), 1000.0, 5000.0)])
def test_what_lies_well_inside_stays_in_another_crs(crs, other, corner, side, length):
    values = np.zeros((60, 80))
    values[10:50, 10:70] = FINE[10:50, 10:70]
    fine = raster(values, corner, side, crs)
    west, south, east, north = fine.rio.transform_bounds(other)
    shape = int((north - south) / length) + 3, int((east - west) / length) + 3
    grid = raster(np.ones(shape), (west - length, north + length), length, other)
    moved = summed(fine, grid, "height", Record())
    assert float(moved.sum()) == pytest.approx(values.sum(), rel=1e-3)


def test_nobody_is_lost_in_a_map_in_degrees():
    """And means of finer covariates are those of blocks there, too."""
    corner, half = CORNERS[0], shapely.box([20, 24], 54, [24, 28], 60)
    areas = geopandas.GeoDataFrame({"cases": [5, 9]}, geometry=half, crs="EPSG:4326")
    height = raster(RNG.normal(size=(12, 16)), corner, 0.5, name="height")
    slope = raster(FINE, corner, SIDE, name="slope")
    people = raster(FINE, corner, SIDE, name="people")
    ds = wb.bag_polygons(areas, [height, slope], people, "cases", grid_of="height")
    assert float(ds["weight"].sum()) == pytest.approx(FINE.sum(), rel=1e-6)
    means = FINE.reshape(12, 5, 16, 5).mean((1, 3))[ds["row"], ds["column"]]
    assert ds["covariates"].sel(covariate="slope").values == pytest.approx(means, rel=1e-6)
