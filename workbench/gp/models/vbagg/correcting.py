"""q on clusters of individuals whose mean rates are those of their members.

A cluster stands for its members at their mean inputs. Its rate there is not the mean of theirs, as
link and field are curved: under exp it is smaller, and maps of individuals come out too high by as
much, far more than their intervals allow where areas are large. What f of each cluster lacks at
the present q is added to it, and q is found again, which then is nearly that of all individuals.
"""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from workbench.gp.inference.parts import ENTRIES, seen_in_learning
from workbench.gp.models.vbagg.doubts import note_left
from workbench.gp.numerics.shapes import PerIndividual
from workbench.gp.optimisation.training import History

# The second time what is added moves by a tenth of the first.
_ROUNDS = 2


def correct(state, history: History) -> None:
    """Bring q to its optimum on clusters with the mean rates of their members.

    Parameters
    ----------
    state : VariationalState
        That learnt on clusters; its ``learning`` and its q are changed in place.
    history : History
        Of the fit; what is said of it is added.
    """
    with torch.no_grad():
        for _ in range(_ROUNDS):
            state.learning = replace(state.learning, shift=lacking(state))
            found = state.optimise_q(seen_in_learning(state))
    note_left(history, found, state.x.dtype)
    history.notes.append("q was found on the clusters, too, with the mean rates of their members: "
                         "features of all individuals would not fit into memory")


def lacking(state) -> PerIndividual:
    """What is to be added to f of each cluster (K,), by the present q.

    Parameters
    ----------
    state : VariationalState
        Not changed.
    """
    clusters, link = state.design.clusters, state.link
    weight, own = state.bags.weight, _rates(state, clusters.bags.x)
    total = torch.zeros_like(own).index_add(0, clusters.of, weight * _rates(state, state.x))
    shift = link.inverse(total / clusters.bags.weight) - link.inverse(own)
    # Rates that are zero or one to the last digit have nothing to compare.
    return torch.where(shift.isfinite(), shift, torch.zeros_like(shift))


def _rates(state, x: Tensor) -> PerIndividual:
    """Expected rate of f at inputs (N,), without effects."""
    rows, found = max(1, ENTRIES // len(state.field.q_mean)), []
    for start in range(0, len(x), rows):
        mean, variance = state.field.project(x[start:start + rows]).marginals(
            state.field.q_mean, state.field.q_covariance)
        found.append(state.link.distribution(mean, variance).mean)
    return torch.cat(found)
