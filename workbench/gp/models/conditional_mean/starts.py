"""Training from several starts: the evidence of a mediated model has more than one optimum.

With a lengthscale of the mediators far above the spacing of the bags all bags look alike, and the
ascent may end where the targets are explained as noise.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from torch import Tensor

from workbench.checks import require, without_warnings
from workbench.gp.numerics.linalg import FactorisationError
from workbench.gp.optimisation.hyperparameters import HyperparameterSet
from workbench.gp.optimisation.training import History, maximise_evidence, scaled_callback

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
        return maximise_evidence(evidence, hyperparameters, options, progress=progress,
                                 callback=callback)
    steps = steps or [None]
    first, runs = hyperparameters.vector(), []
    for number, step in enumerate(steps):
        hyperparameters.assign(first)
        for name in names if step is not None else []:
            hyperparameters[name].set((near[name] ** (1 - step) * wide[name] ** step).tolist())
        label = ", ".join(f"{np.mean(hyperparameters[n].report()['value']):.3g}" for n in names)
        try:
            with without_warnings():    # of runs that end before they converge
                history = maximise_evidence(
                    rough or evidence, hyperparameters, options,
                    callback=scaled_callback(callback, number, len(steps) + 1))
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
        history = maximise_evidence(
            evidence or rough, hyperparameters, options, progress=progress,
            callback=scaled_callback(callback, len(steps), len(steps) + 1))
    history.elapsed += sum(run[3].elapsed for run in runs if run[3] is not history)
    if len(runs) > 1:
        history.notes.insert(0, STARTS + ", and the objective each reached: "
                             + "; ".join(f"{label}: {value:.2f}" for value, label, *_ in runs)
                             + f"; kept the one from {best[1]}")
    return history
