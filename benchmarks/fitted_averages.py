"""`VBAgg` learnt with inducing variables at points, and with averages over areas for them.

    WORKBENCH_DATA=... python benchmarks/fitted_averages.py     # ten minutes; writes its csv

Area means of which the values inside the areas are known, those of ``benchmarks/means.py``, and
the counts that four of them are made of, by `VBAgg` without options but the link: ``held`` has
k-means++ seeds, as many as `VBAgg` takes by itself, ``averages`` has averages over areas. Unlike in
``averages.csv`` both learn hyperparameters of their own. ``objective`` is a lower bound on the
log evidence with log priors; ``rmse`` is of the individuals' own values, weighted, in standard
deviations of the areas' values, and ``cover`` the share of them in 95 % intervals (of means; those
of counts have noise of their own); ``lengthscale`` is that of the first smooth term. One thread.
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
MEANS, COUNTS = ("exp", "identity"), ("exp",)


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


def rows(only: str) -> Iterator[dict[str, object]]:
    """Both inducing variables under each link, of all cases whose names hold ``only``."""
    for name, kind, ds, own in cases():
        if only not in name:
            continue
        weight, known = ds["weight"].values, np.isfinite(own)
        values = ds["value"].values
        if kind == "counts":
            values = values / np.bincount(ds["membership"], weight)
        for link in MEANS if kind == "means" else COUNTS:
            for where in ("held", "averages"):
                began = time.process_time()
                fit = wb.VBAgg(link=link, inducing_inputs=where).fit(ds)
                seconds = time.process_time() - began
                rate = fit.at(ds)
                missed = (rate.mean.values - own)[known] ** 2
                low, high = (end.values for end in rate.interval(0.95))
                inside = ((low <= own) & (own <= high))[known].mean()
                lengths = [one["value"] for key, one in fit.hyperparameters.items()
                           if key.endswith("lengthscale")]
                yield {"case": name, "kind": kind, "areas": ds.sizes["bag"],
                       "individuals": ds.sizes["individual"], "link": link, "variables": where,
                       "objective": fit.objective,
                       "rmse": np.sqrt(np.average(missed, weights=weight[known])) / values.std(),
                       "cover": inside if kind == "means" else np.nan,
                       "lengthscale": float(np.ravel(lengths[0])[0]), "seconds": seconds}


def main(only: str = "") -> None:
    """Print the table; store it if all cases were run."""
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    found = []
    for row in rows(only):
        found.append(row)
        print(pd.Series(row).to_frame().T.to_string(header=len(found) == 1), flush=True)
    table = pd.DataFrame(found)
    if table["case"].nunique() == len(COUNTED) + len(HOUSES):
        table.to_csv(RESULTS, index=False, float_format="%.5g")


if __name__ == "__main__":
    typer.run(main)
