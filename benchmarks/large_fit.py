"""Learning from rasters larger than memory: peak memory and time against the number of pixels.

    python benchmarks/large_fit.py                      # 1, 4 and 10 million pixels

Counts of 1,000 square pixels for an area, from four covariates as tiled GeoTIFFs and a smooth term
that no covariate knows. Areas are bagged in parts of 100 and condensed to 10 clusters, VBAgg learns
from these, and the map is made at 40,000 pixels, whose true rates are known. With ``--whole`` the
same from all pixels in memory. Each run is a process of its own on one thread. Writes
data/results/large_fit.csv.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import typer

RESULTS = Path(__file__).parents[1] / "data" / "results" / "large_fit.csv"
SIZES, WHOLE = (1_000_000, 4_000_000, 10_000_000), (1_000_000,)
NAMES, CRS, PIXEL, SIDE, IN_AREA = ("height", "rain", "light", "slope"), "EPSG:3035", 100.0, 512, 32
MOST, AT_ONCE, INDUCING, WINDOWS = 10, 100, 100, 40
#: What the rate depends on: covariates, and waves over place as long as a third of the map.
SLOPES, MEAN, WAVES = (0.6, -0.4, 0.0, 0.2), -2.5, 0.4


def main(pixels: list[int] = typer.Option(list(SIZES)), whole: bool = False, folder: str = "",
         store: bool = True) -> None:
    """Measure every size in a fresh process; print the table and store it."""
    if folder:
        print(json.dumps(one(pixels[0], whole, Path(folder))))
        return
    rows = []
    for size in pixels:
        with tempfile.TemporaryDirectory() as scratch:
            made = make(size, Path(scratch))
            for way in (False, True):
                if way and not whole and size not in WHOLE:
                    continue
                command = [sys.executable, __file__, "--pixels", str(made), "--folder", scratch]
                out = subprocess.run(
                    command + ["--whole"] * way, check=True, stdout=subprocess.PIPE, text=True,
                    env=os.environ | {"OMP_NUM_THREADS": "1", "GDAL_CACHEMAX": "64"}).stdout
                rows.append(json.loads(out.strip().splitlines()[-1]))
                print(pd.DataFrame(rows).round(3).to_string(index=False), flush=True)
    table = pd.DataFrame(rows)
    if store:
        if RESULTS.is_file():
            old = pd.read_csv(RESULTS)
            new = set(zip(table["pixels"], table["way"], strict=True))
            again = [key in new for key in zip(old["pixels"], old["way"], strict=True)]
            table = pd.concat([old[~np.array(again)], table])
        table.sort_values(["way", "pixels"]).to_csv(RESULTS, index=False, float_format="%.6g")


def make(pixels: int, folder: Path) -> int:
    """Rasters and areas with counts; how many pixels they have."""
    import geopandas
    import rasterio
    import shapely

    across = round(pixels**0.5 / IN_AREA)
    side = across * IN_AREA
    totals = np.zeros((across, across))
    files = [rasterio.open(
        folder / f"{name}.tif", "w", driver="GTiff", height=side, width=side, count=1,
        dtype="float32", crs=CRS, transform=rasterio.Affine(PIXEL, 0, 0, 0, -PIXEL, 0),
        tiled=True, blockxsize=SIDE, blockysize=SIDE) for name in NAMES]
    for top in range(0, side, SIDE):            # a row of blocks at a time
        rows = np.arange(top, min(top + SIDE, side))
        layers = covariates(rows[:, None] / side, np.arange(side) / side)
        for file, layer in zip(files, layers, strict=True):
            file.write(layer.astype(np.float32), 1, window=rasterio.windows.Window(
                0, top, side, len(rows)))
        rate = rate_at(layers, rows[:, None] / side, np.arange(side) / side)
        blocks = rate.reshape(len(rows), across, IN_AREA).sum(2)
        np.add.at(totals, rows // IN_AREA, blocks)
    for file in files:
        file.close()
    length = IN_AREA * PIXEL
    boxes = [shapely.box(k * length, -(m + 1) * length, (k + 1) * length, -m * length)
             for m in range(across) for k in range(across)]
    cases = np.random.default_rng(0).poisson(totals.ravel())
    geopandas.GeoDataFrame({"cases": cases}, geometry=boxes, crs=CRS).to_file(
        folder / "areas.gpkg")
    return side * side


def covariates(row: np.ndarray, column: np.ndarray) -> list[np.ndarray]:
    """Waves of several lengths, the shortest of a few pixels, of places from 0 to 1."""
    return [np.sin((3 + 40 * k) * row + k) + np.cos((5 + 60 * k) * column * (1 + row))
            for k in range(len(NAMES))]


def rate_at(layers: list[np.ndarray], row: np.ndarray, column: np.ndarray) -> np.ndarray:
    """Cases of a pixel that are expected."""
    known = sum(slope * layer for slope, layer in zip(SLOPES, layers, strict=True))
    return np.exp(MEAN + known + WAVES * np.sin(2 * np.pi * 3 * row) * np.cos(
        2 * np.pi * 2 * column))


def one(pixels: int, whole: bool, folder: Path) -> dict:
    """Bag, learn and map what is in a folder."""
    import torch

    import workbench as wb

    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    rasters = {name: str(folder / f"{name}.tif") for name in NAMES}
    given = str(folder / "areas.gpkg"), rasters, "uniform", "cases"
    import workbench.geo
    import workbench.labelled.classes.vbagg

    start_gib, marks = _peak(), [_clock()]
    ds = (wb.bag_polygons(*given) if whole else
          wb.bag_in_parts(*given, most=MOST, at_once=AT_ONCE))
    marks, bag_gib = [*marks, _clock()], _peak()
    fit = wb.VBAgg(kernel="linear+matern32(coordinates)", inducing=INDUCING, compress=MOST).fit(ds)
    marks, fit_gib = [*marks, _clock()], _peak()
    error, covered = scores(fit, rasters, round(pixels**0.5))
    bagging, learning = (np.subtract(after, before) for before, after in
                         zip(marks, marks[1:], strict=False))
    return {"pixels": pixels, "areas": ds.sizes["bag"], "way": "whole" if whole else "in parts",
            "individuals": ds.sizes["individual"], "bag_seconds": bagging[0],
            "bag_processor": bagging[1], "fit_seconds": learning[0],
            "fit_processor": learning[1], "start_gib": start_gib, "bag_gib": bag_gib - start_gib,
            "fit_gib": fit_gib - start_gib, "log_rate_rmse": error, "coverage_95": covered,
            "evaluations": len(fit.history), "converged": fit.converged}


def scores(fit, rasters: dict, side: int) -> tuple[float, float]:
    """RMSE of the log rate, and coverage of its 95 % intervals, in windows all over the map."""
    import workbench as wb

    raster = wb.open_rasters(rasters, chunks=SIDE)
    size, found = 32, []
    for row, column in np.random.default_rng(1).integers(0, side - size, (WINDOWS, 2)):
        part = raster.isel(y=slice(row, row + size), x=slice(column, column + size))
        maps = fit.map_over(part, quantiles=(0.025, 0.5, 0.975)).compute()
        rows, columns = np.arange(row, row + size)[:, None] / side, np.arange(
            column, column + size) / side
        truth = rate_at(covariates(rows, columns), rows, columns)
        low, middle, high = (maps["rate_quantile"].sel(quantile=q).values
                             for q in (0.025, 0.5, 0.975))
        found.append((np.square(np.log(middle / truth)).mean(),
                      ((low <= truth) & (truth <= high)).mean()))
    error, covered = np.mean(found, 0)
    return float(error**0.5), float(covered)


def _clock() -> tuple[float, float]:
    return time.perf_counter(), time.process_time()


def _peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


if __name__ == "__main__":
    typer.run(main)
