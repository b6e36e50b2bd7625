"""What a fit says where q has not reached its optimum."""

from __future__ import annotations

import torch

from workbench.gp.optimisation.natural_gradient import Optimum, reachable
from workbench.gp.optimisation.training import History

#: Decrement of q in nats above which a fit has not converged.
LEFT = 1e-2


def note_left(history: History, found: Optimum, dtype: torch.dtype) -> None:
    """Say of a fit that q is not at its optimum, if it is not.

    Parameters
    ----------
    history : History
        Of the fit; changed in place.
    found : Optimum
        Of q.
    dtype : torch.dtype
        That it was computed in.
    """
    if found.decrement > reachable(found.value, LEFT, dtype):
        history.converged = False
        history.notes.append(f"q is not at its optimum: to second order {found.decrement:.3g} "
                             "nats of the objective are left. Likely the totals bind more "
                             "tightly than a Gaussian q can follow: use overdispersion='area' "
                             "and nugget='learn', or a longer lengthscale, fixed or by a prior")
