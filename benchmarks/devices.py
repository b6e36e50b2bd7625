"""A fit and a map on a GPU beside the same ones on the cores of its machine.

    python benchmarks/devices.py                    # 10,000, 100,000 and 1,000,000 pixels
    python benchmarks/devices.py --device cpu       # without a GPU: what the script does

957 areas, 18 covariates and coordinates, the malaria kernel, 100 inducing inputs, double precision;
VBAgg learns for five steps from at most 40 clusters of each area, as is the default, and up to
100,000 pixels from all of them, too; then comes the map with its standard deviation. Both devices
have turns, and each its first one untimed; medians of five. Maps are compared at the
hyperparameters of the CPU's. Writes data/results/devices.csv.
"""

from __future__ import annotations

import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import torch
import typer

import workbench as wb

RESULTS = Path(__file__).parents[1] / "data" / "results" / "devices.csv"
SIZES, AREAS, STEPS = (10_000, 100_000, 1_000_000), 957, 5
ALL = 100_000       # pixels up to which a fit to all of them is measured, too


def country(pixels: int):
    """957 areas with counts, in memory."""
    share = pixels / 1_044_683
    return wb.load("simulated-country", pixels=pixels, districts=AREAS, regions=150, provinces=18,
                   smallest=max(2, int(13 * share)), largest=max(60, int(6_667 * share)),
                   covariates=18, cell_km=1 / np.sqrt(share))


def turn(ds, device: str, compress: int) -> dict:
    """One fit and one map: seconds, and what came out."""
    model = wb.VBAgg(kernel="malaria", link="exp", layout="joint", compress=compress,
                     max_steps=STEPS, device=device)
    began = _now(device)
    fit = model.fit(ds)
    fitted = _now(device)
    at = fit.at(ds)
    at.mean, at.std     # noqa: B018  computed here
    return {"fit": fitted - began, "evaluations": len(fit.history), "map": _now(device) - fitted,
            "model": model, "found": fit}


def difference(ds, first: dict, second: dict) -> float:
    """The largest of means and standard deviations, of their own size, at one set of values."""
    given = first["found"].hyperparameters
    maps = [one["model"].condition(ds, given).at(ds) for one in (first, second)]
    return max(float(np.max(np.abs(b - a) / np.abs(a))) for a, b in (
        (maps[0].mean.values, maps[1].mean.values), (maps[0].std.values, maps[1].std.values)))


def main(pixels: list[int] = typer.Option(list(SIZES)), device: str = "cuda", turns: int = 5,
         store: bool = True) -> None:
    """Measure every size, print the table and store it."""
    warnings.simplefilter("ignore")
    name = torch.cuda.get_device_name() if device.startswith("cuda") else device
    ways, rows = {"cpu": "cpu", "gpu": device}, []
    for size in pixels:
        ds = country(size)
        for compress in (40, 0) if size <= ALL else (40,):
            first = {way: turn(ds, on, compress) for way, on in ways.items()}
            done = [{way: turn(ds, on, compress) for way, on in ways.items()} for _ in range(turns)]
            for way in ways:
                rows.append({
                    "pixels": ds.sizes["individual"], "areas": ds.sizes["bag"],
                    "compress": compress, "way": way,
                    "fit_seconds": np.median([one[way]["fit"] for one in done]),
                    "evaluations": first[way]["evaluations"],
                    "map_seconds": np.median([one[way]["map"] for one in done]),
                    "difference": difference(ds, first["cpu"], first[way]),
                    "device": name if way == "gpu" else "cpu",
                    "threads": torch.get_num_threads(), "torch": torch.__version__})
            print(pd.DataFrame(rows).to_string(), flush=True)
            if store:
                pd.DataFrame(rows).to_csv(RESULTS, index=False, float_format="%.4g")


def _now(device: str) -> float:
    if device.startswith("cuda"):
        torch.cuda.synchronize()
    return time.perf_counter()


if __name__ == "__main__":
    typer.run(main)
