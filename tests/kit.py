"""Data to be written and files to be read: pixels in memory, areas over rasters on disk."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest
import shapely
import xarray as xr

NO_ZARR = "zarr is not installed (pip install 'aggregate-workbench[zarr]')"
needs_zarr = pytest.mark.skipif(importlib.util.find_spec("zarr") is None, reason=NO_ZARR)


def pixels(side: int = 100) -> xr.Dataset:
    """Two areas over a square of pixels with eight numbers each: 80,000 numbers by default."""
    rng = np.random.default_rng(0)
    row, column = np.divmod(np.arange(side * side), side)
    shapes = np.empty(2, dtype=object)
    shapes[:] = [shapely.box(0, side / 2, side, side), shapely.box(0, 0, side, side / 2)]
    return xr.Dataset(
        {f"number{i}": ("individual", rng.normal(size=side * side)) for i in range(8)}
        | {"value": ("bag", [1.0, 2.0])},
        coords={"row": ("individual", row), "column": ("individual", column),
                "bag": ["a", "b"], "bag_geometry": ("bag", shapes)},
        attrs={"crs": "EPSG:32638", "grid_shape": [side, side],
               "grid_transform": [1.0, 0.0, 0.0, 0.0, -1.0, float(side)]})


def write_kit(folder: Path) -> Path:
    """Write twelve areas with columns of their own over rasters of 30 by 40 pixels."""
    import geopandas
    import rasterio

    rng = np.random.default_rng(1)
    transform = rasterio.Affine(10, 0, 0, 0, -10, 300)
    for name, grid in {"height": rng.normal(size=(30, 40)),
                       "people": rng.uniform(50, 150, size=(30, 40))}.items():
        with rasterio.open(folder / f"{name}.tif", "w", driver="GTiff", height=30, width=40,
                           count=1, dtype="float64", crs="EPSG:32638", transform=transform) as file:
            file.write(grid, 1)
    shapes = [shapely.box(100 * i, 100 * j, 100 * (i + 1), 100 * (j + 1)) for j in range(3)
              for i in range(4)]
    geopandas.GeoDataFrame(
        {"code": [f"c{k}" for k in range(12)], "cases": rng.poisson(50, 12),
         "Region": ["north", "south"] * 6, "Value": np.arange(12.0),
         "seen": [k % 2 == 0 for k in range(12)]},
        geometry=shapes, crs="EPSG:32638").to_file(folder / "areas.gpkg", layer="areas")
    return folder


def kit_inputs(folder: Path) -> list[object]:
    """Arguments of ``workbench disaggregate`` for `write_kit`."""
    return ["--polygons", folder / "areas.gpkg", "--value", "cases", "--id", "code",
            "--covariates", folder / "height.tif", "--weight", folder / "people.tif", "--quiet"]
