"""Models of positives out of trials tested, and candidates weighed, by areas not seen by them.

These cannot be drawn given those of their union, so that some areas from all over the map are held
out in turns, and predicted by models that are learnt anew from the others.

References
----------
Anscombe 1948 (√n asin √p, on which the noise of every share has the sd 1/2).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import xarray as xr

from workbench.checks import InputError, require
from workbench.evaluation.calibration import covered_by_pit, pit
from workbench.evaluation.evidence import WHERE
from workbench.evaluation.folding import folds, subset
from workbench.evaluation.recovery.draws import Recovery
from workbench.evaluation.recovery.summary import in_order
from workbench.evaluation.scoring import crps
from workbench.evaluation.stacking import cross_scores, stack
from workbench.evaluation.tasks import Task, attempt, fitted, outcomes
from workbench.labelled.verdict import COVERAGE, MAP_SCORE, MIXTURE, SQUARES, mixed
from workbench.schema import BAG

HOW = "Predicting areas that were held out"
ONE_SHARE = "share of all areas"        # the simple map of a survey
_EACH = 3                               # areas that a fold holds at least
_WHAT = ("mean CRPS of shares of positives on the scale where their noise is even (√n asin √p), "
         "areas predicted by models learnt without them")
_SCORES = {"crps": "CRPS of shares", "squared_error": "squared error",
           "coverage_50": "50 % coverage", "coverage_80": "80 % coverage",
           "coverage_95": "95 % coverage"}
_WHERE = "of the held-out areas (predicted from the others)"
_CAVEAT = ("Areas that were held out stand for places without a survey. What varies inside an area "
           "cannot be seen in them.")


class OneShare:
    """One share for everybody: what a map of a survey has to beat.

    Its posterior is that of a binomial share with the prior of Jeffreys.
    """

    def fit(self, ds: xr.Dataset) -> OneShare:
        """Count positives and trials; ``ds`` is a bagged dataset with ``trials``."""
        positives, trials = float(ds["value"].sum()), float(ds["trials"].sum())
        self._beta = positives + 0.5, trials - positives + 0.5
        return self

    def simulate(self, ds: xr.Dataset, samples: int, seed: int) -> xr.DataArray:
        """Draws of positives (sample, bag)."""
        rng = np.random.default_rng(seed)
        share = rng.beta(*self._beta, (samples, 1))
        return xr.DataArray(rng.binomial(ds["trials"].values.astype(int), share),
                            dims=("sample", BAG))


@dataclass(frozen=True)
class HeldOut:
    """What was drawn of areas that were held out.

    Parameters
    ----------
    draws : dict of str to array (sample, area)
        By model, on the scale √n asin √p; NaN where its fold failed.
    observed : array (area,)
        On the same scale.
    errors : dict of (str, int) to str
        What went wrong, by model and fold.
    """

    draws: dict[str, np.ndarray]
    observed: np.ndarray
    errors: dict[tuple[str, int], str]

    def weights(self, names: list[str], shrink: str | float) -> np.ndarray:
        """Of candidates by name, by stacking over the areas that all who finished any predicted.

        Raises
        ------
        InputError
            If there are fewer than two such areas.
        """
        ever, seen = self._shared(names)
        out = np.zeros(len(names))
        out[[names.index(name) for name in ever]] = stack(
            [self.draws[name][:, seen] for name in ever], self.observed[seen], shrink=shrink)
        return out

    def areas(self, names: list[str]) -> int:
        """How many tell candidates apart."""
        return int(self._shared(names)[1].sum())

    def scored(self, weights: Mapping[str, float], seed: int) -> xr.Dataset:
        """Errors of candidates, share and mixture, as of `workbench.labelled.verdict.scored`."""
        ever, seen = self._shared(list(weights))
        simple, y = [n for n in self.draws if n not in weights], self.observed[seen]
        shown = [*ever, *simple]
        draws = [self.draws[name][:, seen] for name in shown]
        forms = cross_scores(draws, y)
        w = np.array([weights.get(name, 0.0) for name in shown])
        errors = dict(zip(shown, np.diagonal(forms, axis1=1, axis2=2).T, strict=True))
        errors[MIXTURE] = np.einsum("i,uij,j->u", w, forms, w)
        means = dict(zip(shown, (one.mean(0) for one in draws), strict=True))
        means[MIXTURE] = sum(share * means[name] for share, name in zip(w, shown, strict=True))
        squares = {name: (mean - y) ** 2 for name, mean in means.items()}
        every = dict(zip(shown, draws, strict=True))
        both = mixed({name: every[name] for name in ever}, weights, seed)
        inside = {name: covered_by_pit(pit(y, one, seed), [0.95])[0]
                  for name, one in {**every, MIXTURE: both}.items()}
        order = [*self.draws, MIXTURE]

        def grid(scores: dict) -> np.ndarray:
            return np.array([[scores[name].mean() if name in scores else np.nan]
                             for name in order])

        gaps = {what: [scores[MIXTURE] - scores[name] for name in simple]
                for what, scores in (("", errors), ("deviance_", squares))}
        found = {f"{what}difference": ("simple", [one.mean() for one in each])
                 for what, each in gaps.items()}
        found |= {f"{what}difference_error": ("simple", [
            one.std(ddof=1) / np.sqrt(one.size) for one in each]) for what, each in gaps.items()}
        return xr.Dataset(
            {"error": (("model", "grouping"), grid(errors), {"long_name": _WHAT}),
             "deviance": (("model", "grouping"), grid(squares)),
             COVERAGE: (("model", "grouping"), grid(inside)), **found},
            {"model": order, "simple": simple}, {"how": HOW, MAP_SCORE: SQUARES})

    def compared(self, seed: int) -> xr.Dataset:
        """Scores of all models and of the share, in the form of `workbench.recover`.

        Parameters
        ----------
        seed : int
            Of the randomised PIT.

        Returns
        -------
        xr.Dataset
            ``scores`` (model, score), means over areas; ``difference`` (model, other, score) and
            ``difference_error``, its standard error over areas; ``area_scores`` (model, area,
            score). All on the scale √n asin √p, of areas that every model predicted that predicted
            any. Attributes as there, and `workbench.evaluation.evidence.WHERE`.

        Raises
        ------
        InputError
            If there are fewer than two such areas.
        """
        names = list(self.draws)
        ever, seen = self._shared(names)
        values = np.full((len(names), int(seen.sum()), len(_SCORES)), np.nan)
        for i, name in enumerate(names):
            if name in ever:
                values[i] = _scores_of(self.observed[seen], self.draws[name][:, seen], seed)
        gaps = values[:, None] - values[None]
        error = gaps.std(2, ddof=1) / np.sqrt(gaps.shape[2])
        dims = ("model", "other", "score")
        out = xr.Dataset(
            {"area_scores": (("model", "area", "score"), values),
             "scores": (("model", "score"), values.mean(1)),
             "difference": (dims, gaps.mean(2)),
             "difference_error": (dims, error, {
                 "long_name": "standard error of the difference, over areas"})},
            {"model": names, "other": names, "score": list(_SCORES),
             "score_title": ("score", list(_SCORES.values()))},
            {"headline": "crps", WHERE: _WHERE, "caveat": _CAVEAT})
        failed = "".join(f"; {name} failed in turn {k + 1} ({what})"
                         for (name, k), what in self.errors.items())
        out.attrs["comparison"] = (f"scores are over {int(seen.sum())} of {seen.size} areas with "
                                   f"trials, on the scale √n asin √p{failed}.")
        out.attrs["sentence"] = in_order(
            out, f"Held out in turns, {out.sizes['area']} areas are predicted from the others")
        return out

    def _shared(self, names: list[str]) -> tuple[list[str], np.ndarray]:
        done = {name: np.isfinite(self.draws[name]).all(0) for name in names}
        ever = [name for name in names if done[name].any()]
        seen = np.all([done[name] for name in ever], 0) if ever else np.zeros(0, bool)
        if seen.sum() < 2:
            raise InputError("no area was predicted by every model that predicted any")
        return ever, seen & np.isfinite(self.observed)


def hold_out(models: Mapping[str, object], ds: xr.Dataset, parts: int, *, samples: int, seed: int,
             workers: int, progress: bool | Callable) -> HeldOut:
    """Draw positives of each area by models that are learnt from the others, and by one share.

    Parameters
    ----------
    models : mapping of str to model
        With ``fit``, to fits with ``simulate``.
    ds : xr.Dataset
        Bagged dataset with ``trials``. Areas where nobody was tested tell nothing, and are left
        out.
    parts : int
        Folds at most; each has at least three areas.
    samples, seed : int
        Draws, and their seed.
    workers : int
        Processes.
    progress : bool or callable
        As of `workbench.evaluation.tasks.outcomes`.
    """
    ds = subset(ds, np.flatnonzero(ds["trials"].values > 0))
    areas = ds.sizes[BAG]
    require(areas >= 2 * _EACH, f"{areas} areas with trials are too few to hold some out")
    fold = folds(ds, min(parts, areas // _EACH), "random", seed).values
    numbers, everyone = np.unique(fold).tolist(), {**models, ONE_SHARE: OneShare()}
    tasks = [Task(f"{name}, areas held out {k + 1} of {len(numbers)}", None,
                  ((name, 0, k), model, ds, fold == k, samples, seed + k))
             for k in numbers for name, model in everyone.items()]
    draws, errors = {name: np.full((samples, areas), np.nan) for name in everyone}, {}
    for one in outcomes(_predict, Recovery, tasks, workers, progress):
        if one.error:
            errors[one.model, one.draw] = one.error
        else:
            draws[one.model][:, fold == one.draw] = one.draws
    return HeldOut(draws, even(ds["value"].values, ds["trials"].values), errors)


def _scores_of(observed: np.ndarray, draws: np.ndarray, seed: int) -> np.ndarray:
    """Of each area all of `_SCORES`, (area, score)."""
    inside = covered_by_pit(pit(observed, draws, seed), [0.5, 0.8, 0.95])
    return np.stack([crps(observed, draws), (draws.mean(0) - observed) ** 2, *inside], axis=-1)


def even(positives: np.ndarray, trials: np.ndarray) -> np.ndarray:
    """√n asin √(k/n), of k positives out of n trials: the sd of its noise is 1/2.

    Parameters
    ----------
    positives, trials : array
        k and n, which is above zero.
    """
    positives, trials = np.asarray(positives, float), np.asarray(trials, float)
    return np.sqrt(trials) * np.arcsin(np.sqrt(positives / trials))


def _predict(place: tuple[str, int, int], model, ds: xr.Dataset, held: np.ndarray, samples: int,
             seed: int) -> Recovery:
    done = Recovery(*place)
    with attempt(done):
        fit, left_out = fitted(model, subset(ds, ~held), done), subset(ds, held)
        drawn = fit.simulate(left_out, samples=samples, seed=seed).transpose("sample", BAG)
        done.draws = even(drawn.values, left_out["trials"].values)
    return done
