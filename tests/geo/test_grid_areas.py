"""A coarse raster of observed values is areas: each of its cells is one, with a mean."""

import numpy as np
import pytest
import rioxarray  # noqa: F401  (the accessor .rio)
import xarray as xr
from typer.testing import CliRunner

import workbench as wb
from workbench.checks import InputError
from workbench.cli import app


def coarse(shape=(6, 6), size=4000.0) -> xr.DataArray:
    rows, columns = shape
    values = np.add.outer(10.0 - np.arange(rows), 0.5 * np.arange(columns))
    return xr.DataArray(values, dims=("y", "x"), name="temperature", coords={
        "y": size * (rows - 0.5 - np.arange(rows)), "x": size * (np.arange(columns) + 0.5),
    }).rio.write_crs("EPSG:32633")


def fine(shape=(24, 24), size=1000.0) -> xr.DataArray:
    found = coarse(shape, size).rename("height")
    return found.copy(data=np.random.default_rng(0).uniform(0, 900, shape))


def test_cells_are_areas_in_their_places():
    raster = coarse()
    areas = wb.grid_areas(raster)
    assert areas["cell"].tolist()[:2] == ["row 1, column 1", "row 1, column 2"]
    middle = areas.geometry.centroid
    at = raster.sel(x=xr.DataArray(middle.x.to_numpy()), y=xr.DataArray(middle.y.to_numpy()),
                    method="nearest")
    np.testing.assert_array_equal(areas["temperature"], at)
    np.testing.assert_allclose(areas.area, 16e6)
    assert areas.union_all().equals(areas.union_all().envelope)


@pytest.mark.parametrize("suffix", [".tif", ".nc"])
def test_a_path_of_a_raster_is_taken_for_its_cells_whose_values_are_means(tmp_path, suffix):
    path = tmp_path / f"temperature{suffix}"
    raster = coarse()
    raster[2, 3] = np.nan
    raster.rio.to_raster(path) if suffix == ".tif" else raster.to_netcdf(path)
    options = dict(covariates=fine(), value="temperature", weight="uniform")
    with pytest.raises(InputError, match="missing"):         # as of polygons
        wb.bag_polygons(path, **options)
    ds = wb.bag_polygons(path, **options, missing_value="drop")
    assert ds.sizes["bag"] == 35 and ds.sizes["individual"] == 35 * 16
    assert ds["value"].attrs["aggregation"] == "mean" and ds["value"].attrs["kind"] == "continuous"
    assert "each of its 36 cells is an area" in ds.attrs["treatments"]
    assert ds["value"].sel(bag="row 1, column 1") == 10.0
    assert "row 3, column 4" not in ds["bag"]
    sums = wb.bag_polygons(path, **options, missing_value="drop", aggregation="sum")
    assert sums["value"].attrs["aggregation"] == "sum"


def test_the_command_line_maps_a_coarse_grid(tmp_path):
    coarse().rio.to_raster(tmp_path / "temperature.tif")
    fine().rio.to_raster(tmp_path / "height.tif")
    given = ["--polygons", str(tmp_path / "temperature.tif"), "--value", "temperature",
             "--covariates", str(tmp_path / "height.tif"), "--weight", "uniform"]
    result = CliRunner().invoke(app, ["check", *given])
    assert "36 cells is an area" in " ".join(result.output.split())
    out = tmp_path / "map.nc"
    result = CliRunner().invoke(app, ["disaggregate", *given, "--model", "vbagg", "--out", str(out),
                                      "--quiet"])
    assert result.exit_code == 0, result.output
    maps = wb.read(out)
    assert maps.sizes["individual"] == 576 and 5 < float(maps["mean"].mean()) < 11


def test_what_is_no_grid_of_areas_is_refused_with_what_to_do(tmp_path):
    path = tmp_path / "monthly.nc"
    coarse().expand_dims(time=[0, 1]).to_netcdf(path)
    with pytest.raises(InputError, match="time"):
        wb.grid_areas(path, crs="EPSG:32633")
    both = {"a": coarse(), "b": fine()}
    with pytest.raises(InputError, match="'b' lies on another grid than 'a'"):
        wb.grid_areas(both)


def test_longitudes_beyond_180_are_said_to_be_that():
    there = coarse(size=0.5).rio.write_crs("EPSG:4326").assign_coords(
        x=250.25 + 0.5 * np.arange(6), y=39.0 - 0.5 * np.arange(6))
    height = fine(size=0.125).rio.write_crs("EPSG:4326").assign_coords(
        x=-109.95 + 0.125 * np.arange(24), y=39.2 - 0.125 * np.arange(24))
    with pytest.raises(InputError, match="longitudes run from 0 to 360.*take 360 off"):
        wb.bag_polygons(wb.grid_areas(there), height, "uniform", "temperature", aggregation="mean")
