"""Files as an analyst has them: areas, rasters, tables; and the command line in this process."""

from pathlib import Path

import geopandas as gpd
import numpy as np
import pandas as pd
import rioxarray  # noqa: F401 (registers .rio)
import shapely
import xarray as xr
from rasterio.transform import from_origin
from typer.testing import CliRunner

from workbench.cli import app

CRS = "EPSG:32633"
ROWS, COLUMNS = 12, 12          # pixels of 1 km
SIDE = 4                        # areas each way


def grid(values, name: str = "raster", cell: float = 1000.0, crs: str | None = CRS,
         origin: tuple[float, float] = (500_000.0, 5_012_000.0)) -> xr.DataArray:
    """A north-up raster (y, x) from its north-west corner."""
    values = np.asarray(values, dtype=float)
    rows, columns = values.shape
    made = xr.DataArray(values, dims=("y", "x"), name=name, coords={
        "y": origin[1] - cell * (np.arange(rows) + 0.5),
        "x": origin[0] + cell * (np.arange(columns) + 0.5)})
    made = made.rio.write_transform(from_origin(*origin, cell, cell))
    return made.rio.write_crs(crs) if crs else made


def height(seed: int = 0) -> xr.DataArray:
    """A smooth covariate with some noise on it."""
    rng = np.random.default_rng(seed)
    north, east = np.mgrid[:ROWS, :COLUMNS]
    return grid(np.sin(north / 3) + east / 6 + rng.normal(0, 0.2, (ROWS, COLUMNS)), "height")


def people(seed: int = 1) -> xr.DataArray:
    """Persons per pixel."""
    return grid(np.random.default_rng(seed).integers(50, 400, (ROWS, COLUMNS)), "people")


def areas(**columns) -> gpd.GeoDataFrame:
    """Sixteen square areas of nine pixels with the ids 01001 to 04004."""
    side = COLUMNS // SIDE * 1000
    row, column = np.divmod(np.arange(SIDE**2), SIDE)
    west, south = 500_000 + side * column, 5_000_000 + side * row
    ids = [f"0{r + 1}00{c + 1}" for r, c in zip(row, column, strict=True)]
    return gpd.GeoDataFrame({"code": ids} | columns,
                            geometry=shapely.box(west, south, west + side, south + side), crs=CRS)


def table(seed: int = 2) -> pd.DataFrame:
    """Counts, positives and how many were tested, by code."""
    rng = np.random.default_rng(seed)
    tested = rng.integers(30, 90, SIDE**2)
    return pd.DataFrame({"code": areas()["code"], "cases": rng.integers(3, 40, SIDE**2),
                         "positive": rng.binomial(tested, 0.3), "tested": tested,
                         "region": np.repeat(["south", "north"], SIDE**2 // 2)})


def kit(folder: Path) -> Path:
    """All of it as files."""
    height().rio.to_raster(folder / "height.tif")
    people().rio.to_raster(folder / "people.tif")
    areas().to_file(folder / "areas.gpkg")
    areas(**table().drop(columns="code")).to_file(folder / "full.gpkg")
    table().to_csv(folder / "totals.csv", index=False)
    return folder


def workbench(*arguments: object):
    """Run a command in this process."""
    return CliRunner().invoke(app, [str(a) for a in arguments])


def mapped(out: Path, *arguments: object):
    """A map that a short fit writes, read again; the command must have gone well."""
    from workbench import geo

    done = workbench("disaggregate", *arguments, "--quiet", "--model", "vbagg", "--max-steps", 5,
                     "--inducing", 12, "--out", out)
    assert done.exit_code == 0, (done.output, done.stderr, done.exception)
    return geo.read(out)


def refusal(*arguments: object) -> str:
    """What a command says that refuses its input."""
    done = workbench("disaggregate", *arguments, "--out", "never.nc")
    assert done.exit_code == 2, (done.output, done.exception)
    return done.stderr
