"""Means of areas that have few individuals, by auto as it is and with noise of individuals.

    WORKBENCH_DATA=... python benchmarks/few_individuals.py     # ten minutes; writes its csv

Rates of Korea, Italy and the United States, in per cent, as means of groups of a few neighbours,
whose own rates are known. ``auto`` takes what areas differ by for the areas' own, and expects a
nugget by what they differ by from those about them; ``of individuals`` learns the nugget by its
usual prior, and takes what areas differ by for independent noise of their individuals. Scores are
of draws of individuals, ``crps`` in standard deviations of the areas' values; ``kept`` are those of
draws that keep the areas' values. ``members`` is the number of individuals of an area, in the
median, by what it leaves of their white noise. Auto with effort quick, one thread.
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
from place_alone import grouped

import workbench as wb
from workbench.checks import InputError
from workbench.evaluation import crps
from workbench.labelled.classes import auto
from workbench.labelled.source import to_source

RESULTS = Path(__file__).parents[1] / "data" / "results" / "few_individuals.csv"
NAMES, GROUPS, SAMPLES = ("korea", "italy", "us-unemployment"), (500, 1_000), 300


def means(name: str, groups: int) -> tuple[xr.Dataset, np.ndarray]:
    """Rates of groups of neighbours, and the individuals' own, in per cent."""
    ds = grouped(name, groups)
    area, weight = ds["membership"].values, ds["weight"].values
    mean = 100 * ds["value"].values / np.bincount(area, weight)
    return ds.drop_vars("individual_value").assign(value=("bag", mean, {
        "aggregation": "mean", "kind": "continuous", "units": "%"})), (
            100 * ds["individual_value"].values / weight)


def of_individuals(data, given=None) -> dict:
    """Options without what is expected of areas that have few individuals."""
    with patch("workbench.labelled.candidates.few_individuals", lambda *_: 0.0):
        return USUAL(data, given)


USUAL = auto.options_of_values


def rows() -> Iterator[dict[str, object]]:
    """Both of all tables; what is absent is left out with a word."""
    for name in NAMES:
        for groups in GROUPS:
            try:
                ds, own = means(name, groups)
            except (InputError, ImportError) as error:
                print(f"{name} is left out: {error}")
                continue
            members = float((1 / to_source(ds).bags.noise_left).median())
            for noise, options in (("auto", USUAL), ("of individuals", of_individuals)):
                began = time.process_time()
                with patch.object(auto, "options_of_values", options):
                    fit = wb.Auto(effort="quick", workers=1).fit(ds)
                found = {"case": name, "areas": groups, "members": members, "noise": noise}
                for which, kept in (("", False), (" kept", True)):
                    draws = fit.sample(ds, SAMPLES, preserve_totals=kept, seed=0).values
                    for level, tail in ((50, 0.25), (95, 0.025)):
                        low, high = np.quantile(draws, [tail, 1 - tail], axis=0)
                        found[f"cover {level}{which}"] = ((low <= own) & (own <= high)).mean()
                    found[f"width{which}"] = (high - low).mean() / float(ds["value"].std())
                    found[f"crps{which}"] = crps(own, draws).mean() / float(ds["value"].std())
                yield found | {"seconds": time.process_time() - began}


def main() -> None:
    """Print the table; store it if all cases were run."""
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    found = []
    for row in rows():
        found.append(row)
        print(pd.Series(row).to_frame().T.to_string(header=len(found) == 1), flush=True)
    if len(found) == 2 * len(NAMES) * len(GROUPS):
        pd.DataFrame(found).to_csv(RESULTS, index=False, float_format="%.4g")


if __name__ == "__main__":
    typer.run(main)
