"""Training of a variational model: hyperparameters by L-BFGS on the objective at the best q.

Under the Normal likelihood and the identity link the best q has a closed form; elsewhere natural
gradients find it, starting from the last one.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

import numpy as np
import torch
from torch import Tensor

from workbench.gp.fields.projected import aggregated_data
from workbench.gp.inference.annealing import of_annealing, powers, train_annealed
from workbench.gp.inference.coarse import begun, coarser
from workbench.gp.inference.collapsed import collapsed
from workbench.gp.optimisation.trails import Memory
from workbench.gp.optimisation.training import RESTARTS, History, maximise, scaled_callback

_ROUGH = 1e-4               # tolerance on less of the data: near the optimum is near enough


def train(state, progress: bool, callback) -> History:
    """Maximise the objective at the best q plus log prior, from annealed starts where totals bind.

    Where an evaluation takes long the search begins on less of the data.

    Parameters
    ----------
    state : VariationalState
        Changed in place: on return at the best setting found.
    progress, callback
        As of ``fit``.
    """
    closed = state.likelihood.has_noise and state.link.linear
    evaluate = (lambda pulse: closed_form(state)) if closed else state.profile

    def search(told, tolerance: float | None = None) -> History:
        def climb(state, progress, told, steps=None, rough=tolerance) -> History:
            return ascend(state, progress, told, steps, rough, evaluate)

        rising = powers(state) if state.hyperparameters.free and not closed else []
        if rising:
            return train_annealed(state, rising, climb, progress, told)
        return climb(state, progress, told)

    less = coarser(state)
    if less is None:
        return search(callback)
    started = time.perf_counter()
    begin, metric = begun(state, less, lambda told: search(told, _ROUGH), evaluate, callback)
    if begin is not None and begin.cancelled:
        return begin
    told = scaled_callback(callback, 1, 3, 3)
    if metric is None:
        history = search(told)
    else:
        history = ascend(state, progress, told, evaluate=evaluate, metric=metric)
        history.notes.append(
            f"the search began on {less.said} ({len(begin.objective)} evaluations, and "
            f"{len(metric) + 1} for the curvature)")
        history.notes += [f"{one} (on {less.said})" for one in of_annealing(begin.notes)]
    history.elapsed = time.perf_counter() - started
    return history


def closed_form(state) -> Tensor:
    """The bound at the best q, which is kept, plus log prior; Normal and identity only."""
    # Where nothing is learnt it is of all individuals, of which no gradient is to be kept.
    with torch.set_grad_enabled(
            torch.is_grad_enabled() and bool(state.hyperparameters.free)):
        value, mean, covariance = collapsed(
            aggregated_data(state.field, state.learning), state.source.targets.value,
            state.likelihood.variance(), state.source.trust)
        state.field.set_q(mean, covariance)
        return value + state.hyperparameters.log_prior()


def ascend(state, progress: bool, callback, steps: int | None = None,
           tolerance: float | None = None, evaluate: Callable | None = None,
           metric: np.ndarray | None = None) -> History:
    """One ascent of the profiled objective, or of the one that ``evaluate`` gives.

    ``steps`` and ``tolerance`` replace the options'; ``metric`` is as of `maximise`.
    """
    return maximise(
        evaluate or state.profile, state.hyperparameters,
        snapshot=lambda: (state.field.q_mean, state.field.q_covariance),
        restore=lambda q: state.field.set_q(*q),
        max_steps=steps or state.options.max_steps,
        tolerance=tolerance or state.options.tolerance,
        progress=progress, callback=callback, restarts=0 if tolerance else RESTARTS,
        metric=metric,
        memory=Memory(lambda: _carried(state), lambda carried: _carry(state, carried)),
    )


def _carried(state) -> dict[str, Tensor]:
    found = {"mean": state.field.q_mean, "covariance": state.field.q_covariance}
    return found if state.scales is None else found | {"scales": state.scales}


def _carry(state, carried: Mapping[str, Tensor]) -> None:
    state.restart(carried["mean"], carried["covariance"])
    state.scales = carried.get("scales")
