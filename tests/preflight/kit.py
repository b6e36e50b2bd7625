"""Twelve areas over rasters of 30 by 40 pixels, as files that are right; each test spoils them."""

from __future__ import annotations

import warnings
from pathlib import Path

import geopandas
import numpy as np
import rasterio
import shapely

import workbench as wb

CRS, PIXEL = "EPSG:32638", 10.0


def write_raster(path: Path, values: np.ndarray, crs: str | None = CRS, pixel: float = PIXEL,
                 origin: tuple[float, float] = (0.0, 300.0)) -> Path:
    """Write one band, north up."""
    values = np.asarray(values, dtype=float)
    with rasterio.open(
            path, "w", driver="GTiff", height=values.shape[0], width=values.shape[1], count=1,
            dtype="float64", crs=crs,
            transform=rasterio.Affine(pixel, 0, origin[0], 0, -pixel, origin[1])) as file:
        file.write(values, 1)
    return path


def height(rows: int = 30, columns: int = 40) -> np.ndarray:
    """Rises to the east: from area to area more than inside one."""
    return np.tile(np.arange(columns) * 1.5, (rows, 1)) + 0.01 * np.arange(rows)[:, None]


def slope(rows: int = 30, columns: int = 40) -> np.ndarray:
    """Rises to the north."""
    return np.tile(np.arange(rows)[:, None] * 0.7, (1, columns)) + 0.01 * np.arange(columns)


def people(rows: int = 30, columns: int = 40) -> np.ndarray:
    """From 50 to 150 in a pixel."""
    return np.random.default_rng(1).uniform(50, 150, size=(rows, columns))


def frame(**columns: object) -> geopandas.GeoDataFrame:
    """Twelve squares in three rows, with counts that grow with the people in them."""
    shapes = [shapely.box(100 * i, 100 * j, 100 * (i + 1), 100 * (j + 1)) for j in range(3)
              for i in range(4)]
    cases = 40 + np.random.default_rng(2).integers(0, 25, 12)
    return geopandas.GeoDataFrame(
        {"code": [f"c{k}" for k in range(12)], "cases": cases,
         "region": ["west", "west", "east", "east"] * 3} | columns, geometry=shapes, crs=CRS)


def write_areas(folder: Path, areas: geopandas.GeoDataFrame) -> Path:
    """Write polygons anew."""
    path = folder / "areas.gpkg"
    path.unlink(missing_ok=True)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "'crs' was not provided")     # a fault, and meant
        areas.to_file(path, layer="areas")
    return path


def write_kit(folder: Path) -> dict[str, object]:
    """Write the kit; returns the arguments that read it."""
    return {"data": write_areas(folder, frame()),
            "covariates": [write_raster(folder / "height.tif", height()),
                           write_raster(folder / "slope.tif", slope())],
            "weight": write_raster(folder / "people.tif", people()),
            "value": "cases", "id": "code"}


def checked(arguments: dict[str, object]) -> wb.Check:
    """The check of a kit, with a model whose cost is found at once."""
    return wb.check(**arguments, model=wb.VBAgg(inducing=5))
