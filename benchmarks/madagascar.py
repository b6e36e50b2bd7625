"""Madagascar malaria from the command line: time, memory, held-out districts, published slopes.

    WORKBENCH_DATA=... python benchmarks/madagascar.py             # all three parts
    WORKBENCH_DATA=... python benchmarks/madagascar.py --part cost

Parts: ``cost`` runs the command line in a fresh process and reports wall time and peak memory;
``slopes`` puts linear + Matérn beside the published table; ``scores`` cross-validates every model
with each overdispersion choice over ten folds of held-out districts.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd
import torch
import typer
import xarray as xr

import workbench as wb
from workbench.datasets.downloads import locate
from workbench.datasets.madagascar import SHA256

RESULTS = Path(__file__).parents[1] / "data" / "results"
# Nandi et al. 2023, J. Stat. Softw. 106(11): Laplace (TMB) and MCMC (tmbstan), mean (sd).
PAPER = {
    "intercept": ((-3.20, 0.27), (-3.23, 0.31)),
    "Elevation": ((-0.47, 0.20), (-0.47, None)),
    "EVI": ((0.39, 0.22), (0.41, None)),
    "LSTmean": ((0.21, 0.29), (0.21, None)),
    "log tau_u": ((0.98, 0.27), (0.92, None)),
    "log sigma": ((-0.002, 0.166), (0.07, 0.20)),
    "log rho": ((0.63, 0.33), (0.82, 0.35)),
}
PAPER_SECONDS = {"TMB": 56, "MCMC": 74 * 3600}
KERNEL = "linear+matern32"
CANDIDATES = {
    f"{model}-{link}, {name}": (model, dict(link=link, kernel=KERNEL, **options))
    for model, links in (("centre-point", ("exp",)), ("vbagg", ("exp", "square")))
    for link in links
    for name, options in {
        "Poisson alone": dict(overdispersion="none", nugget=0.0),
        "area effect": dict(overdispersion="area", nugget=0.0),
        "negative binomial": dict(likelihood="negative-binomial"),
    }.items()
}


def command(folder: Path, out: Path) -> list[str]:
    """The command line whose cost is measured."""
    rasters = [part for name in ("EVI", "Elevation", "LSTmean")
               for part in ("--covariates", str(folder / f"{name}.tif"))]
    return [
        sys.executable, "-m", "workbench", "disaggregate", "--polygons",
        str(folder / "mdg_shapes.shp"), "--value", "inc", *rasters, "--weight",
        str(folder / "population.tif"), "--model", "vbagg", "--link", "exp", "--kernel", KERNEL,
        "--overdispersion", "area", "--nugget", "0", "--out", str(out), "--quiet",
    ]


def cost(folder: Path, repeats: int = 3) -> None:
    """Wall time and peak memory of the whole command in a fresh process."""
    times = []
    with tempfile.TemporaryDirectory() as scratch:
        for _ in range(repeats):
            started = time.perf_counter()
            subprocess.run(command(folder, Path(scratch) / "map.nc"), check=True,
                           stdout=subprocess.DEVNULL)
            times.append(time.perf_counter() - started)
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    print(f"wall time of {repeats} runs: {', '.join(f'{t:.1f}' for t in times)} s; "
          f"peak memory {peak:.0f} MiB; {os.cpu_count()} cores; "
          f"published: TMB {PAPER_SECONDS['TMB']} s, MCMC 74 h (other machines)")


def slopes(ds: xr.Dataset) -> None:
    """Linear + Matérn with area effect beside the published estimates."""
    fit = wb.VBAgg(kernel=f"constant+{KERNEL}", overdispersion="area", nugget=0.0,
                   compress=0).fit(ds)
    found = fit.coefficients()
    values = {name: entry["value"] for name, entry in fit.hyperparameters.items()}
    constant = found.sel(coefficient="constant.intercept")
    ours = {"intercept": (values["mean"] + float(constant["mean"]), float(constant["std"]))}
    for name in ("Elevation", "EVI", "LSTmean"):
        row = found.sel(coefficient=f"linear.{name}")
        ours[name] = (float(row["mean"]), float(row["std"]))
    ours["log tau_u"] = (-2 * np.log(values["area.std"]), np.nan)
    ours["log sigma"] = (0.5 * np.log(values["matern32.variance"]), np.nan)
    ours["log rho"] = (np.log(np.sqrt(8 * 1.5) * values["matern32.lengthscale"]), np.nan)
    rows = [
        dict(parameter=name, ours=f"{ours[name][0]:.2f} ({ours[name][1]:.2f})",
             TMB=f"{tmb[0]} ({tmb[1]})", MCMC=f"{mcmc[0]}")
        for name, (tmb, mcmc) in PAPER.items()
    ]
    result = pd.DataFrame(rows).set_index("parameter")
    result.to_csv(RESULTS / "madagascar_slopes.csv")
    print(fit.summary(), "\n\n", result.to_string(), sep="")


def scores(ds: xr.Dataset, folds: int, samples: int, only: str, resume: str) -> None:
    """Held-out districts: ten random folds, every model, the constant beside it.

    Rows are put into the stored table by name, so that parts of it can be run side by side; folds
    that the folder ``resume`` holds are not computed again.
    """
    candidates = {"constant, " + name: wb.Constant(**options) for name, options in {
        "Poisson alone": dict(overdispersion="none", nugget=0.0),
        "area effect": dict(overdispersion="area", nugget=0.0),
        "negative binomial": dict(likelihood="negative-binomial")}.items()}
    candidates |= {name: wb.make_model(kind, **options)
                   for name, (kind, options) in CANDIDATES.items()}
    candidates |= {"auto, quick": wb.Auto(effort="quick", workers=1), "auto": wb.Auto()}
    candidates = {name: model for name, model in candidates.items() if only in name}
    result = wb.cross_validate(candidates, ds, folds=folds, seed=0, samples=samples, progress=True,
                               resume=resume or None)
    table = wb.table(result).drop("constant")
    stored = RESULTS / "madagascar_scores.csv"
    if stored.exists():
        before = pd.read_csv(stored, index_col=0)
        table = pd.concat([before.drop(table.index, errors="ignore"), table])
    table.to_csv(stored)
    print(table.to_string())


def main(part: str = "all", threads: int = 2, folds: int = 10, samples: int = 2000,
         only: str = "", resume: str = "") -> None:
    """Run one part, or all."""
    torch.set_num_threads(threads)
    RESULTS.mkdir(parents=True, exist_ok=True)
    if part in ("all", "cost"):
        cost(locate("madagascar", SHA256, None))
    if part == "cost":
        return
    ds = wb.load("madagascar")
    if part in ("all", "slopes"):
        slopes(ds)
    if part in ("all", "scores"):
        scores(ds, folds, samples, only, resume)


if __name__ == "__main__":
    typer.run(main)
