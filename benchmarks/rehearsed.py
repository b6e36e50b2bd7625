"""Madagascar rehearsed: what intervals and maps of six truths from its own fit are worth.

    WORKBENCH_DATA=... python benchmarks/rehearsed.py      # five minutes

`workbench.rehearse` of VBAgg with slopes and place on 109 districts and 34,181 pixels, with the
default priors and with those of effects and nuggets apart. Each draws its truths at the
hyperparameters fitted under it (``true``). ``cover`` is the share of individuals and areas in 95 %
intervals, with its 95 % Monte Carlo interval; ``skill`` the median over truths by the size of
cells, with quartiles; ``learnt`` the root mean square error of the hyperparameter's logarithm (the
mean: of itself), and its bias as ``lower``. Writes data/results/rehearsed.csv.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import torch
import typer
import xarray as xr

import workbench as wb

RESULTS = Path(__file__).parents[1] / "data" / "results" / "rehearsed.csv"
PRIORS = {"default": {}, "apart": {"priors": {"area.std": "pc:1:0.05"}}}
TRUTHS = 6


def rows(found: xr.Dataset) -> Iterator[tuple]:
    """Part, name, number, value and its ends."""
    at = found.sel(level=0.95)
    for name in found["unit"].values:
        one = at.sel(unit=name)
        yield ("cover", name, "", float(one["coverage"]), float(one["coverage_lower"]),
               float(one["coverage_upper"]))
    for name in found["resolution"].values:
        one = found.sel(resolution=name)
        yield ("skill", name, int(one["cells"]), float(one["skill"]), float(one["skill_lower"]),
               float(one["skill_upper"]))
        yield "reached", name, "", round(float(one["reached"]) * TRUTHS), "", ""
    true = json.loads(str(found["true_hyperparameters"].values[0]))
    for name in found["hyperparameter"].values:
        one = found.sel(hyperparameter=name)
        yield "true", name, "", true[str(name)], "", ""
        yield "learnt", name, "", float(one["rmse"]), float(one["bias"]), ""


def main() -> None:
    """Print and store the table."""
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    ds, tables = wb.load("madagascar"), []
    for priors, options in PRIORS.items():
        found = wb.rehearse(ds, wb.VBAgg(kernel="linear+matern32", **options), truths=TRUTHS)
        print(found.attrs["sentence"], "\n", flush=True)
        tables.append(pd.DataFrame(rows(found), columns=[
            "part", "name", "cells", "value", "lower", "upper"]).assign(priors=priors))
    table = pd.concat(tables)
    print(table.to_string())
    table.to_csv(RESULTS, index=False, float_format="%.4g")


if __name__ == "__main__":
    typer.run(main)
