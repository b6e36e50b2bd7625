"""Positives out of trials of which the fine truth is known: with a nugget of individuals or none.

    python benchmarks/shares.py       # some minutes; writes data/results/shares.csv

The first year of each grouping of `panels` as a survey in which everybody was asked: non-white
mothers and infants who died among births in the counties of North Carolina, victims of homicide
among residents about St. Louis, households of one person and of foreigners among those of Korea's
neighbourhoods, residents of 80 years or more among those of Italy's comuni. The map is of place;
areas keep effects. "learnt" has the nugget that is the default, "none" has ``nugget=0``. Scores are
of shares of individuals: draws of `Fit.at` with the binomial noise of as many as live there;
``split`` has the area's share everywhere, with that noise. A case whose package is absent is left
out with a word. One thread.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import scoringrules
import torch
import typer
import xarray as xr
from panels import cases

import workbench as wb
from workbench.checks import InputError
from workbench.evaluation.calibration import covered_by_pit, pit

RESULTS = Path(__file__).parents[1] / "data" / "results" / "shares.csv"
MODELS = {"learnt": {}, "none": {"nugget": 0.0}}
DRAWS = 1_000
LEVELS = (0.5, 0.8, 0.95)


def first_year(panel: xr.Dataset) -> xr.Dataset:
    """A panel's first year, its counts as positives out of all who live there."""
    ds = wb.at_period(panel, panel["period"].values[0]).isel(covariate=slice(0, 0))
    people = np.bincount(ds["membership"], ds["weight"])
    value = ds["value"].assign_attrs(aggregation="mean", units="positives")
    return ds.drop_vars(["area", "period"], errors="ignore").assign(
        value=value, trials=("bag", people.round(), {"units": "trials"}))


def scores(share: np.ndarray, ds: xr.Dataset) -> dict[str, float]:
    """Of draws of shares (draws, individuals), with the noise of as many as live there."""
    people = ds["weight"].values.round().astype(int)
    truth = ds["individual_value"].values / ds["weight"].values
    drawn = np.random.default_rng(1).binomial(people, np.clip(share, 0, 1)) / people
    found = {"RMSE": float(np.sqrt(np.mean((drawn.mean(0) - truth) ** 2))),
             "CRPS": float(scoringrules.crps_ensemble(truth, drawn.T).mean())}
    covered = covered_by_pit(pit(truth, drawn), LEVELS).mean(1)       # counts are discrete
    return found | {f"cover {100 * level:.0f}%": float(one)
                    for level, one in zip(LEVELS, covered, strict=True)}


def rows(only: str) -> Iterator[dict[str, object]]:
    """All models of all cases whose names hold ``only``."""
    for (name, way), loader in cases().items():
        if only not in name:
            continue
        try:
            ds = first_year(loader())
        except (InputError, ImportError) as error:
            print(f"{name} is left out: {error}")
            continue
        about = {"case": name, "way": way, "areas": ds.sizes["bag"],
                 "individuals": ds.sizes["individual"]}
        blind = ds.drop_vars("individual_value")
        for nugget, options in MODELS.items():
            began = time.process_time()
            fit = wb.VBAgg(kernel="matern32(place)", **options).fit(blind)
            share = fit.at(blind).sample(DRAWS).values
            known = {key: one["value"] for key, one in fit.hyperparameters.items()}
            yield {**about, "model": nugget, **scores(share, ds),
                   "nugget": known.get("nugget.std", 0.0),
                   "effect": known["persistent.variance"]**0.5,
                   "processor seconds": time.process_time() - began}
        own = (ds["value"] / ds["trials"]).values[ds["membership"]]
        yield {**about, "model": "split", **scores(np.tile(own, (DRAWS, 1)), ds)}


def main(only: str = "") -> None:
    """Print the table; store it if all cases were run, and none was left out."""
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    found = []
    for row in rows(only):
        found.append(row)
        print(pd.Series(row).to_frame().T.to_string(header=len(found) == 1), flush=True)
    table = pd.DataFrame(found)
    if len(table[["case", "way"]].drop_duplicates()) == len(cases()):
        table.to_csv(RESULTS, index=False, float_format="%.4g")


if __name__ == "__main__":
    typer.run(main)
