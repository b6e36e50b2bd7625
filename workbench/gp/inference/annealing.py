"""Starts for totals that bind: an annealed likelihood, and several settings of the lengthscales.

Totals of thousands ask for an accuracy of a percent. At lengthscales that cannot give it q is far
from any Gaussian, its objective has ridges and many optima, and an ascent from there ends anywhere.
With the likelihood raised to a small power, and the power brought up to one in steps of ten, q and
hyperparameters follow an optimum that is easy to find at first. What is left of the dependence on
the start is met by several, of which the best is kept.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from workbench.checks import without_warnings
from workbench.gp.inference.parts import seen_in_learning
from workbench.gp.kernels.persistent import VARIANCE
from workbench.gp.numerics.linalg import FactorisationError
from workbench.gp.optimisation.natural_gradient import optimise
from workbench.gp.optimisation.training import History, scaled_callback

# Nats that the narrow start of q is away from its optimum (to second order) above which training
# is annealed, and nats at which the first power of the likelihood starts.
_HARD, _EASY = 1e4, 1e2
_STEPS, _TOLERANCE = 12, 1e-3       # of the hyperparameters at each power: none needs its optimum
_STEPS_OF_Q = 50                    # at one setting, until the best start is known
# Lengthscales and variances of the starts, relative to those that annealing ends with. Shorter ones
# only make q harder to find: annealing comes from the side of long ones.
_STARTS = ((1.0, 1.0), (2.0, 4.0))
_SCREENING, _SCREENED = 20, 1e-4    # steps and tolerance by which the best start is chosen
_SEVERAL = 1.0                      # nats between optima that are worth a word
SEVERAL_OPTIMA = "several optima"
_TIGHT = "totals bind tightly"


def powers(state) -> list[float]:
    """Powers of the likelihood to anneal over, rising and below one; none where q is easily found.

    None, too, where areas have effects whose size is learnt: these take up at first what the
    lengthscales cannot give, so that the totals do not bind. And none where there is no objective
    at the start: that is for the ascent to tell.

    Parameters
    ----------
    state : VariationalState
        At its starting hyperparameters.
    """
    if any(item.name in ("area.std", VARIANCE) for item in state.hyperparameters.free):
        return []
    away = _away(state, seen_in_learning(state).detach())
    if away < _HARD:
        return []
    return [10.0**-k for k in range(math.ceil(math.log10(away / _EASY)), 0, -1)]


def binds(state, seen) -> bool:
    """Whether the narrow start of q is so far from its optimum that the search may go astray.

    Parameters
    ----------
    state : VariationalState
    seen : ProjectedData
        What is learnt from.
    """
    return _away(state, seen) >= _HARD


def _away(state, seen) -> float:
    """Nats from the narrow start of q to its optimum, to second order; 0 without an objective."""
    try:
        return optimise(
            lambda m, s: state.objective(seen, m, s), *state.narrow(), steps=0).decrement
    except FactorisationError:
        return 0.0


def train_annealed(state, rising: list[float], ascend: Callable[..., History], progress: bool,
                   callback) -> History:
    """Bring the state near an optimum by annealing, ascend from several starts, keep the best.

    Parameters
    ----------
    state : VariationalState
        Changed in place: on return at the best setting found.
    rising : list of float
        Powers of the likelihood, of `powers`.
    ascend : callable
        ``ascend(state, progress, callback, steps, tolerance)``, one ascent.
    progress, callback
        As of ``fit``.
    """
    runs: list[tuple[History, np.ndarray, tuple]] = []
    parts, done, elapsed = len(rising) + len(_STARTS) + 3, 0, 0.0

    def climb(steps: int, tolerance: float) -> History:
        nonlocal done, elapsed
        usual, state.steps_of_q = state.steps_of_q, _STEPS_OF_Q
        try:
            part = ascend(state, False, scaled_callback(callback, done, parts), steps, tolerance)
        finally:
            state.steps_of_q = usual
        done, elapsed = done + 1, elapsed + part.elapsed
        return part

    def here() -> tuple:
        return (state.hyperparameters.vector(), (state.field.q_mean, state.field.q_covariance))

    with without_warnings():        # of ascents that end before they converge
        for power in rising:
            state.tempering = power
            try:
                part = climb(_STEPS, _TOLERANCE)
            finally:
                state.tempering = 1.0
            if part.cancelled:
                break
        centre = here()
        for factors in _STARTS:
            _go(state, *centre)
            _scale(state, *factors)
            part = climb(_SCREENING, _SCREENED)
            runs.append((part, *here()))
            if part.cancelled:
                break
    history, *best = max(runs, key=lambda run: max(run[0].objective))
    _go(state, *best)
    if not history.cancelled:
        before = history
        history = ascend(state, progress, scaled_callback(callback, done, parts, parts))
        history.objective = before.objective + history.objective
        elapsed += history.elapsed
    history.elapsed = elapsed
    history.notes.append(
        f"{_TIGHT}: the likelihood was annealed over {len(rising)} powers, and the "
        f"best of {len(runs)} starts kept")
    reached = [max(run[0].objective) for run in runs]
    if max(reached) - min(reached) > _SEVERAL:
        history.notes.append(
            f"{SEVERAL_OPTIMA}: the starts led to objectives "
            + ", ".join(f"{value:.1f}" for value in reached)
            + "; another seed or machine may end at another one. Likely the totals can be "
            "explained by a short lengthscale and by a long one: fix it or give it a prior, and "
            "compare the maps of several seeds")
    return history


def of_annealing(notes: list[str]) -> list[str]:
    """The notes of a `History` that are about annealed starts."""
    return [note for note in notes if note.startswith((_TIGHT, SEVERAL_OPTIMA))]


def _go(state, vector: np.ndarray, q: tuple) -> None:
    state.hyperparameters.assign(vector)
    state.restart(*q)


def _scale(state, lengthscale: float, variance: float) -> None:
    """Multiply the free lengthscales and variances of the kernel's terms."""
    for item in state.hyperparameters.free:
        factor = {"lengthscale": lengthscale, "variance": variance}.get(item.name.split(".")[-1])
        if factor is not None and item.name not in (
                "noise.variance", "area.variance", VARIANCE):
            item.set((factor * item.natural.detach().reshape(-1)).tolist())
