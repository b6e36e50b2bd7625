"""Fine truth: how models share the areas' known totals among individuals that are known, too."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import xarray as xr
from scipy.special import kl_div

from workbench.checks import InputError, require
from workbench.evaluation.accuracy import pin_to_totals
from workbench.evaluation.area_scores import COUNT_SCORES, VALUE_SCORES, score_areas
from workbench.evaluation.conditioning import AREA, BUDGET, area_draws, bare
from workbench.evaluation.folds import subset
from workbench.evaluation.parallel import completed
from workbench.evaluation.tasks import (
    Outcome,
    attempt,
    data_key,
    fitted,
    folder_of,
    keep,
    kept,
    task_key,
)
from workbench.schema import BAG, INDIVIDUAL, aggregation, kind


@dataclasses.dataclass
class Fine(Outcome):
    """What came of one model."""

    model: str
    scores: np.ndarray | None = None        # (individual, score), or None if it failed
    how: str = ""


def score_individuals(
    models: Mapping[str, object], ds: xr.Dataset, *, samples: int = 500, seed: int = 0,
    workers: int = 1, step: Callable[[str], None] = lambda what: None,
    resume: str | Path | None = None,
) -> tuple[xr.Dataset, KeyboardInterrupt | None]:
    """Fit models to the areas' values, and score the individuals given these values.

    Parameters
    ----------
    models : dict of str to model
        As of `workbench.recover`.
    ds : xr.Dataset
        Bagged dataset with ``individual_value``, which no model sees.
    samples, seed, workers, resume
        As of `workbench.recover`.
    step : callable
        Told what was just done.

    Returns
    -------
    result : xr.Dataset
        ``individual_scores`` (model, individual, score), NaN where a model failed and at
        individuals alone in their area; scores as of `workbench.evaluation.score_areas`, but for
        ``deviance``, which is of the map of expected counts, rescaled to the totals, where the
        model has one that is zero or more everywhere. ``seconds``, ``how``, ``note`` and ``error``
        (model).
    stopped : KeyboardInterrupt or None
        On Ctrl-C the result is that of the models finished.
    """
    known, fine = bare(ds), ds["individual_value"].values.astype(float)
    folder, tasks, done, stopped = folder_of(resume), [], {}, None
    data = "" if folder is None else data_key(known.assign(fine=(INDIVIDUAL, fine)))
    names = COUNT_SCORES if _counts(ds) else VALUE_SCORES
    for name, model in models.items():
        file = None
        if folder is not None:
            key = task_key(data, model, ds["membership"].values, samples, seed)
            file = folder / f"{key}.fine.npz"
        if file is not None and file.exists():
            done[name] = Fine(name, **kept(file))
            step(f"{name}, individuals")
        else:
            tasks.append((name, model, known, fine, samples, seed, file))
    try:
        for one in completed(_score_one, tasks, workers):
            done[one.model] = one
            step(f"{one.model}, individuals")
    except KeyboardInterrupt as stop:
        stopped = stop
    every = [done.get(name, Fine(name, error="not run")) for name in models]
    empty = np.full((fine.size, len(names)), np.nan)
    values = np.stack([empty if one.scores is None else one.scores for one in every])
    return xr.Dataset(
        {"individual_scores": (("model", "individual", "score"), values),
         "membership": ("individual", ds["membership"].values),
         "seconds": ("model", [one.seconds for one in every], {"units": "s"})}
        | {what: ("model", [getattr(one, what) for one in every])
           for what in ("how", "note", "error")},
        coords={"model": list(models), "score": list(names)}), stopped


def _counts(ds: xr.Dataset) -> bool:
    return kind(ds) == "count" and aggregation(ds) == "sum"


def _score_one(name, model, known: xr.Dataset, fine, samples: int, seed: int, file) -> Fine:
    done = Fine(name)
    with attempt(done):
        fit = fitted(model, known, done)
        done.scores, done.how = _scores(fit, known, fine, samples, seed)
    if file is not None and done.scores is not None:
        keep(done, file, "scores", "how")
    return done


def _scores(fit, known: xr.Dataset, fine: np.ndarray, samples: int, seed: int):
    """Scores (individual, score), some areas at a time."""
    counts = _counts(known)
    names = COUNT_SCORES if counts else VALUE_SCORES
    ends = np.cumsum(np.bincount(known["membership"].values)) - 1
    piece, out, how = ends // max(1, BUDGET // samples), np.empty((fine.size, len(names))), ""
    for number in np.unique(piece):
        mine = np.flatnonzero((piece == number)[known["membership"].values])
        part = known if piece[-1] == 0 else subset(known, piece == number)
        marked = part.assign_coords({AREA: (INDIVIDUAL, np.arange(mine.size))})
        draws, how = area_draws(fit, marked, samples, seed + int(number))
        require(bool(np.isfinite(draws).all()), "draws of the individuals are not all finite")
        group, weight = part["membership"].values, part["weight"].values
        scored = score_areas(fine[mine], draws, group, weight, counts, seed)
        if counts:
            scored["deviance"] = np.where(np.isnan(scored["deviance"]), np.nan,
                                          _pinned(fit, part, fine[mine], scored["deviance"]))
        out[mine] = np.stack([scored[name] for name in names], axis=-1)
    return out, how


def _pinned(fit, part: xr.Dataset, fine: np.ndarray, otherwise: np.ndarray) -> np.ndarray:
    """Deviance of the rescaled map of expected counts: without the noise of draws."""
    try:
        expected = np.asarray(fit.at(part).mean.values, dtype=float) * part["weight"].values
        pinned = pin_to_totals(part, expected).values
    except (AttributeError, InputError):    # no such map, or a negative one: the mean of the draws
        return otherwise
    alone = np.bincount(part["membership"].values, minlength=part.sizes[BAG])
    return np.where(alone[part["membership"].values] == 1, np.nan, 2 * kl_div(fine, pinned))
