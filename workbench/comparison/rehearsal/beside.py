"""Simple maps of the same truths, which a model should beat where truths are as it believes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import xarray as xr

from workbench.checks import FitWarning, InputError, warn
from workbench.comparison.rehearsal.pits import broken, rate_draws
from workbench.comparison.rehearsal.resolutions import Resolution, skill
from workbench.evaluation import covered_by_pit
from workbench.evaluation.baselines import simple_maps


def set_beside(ds: xr.Dataset, partitions: Sequence[Resolution], levels: Sequence[float],
               samples: int, seed: int, jitter: np.random.Generator
               ) -> tuple[np.ndarray, np.ndarray]:
    """Skill and coverage of the simple maps of one truth, given the areas' totals.

    Parameters
    ----------
    ds : xr.Dataset
        With ``truth``, the true rates.
    partitions : sequence of Resolution
        Where skill is wanted.
    levels : sequence of float
        Of central intervals.
    samples, seed : int
        Draws.
    jitter : np.random.Generator
        Breaks ties.

    Returns
    -------
    skill : array (map, resolution)
        As of `workbench.comparison.rehearsal.resolutions`; NaN of a map that failed, which gives a
        warning.
    covered : array (map, level)
        Shares of the individuals' rates inside.
    """
    maps, truth = simple_maps(ds), ds["truth"].values
    found = np.full((len(maps), len(partitions)), np.nan)
    covered = np.full((len(maps), len(levels)), np.nan)
    for row, (name, method) in enumerate(maps.items()):
        try:
            predicted = method.fit(ds).given_totals().at(ds)
        except (InputError, ArithmeticError, ValueError) as error:
            warn(f"{name} failed: {error}", FitWarning)
            continue
        found[row] = [skill(one, truth, predicted.mean.values, ds)[0] for one in partitions]
        below, equal = np.zeros(truth.size), np.zeros(truth.size)
        for rates in rate_draws(predicted, ds, samples, seed):
            below += (rates < truth).sum(0)
            equal += (rates == truth).sum(0)
        covered[row] = covered_by_pit(broken(below, equal, samples, jitter), levels).mean(1)
    return found, covered
