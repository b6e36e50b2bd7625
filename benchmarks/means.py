"""Area means of which the values inside the areas are known, by auto as it is and by plainer ones.

    WORKBENCH_DATA=... python benchmarks/means.py      # half an hour; writes means.csv
    WORKBENCH_DATA=... python benchmarks/means.py --only korea

Rates of Korea, Italy and the United States, given as means and not as counts, blocks of houses of
California in cells of 0.8 degrees, and temperatures of the United Kingdom. ``auto`` chooses the
link by the areas' values and fixes a nugget by what areas differ by from those about them, and by
how smooth they are; beside it stand the other link with such a nugget, its own link with a nugget
that is learnt, and the identity link without. ``rmse`` and ``crps`` are of the individuals' own
values, weighted, in standard deviations of the areas' values; ``cover`` is the share of individuals
in their 95 % intervals (not weighted); ``crps given`` and ``cover given`` are those of draws that
keep the areas' values; ``gain`` what the choice of the link goes by, in nats; ``ratio`` is the
error, as a share of the rate under exp, divided by what areas differ by from those about them.
Datasets are found as `wb.load` finds them; one that is absent is left out with a word.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pandas as pd
import torch
import typer
import xarray as xr

import workbench as wb
from workbench.bagging import bag_grid
from workbench.checks import InputError
from workbench.datasets.california import EXTENT
from workbench.evaluation import crps
from workbench.labelled.classes import auto
from workbench.labelled.scale_of_values import individuals, local_std, log_scale_gain
from workbench.labelled.source import to_source

RESULTS = Path(__file__).parents[1] / "data" / "results" / "means.csv"
SAMPLES, CELLS, BLOCKS = 200, 0.8, 4000
COUNTED = ("us-unemployment", "italy", "korea", "california-households")
HOUSES = ("MedInc", "HouseAge", "AveRooms", "AveOccup", "MedValue", "Population")
ALONE = {"likelihood": "normal"}
OTHER = {"exp": "identity", "identity": "exp"}


def counted(name: str) -> tuple[xr.Dataset, np.ndarray]:
    """Totals divided by their exposure, and the individuals' own rates, in per cent."""
    ds = wb.load(name)
    area, weight = ds["membership"].values, ds["weight"].values
    with np.errstate(invalid="ignore"):
        own = 100 * ds["individual_value"].values / weight
    mean = 100 * ds["value"].values / np.bincount(area, weight)
    return ds.drop_vars(["individual_value"]).assign(value=("bag", mean, {
        "aggregation": "mean", "kind": "continuous", "units": "%"})), own


def houses(output: str) -> tuple[xr.Dataset, np.ndarray]:
    """Means of blocks in cells, and the blocks' own values."""
    ds = bag_grid(wb.load("california-housing", output=output, n_train=BLOCKS), size=CELLS,
                  extent=EXTENT)
    return ds.drop_vars(["individual_value"]), ds["individual_value"].values


def temperature() -> tuple[xr.Dataset, np.ndarray]:
    """Means of boxes, and the grid points' own temperatures."""
    ds = wb.load("uk-temperature")
    return ds.drop_vars(["truth", "mediators"]), ds["truth"].values


CASES: dict[str, Callable[[], tuple[xr.Dataset, np.ndarray]]] = {
    **{name: lambda name=name: counted(name) for name in COUNTED},
    **{f"california {name}": lambda name=name: houses(name) for name in HOUSES},
    "uk-temperature": temperature,
}


def scores(ds: xr.Dataset, known: np.ndarray, options: dict | None) -> dict[str, object]:
    """One fit, scored where individuals have a value and a weight."""
    started = time.process_time()
    with patch.object(auto, "options_of_values",
                      auto.options_of_values if options is None else lambda *_: options):
        fit = wb.Auto(workers=1).fit(ds)
    weight = np.where(np.isfinite(known), ds["weight"].values, 0)
    there = weight > 0
    weight, known, unit = weight[there], known[there], float(ds["value"].std())
    predictive = fit.at(ds)
    low, high = (end.values[there] for end in predictive.interval(0.95))
    draws = predictive.sample(SAMPLES, seed=0).values.reshape(SAMPLES, -1)[:, there]
    kept = fit.sample(ds, SAMPLES, preserve_totals=True, seed=0).values[:, there]
    least, most = np.quantile(kept, [0.025, 0.975], axis=0)
    error = predictive.mean.values[there] - known
    link = next(iter(fit.candidates.values())).model.options.link
    return {"link": link, "rmse": float(np.sqrt(np.average(error ** 2, weights=weight))) / unit,
            "crps": float(np.average(crps(known, draws), weights=weight)) / unit,
            "cover": float(((low <= known) & (known <= high)).mean()),
            "crps given": float(np.average(crps(known, kept), weights=weight)) / unit,
            "cover given": float(((least <= known) & (known <= most)).mean()),
            "cpu_seconds": time.process_time() - started}


def rows(names: list[str]) -> Iterator[dict[str, object]]:
    """All models of all cases."""
    for name in names:
        try:
            ds, known = CASES[name]()
        except (InputError, ImportError, OSError) as error:
            print(f"{name} is left out: {error}")
            continue
        about = {"case": name, "areas": ds.sizes["bag"], "individuals": ds.sizes["individual"],
                 "gain": log_scale_gain(to_source(ds))}
        own = scores(ds, known, None)
        link, other = own["link"], OTHER[own["link"]]
        others = {"other link": fixed(ds, other), "nugget learnt": {"link": link,
                                                                    "nugget": "learn"},
                  "identity, no nugget": {"link": "identity"}}
        if name == "uk-temperature":    # values that differ by 1 % of themselves
            del others["other link"]
        about["ratio"] = own["rmse"] * float(ds["value"].std()) / local_std(to_source(ds), link)
        if link == "exp":
            there = np.isfinite(known)
            about["ratio"] /= float(np.average(known[there], weights=ds["weight"].values[there]))
        for model, options in {"auto": None, **others}.items():
            found = own if options is None else scores(
                ds, known, options | {"likelihood": "normal"})
            print(pd.Series({**about, "model": model, **found}).to_frame().T.to_string(
                header=False), flush=True)
            yield {**about, "model": model, **found}


def fixed(ds: xr.Dataset, link: str) -> dict[str, object]:
    """Options of a link, with the nugget that `auto` would take under it."""
    return {"link": link, "nugget": "learn", "noise": "area", "hyperparameters": {
        "nugget.std": individuals(to_source(ds), link)}}


def main(only: str = "") -> None:
    """Print each row; store the table, of one case in place of its rows there."""
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    table = pd.DataFrame(rows([only] if only else list(CASES)))
    if only:
        known = pd.read_csv(RESULTS)
        both = pd.concat([known[known["case"] != only], table])
        order = {name: number for number, name in enumerate(CASES)}
        table = both.sort_values("case", key=lambda names: names.map(order), kind="stable")
    table.to_csv(RESULTS, index=False, float_format="%.4g")


if __name__ == "__main__":
    typer.run(main)
