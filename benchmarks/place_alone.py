"""Counts without covariates of which the fine truth is known: priors of effects and nuggets.

    WORKBENCH_DATA=... python benchmarks/place_alone.py     # a quarter of an hour

The six cases of `cases` without their covariates; individuals of three of them in 150 and 500 other
groups of neighbours; and three counts of libpysal's examples: births of non-white mothers and
sudden infant deaths in the counties of North Carolina, homicides in those about St. Louis, of which
regions are made, ten and twenty, in four ways each. ``auto`` is `workbench.Auto`, quick, whose
effects of areas have a prior that goes by the nugget; "apart" has the prior that they have without
one. Scores are those of draws that keep the totals; the population split is scored, too. ``nugget``
and ``effect`` are the std that the place model learnt, ``members`` the median of individuals of an
area, as many of equal weight. A case whose data or package is absent is left out with a word.
Writes data/results/place_alone.csv.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pandas as pd
import torch
import typer
import xarray as xr
from cases import CASES, scores

import workbench as wb
from workbench.checks import InputError
from workbench.evaluation.baselines import PopulationSplit
from workbench.labelled.classes import auto
from workbench.labelled.source import to_source

RESULTS = Path(__file__).parents[1] / "data" / "results" / "place_alone.csv"
REGIONS, WAYS = (10, 20), 4
GROUPS, GROUPED = (150, 500), ("korea", "italy", "us-unemployment")
APART = {"priors": {"area.std": "pc:1:0.05"}}
COUNTED = {"births, north carolina": ("sids2.shp", "NWBIR74", "BIR74"),
           "infant deaths, north carolina": ("sids2.shp", "SID74", "BIR74"),
           "homicides, st. louis": ("stl_hom.shp", "HC8893", "PO8893")}


def counties(file: str, value: str, weight: str, regions: int, way: int) -> xr.Dataset:
    """Counties of one of libpysal's examples in regions of neighbours."""
    import geopandas
    from libpysal.examples import get_path
    from scipy.cluster.vq import kmeans2

    try:
        frame = geopandas.read_file(get_path(file))
    except (OSError, KeyError, RuntimeError) as error:
        raise InputError(f"{file} of libpysal.examples is not there") from error
    frame = frame.set_crs(5070, allow_override=True)        # plane enough for neighbours
    centres = np.column_stack([frame.centroid.x, frame.centroid.y])
    frame["region"] = kmeans2(centres, regions, minit="++", seed=way)[1].astype(str)
    return wb.bag_children(frame, parent="region", weight=weight, value=value)


def bare(loader: Callable[[], xr.Dataset]) -> xr.Dataset:
    """A case without its covariates."""
    return loader().isel(covariate=slice(0, 0))


def grouped(name: str, groups: int) -> xr.Dataset:
    """Individuals of a dataset in other groups of neighbours, without covariates."""
    from scipy.cluster.vq import kmeans2

    ds = bare(partial(wb.load, name))
    group = kmeans2(np.column_stack([ds["x"], ds["y"]]), groups, minit="++", seed=0)[1]
    order = np.argsort(group, kind="stable")
    members = np.unique(group[order], return_inverse=True)[1]
    kept = ds[["covariates", "weight", "individual_value"]].reset_coords(drop=True).assign_coords(
        {name: ds[name] for name in ("individual", "covariate", "x", "y")}).isel(individual=order)
    totals = np.bincount(members, kept["individual_value"].values)
    return kept.assign(membership=("individual", members),
                       value=("bag", totals, ds["value"].attrs)).assign_coords(
                           bag=np.arange(len(totals)))


def places(only: str) -> Iterator[tuple[str, int, xr.Dataset]]:
    """Cases whose names hold ``only``, with the number of the way in which regions were made."""
    every: list[tuple[str, int, Callable[[], xr.Dataset]]] = [
        (name, 0, partial(bare, loader)) for name, loader in CASES.items()]
    every += [(f"{name}, {groups} groups", 0, partial(grouped, name, groups))
              for name in GROUPED for groups in GROUPS]
    every += [(f"{name}, {regions} regions", way, partial(counties, *given, regions, way))
              for name, given in COUNTED.items() for regions in REGIONS for way in range(WAYS)]
    for name, way, loader in every:
        if only not in name:
            continue
        try:
            yield name, way, loader()
        except (InputError, ImportError) as error:
            print(f"{name} is left out: {error}")


def rows(only: str) -> Iterator[dict[str, object]]:
    """All models of all cases whose names hold ``only``."""
    for name, way, ds in places(only):
        members = float((1 / to_source(ds).bags.noise_left).median())
        about = {"case": name, "way": way, "areas": ds.sizes["bag"],
                 "individuals": ds.sizes["individual"], "members": members}
        yield from scored(about, ds, {"auto": Noting({}), "apart": Noting(APART)})


def scored(about: dict[str, object], ds: xr.Dataset, models: dict[str, object]
           ) -> Iterator[dict[str, object]]:
    """A row of each model, and of the population split, printed as it comes."""
    for model, method in {**models, "split": PopulationSplit()}.items():
        found = scores(ds, method) | getattr(method, "learnt", {})
        print(pd.Series({**about, "model": model, **found}).to_frame().T.to_string(
            header=False), flush=True)
        yield {**about, "model": model, **found}


class Noting:
    """`workbench.Auto`, quick, and what its model of place has learnt."""

    def __init__(self, options: dict):
        self.options, self.learnt = options, {}

    def fit(self, ds: xr.Dataset):
        """As of `workbench.Auto`."""
        with patch.object(auto, "options_of_values", lambda *_: self.options):
            fit = wb.Auto(effort="quick", workers=1).fit(ds)
        learnt = fit.candidates["place"].hyperparameters
        self.learnt = {"nugget": learnt["nugget.std"]["value"],
                       "effect": learnt["area.std"]["value"]}
        return fit


def main(only: str = "") -> None:
    """Print each row; store the table if all cases were run, and none was left out."""
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    table = pd.DataFrame(rows(only)).drop(columns=["log-sd", "seconds"])
    made = len(GROUPED) * len(GROUPS) + len(COUNTED) * len(REGIONS)
    if table["case"].nunique() == len(CASES) + made:
        table.to_csv(RESULTS, index=False, float_format="%.4g")


if __name__ == "__main__":
    typer.run(main)
