"""The posterior where all hyperparameters are given: nothing is learnt but q."""

from __future__ import annotations

import torch
from torch import Tensor

from workbench.gp.inference.scattered import scatter
from workbench.gp.inference.trainers import ascend
from workbench.gp.models.vbagg.correcting import correct
from workbench.gp.models.vbagg.doubts import note_left
from workbench.gp.optimisation.training import History

#: Decrement of q in nats: at which searches of hyperparameters are short, and where an answer must
#: come at once.
PROFILE, ROUGH = 1e-6, 1e-3
# Individuals times features of q up to which a second search is a matter of a second.
_CHEAP = 1_000_000


def find_q(state, progress: bool, callback) -> History:
    """Find q of all individuals, if they fit, at hyperparameters that are all given.

    Parameters
    ----------
    state : VariationalState
        Its q and view of the training data are changed in place.
    progress, callback
        As of ``fit``.
    """
    with torch.no_grad():
        near = state.project(state.learning).detach()
        scatter(state, near)
        if state.learning is not state.geometry:        # clusters bring it near
            state.optimise_q(near, nats=ROUGH)
            if state.fits:
                state.learning, near = state.geometry, state.project().detach()
                _better(state, near)

    def evaluate(pulse) -> Tensor:
        found = state.optimise_q(near, state.steps_of_q, PROFILE, pulse)
        return torch.tensor(found.value, dtype=torch.float64)

    history = ascend(state, progress, callback, evaluate=evaluate)
    if state.fits:          # as after learning, to the same digits
        state.trained_data = near
        note_left(history, state.optimise_q(near), state.x.dtype)
    elif state.learning is not state.geometry:
        correct(state, history)
    return history


def _better(state, near) -> None:
    """Start q where clusters led it, or where a search from afar ends, whichever is better.

    Clusters are not all individuals: of two optima they may lead to the worse.
    """
    if len(state.x) * len(state.field.q_mean) > _CHEAP:
        return
    found = [state.optimise_q(near, nats=ROUGH)]
    state.restart(*state.narrow())
    found.append(state.optimise_q(near, nats=ROUGH))
    best = max(found, key=lambda one: one.value)
    state.restart(best.mean, best.covariance)
