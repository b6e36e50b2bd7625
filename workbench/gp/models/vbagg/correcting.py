"""q on clusters of individuals whose mean rates are those of their members.

A cluster stands for its members at their mean inputs. Its rate there is not the mean of theirs, as
link and field are curved: under exp it is smaller, and maps of individuals come out too high by as
much, far more than their intervals allow where areas are large. What f of each cluster lacks at
the present q is added to it, and q is found again. Where clusters are narrow beside lengthscales
that is nearly q of all individuals. Where they are wide it can be worse, as members do not follow
their cluster then: whether it is better is asked of the objective of all individuals, which counts
have, as their bags can be seen some at a time.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import torch

from workbench.checks import stops
from workbench.gp.fields.geometry import Geometry
from workbench.gp.fields.projected import ProjectedData
from workbench.gp.inference.parts import divided, in_parts, seen_in_learning
from workbench.gp.models.vbagg.doubts import note_left
from workbench.gp.numerics.linalg import FactorisationError
from workbench.gp.numerics.shapes import PerIndividual
from workbench.gp.optimisation.training import History

_WHY = "features of all individuals would not fit into memory"


def correct(state, history: History) -> None:
    """Bring q to its optimum on clusters with the mean rates of their members, if that is better.

    Where it is interrupted, or cannot be computed, clusters and q stay as they are.

    Parameters
    ----------
    state : VariationalState
        That learnt on clusters; its ``learning`` and its q are changed in place.
    history : History
        Of the fit; what is said of it is added.
    """
    told = f"q was found on the clusters, too: {_WHY}"
    if not in_parts(state) or history.cancelled:
        history.notes.append(told)
        return
    plain, q = state.learning, (state.field.q_mean, state.field.q_covariance)
    gain = 0.0
    try:
        with torch.no_grad():
            rates: list[PerIndividual] = []
            before = on_all(state, rates.append)
            state.learning = replace(plain, shift=lacking(state, torch.cat(rates)))
            found = state.optimise_q(seen_in_learning(state))
            gain = on_all(state) - before
    except stops(KeyboardInterrupt):
        history.cancelled = True
    except FactorisationError:
        pass
    if gain > 0:
        note_left(history, found, state.x.dtype)
        history.notes.append("q was found on the clusters, too, with the mean rates of their "
                             f"members (better by {gain:.3g} nats of all individuals): {_WHY}")
        return
    state.learning = plain
    state.restart(*q)
    history.notes.append(f"{told}; with the mean rates of their members all individuals were not "
                         "fitted better: more clusters (option compress) make the map better")


def on_all(state, tell: Callable[[PerIndividual], None] | None = None) -> float:
    """Objective of all individuals at the present q, in runs of bags that are freed in turn.

    Parameters
    ----------
    state : VariationalState
        Not changed.
    tell : callable, optional
        Is given the mean rates of each run's individuals, without effects, one run after the other.
    """
    parts, q = divided(state, state.design.sketch), (state.field.q_mean, state.field.q_covariance)

    def project(some: Geometry) -> ProjectedData:
        seen = state.project(some)
        if tell is not None:
            tell(state.link.distribution(*seen.projection.marginals(*q)).mean)
        return seen

    return float(state.objective(replace(parts, project=project), *q, anew=True))


def lacking(state, rate: PerIndividual) -> PerIndividual:
    """What is to be added to f of each cluster (K,), by the present q.

    Parameters
    ----------
    state : VariationalState
        Not changed.
    rate : Tensor (N,)
        Mean rates of all individuals, without effects.
    """
    clusters, link = state.design.clusters, state.link
    total = torch.zeros_like(clusters.bags.weight).index_add_(
        0, clusters.of, state.bags.weight * rate)
    own = state.field.project(clusters.bags.x).marginals(
        state.field.q_mean, state.field.q_covariance)
    shift = link.lacking(*own, total / clusters.bags.weight)
    # Rates that are zero or infinite to the last digit have nothing to compare.
    return torch.where(shift.isfinite(), shift, torch.zeros_like(shift))
