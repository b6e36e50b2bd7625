"""Conditional mean processes beside the published recipe: time, evidence and error in one run.

    python benchmarks/cmp.py                          # exact and variational, seed 42; an hour
    python benchmarks/cmp.py --models exact --seeds 42,2
    python benchmarks/cmp.py --models memory          # exact CMP on 50,000 individuals, 500 bags

Each case in a process of its own, one thread. Seconds are of the wall and of the processor. The
evidence is the exact log evidence of CMP at the hyperparameters that a method ends with; both times
hold training and the posterior at all individuals (ours: mean and variance). Ours learns λ, which
the recipe fixes. Writes data/results/cmp.csv.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import torch
import typer

RESULTS = Path(__file__).parents[1] / "data" / "results" / "cmp.csv"
ZERO = {"mean": 0.0}


def ours(kind: str, seed: int) -> dict:
    """Our model of that kind on the swiss roll."""
    import workbench as wb

    ds = wb.load("swiss-roll-heights", seed=seed)
    options = {"kernel": "ard-rbf", "hyperparameters": ZERO}
    model = wb.CMP(**options) if kind == "exact" else wb.VarCMP(inducing=200, **options)
    started, cpu = time.perf_counter(), time.process_time()
    fit = model.fit(ds)
    truth, mean = ds["truth"].values, fit.at(ds).mean.values
    seconds = {"seconds": time.perf_counter() - started, "processor": time.process_time() - cpu}
    evidence = wb.CMP(kernel="ard-rbf").condition(ds, fit.hyperparameters).objective
    return {**seconds, "evidence": evidence, "rmse": rmse(mean, truth), "steps": len(fit.history)}


def published(kind: str, seed: int) -> dict:
    """The published recipe on the same data."""
    import published_cmp

    import workbench as wb

    ds = wb.load("swiss-roll-heights", seed=seed)
    torch.manual_seed(seed)
    x = torch.as_tensor(ds["covariates"].values, dtype=torch.float32)
    heights = torch.as_tensor(ds["mediators"].values, dtype=torch.float32)
    z = torch.as_tensor(ds["value"].values, dtype=torch.float32)
    members = torch.as_tensor(ds["membership"].values)
    steps: list[float] = []

    def each(epoch: int, loss: float) -> None:
        steps.append(loss)
        if epoch % 10 == 0:
            print(f"epoch {epoch} loss {loss:.4f}", file=sys.stderr, flush=True)

    train = published_cmp.exact if kind == "exact" else published_cmp.variational
    started, cpu = time.perf_counter(), time.process_time()
    model, mean = train(x, heights[members], heights, z, each=each)
    seconds = {"seconds": time.perf_counter() - started, "processor": time.process_time() - cpu}
    return {**seconds, "evidence": evidence_of(model, ds),
            "rmse": rmse(mean.numpy(), ds["truth"].values), "steps": len(steps)}


def evidence_of(model, ds) -> float:
    """Exact log evidence at the hyperparameters of the published model, in double precision."""
    import workbench as wb

    return wb.CMP(kernel="ard-rbf").condition(ds, {
        "mean": 0.0, "rbf.variance": float(model.k.outputscale.detach()),
        "rbf.lengthscale": model.k.base_kernel.lengthscale.detach().reshape(-1).tolist(),
        "mediator.rbf.lengthscale": float(model.ell.base_kernel.lengthscale.detach()),
        # W depends on the variance of ℓ over λ alone.
        "ridge": model.ridge / float(model.ell.outputscale.detach()),
        "noise.variance": float(model.noise.detach())}).objective


def memory(bags: int = 500, size: int = 100) -> dict:
    """One evidence with gradients and one posterior of exact CMP: seconds and peak memory."""
    from workbench.gp.data.bags import Bags, Columns, Source, Targets
    from workbench.gp.models.registry import MODELS

    rng = np.random.default_rng(0)
    members = torch.arange(bags).repeat_interleave(size)
    x = torch.as_tensor(rng.normal(size=(bags * size, 3)))
    y = torch.as_tensor(np.sort(rng.normal(size=bags)))[:, None]
    data = Bags(x, members, torch.ones(len(x), dtype=torch.float64), bags,
                Columns(("a", "b", "c")), (), None, y, Columns(("y",)))
    source = Source(data, Targets(torch.as_tensor(rng.normal(size=bags))), "mean", "continuous")
    model = MODELS["cmp"](kernel="ard-rbf")
    state = model.state_type(model, source)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    started = time.perf_counter()
    state.evidence().backward()
    seconds = time.perf_counter() - started
    state.compute_posterior()
    return {"seconds": seconds, "processor": time.process_time(), "bags": bags,
            "individuals": bags * size, "peak GiB": peak(), "before GiB": before}


def rmse(mean: np.ndarray, truth: np.ndarray) -> float:
    """Root mean squared error, in sd of t."""
    return float(np.sqrt(np.mean((mean - truth) ** 2)))


def peak() -> float:
    """Peak memory of this process in GiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def once(case: str) -> dict:
    """One case in this process."""
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    kind, who, seed = case.split(":")
    if kind == "memory":
        return {"kind": kind, "method": who, "seed": 0, **memory()}
    found = (ours if who == "workbench" else published)(kind, int(seed))
    return {"kind": kind, "method": who, "seed": int(seed), **found, "peak GiB": peak()}


def main(models: str = "exact,variational,memory", seeds: str = "42", case: str = "") -> None:
    """Measure each case in a process of its own, and store the table."""
    if case:
        print(json.dumps(once(case)))
        return
    rows = []
    for kind in models.split(","):
        methods = ("workbench",) if kind == "memory" else ("workbench", "published")
        for seed in (["0"] if kind == "memory" else seeds.split(",")):
            for who in methods:
                done = subprocess.run(
                    [sys.executable, __file__, "--case", f"{kind}:{who}:{seed}"],
                    stdout=subprocess.PIPE, text=True, check=True)
                rows.append(json.loads(done.stdout.splitlines()[-1]))
                print(rows[-1], f"load {os.getloadavg()[0]:.1f}", flush=True)
    found, key = pd.DataFrame(rows), ["kind", "method", "seed"]
    if RESULTS.exists():
        old = pd.read_csv(RESULTS)
        again = pd.MultiIndex.from_frame(old[key]).isin(pd.MultiIndex.from_frame(found[key]))
        found = pd.concat([old[~again], found]).sort_values(key)
    found.to_csv(RESULTS, index=False, float_format="%.5g")


if __name__ == "__main__":
    typer.run(main)
