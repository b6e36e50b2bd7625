"""Inducing variables: values at points beside averages over areas, at the same hyperparameters.

    WORKBENCH_DATA=... python benchmarks/averages.py    # five minutes; writes averages.csv

Counts of Korea, Italy and the United States, and the same as means under the identity link, with
hyperparameters learnt by averages. ``below`` is how many nats the objective, a lower bound on one
and the same evidence, is below the highest of its case; ``seconds`` are those of the processor for
q and its objective. Datasets are found as `wb.load` finds them.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import torch
import typer
import xarray as xr

import workbench as wb
from workbench.gp.models.options import non_defaults

RESULTS = Path(__file__).parents[1] / "data" / "results" / "averages.csv"
CASES = {"korea, 17 provinces": ("korea", "province"), "us, 48 states": ("us-unemployment", ""),
         "italy, 107 provinces": ("italy", ""), "korea, 250 districts": ("korea", "district")}
VARIABLES = {"points": "held", "averages": "averages"}
COUNTS = (25, 50, 100, 250, 500)


def dataset(name: str, level: str, means: bool) -> xr.Dataset:
    """A case by its name in `wb.load`, as counts or as means per individual weight."""
    ds = wb.load(name, level=level) if level else wb.load(name)
    if not means:
        return ds
    weight = ds["weight"].groupby(ds["membership"]).sum().values
    return ds.assign(value=("bag", 100 * ds["value"].values / weight,
                            {"aggregation": "mean", "kind": "continuous", "units": "%"}))


def rows() -> Iterator[dict[str, object]]:
    """Every case with every kind and number of variables."""
    for case, (name, level) in CASES.items():
        for kind, link in (("counts", "exp"), ("means", "identity")):
            ds = dataset(name, level, kind == "means")
            more = {"likelihood": "normal", "nugget": "learn"} if kind == "means" else {}
            learnt = wb.VBAgg(
                link=link, inducing_inputs="averages", inducing=100, **more).fit(ds).inner
            options, source = non_defaults(learnt.model.options), learnt.state.given
            for variables, where in VARIABLES.items():
                for count in COUNTS:
                    model = type(learnt.model)(**options | {
                        "inducing": count, "inducing_inputs": where})
                    started = time.process_time()
                    fit = model.condition(source, learnt.hyperparameters)
                    yield {"case": case, "kind": kind, "areas": ds.sizes["bag"],
                           "variables": variables, "asked": count,
                           "features": len(fit.state.field.q_mean), "objective": fit.objective,
                           "seconds": time.process_time() - started}


def main() -> None:
    """Print and store the table."""
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    table = pd.DataFrame(rows())
    best = table.groupby(["case", "kind"])["objective"].transform("max")
    table.insert(6, "below", best - table.pop("objective"))
    print(table.to_string(index=False))
    table.to_csv(RESULTS, index=False, float_format="%.4g")


if __name__ == "__main__":
    typer.run(main)
