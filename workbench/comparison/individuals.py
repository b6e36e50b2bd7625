"""Fine truth: how models share the areas' known totals among individuals that are known, too."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import xarray as xr
from scipy.special import kl_div

from workbench.checks import InputError, require
from workbench.evaluation.accuracy import rescale_to_totals
from workbench.evaluation.area_scores import COUNT_SCORES, VALUE_SCORES, score_areas
from workbench.evaluation.conditioning import area_draws, bare
from workbench.evaluation.folding import subset
from workbench.evaluation.tasks import (
    Interrupted,
    Outcome,
    Progress,
    Store,
    Task,
    attempt,
    fitted,
    outcomes,
)
from workbench.evaluation.units import BUDGET
from workbench.schema import BAG, INDIVIDUAL, counts_add_up

_POSITION = "individual_position"      # coordinate: number of an individual among those drawn


@dataclasses.dataclass
class Fine(Outcome):
    """The outcome of one model."""

    model: str
    scores: np.ndarray | None = None    # (individual, score); None if the fit failed
    how: str = ""                       # see `workbench.evaluation.conditioning.area_draws`


def score_individuals(
    models: Mapping[str, object], ds: xr.Dataset, *, samples: int = 500, seed: int = 0,
    workers: int = 1, progress: Progress = False, resume: str | Path | None = None,
) -> xr.Dataset:
    """Fit models to the areas' values, and score the individuals given these values.

    Parameters
    ----------
    models : dict of str to model
        As of `workbench.recover`.
    ds : xr.Dataset
        Bagged dataset with ``individual_value``, which no model sees.
    samples, seed, workers, progress, resume
        As of `workbench.recover`.

    Returns
    -------
    xr.Dataset
        ``individual_scores`` (model, individual, score), NaN where a model failed and at
        individuals alone in their area; scores as of `workbench.evaluation.score_areas`, except
        ``deviance``, which is that of the map of expected counts, rescaled to the totals, where the
        model has one that is zero or more everywhere. ``seconds``, ``how``, ``note`` and ``error``
        (model).

    Raises
    ------
    InputError
        If an option cannot be used.
    Interrupted
        On Ctrl-C; its ``partial`` is the result of the finished models.
    """
    known, fine = bare(ds), ds["individual_value"].values.astype(float)
    store = Store(resume, known.assign(fine=(INDIVIDUAL, fine)), samples, seed)
    tasks = [Task(f"{name}, individuals", store.file(model, ds["membership"].values),
                  (name, model, known, fine, samples, seed)) for name, model in models.items()]
    done: dict[str, Fine] = {}
    try:
        for one in outcomes(_score_one, Fine, tasks, workers, progress):
            done[one.model] = one
        return _labelled(ds, models, done)
    except KeyboardInterrupt as stop:
        raise Interrupted(_labelled(ds, models, done), len(done), len(tasks)) from stop


def _labelled(ds: xr.Dataset, models: Mapping[str, object], done: dict[str, Fine]) -> xr.Dataset:
    names = COUNT_SCORES if counts_add_up(ds) else VALUE_SCORES
    every = [done.get(name, Fine(name, error="not run")) for name in models]
    empty = np.full((ds.sizes[INDIVIDUAL], len(names)), np.nan)
    values = np.stack([empty if one.scores is None else one.scores for one in every])
    return xr.Dataset(
        {"individual_scores": (("model", "individual", "score"), values),
         "membership": ("individual", ds["membership"].values),
         "seconds": ("model", [one.seconds for one in every], {"units": "s"})}
        | {what: ("model", [getattr(one, what) for one in every])
           for what in ("how", "note", "error")},
        coords={"model": list(models), "score": list(names)})


def _score_one(name: str, model, known: xr.Dataset, fine: np.ndarray, samples: int, seed: int
               ) -> Fine:
    done = Fine(name)
    with attempt(done):
        fit = fitted(model, known, done)
        done.scores, done.how = _scores(fit, known, fine, samples, seed)
    return done


def _scores(fit, known: xr.Dataset, fine: np.ndarray, samples: int, seed: int):
    """Scores (individual, score), some areas at a time."""
    counts = counts_add_up(known)
    names = COUNT_SCORES if counts else VALUE_SCORES
    ends = np.cumsum(np.bincount(known["membership"].values)) - 1
    piece, out, how = ends // max(1, BUDGET // samples), np.empty((fine.size, len(names))), ""
    for number in np.unique(piece):
        mine = np.flatnonzero((piece == number)[known["membership"].values])
        part = known if piece[-1] == 0 else subset(known, piece == number)
        marked = part.assign_coords({_POSITION: (INDIVIDUAL, np.arange(mine.size))})
        draws, how = area_draws(fit, marked, samples, seed + int(number), _POSITION)
        require(bool(np.isfinite(draws).all()), "draws of the individuals are not all finite")
        group, weight = part["membership"].values, part["weight"].values
        scored = score_areas(fine[mine], draws, group, weight, counts, seed)
        if counts:
            scored["deviance"] = np.where(np.isnan(scored["deviance"]), np.nan,
                                          _rescaled(fit, part, fine[mine], scored["deviance"]))
        out[mine] = np.stack([scored[name] for name in names], axis=-1)
    return out, how


def _rescaled(fit, part: xr.Dataset, fine: np.ndarray, otherwise: np.ndarray) -> np.ndarray:
    """Deviance of the rescaled map of expected counts: without the noise of draws."""
    try:
        # Of the smooth map: one given totals has been moved by them already.
        expected = np.asarray(fit.at(part, area_effect=False).mean.values, dtype=float)
        expected *= part["weight"].values
        rescaled = rescale_to_totals(part, expected).values
    except (AttributeError, InputError):    # no such map, or a negative one: the mean of the draws
        return otherwise
    alone = np.bincount(part["membership"].values, minlength=part.sizes[BAG])
    return np.where(alone[part["membership"].values] == 1, np.nan, 2 * kl_div(fine, rescaled))
