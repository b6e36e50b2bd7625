"""q on clusters of individuals whose mean rates are those of their members.

A cluster stands for its members at their mean inputs. Its rate there is not the mean of theirs, as
link and field are curved: under exp it is smaller, and maps of individuals come out too high by as
much, far more than their intervals allow where areas are large. What f of each cluster lacks at
the present q is added to it, and q is found again. Where clusters are narrow beside lengthscales
that is nearly q of all individuals. Where they are wide it can be worse, as members do not follow
their cluster then: whether it is better is asked of the objective of all individuals.
"""

from __future__ import annotations

import math
from dataclasses import replace

import torch
from torch import Tensor

from workbench.gp.inference.parts import ENTRIES, divided, in_parts, seen_in_learning
from workbench.gp.models.vbagg.doubts import note_left
from workbench.gp.numerics.shapes import PerIndividual
from workbench.gp.optimisation.training import History

_WHY = "features of all individuals would not fit into memory"


def correct(state, history: History) -> None:
    """Bring q to its optimum on clusters with the mean rates of their members, if that is better.

    Parameters
    ----------
    state : VariationalState
        That learnt on clusters; its ``learning`` and its q are changed in place.
    history : History
        Of the fit; what is said of it is added.
    """
    if not in_parts(state):
        history.notes.append(f"q was found on the clusters, too: {_WHY}")
        return
    with torch.no_grad():
        plain, q = state.learning, (state.field.q_mean, state.field.q_covariance)
        before = on_all(state)
        state.learning = replace(plain, shift=lacking(state))
        found = state.optimise_q(seen_in_learning(state))
        gain = on_all(state) - before
    if gain > 0:
        note_left(history, found, state.x.dtype)
        history.notes.append("q was found on the clusters, too, with the mean rates of their "
                             f"members (better by {gain:.3g} nats of all individuals): {_WHY}")
        return
    state.learning = plain
    state.restart(*q)
    history.notes.append(f"q was found on the clusters, too: {_WHY}. They are wide beside the "
                         "lengthscales; more of them (compress) make the map better")


def on_all(state) -> float:
    """Objective of all individuals at the present q, in runs of bags that are freed in turn.

    Parameters
    ----------
    state : VariationalState
        Not changed.
    """
    seen, field = state.design.sketch, state.field
    count = math.ceil(len(seen.x) * len(field.q_mean) / ENTRIES)
    parts = divided(state, seen, min(count, seen.operator.bags.count))
    return float(state.objective(parts, field.q_mean, field.q_covariance, anew=True))


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
