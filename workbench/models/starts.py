"""Training from several starts: the evidence of a mediated model has more than one optimum.

With a lengthscale of the mediators far above the spacing of the bags all bags look alike, and the
ascent may end where the targets are explained as noise.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np
from torch import Tensor

from workbench.checks import require
from workbench.hyperparameters import HyperparameterSet
from workbench.linalg import FactorisationError
from workbench.training import History, maximise

Evidence = Callable[[], Tensor]
STARTS = "starts by lengthscale of the mediators"       # how the note on them begins


def train_from_starts(
    evidence: Evidence | None, rough: Evidence | None, hyperparameters: HyperparameterSet,
    near: dict[str, np.ndarray], wide: dict[str, np.ndarray], options, progress: bool, callback,
    given: bool = False,
) -> History:
    """Maximise evidence plus log prior; the best of several starts is refined.

    Parameters
    ----------
    evidence, rough : callable or None
        The evidence, and a cheap likeness of it to seek the best start with; one of them may be
        missing.
    hyperparameters : HyperparameterSet
        What is learnt.
    near, wide : dict of name to array
        First and last setting of the lengthscales that starts differ in.
    options : CMPOptions
        ``starts``, ``max_steps``, ``tolerance``.
    given : bool
        Whether the present values are one more start.
    """
    names = [name for name in near if not hyperparameters[name].fixed
             and name not in options.initial]
    apart = any(not np.allclose(near[name], wide[name]) for name in names)
    steps = list(np.linspace(0, 1, options.starts if apart else 1)) if names else []
    steps += [None] if given and names else []
    if len(steps) < 2 and rough is None:
        return _maximise(evidence, hyperparameters, options, progress, callback)
    steps = steps or [None]
    first, runs = hyperparameters.vector(), []
    for number, step in enumerate(steps):
        hyperparameters.assign(first)
        for name in names if step is not None else []:
            hyperparameters[name].set((near[name] ** (1 - step) * wide[name] ** step).tolist())
        label = ", ".join(f"{np.mean(hyperparameters[n].report()['value']):.3g}" for n in names)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")     # of runs that end before they converge
                history = _maximise(rough or evidence, hyperparameters, options, False,
                                    share_of(callback, number, len(steps) + 1))
        except FactorisationError:
            continue
        runs.append((max(history.objective), label, hyperparameters.vector(), history))
        if history.cancelled:
            break
    require(bool(runs), "no start gave a finite evidence; fix some hyperparameters")
    best = max(runs, key=lambda run: run[0])
    hyperparameters.assign(best[2])
    history = best[3]
    both = evidence is not None and rough is not None
    if not history.cancelled and (both or not history.converged):
        history = _maximise(evidence or rough, hyperparameters, options, progress,
                            share_of(callback, len(steps), len(steps) + 1))
    history.elapsed += sum(run[3].elapsed for run in runs if run[3] is not history)
    if len(runs) > 1:
        history.notes.insert(0, STARTS + ", and the objective each reached: "
                             + "; ".join(f"{label}: {value:.2f}"
                                                     for value, label, *_ in runs)
                             + f"; kept the one from {best[1]}")
    return history


def _maximise(evidence, hyperparameters, options, progress, callback) -> History:
    return maximise(
        lambda pulse: evidence() + hyperparameters.log_prior(), hyperparameters,
        snapshot=lambda: None, restore=lambda _: None, max_steps=options.max_steps,
        tolerance=options.tolerance, progress=progress, callback=callback, restarts=5)


def share_of(callback, number: int, count: int):
    """A callback that sees one of several runs as its share of the whole."""
    if callback is None:
        return None
    return lambda step, objective, fraction: callback(step, objective, (number + fraction) / count)
