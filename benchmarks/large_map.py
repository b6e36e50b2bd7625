"""Maps of rasters larger than memory: peak memory and time against the number of pixels.

    python benchmarks/large_map.py                      # 1 to 100 million pixels: some six minutes

Four covariates as tiled GeoTIFFs, a fit of 100 areas with 50 inducing inputs, blocks of 512 pixels,
two threads. Each size runs in a process of its own: memory is the most that it ever held, less
what it holds once the fit is read. Writes data/results/large_map.csv.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd
import typer

RESULTS = Path(__file__).parents[1] / "data" / "results" / "large_map.csv"
SIZES = (1_000_000, 4_000_000, 16_000_000, 100_000_000)
NAMES, CRS, PIXEL, SIDE = ("height", "rain", "light", "slope"), "EPSG:3035", 100.0, 512


def rasters(side: int, folder: Path) -> dict[str, Path]:
    """Smooth covariates of ``side`` times ``side`` pixels, a tenth of them missing."""
    import rasterio

    paths = {name: folder / f"{name}.tif" for name in NAMES}
    for k, path in enumerate(paths.values()):
        with rasterio.open(
                path, "w", driver="GTiff", height=side, width=side, count=1, dtype="float32",
                nodata=np.nan, crs=CRS, transform=rasterio.Affine(PIXEL, 0, 0, 0, -PIXEL, 0),
                tiled=True, blockxsize=SIDE, blockysize=SIDE) as file:
            for _, window in file.block_windows(1):
                row = np.arange(window.row_off, window.row_off + window.height)[:, None] / side
                column = np.arange(window.col_off, window.col_off + window.width) / side
                values = np.sin((3 + k) * row + k) + np.cos((5 - k) * column * (1 + row))
                values[(values > 1.2) & (row < 0.5)] = np.nan
                file.write(values.astype(np.float32), 1, window=window)
    return paths


def fitted(folder: Path) -> None:
    """A fit of 100 areas, from coarse rasters of the same covariates."""
    import workbench as wb
    from workbench.bagging import assemble

    places = wb.raster_places(rasters(100, folder))
    area = (places["row"].values // 10) * 10 + places["column"].values // 10
    names, members = np.unique(area, return_inverse=True)
    rate = np.exp(0.3 * places["covariates"].values[:, 0])
    value = np.random.default_rng(0).poisson(np.bincount(members, rate)).astype(float)
    ds = assemble(places, members, value, names, value_attrs={
        "aggregation": "sum", "kind": "count", "units": "cases"})
    wb.VBAgg(kernel="linear+rbf", inducing=50).fit(ds).save(folder / "fit.wbfit")


def one(pixels: int, threads: int, folder: Path) -> dict:
    """Map the rasters in a folder."""
    import dask
    import torch

    import workbench as wb

    torch.set_num_threads(1)
    fit = wb.load_fit(folder / "fit.wbfit")
    raster = wb.open_rasters({name: folder / f"{name}.tif" for name in NAMES}, chunks=SIDE)
    before, processor, start = _peak(), time.process_time(), time.perf_counter()
    with dask.config.set(num_workers=threads):
        out = wb.write_blocks(fit.map_over(raster, threshold=1.5), folder / "map.zarr")
    seconds, processor = time.perf_counter() - start, time.process_time() - processor
    after = _peak()
    import xarray as xr

    with xr.open_zarr(out, consolidated=False) as maps:
        assert np.isfinite(maps["mean"][-1].values).all()
    return {"pixels": pixels, "threads": threads, "block": SIDE, "seconds": seconds,
            "processor_seconds": processor, "start_gib": before, "peak_gib": after,
            "map_gib": after - before, "seconds_per_million": seconds / pixels * 1e6,
            "processor_per_million": processor / pixels * 1e6}


def _peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def main(pixels: list[int] = typer.Option(list(SIZES)), threads: int = 2, folder: str = "",
         store: bool = True) -> None:
    """Measure every size in a fresh process; print the table and store it."""
    if folder:
        print(json.dumps(one(pixels[0], threads, Path(folder))))
        return
    rows = []
    for size in pixels:
        with tempfile.TemporaryDirectory() as scratch:
            fitted(Path(scratch))
            side = round(size**0.5)
            rasters(side, Path(scratch))
            command = [sys.executable, __file__, "--pixels", str(side * side), "--threads",
                       str(threads), "--folder", scratch]
            out = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True,
                                 env=os.environ | {
                                     "OMP_NUM_THREADS": "1", "GDAL_CACHEMAX": "64"}).stdout
        rows.append(json.loads(out.strip().splitlines()[-1]))
        table = pd.DataFrame(rows)
        print(table.round(3).to_string(index=False), flush=True)
    if store:
        if RESULTS.is_file():
            old = pd.read_csv(RESULTS)
            table = pd.concat([old[~old["pixels"].isin(table["pixels"])], table])
        table.sort_values("pixels").to_csv(RESULTS, index=False, float_format="%.6g")


if __name__ == "__main__":
    typer.run(main)
