"""Counts without covariates of which the fine truth is known: the nugget's prior by auto's rule.

    WORKBENCH_DATA=... python benchmarks/place_alone.py     # ten minutes; writes place_alone.csv

The six cases of `cases` without their covariates, and three counts of libpysal's examples: births
of non-white mothers and sudden infant deaths in the counties of North Carolina, homicides in those
about St. Louis. Of these regions of neighbours are made, ten and twenty, in four ways each. Auto,
quick, expects of individuals what `expected_std` says; beside it stands the prior that is usual
with covariates. Scores are those of draws that keep the totals; the population split is scored,
too. ``nugget`` is the std that the place model learnt, ``expected`` what the prior goes by. A case
whose data or package is absent is left out with a word.
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
from workbench.labelled.scale_of_values import expected_std
from workbench.labelled.source import to_source

RESULTS = Path(__file__).parents[1] / "data" / "results" / "place_alone.csv"
REGIONS, WAYS = (10, 20), 4
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


def places(only: str) -> Iterator[tuple[str, int, xr.Dataset]]:
    """Cases whose names hold ``only``, with the number of the way in which regions were made."""
    every: list[tuple[str, int, Callable[[], xr.Dataset]]] = [
        (name, 0, partial(bare, loader)) for name, loader in CASES.items()]
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
    rule = auto.options_of_values
    for name, way, ds in places(only):
        about = {"case": name, "way": way, "areas": ds.sizes["bag"],
                 "individuals": ds.sizes["individual"], "expected": expected_std(to_source(ds))}
        for model, options in (("auto", rule), ("usual prior", lambda *_: {}), ("split", None)):
            method = PopulationSplit() if options is None else Noting()
            with patch.object(auto, "options_of_values", options or rule):
                found = scores(ds, method)
            found["nugget"] = getattr(method, "nugget", np.nan)
            print(pd.Series({**about, "model": model, **found}).to_frame().T.to_string(
                header=False), flush=True)
            yield {**about, "model": model, **found}


class Noting:
    """`workbench.Auto`, quick, and the nugget that its model of place has learnt."""

    nugget = float("nan")

    def fit(self, ds: xr.Dataset):
        """As of `workbench.Auto`."""
        fit = wb.Auto(effort="quick", workers=1).fit(ds)
        self.nugget = fit.candidates["place"].hyperparameters["nugget.std"]["value"]
        return fit


def main(only: str = "") -> None:
    """Print each row; store the table if all cases were run, and none was left out."""
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    table = pd.DataFrame(rows(only)).drop(columns=["log-sd", "seconds"])
    if table["case"].nunique() == len(CASES) + len(COUNTED) * len(REGIONS):
        table.to_csv(RESULTS, index=False, float_format="%.4g")


if __name__ == "__main__":
    typer.run(main)
