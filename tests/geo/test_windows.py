"""Large rasters are read around the areas alone, and areas alone are enough for a map."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

geopandas = pytest.importorskip("geopandas")
rasterio = pytest.importorskip("rasterio")
pytest.importorskip("exactextract")
pytest.importorskip("rioxarray")

from shapely.geometry import box  # noqa: E402

import workbench as wb  # noqa: E402
from workbench.checks import InputError  # noqa: E402
from workbench.geo import windows  # noqa: E402
from workbench.geo.treatments import Record  # noqa: E402
from workbench.geo.windows import Extent, cropped  # noqa: E402

ROWS, COLUMNS = 4_000, 5_000
# Reads and bags in a process of its own: what it grew by is what reading took.
GROWN = r"""
import json, re, sys
import geopandas, rioxarray, exactextract, scipy.ndimage, xarray, numpy
import workbench as wb
from workbench.geo import windows
polygons, covariate, weight, whole = sys.argv[1:]
if whole == "whole":
    windows.LARGE = 10**12
def peak():     # of this program alone: that of getrusage is handed down by the one that started it
    with open("/proc/self/status") as told:
        return int(re.search(r"VmHWM:\s+(\d+) kB", told.read())[1])
before = peak()
ds = wb.bag_polygons(polygons, [covariate], weight, "cases")
grown = (peak() - before) / 1024
print(json.dumps({"MiB": grown, "individuals": ds.sizes["individual"],
                  "weight": float(ds["weight"].sum()), "covariate": float(ds["covariates"].sum()),
                  "treatments": ds.attrs["treatments"]}))
"""


@pytest.fixture(scope="module")
def large(tmp_path_factory) -> Path:
    """Two rasters of twenty million pixels, and twenty areas in a corner of them."""
    folder = tmp_path_factory.mktemp("large")
    rng = np.random.default_rng(0)
    transform = rasterio.Affine(100, 0, 0, 0, -100, 100 * ROWS)
    strip = rng.uniform(1, 9, size=(16, COLUMNS)).astype(np.float32)
    for name in ("elevation", "population"):
        with rasterio.open(folder / f"{name}.tif", "w", driver="GTiff", height=ROWS, width=COLUMNS,
                           count=1, dtype="float32", crs="EPSG:32638", transform=transform,
                           tiled=True, blockxsize=256, blockysize=256) as file:
            for row in range(0, ROWS, 16):
                file.write(strip + row / ROWS, 1,
                           window=rasterio.windows.Window(0, row, COLUMNS, 16))
    areas = [box(2_000 * i, 2_000 * j, 2_000 * (i + 1), 2_000 * (j + 1))
             for j in range(4) for i in range(5)]
    geopandas.GeoDataFrame({"cases": rng.poisson(80, 20)}, geometry=areas,
                           crs="EPSG:32638").to_file(folder / "areas.gpkg")
    return folder


def grown(folder: Path, whole: str) -> dict:
    done = subprocess.run(
        [sys.executable, "-c", GROWN, folder / "areas.gpkg", folder / "elevation.tif",
         folder / "population.tif", whole], capture_output=True, text=True, check=True,
        cwd=Path(__file__).parents[2])
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="peak memory is told by Linux")
def test_areas_in_a_corner_take_the_memory_of_the_corner(large, record_property):
    part, whole = grown(large, "part"), grown(large, "whole")
    record_property("MiB", (part["MiB"], whole["MiB"]))
    print(f"{part['MiB']:.0f} MiB of the window, {whole['MiB']:.0f} MiB of the whole")
    assert part["MiB"] < 150 and whole["MiB"] > 300
    assert part["individuals"] == whole["individuals"] == 8_000
    for name in ("weight", "covariate"):
        assert part[name] == pytest.approx(whole[name], rel=1e-12)
    assert "pixels were read, around the areas" in part["treatments"]
    assert "pixels were read" not in whole["treatments"]


def grid(name="population", first="north") -> xr.DataArray:
    rng = np.random.default_rng(1)
    y, x = 60 - 0.05 * (np.arange(400) + 0.5), 0.05 * (np.arange(400) + 0.5)
    array = xr.DataArray(rng.uniform(1, 9, (400, 400)), dims=("y", "x"), name=name,
                         coords={"y": y, "x": x}).rio.write_crs(4326)
    return array if first == "north" else array.isel(y=slice(None, None, -1))


def corner(crs=4326):
    areas = [box(2 + i, 42 + j, 3 + i, 43 + j) for j in range(2) for i in range(2)]
    return geopandas.GeoDataFrame({"cases": [3, 5, 7, 9]}, geometry=areas, crs=4326).to_crs(crs)


@pytest.mark.parametrize("first", ["north", "south"])
@pytest.mark.parametrize("crs", [4326, 3857])
@pytest.mark.parametrize("stored", ["array", "dataset", "netcdf"])
def test_a_window_changes_no_individual(monkeypatch, tmp_path, first, crs, stored):
    weight, covariate = grid(first=first), grid("elevation", first=first)
    if stored == "dataset":
        weight, covariate = weight.to_dataset(), covariate.to_dataset()
    if stored == "netcdf":
        for array in (weight, covariate):
            array.to_netcdf(tmp_path / f"{array.name}.nc", engine="h5netcdf")
        weight, covariate = (tmp_path / f"{a.name}.nc" for a in (weight, covariate))
    whole = wb.bag_polygons(corner(crs), covariate, weight, "cases")
    monkeypatch.setattr(windows, "LARGE", 100)
    part = wb.bag_polygons(corner(crs), covariate, weight, "cases")
    assert part.attrs["grid_shape"][0] < 200 < whole.attrs["grid_shape"][0]
    # Reprojected borders touch pixels by 1e-14 of them or not at all.
    part, whole = (one.isel(individual=one["weight"].values > 1e-6) for one in (part, whole))
    for name in ("weight", "covariates", "x", "y", "membership"):
        np.testing.assert_allclose(part[name].values, whole[name].values, rtol=1e-6)


def test_a_raster_elsewhere_is_left_to_the_message_that_says_so(monkeypatch):
    monkeypatch.setattr(windows, "LARGE", 100)
    elsewhere = Extent((100.0, 10.0, 101.0, 11.0), "EPSG:4326")
    assert cropped(grid(), elsewhere, None, "population", None) is not None
    assert cropped(grid(), elsewhere, None, "population", None).shape == (400, 400)


@pytest.mark.filterwarnings(
    "ignore::workbench.checks.ConvergenceWarning",
    "ignore::workbench.checks.FitWarning")
def test_areas_alone_make_a_dataset():
    ds = wb.bag_polygons(corner(), value="cases")
    assert ds.sizes["covariate"] == 0 and max(ds.attrs["grid_shape"]) == 100
    assert "no weight was given: every km² counts alike" in ds.attrs["treatments"]
    assert "place alone" in ds.attrs["treatments"]
    assert ds["weight"].attrs["units"] == "km²"
    # An equal-area projection knows the areas on the ground, too.
    ground = corner().to_crs("ESRI:54034").area.sum() / 1e6
    assert float(ds["weight"].sum()) == pytest.approx(ground, rel=1e-3)
    fit = wb.VBAgg(inducing=10, max_steps=3).fit(ds)
    assert np.isfinite(fit.at(ds).mean).all()


@pytest.mark.parametrize("crs", ["EPSG:3857", "EPSG:32631"])
def test_areas_of_pixels_are_those_on_the_ground(crs):
    ds = wb.bag_polygons(corner(crs), value="cases", weight="area")
    assert "outside" not in ds.attrs["treatments"] and ds.attrs["outside_share"] == 0
    ground = corner().to_crs("ESRI:54034").area.sum() / 1e6
    assert float(ds["weight"].sum()) == pytest.approx(ground, rel=2e-3)
    assert "no weight was given" not in ds.attrs["treatments"]


def test_a_weight_that_is_made_lies_on_the_covariate(monkeypatch):
    sea = grid("elevation").copy()
    sea[:, 50:55] = np.nan
    ds = wb.bag_polygons(corner(), sea, "uniform", "cases")
    assert ds.attrs["grid_shape"] == [400, 400]
    assert float(ds["weight"].sum()) == pytest.approx(4 * 400 - 5 * 40, rel=1e-6)
    assert ds["weight"].attrs["units"] == "pixels"
    with pytest.raises(InputError, match="value='...'"):
        wb.bag_polygons(corner(), sea, "uniform")


def test_axes_are_found_by_their_attributes_too(monkeypatch):
    monkeypatch.setattr(windows, "LARGE", 100)
    raster = xr.DataArray(
        np.zeros((300, 400)), dims=("rlat", "rlon"), name="t",
        coords={"rlat": ("rlat", np.arange(300.0), {"standard_name": "grid_latitude"}),
                "rlon": ("rlon", np.arange(400.0), {"axis": "X"})})
    part = cropped(raster, Extent((10, 10, 20, 20), "EPSG:32633"), "EPSG:32633", "t", Record())
    assert part.shape == (85, 85)               # ten pixels and a margin, cut at the corner
