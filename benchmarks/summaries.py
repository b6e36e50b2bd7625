"""Time and memory of a GP on summaries against the number of areas, Cholesky and iterative solvers.

    python benchmarks/summaries.py                  # 1,000 to 10,000 areas
    python benchmarks/summaries.py --areas 1000

Fit (hyperparameters learnt) and prediction of mean and sd at 2,500 places, each in a fresh process.
Seconds are of the wall and of the processor; writes data/results/summaries.csv.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import torch
import typer

RESULTS = Path(__file__).parents[1] / "data" / "results" / "summaries.csv"
CASES = [(1_000, "cholesky"), (1_000, "iterative"), (3_000, "cholesky"), (3_000, "iterative"),
         (10_000, "iterative")]


def table(areas: int, seed: int = 0) -> pd.DataFrame:
    """Means of Normal observations at random centres of a square of side 100."""
    rng = np.random.default_rng(seed)
    x, n = rng.uniform(0, 100, (areas, 2)), rng.integers(1, 60, areas)
    f = np.sin(x[:, 0] / 8) * np.cos(x[:, 1] / 11) + 0.02 * x[:, 0]
    return pd.DataFrame({"x": x[:, 0], "y": x[:, 1], "n": n, "truth": f,
                         "mean": f + rng.normal(0, 1 / np.sqrt(n)),
                         "s2": rng.chisquare(np.maximum(n - 1, 1)) / n})


def once(areas: int, solver: str, threads: int) -> dict:
    """One fit and one map in this process."""
    import workbench as wb

    torch.set_num_threads(threads)
    frame = table(areas)
    ds = wb.from_summaries(frame, "mean", "n", x="x", y="y", variance="s2")
    side = np.linspace(1, 99, 50)
    grid = pd.DataFrame({"x": np.repeat(side, 50), "y": np.tile(side, 50), "n": 1, "mean": 0.0})
    places = wb.from_summaries(grid, "mean", "n", x="x", y="y")
    started, cpu = time.perf_counter(), time.process_time()
    fit = wb.QuasiLikelihoodGP(kernel="matern52", solver=solver).fit(ds)
    fitted, fitted_cpu = time.perf_counter(), time.process_time()
    prediction = fit.latent(places)
    sd = float(prediction.std.mean())
    truth = np.sin(grid["x"] / 8) * np.cos(grid["y"] / 11) + 0.02 * grid["x"]
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    return {"areas": areas, "solver": solver, "threads": threads,
            "fit seconds": fitted - started, "fit processor": fitted_cpu - cpu,
            "map seconds": time.perf_counter() - fitted, "evaluations": len(fit.history),
            "peak GiB": peak, "lengthscale": fit.hyperparameters["matern52.lengthscale"]["value"],
            "rmse": float(np.sqrt(np.mean((prediction.mean.values - truth) ** 2))), "mean sd": sd,
            "converged": fit.converged}


def main(areas: int = 0, threads: int = 1, case: str = "") -> None:
    """Measure each case in a process of its own, and store the table."""
    if case:
        number, solver = case.split(":")
        print(json.dumps(once(int(number), solver, threads)))
        return
    rows, known = [], sorted({number for number, _ in CASES})
    if areas not in (0, *known):
        raise SystemExit(f"no case of {areas} areas; known are {known}, or 0 for all")
    for number, solver in CASES:
        if areas in (0, number):
            done = subprocess.run(
                [sys.executable, __file__, "--case", f"{number}:{solver}", "--threads",
                 str(threads)], capture_output=True, text=True, check=True)
            rows.append(json.loads(done.stdout.splitlines()[-1]))
            print(rows[-1], f"load {os.getloadavg()[0]:.1f}", flush=True)
    found = pd.DataFrame(rows)
    if RESULTS.exists():
        old = pd.read_csv(RESULTS)
        key = ["areas", "solver", "threads"]
        again = pd.MultiIndex.from_frame(old[key]).isin(pd.MultiIndex.from_frame(found[key]))
        found = pd.concat([old[~again], found]).sort_values(key)
    found.to_csv(RESULTS, index=False, float_format="%.4g")


if __name__ == "__main__":
    typer.run(main)
