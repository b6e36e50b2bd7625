"""Predictions averaged over what the data leave open about the hyperparameters.

Totals of areas tell little of a lengthscale, and of how overdispersion splits between areas and
individuals; predictions at the single best setting are then too sure. Here settings are drawn
around the best one, in raw (logarithmic) coordinates, and weighted by importance; predictions are
mixtures over them. Draws go on until they are worth a third as many draws from the posterior as
were allowed; where they fall far short of it, the fit says so.

References
----------
Rue, Martino and Chopin 2009, sections 3 and 6.5 (integration over hyperparameters); Owen 2013,
chapter 9 (self-normalised importance sampling).
"""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import torch
from tqdm import tqdm

from workbench.checks import ApproximationWarning, stops, warn
from workbench.gp.inference.parts import seen_in_learning
from workbench.gp.models.vbagg.averaged_fit import AveragedFit
from workbench.gp.models.vbagg.exploring import Explorer, Setting
from workbench.gp.models.vbagg.fit import VariationalFit
from workbench.gp.models.vbagg.proposal import (
    Kernels,
    Proposal,
    effective_number,
    importance_weights,
    spread_points,
)
from workbench.gp.models.vbagg.state import VariationalState
from workbench.gp.models.vbagg.summed_out import aside, summed_out
from workbench.gp.optimisation.training import History

_NEGLIGIBLE = 1e-3      # weight below which settings together are left out
_BATCH = 8              # settings drawn before the weights are looked at again
_HEAVY = 0.7            # k̂ that is too large
# With average="auto": draws from the posterior that the settings should be worth, settings per
# hyperparameter and their bounds, most hyperparameters, and most entries of features that all
# settings together may take (about a minute of one core).
_ENOUGH, _EACH, _FEWEST, _MOST, _DIMENSIONS, _AFFORDABLE = 12, 8, 32, 96, 12, 4e7


def average(fit: VariationalFit, progress: bool = False, callback=None) -> VariationalFit:
    """The fit with predictions averaged over up to ``fit.model.options.average`` settings.

    Parameters
    ----------
    fit : VariationalFit
        A fit with its hyperparameters at their best.
    progress : bool
        Show a progress bar.
    callback : callable, optional
        As in ``fit``; if it raises `Cancelled`, the fit at the best setting is returned.

    Warns
    -----
    ApproximationWarning
        If the settings are worth less than half the draws they should be, or k̂ is above 0.7.
    """
    state, history, most = fit.state, fit.history, fit.model.options.average
    best, q = state.hyperparameters.vector(), (state.field.q_mean, state.field.q_covariance)
    auto = most == "auto"
    if auto:
        most = affordable(len(best), len(state.learning.x), len(q[0]))
        if not most:
            history.notes.append("predictions are at the best setting of the hyperparameters: "
                                 "averaging takes too long here (option average)")
            return fit
    enough = _ENOUGH if auto else most / 3
    total = 3 * len(best) + most
    bar = tqdm(total=total, disable=not progress, desc="average", unit="setting")
    done = itertools.count(1)       # a bar that is not shown does not count

    def step() -> None:
        bar.update()
        share = min(1.0, next(done) / total)
        if callback is not None:
            callback(len(history.objective), history.objective[-1], share)

    learning = state.learning
    # Of clusters as they were learnt on: there the best setting is the mode.
    state.learning = replace(learning, shift=None)
    try:
        found, weights, tail = _draw(Explorer(aside(state), step), most, enough,
                                     fit.model.options.seed)
    except stops():
        history.notes.append("averaging over hyperparameters was cancelled; the best setting alone")
        history.cancelled = True
        return fit
    finally:
        bar.close()
        state.hyperparameters.assign(best)
        state.field.set_q(*q)
        state.learning = learning
    return _averaged(fit, found, weights, tail, enough)


def affordable(dimension: int, individuals: int, features: int) -> int:
    """Most settings with ``average="auto"``, by counts alone: the same on every machine.

    Eight for each hyperparameter, 32 to 96; none of more than twelve hyperparameters, which so few
    settings do not cover, nor where exploring takes more than 40 million entries of features.

    Parameters
    ----------
    dimension : int
        Free hyperparameters.
    individuals : int
        Individuals or clusters that hyperparameters are learnt on.
    features : int
        Entries of q's mean.
    """
    most = min(max(_EACH * dimension, _FEWEST), _MOST)
    work = (3 * dimension + most) * features * max(individuals, features)
    return 0 if dimension > _DIMENSIONS or work > _AFFORDABLE else most


def _draw(explorer: Explorer, most: int, enough: float, seed: int
          ) -> tuple[list[Setting], np.ndarray, float]:
    """Settings, their weights and k̂; the best setting is the first of them."""
    first = explorer.proposal()
    points = np.vstack([first.centre, spread_points(first, most - 1, seed)])[:most]
    found: list[Setting] = []
    drawn: list[tuple[int, Proposal]] = [(0, first)]
    while True:
        batch = [explorer.at(point) for point in points[len(found):len(found) + _BATCH]]
        found, drawn[-1] = found + batch, (drawn[-1][0] + len(batch), drawn[-1][1])
        count = len(found)
        weights, tail = importance_weights(
            np.array([one.value for one in found]), points[:count], drawn)
        size, heavy = effective_number(weights), tail > _HEAVY
        if count == most or (size >= enough and not heavy):
            return found, weights, tail
        # At this rate the rest would not do: draw it where mass has been found.
        if 2 * count >= most and (size * most < enough * count or heavy):
            kernels = Kernels(points[:count], weights, first)
            more = spread_points(kernels, most - count, seed + len(drawn))
            points, drawn = np.vstack([points[:count], more]), [*drawn, (0, kernels)]


def _averaged(fit: VariationalFit, found: list[Setting], weights: np.ndarray, tail: float,
              enough: float) -> AveragedFit:
    order = np.argsort(weights)[::-1]
    kept = order[: int(np.searchsorted(np.cumsum(weights[order]), 1 - _NEGLIGIBLE)) + 1]
    size = effective_number(weights)
    known = "" if np.isnan(tail) else f", k̂ {tail:.2f}"
    fit.history.notes.append(
        f"predictions are averaged over {len(kept)} settings of the hyperparameters "
        f"(of {len(found)} drawn; effective number {size:.1f}{known})")
    if size < enough / 2 or tail > _HEAVY:
        fit.history.notes.append(
            f"the average over hyperparameters is poor: effective number {size:.1f}, "
            f"wanted {enough:.1f}{known}. Likely there are few totals for so many "
            "hyperparameters: raise average, or fix or give priors to hyperparameters that the "
            "data leave open")
        warn(fit.history.notes[-1], ApproximationWarning)
    chosen = torch.as_tensor(weights[kept] / weights[kept].sum()).to(fit.state.x)
    return AveragedFit(fit, [_member(fit, found[i]) for i in kept], chosen, size, tail)


def _member(fit: VariationalFit, setting: Setting) -> VariationalFit:
    """A fit at a setting, with the q that was found there; as the best, on corrected clusters."""
    state = VariationalState(fit.model, fit.state.given, fit.state.design)
    state.hyperparameters.fix(setting.hyperparameters)
    corrected = fit.state.learnt()
    with summed_out(state), torch.no_grad():
        state.field.set_q(*setting.q)
        if corrected:
            state.recall_clusters(corrected)
            state.optimise_q(seen_in_learning(state))
    return VariationalFit(fit.model, state, History([setting.value], converged=True))
