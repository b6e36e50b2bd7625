"""Draws of areas that each model would have given from the others: for positives out of trials.

These cannot be drawn given those of their union, so that areas are held out in turns, some from all
over the map at a time, where others are merged and recovered. Whether
a model saw them when its hyperparameters were learnt is for the caller: those of `Auto` did.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import xarray as xr

from workbench.evaluation.folding import folds, subset
from workbench.evaluation.recovery.draws import Recovery
from workbench.evaluation.tasks import Task, attempt, fitted, outcomes
from workbench.schema import BAG

HOW = "Predicting areas that were held out"
_MOST, _EACH = 10, 3        # folds, and areas that one holds at least
_WHAT = ("mean CRPS of shares of positives on the scale where their noise is even (√n asin √p), "
         "areas predicted while they were held out")


def held_out_draws(models: Mapping[str, object], ds: xr.Dataset, *, samples: int, seed: int,
                   workers: int, progress: bool | Callable) -> tuple[xr.Dataset, xr.Dataset]:
    """Draws of positives out of trials, of each area by models fitted to the others.

    Parameters
    ----------
    models : mapping of str to model
        With ``fit``, to fits with ``simulate``.
    ds : xr.Dataset
        Bagged dataset with ``trials``.
    samples, seed : int
        Draws, and their seed.
    workers : int
        Processes.
    progress : bool or callable
        As of `workbench.evaluation.tasks.outcomes`.

    Returns
    -------
    recovered : xr.Dataset
        ``draws`` (model, level, draw, sample, area), one level and one draw, NaN of models that
        failed; ``observed`` (area); ``group`` (level, draw, area), the fold; ``error`` (model,
        level, draw). As `workbench.evaluation.recovery.draws.recover_draws`, but on the scale √n
        asin √p, on which the noise of every share has the sd 1/2.
    scaled : xr.Dataset
        The dataset with its values on that scale.
    """
    names, areas = list(models), ds.sizes[BAG]
    fold = folds(ds, max(2, min(_MOST, areas // _EACH)), "random", seed).values
    numbers = np.unique(fold).tolist()
    draws = np.full((len(names), 1, 1, samples, areas), np.nan)
    errors = np.full((len(names), 1, 1), "", dtype=object)
    tasks = [Task(f"{name}, areas held out {k + 1} of {len(numbers)}", None,
                  ((name, 0, k), model, ds, fold == k, samples, seed + k))
             for k in numbers for name, model in models.items()]
    for one in outcomes(_hold_out, Recovery, tasks, workers, progress):
        place = names.index(one.model)
        if one.error:
            errors[place] = one.error
        else:
            draws[place, 0, 0][:, fold == one.draw] = one.draws
    trials = ds["trials"].values.astype(float)
    observed = even(ds["value"].values.astype(float), trials)
    attrs = dict(ds["value"].attrs)
    recovered = xr.Dataset(
        {"draws": (("model", "level", "draw", "sample", "area"), draws, attrs),
         "observed": ("area", observed),
         "group": (("level", "draw", "area"), fold[None, None].astype(int)),
         "error": (("model", "level", "draw"), errors.astype(str))},
        {"model": names, "level": [len(numbers)]}, {"how": HOW, "what": _WHAT})
    return recovered, ds.assign(value=(BAG, observed, attrs))


def even(positives: np.ndarray, trials: np.ndarray) -> np.ndarray:
    """√n asin √(k/n): the sd of its noise is 1/2 whatever the share; 0 where nobody was tested.

    Parameters
    ----------
    positives, trials : array
        k and n.
    """
    share = np.divide(positives, trials, out=np.zeros(np.broadcast(positives, trials).shape),
                      where=trials > 0)
    return np.sqrt(trials) * np.arcsin(np.sqrt(share))


def _hold_out(place: tuple[str, int, int], model, ds: xr.Dataset, held: np.ndarray, samples: int,
              seed: int) -> Recovery:
    done = Recovery(*place)
    with attempt(done):
        fit, left_out = fitted(model, subset(ds, ~held), done), subset(ds, held)
        drawn = fit.simulate(left_out, samples=samples, seed=seed).transpose("sample", BAG)
        done.draws = even(drawn.values.astype(float), left_out["trials"].values.astype(float))
    return done
