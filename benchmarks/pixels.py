"""Cost of a fit with learnt hyperparameters against the number of pixels, to the paper's million.

    python benchmarks/pixels.py                     # 10,000 and 100,000 and 1,044,683 pixels
    python benchmarks/pixels.py --pixels 100000
    python benchmarks/pixels.py --compress 10 --overdispersion auto

Law et al. 2018, section 4.3: 957 areas, 1,044,683 pixels, 18 covariates and coordinates, 576
landmarks (one for each training area there), the malaria kernel; Poisson counts as in the paper, or
with the effects of areas and pixels that are the default (``--overdispersion auto``). Each size
runs in a process of its own, so that the peak memory is its own. ``q_on`` is what q was found on:
all pixels, clusters of them, or clusters with the mean rates of their pixels
(`workbench.gp.models.vbagg.correcting`). ``share_of_peak`` is what the matrix products of one
evaluation are of those that this machine could have done in its time: ``peak_gflops`` is that of
one large product alone, in the same process. Writes data/results/pixels.csv.
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

RESULTS = Path(__file__).parents[1] / "data" / "results" / "pixels.csv"
SIZES = (10_000, 100_000, 1_044_683)
TARGET_SECONDS, TARGET_GIB = 10 * 60, 6.0


def one(pixels: int, inducing: int, compress: int, overdispersion: str, threads: int, file: Path,
        make: bool) -> dict:
    """Make and store the country, or fit it: apart, so that memory is that of the fit."""
    import torch

    import workbench as wb

    torch.set_num_threads(threads)
    if make:
        share = pixels / SIZES[-1]
        ds = wb.load(
            "simulated-country", pixels=pixels, districts=957, regions=150, provinces=18,
            smallest=max(2, int(13 * share)), largest=max(60, int(6_667 * share)), covariates=18,
            cell_km=1 / np.sqrt(share))
        wb.write(ds.drop_vars("geometry", errors="ignore"), file)
        return {}
    ds = wb.read(file)
    started = time.perf_counter()
    # one set of landmarks for both terms, as in the paper
    plain = {"overdispersion": "none", "nugget": 0.0} if overdispersion == "none" else {}
    model = wb.VBAgg(kernel="malaria", link="exp", inducing=inducing, layout="joint",
                     compress=compress, **plain)
    fit = model.fit(ds, progress=True)
    fitted = time.perf_counter()
    prediction = fit.at(ds)
    mean, truth = prediction.mean.values, ds["truth"].values
    std = prediction.std.values
    done = time.perf_counter()
    low, high = (bound.values for bound in prediction.interval(0.95))
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20     # before the products
    peak = _peak()
    return {
        "pixels": ds.sizes["individual"], "areas": ds.sizes["bag"], "inducing": inducing,
        "compress": compress, "overdispersion": overdispersion, "threads": threads,
        "q_on": _q_on(fit.inner.state),
        "fit_seconds": fitted - started, "map_seconds": done - fitted,
        "evaluations": len(fit.history), "converged": fit.converged,
        "peak_gib": memory,
        "objective": fit.objective, "log_rate_correlation": float(
            np.corrcoef(np.log(mean), np.log(truth))[0, 1]),
        "coverage_95": float(np.mean((low <= truth) & (truth <= high))),
        "mean_std": float(std.mean()), "peak_gflops": peak,
        "share_of_peak": _products(fit.inner.state) / peak,
    }


def _peak(repeats: int = 20) -> float:
    """Billions of operations a second of a product as those of features with a covariance."""
    import torch

    features = torch.randn(40_000, 576, dtype=torch.float64)
    covariance = torch.randn(576, 576, dtype=torch.float64)
    features @ covariance
    started = time.perf_counter()
    for _ in range(repeats):
        features @ covariance
    return repeats * 2e-9 * features.numel() * 576 / (time.perf_counter() - started)


def _products(state) -> float:
    """Billions of operations a second of matrix products in an evaluation beside the optimum."""
    from torch.utils.flop_counter import FlopCounterMode

    best, q = state.hyperparameters.vector(), (state.field.q_mean, state.field.q_covariance)

    def evaluate() -> None:
        state.hyperparameters.assign(best + 0.02)
        state.restart(*q)
        state.profile().backward()

    with FlopCounterMode(display=False) as counter:
        evaluate()
    started = time.perf_counter()
    evaluate()
    seconds = time.perf_counter() - started
    state.hyperparameters.assign(best)
    state.restart(*q)
    return counter.get_total_flops() / seconds / 1e9


def _q_on(state) -> str:
    """What q was found on."""
    if state.learning is state.geometry or state.fits:
        return "all"
    return "clusters" if state.learning.shift is None else "corrected clusters"


def main(pixels: list[int] = typer.Option(list(SIZES)), inducing: int = 576, compress: int = 40,
         overdispersion: str = "none", threads: int = 2, file: str = "", make: bool = False
         ) -> None:
    """Measure every size in a fresh process; print the table and store it."""
    if file:
        print(json.dumps(one(pixels[0], inducing, compress, overdispersion, threads, Path(file),
                             make)))
        return
    rows = []
    with tempfile.TemporaryDirectory() as scratch:
        for size in pixels:
            stored = str(Path(scratch) / f"{size}.nc")
            for making in (True, False):
                command = [sys.executable, __file__, "--pixels", str(size), "--inducing",
                           str(inducing), "--compress", str(compress), "--threads", str(threads),
                           "--overdispersion", overdispersion, "--file", stored,
                           *(["--make"] if making else [])]
                out = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True,
                                     env=os.environ | {"OMP_NUM_THREADS": str(threads)}).stdout
            rows.append(json.loads(out.strip().splitlines()[-1]))
            table = pd.DataFrame(rows)
            print(table.round(3).to_string(index=False), flush=True)
            _store(table)
    print(f"aims at {SIZES[-1]:,} pixels on two cores: {TARGET_SECONDS} s, {TARGET_GIB} GiB")


def _store(table: pd.DataFrame) -> None:
    if RESULTS.is_file():
        old = pd.read_csv(RESULTS)
        table = pd.concat([old, table]).drop_duplicates(
            ["pixels", "compress", "overdispersion", "inducing", "threads", "q_on"], keep="last")
    table = table.sort_values(["overdispersion", "compress", "pixels"],
                              ascending=[False, True, True])
    table.to_csv(RESULTS, index=False, float_format="%.6g")


if __name__ == "__main__":
    typer.run(main)
