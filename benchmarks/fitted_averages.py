"""`VBAgg` learnt with inducing variables at points, and with averages over areas for them.

    WORKBENCH_DATA=... python benchmarks/fitted_averages.py     # 15 minutes; writes its csv

Area means of which the values inside the areas are known, those of ``benchmarks/means.py``, the
counts that four of them are made of, and counts made of known rates (``made``): the swiss roll, the
simulated country, and tables with two covariates that vary three times as much inside areas as
between them. `VBAgg` without options but the link: ``held`` has k-means++ seeds, as many as `VBAgg`
takes by itself, ``averages`` has averages over areas. Unlike in ``averages.csv`` both learn
hyperparameters of their own. ``objective`` is a lower bound on the log evidence with log priors,
``start`` the same at starting values, where nothing is learnt; ``variables`` are those of the first
smooth term; ``rmse`` is of the individuals' own rates, weighted, in standard deviations of the
areas', and ``cover`` the share of them in 95 % intervals (counts of individuals have noise of their
own and no such share); ``lengthscale`` is that of the first smooth term. One thread.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import torch
import typer
import xarray as xr
from means import COUNTED, HOUSES, counted, houses

import workbench as wb
from workbench.checks import InputError

RESULTS = Path(__file__).parents[1] / "data" / "results" / "fitted_averages.csv"
LINKS = {"means": ("exp", "identity"), "counts": ("exp", "square"), "made": ("exp",)}
#: Areas and individuals of each, and seeds, of tables whose covariates vary inside areas.
INSIDE, SEEDS = ((60, 30), (150, 20)), (0, 1)
SIMULATED = ("swiss-roll", "simulated-country")


def cases() -> Iterator[tuple[str, str, xr.Dataset, np.ndarray]]:
    """Name, kind, data and the individuals' own rates; what is absent is left out with a word."""
    for name in (*COUNTED, *HOUSES):
        try:
            if name in HOUSES:
                yield f"california {name}", "means", *houses(name)
                continue
            ds, own = counted(name)
            yield name, "means", ds, own
            whole = wb.load(name)
            yield name, "counts", whole.drop_vars("individual_value"), own / 100
        except (InputError, ImportError) as error:
            print(f"{name} is left out: {error}")
    for name in SIMULATED:
        ds = wb.load(name)
        yield name, "made", ds.drop_vars(["individual_value", "truth"]), ds["truth"].values
    for areas, individuals in INSIDE:
        for seed in SEEDS:
            yield f"inside {areas} areas, {seed}", "made", *inside(areas, individuals, seed)


def inside(areas: int, individuals: int, seed: int) -> tuple[xr.Dataset, np.ndarray]:
    """Counts by two covariates with sd 1 inside areas and 0.3 between them, and true rates."""
    rng, member = np.random.default_rng(seed), np.repeat(np.arange(areas), individuals)
    x = rng.normal(size=(len(member), 2)) + 0.3 * rng.normal(size=(areas, 2))[member]
    rate = np.exp(-2 + np.sin(1.5 * x[:, 0]) + 0.5 * np.cos(2 * x[:, 1]))
    weight = rng.uniform(25, 75, len(member))
    total = rng.poisson(np.bincount(member, weight * rate)).astype(float)
    return xr.Dataset(
        {"covariates": (("individual", "covariate"), x), "weight": ("individual", weight),
         "membership": ("individual", member),
         "value": ("bag", total, {"kind": "count", "aggregation": "sum", "units": "cases"})},
        coords={"bag": [f"b{k}" for k in range(areas)], "covariate": ["a", "b"]}), rate


def rows(only: str) -> Iterator[dict[str, object]]:
    """Both inducing variables under each link, of all cases whose names hold ``only``."""
    for name, kind, ds, own in cases():
        if only not in name:
            continue
        weight, known = ds["weight"].values, np.isfinite(own)
        values = ds["value"].values
        if kind != "means":
            values = values / np.bincount(ds["membership"], weight)
        for link in LINKS[kind]:
            for where in ("held", "averages"):
                model = wb.VBAgg(link=link, inducing_inputs=where)
                start = model.condition(ds, model.starting_values(ds)).objective
                began = time.process_time()
                fit = model.fit(ds)
                seconds = time.process_time() - began
                rate = fit.at(ds)
                missed = (rate.mean.values - own)[known] ** 2
                low, high = (end.values for end in rate.interval(0.95))
                within = ((low <= own) & (own <= high))[known].mean()
                lengths = {key.removesuffix(".lengthscale"): one["value"]
                           for key, one in fit.hyperparameters.items()
                           if key.endswith(".lengthscale")}
                first, last = fit.inner.state.field.blocks()[next(iter(lengths))]
                yield {"case": name, "kind": kind, "areas": ds.sizes["bag"],
                       "individuals": ds.sizes["individual"], "link": link, "inducing": where,
                       "variables": last - first, "start": start, "objective": fit.objective,
                       "rmse": np.sqrt(np.average(missed, weights=weight[known])) / values.std(),
                       "cover": np.nan if kind == "counts" else within,
                       "lengthscale": float(np.ravel(next(iter(lengths.values())))[0]),
                       "seconds": seconds}


def main(only: str = "") -> None:
    """Print the table; store it if all cases were run."""
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    found = []
    for row in rows(only):
        found.append(row)
        print(pd.Series(row).to_frame().T.to_string(header=len(found) == 1), flush=True)
    table = pd.DataFrame(found)
    made = len(SIMULATED) + len(INSIDE) * len(SEEDS)
    if table["case"].nunique() == len({*COUNTED, *HOUSES}) + made:
        table.to_csv(RESULTS, index=False, float_format="%.5g")


if __name__ == "__main__":
    typer.run(main)
