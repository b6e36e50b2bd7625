"""Inducing inputs that are learnt: moved together with the hyperparameters, by the same objective.

The bound holds for inducing inputs wherever they lie, so that its best place for them is a better
approximation and no other model. First hyperparameters are learnt at the k-means++ seeds, from
there both.

References
----------
Law et al. 2018, section 3.1 ("we might also learn W"); Titsias 2009.
"""

from __future__ import annotations

import math
from dataclasses import replace

from torch import Tensor

from workbench.gp.fields.moves import InducingMoves
from workbench.gp.inference.trainers import closed_form
from workbench.gp.optimisation.hyperparameters import HyperparameterSet
from workbench.gp.optimisation.training import RESTARTS, History, maximise

# Standardised units that one unit of the search moves an inducing input: the objective is flat in
# them beside the logarithms of hyperparameters, and L-BFGS begins with steps of one length for all.
_STEP = 3.0


def learn_inducing_inputs(state, history: History, progress: bool, callback) -> None:
    """Move the inducing inputs of a trained state to where the objective is largest.

    Parameters
    ----------
    state : VariationalState
        At its best setting; hyperparameters, inducing inputs and q are changed in place.
    history : History
        Of the training so far, which goes on.
    progress, callback
        As of ``fit``.
    """
    search = _Search(state)
    if not search.moves.items:
        return
    start = len(history.objective)

    def told(step: int, objective: float, fraction: float) -> None:
        if callback is not None:
            callback(start + step, objective, fraction)

    try:
        found = maximise(
            search.evaluate, HyperparameterSet([*state.hyperparameters, *search.moves.items]),
            snapshot=search.q, restore=search.restore, max_steps=state.options.max_steps,
            tolerance=state.options.tolerance, progress=progress, callback=told,
            restarts=RESTARTS)
    finally:
        search.leave()
    gain = max(found.objective) - max(history.objective)
    history.objective += found.objective
    history.notes += [*found.notes, f"{search.moves.count} inducing inputs learnt: the "
                      f"objective rose by {gain:.3g} nats"]
    history.converged, history.cancelled = found.converged, found.cancelled
    history.elapsed += found.elapsed


class _Search:
    """The objective by how far inducing inputs are moved, each time from the best q so far.

    From the q of a far trial the next might end at another optimum of q, and the search in steps
    that lead nowhere.
    """

    def __init__(self, state):
        self.state, self.moves = state, InducingMoves(state.field, _STEP)
        self.best, self.value = self.q(), -math.inf

    def q(self) -> tuple[Tensor, Tensor]:
        return self.state.field.q_mean, self.state.field.q_covariance

    def evaluate(self, pulse) -> Tensor:
        state = self.state
        self.moves.place()
        state.restart(*self.best)
        exact = state.likelihood.has_noise and state.link.linear
        value = closed_form(state) if exact else state.profile(pulse)
        if float(value.detach()) > self.value:
            self.best, self.value = self.q(), float(value.detach())
        return value

    def restore(self, q: tuple[Tensor, Tensor]) -> None:
        self.state.restart(*q)

    def leave(self) -> None:
        """Take up where the inducing inputs have come to lie."""
        self.moves.leave()
        self.state.design = replace(self.state.design,
                                    inducing=list(self.state.field.inducing))
