"""`auto` with averages over areas for inducing variables, with points, and with the best of both.

    python benchmarks/chosen.py     # a quarter of an hour; writes its csv

Counts made of known rates: tables with two covariates that vary three times as much inside areas as
between them (of ``benchmarks/fitted_averages.py``, and of more and larger areas), the swiss roll
and the simulated country. ``best``, as `auto` is, takes for each candidate whichever has the higher
bound at the starting values; ``points`` is the share of the weight that candidates with points
have. ``rmse`` and ``crps`` are of the individuals' true rates, weighted, in their standard
deviations; ``cover`` is the share of these in 95 % intervals. One thread.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pandas as pd
import torch
import typer
import xarray as xr
from fitted_averages import SEEDS, SIMULATED, inside

import workbench as wb
from workbench.evaluation import crps
from workbench.labelled.classes import auto

RESULTS = Path(__file__).parents[1] / "data" / "results" / "chosen.csv"
#: Areas and individuals of each.
INSIDE = ((60, 30), (60, 200), (150, 20), (400, 20))
KINDS, DRAWS = ("averages", "held", "best"), 200


def cases() -> Iterator[tuple[str, xr.Dataset, np.ndarray]]:
    """Name, data and the individuals' true rates."""
    for areas, individuals in INSIDE:
        for seed in SEEDS:
            yield f"inside {areas} x {individuals}, {seed}", *inside(areas, individuals, seed)
    for name in SIMULATED:
        ds = wb.load(name)
        yield name, ds.drop_vars(["individual_value", "truth"]), ds["truth"].values


def rows(only: str) -> Iterator[dict[str, object]]:
    """All kinds of inducing variables, of all cases whose names hold ``only``."""
    for name, ds, own in cases():
        if only not in name:
            continue
        weight, unit = ds["weight"].values, own.std()
        for kind in KINDS:
            began = time.process_time()
            with patch.object(auto, "BEST", kind):
                fit = wb.Auto(workers=1).fit(ds)
            seconds = time.process_time() - began
            rate = fit.at(ds)
            low, high = (end.values for end in rate.interval(0.95))
            missed = np.average((rate.mean.values - own) ** 2, weights=weight)
            draws = rate.sample(DRAWS, seed=0).transpose("sample", ...).values
            points = sum(float(fit.weights.sel(model=name)) for name, one in fit.candidates.items()
                         if one.model.options.inducing_inputs == "held")
            yield {"case": name, "areas": ds.sizes["bag"], "individuals": ds.sizes["individual"],
                   "inducing": kind, "points": points,
                   "rmse": np.sqrt(missed) / unit,
                   "crps": np.average(crps(own, draws), weights=weight) / unit,
                   "cover": ((low <= own) & (own <= high)).mean(), "seconds": seconds}


def main(only: str = "") -> None:
    """Print the table; store it if all cases were run."""
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    found = []
    for row in rows(only):
        found.append(row)
        print(pd.Series(row).to_frame().T.to_string(header=len(found) == 1), flush=True)
    if not only:
        pd.DataFrame(found).to_csv(RESULTS, index=False, float_format="%.4g")


if __name__ == "__main__":
    typer.run(main)
