"""Processor time beside other libraries, in turns within one process.

    python benchmarks/peers.py                        # all cases, five turns each: half an hour
    python benchmarks/peers.py --cases summaries --turns 3

Medians of the processor's seconds, one thread, ours and theirs by turns, and the ratio of the two;
each case warmed up once on little data. Writes data/results/peers.csv with facts of the machine.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import platform
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import rival_maps
import torch
import typer

RESULTS = Path(__file__).parents[1] / "data" / "results" / "peers.csv"
CRS = "EPSG:32638"


def summaries(areas: int) -> tuple[str, str, Callable, Callable, Callable]:
    """A GP on summaries: hyperparameters learnt, mean and sd at 2,500 places."""
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import ConstantKernel, Matern
    from summaries import table

    import workbench as wb

    frame, side = table(areas), np.linspace(1, 99, 50)
    ds = wb.from_summaries(frame, "mean", "n", x="x", y="y", variance="s2")
    grid = pd.DataFrame({"x": np.repeat(side, 50), "y": np.tile(side, 50), "n": 1, "mean": 0.0})
    places = wb.from_summaries(grid, "mean", "n", x="x", y="y")
    pooled = float((frame["n"] * frame["s2"]).sum() / frame["n"].sum())
    z, new, mean = frame[["x", "y"]].values, grid[["x", "y"]].values, frame["mean"].values
    truth = np.sin(new[:, 0] / 8) * np.cos(new[:, 1] / 11) + 0.02 * new[:, 0]

    def ours():
        latent = wb.QuasiLikelihoodGP(kernel="matern52").fit(ds).latent(places)
        return latent.mean.values, latent.std.values

    def theirs():
        kernel = ConstantKernel(1.0) * Matern(10.0, nu=2.5)
        fit = GaussianProcessRegressor(kernel, alpha=pooled / frame["n"].values).fit(
            z, mean - mean.mean())
        found, std = fit.predict(new, return_std=True)
        return found + mean.mean(), std

    return (f"GP on {areas:,} summaries, fit and map", "scikit-learn", ours, theirs,
            lambda found: float(np.sqrt(np.mean((found[0] - truth) ** 2))))


def bagging(side: int, areas: int) -> tuple[str, str, Callable, Callable, Callable]:
    """Pixels into areas: which pixels, what fraction of each, and the values of two rasters."""
    import exactextract
    import geopandas
    import rasterio
    import shapely

    import workbench as wb

    folder = Path(tempfile.mkdtemp())
    rng = np.random.default_rng(0)
    transform = rasterio.Affine(1, 0, 0, 0, -1, side)
    for name in ("height", "people"):
        with rasterio.open(folder / f"{name}.tif", "w", driver="GTiff", height=side, width=side,
                           count=1, dtype="float32", crs=CRS, transform=transform) as file:
            file.write(rng.uniform(1, 2, (side, side)).astype("float32"), 1)
    cells = int(areas**0.5)
    cuts = np.linspace(0, side, cells + 1) + np.r_[0, rng.uniform(-0.4, 0.4, cells - 1), 0]
    frame = geopandas.GeoDataFrame(
        {"code": [f"a{i}" for i in range(cells**2)], "cases": rng.poisson(20, cells**2)},
        geometry=[shapely.box(*box) for box in
                  ((cuts[i], cuts[j], cuts[i + 1], cuts[j + 1])
                   for j in range(cells) for i in range(cells))], crs=CRS)
    rasters = [str(folder / "height.tif"), str(folder / "people.tif")]

    def ours():
        ds = wb.bag_polygons(frame, rasters[0], rasters[1], "cases", id="code")
        return float(ds["weight"].sum())

    def theirs():
        found = exactextract.exact_extract(
            rasters, frame, ["cell_id", "coverage", "values"], output="pandas")
        name = next(one for one in found.columns if one.startswith("people") and "values" in one)
        cover = next(one for one in found.columns if "coverage" in one)
        return float(sum((v * c).sum() for v, c in zip(found[name], found[cover], strict=True)))

    return (f"bagging {side**2:,} pixels by {cells**2:,} areas", "exactextract", ours, theirs,
            lambda found: found)


CASES = {"summaries": [lambda n=n: summaries(n) for n in (300, 1_000, 2_000)],
         "bagging": [lambda: bagging(1_000, 1_000), lambda: bagging(3_163, 10_000)],
         "maps": [rival_maps.kriging, rival_maps.smooth, rival_maps.masked]}


#: What warms a case up.
SMALL = {"summaries": lambda: summaries(50), "bagging": lambda: bagging(50, 16)}


def measured(case: tuple, turns: int) -> Iterator[dict]:
    """One row: medians over turns of ours and theirs, and what each found."""
    task, peer, ours, theirs, score = case
    seconds: dict[str, list[float]] = {"ours": [], "theirs": []}
    scores = {}
    for _ in range(turns):
        for name, call in (("ours", ours), ("theirs", theirs)):
            began = time.process_time()
            found = call()
            seconds[name].append(time.process_time() - began)
            scores[name] = score(found)
    ratios = np.array(seconds["theirs"]) / np.array(seconds["ours"])
    yield {"task": task, "peer": peer, "turns": turns, "ours": np.median(seconds["ours"]),
           "theirs": np.median(seconds["theirs"]), "ratio": np.median(ratios),
           "least": ratios.min(), "most": ratios.max(), "found, ours": scores["ours"],
           "found, theirs": scores["theirs"]}


def main(cases: str = "summaries,bagging", turns: int = 5) -> None:
    """Measure the named cases and store the table."""
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    facts = {"machine": platform.machine(), "processors": os.cpu_count(),
             "python": platform.python_version(), "torch": torch.__version__}
    rows = []
    for name in cases.split(","):
        list(measured(SMALL.get(name, CASES[name][-1])(), 1))
        for make in CASES[name]:
            for row in measured(make(), turns):
                rows.append(row | {"load": os.getloadavg()[0]} | facts)
                print(pd.Series(rows[-1]).to_string(), flush=True)
    found = pd.DataFrame(rows)
    if RESULTS.exists():
        old = pd.read_csv(RESULTS)
        found = pd.concat([old[~old["task"].isin(found["task"])], found])
    found.to_csv(RESULTS, index=False, float_format="%.4g")


if __name__ == "__main__":
    typer.run(main)
