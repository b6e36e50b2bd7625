"""What coarsen and recover says of each candidate of `wb.Auto`, beside the fine truth.

    python benchmarks/recovery.py                  # writes data/results/recovery.csv
    python benchmarks/recovery.py --only italy

A candidate's recovery error (mean CRPS of square roots of areas' counts, predicted from totals of
merged areas) is taken as `wb.Auto` takes it, with hyperparameters held at those of the fit to the
areas, and with hyperparameters learnt anew from the merged areas. The fine truth, the pinned
deviance of individuals, is what either should rank the candidates by.
"""

from __future__ import annotations

import warnings
from pathlib import Path

import pandas as pd
import typer
import xarray as xr
from cases import CASES, cases_at_hand
from threadpoolctl import threadpool_limits

import workbench as wb
from workbench.evaluation import poisson_deviance, rescale_to_totals
from workbench.labelled.candidates import EFFORTS
from workbench.labelled.weighing import weigh

RESULTS = Path(__file__).parents[1] / "data" / "results" / "recovery.csv"


def rows(ds: xr.Dataset) -> pd.DataFrame:
    """One row for each candidate: its weight, recovery errors and pinned deviance."""
    fit = wb.Auto().fit(ds)
    weight, y = ds["weight"].values, ds["individual_value"].values
    anew = weigh({name: one.model for name, one in fit.candidates.items()}, ds, EFFORTS["normal"],
                 seed=0, workers=2, progress=False, callback=None, values=None)
    found = {}
    for name, one in fit.candidates.items():
        pinned = rescale_to_totals(ds, one.at(ds, area_effect=False).mean.values * weight).values
        found[name] = {
            "pinned deviance": poisson_deviance(y, pinned),
            "error, held": float(fit.recovery["error"].sel(model=name).mean()),
            "error, learnt anew": float(anew.recovery["error"].sel(model=name).mean()),
            "weight": float(fit.weights.sel(model=name)),
            "weight, learnt anew": anew.weights[name],
        }
    return pd.DataFrame(found).T


def main(only: str = "", threads: int = 1) -> None:
    """Print and store the table of the cases whose names hold ``only``."""
    for case, ds in cases_at_hand(only):
        with threadpool_limits(threads), warnings.catch_warnings():
            warnings.simplefilter("ignore")         # of fits to few merged areas
            table = rows(ds)
        print(f"{case}\n{table.round(3).to_string()}\n", flush=True)
        _keep(pd.concat({case: table}, names=["case", "candidate"]))


def _keep(table: pd.DataFrame) -> None:
    """Put rows into the stored table by case, so that parts can be made alone."""
    if RESULTS.exists():
        stored = pd.read_csv(RESULTS, index_col=[0, 1])
        table = pd.concat([stored.drop(index=table.index.levels[0], level=0, errors="ignore"),
                           table])
    order = {case: k for k, case in enumerate(CASES)}
    table = table.sort_index(level=0, key=lambda names: names.map(order), sort_remaining=False,
                             kind="stable")
    table.to_csv(RESULTS, float_format="%.4g")


if __name__ == "__main__":
    typer.run(main)
