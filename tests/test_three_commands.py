"""From files to a map and a verdict in three commands, with files made in another way."""

import json
import re

import geopandas as gpd
import numpy as np
import pandas as pd
import pytest
import shapely
import xarray as xr
from rasterio.transform import from_origin

import workbench as wb
from tests.geo.files import workbench

WEST, NORTH, FINE, COARSE = 35.0, -5.0, 0.0125, 0.025      # degrees
ROWS, COLUMNS = 64, 80                                      # fine pixels


def raster(values: np.ndarray, name: str, cell: float) -> xr.DataArray:
    rows, columns = values.shape
    made = xr.DataArray(values, dims=("lat", "lon"), name=name, coords={
        "lat": NORTH - cell * (np.arange(rows) + 0.5), "lon": WEST + cell * (
            np.arange(columns) + 0.5)})
    return made.rename(lat="y", lon="x").rio.write_transform(
        from_origin(WEST, NORTH, cell, cell)).rio.write_crs("EPSG:4326")


@pytest.fixture(scope="module")
def kit(tmp_path_factory):
    """Voronoi districts as GeoJSON, counts in a CSV by code, wetness in NetCDF at half the pixel
    of the people, who are in a GeoTIFF."""
    folder = tmp_path_factory.mktemp("kit")
    rng = np.random.default_rng(4)
    north, east = np.mgrid[:ROWS, :COLUMNS] / 12.0
    wet = np.sin(north) + np.cos(0.7 * east) + 0.1 * rng.normal(size=(ROWS, COLUMNS))
    fine = raster(wet, "wetness", FINE)
    fine.to_dataset().to_netcdf(folder / "wetness.nc", engine="h5netcdf")
    people = rng.integers(20, 400, (ROWS // 2, COLUMNS // 2)).astype(float)
    raster(people, "people", COARSE).rio.to_raster(folder / "people.tif")

    frame = shapely.box(WEST, NORTH - FINE * ROWS, WEST + FINE * COLUMNS, NORTH)
    seeds = shapely.MultiPoint(np.column_stack([
        rng.uniform(WEST, WEST + FINE * COLUMNS, 36),
        rng.uniform(NORTH - FINE * ROWS, NORTH, 36)]))
    cells = [cell.intersection(frame) for cell in shapely.voronoi_polygons(
        seeds, extend_to=frame).geoms]
    codes = [f"0{k + 101}" for k in range(len(cells))]
    areas = gpd.GeoDataFrame({"code": codes}, geometry=cells, crs="EPSG:4326")
    areas.to_file(folder / "districts.geojson")

    block = wet.reshape(ROWS // 2, 2, COLUMNS // 2, 2).mean((1, 3))
    rate = 0.02 * np.exp(0.6 * block)
    y, x = np.mgrid[:ROWS // 2, :COLUMNS // 2]
    points = gpd.GeoDataFrame(geometry=gpd.points_from_xy(
        WEST + COARSE * (x.ravel() + 0.5), NORTH - COARSE * (y.ravel() + 0.5)), crs="EPSG:4326")
    inside = gpd.sjoin(points, areas, predicate="within")["code"]
    expected = pd.Series((rate * people).ravel()[inside.index], index=inside).groupby(level=0).sum()
    pd.DataFrame({"code": codes, "cases": rng.poisson(expected.reindex(codes).fillna(0.0))}
                 ).to_csv(folder / "counts.csv", index=False)
    return folder


@pytest.mark.slow
def test_files_become_a_map_with_a_report_and_a_verdict(kit, tmp_path):
    data = ["--polygons", kit / "districts.geojson", "--totals", kit / "counts.csv",
            "--join", "code", "--value", "cases", "--covariates", kit / "wetness.nc",
            "--weight", kit / "people.tif"]
    made = workbench("check", *data, "--out", tmp_path / "check.json", "--quiet")
    assert made.exit_code == 0, made.output
    found = json.loads((tmp_path / "check.json").read_text())
    assert not [one for one in found["findings"] if one["severity"] == "error"]
    assert "grid-differs" in {one["code"] for one in found["findings"]}     # and says how it is met

    made = workbench("disaggregate", *data, "--model", "vbagg", "--inducing", 30, "--out",
                     tmp_path / "map.nc", "--report", tmp_path / "map.html", "--quiet")
    assert made.exit_code == 0, made.output
    maps = wb.read(tmp_path / "map.nc")
    total = float(pd.read_csv(kit / "counts.csv")["cases"].sum())
    assert float((maps["mean"] * maps["weight"]).sum()) == pytest.approx(total, rel=0.05)
    page = (tmp_path / "map.html").read_text()
    assert "Check of districts.geojson" in page and "counts.csv" in page
    assert not re.search(r'src="http|<script', page)

    made = workbench("compare", *data, "--without", "auto", "--model", "vbagg:inducing=20",
                     "--folds", 3, "--scheme", "random", "--groupings", 1, "--samples", 100,
                     "--out", tmp_path / "verdict.html", "--quiet")
    assert made.exit_code == 0, made.output
    assert "vbagg" in (tmp_path / "verdict.html").read_text()
