"""Hyperparameters found on a part of the data first, and how sharply that part knows them.

The evidence of a tenth of the observations costs a thousandth where it is cubic in them. Its
optimum is where the search on all data starts, and its Hessian the metric in which that search
needs a handful of evaluations instead of some tens.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from workbench.checks import WorkbenchWarning, stops, without_warnings
from workbench.gp.numerics.linalg import FactorisationError
from workbench.gp.optimisation.hyperparameters import HyperparameterSet
from workbench.gp.optimisation.training import History

# Of raw values, in the differences that the Hessian is made of; where the objective is that of a q
# which is itself found to so many nats alone, its gradients are not sharp enough for small ones.
STEP, STEP_OF_Q = 1e-3, 3e-2
_LEAST = 1.0        # curvature: what the part does not know moves by one log unit at most


def pilot(search: Callable[[], History], objective: Callable[[], Tensor],
          hyperparameters: HyperparameterSet, share: float = 1.0, step: float = STEP
          ) -> tuple[History | None, np.ndarray | None]:
    """Move hyperparameters to, or near, the optimum of a part of the data.

    Parameters
    ----------
    search : callable
        Searches for that optimum, and leaves hyperparameters there, or near it.
    objective : callable
        Of the part, with the log prior, at the present hyperparameters.
    hyperparameters : HyperparameterSet
        What is learnt; on return where the search ended.
    share : float
        Of all observations that are in the part.
    step : float
        Of raw values, between the gradients whose differences are taken.

    Returns
    -------
    history : History or None
        Of the part's search, also where that or what follows was cancelled; None where the part
        cannot be fitted.
    metric : array (P, P) or None
        Root of the inverse Hessian that all data should have there. None where the part cannot be
        fitted, and hyperparameters are as they were; and where it was cancelled, and they are the
        best that were found.
    """
    start, history = hyperparameters.vector(), None
    if len(start) == 0:
        return None, None
    try:
        # What the part warns of, all data will warn of if it is so.
        with without_warnings(WorkbenchWarning):
            history = search()
            if history.cancelled:
                return history, None
            best = hyperparameters.vector()
            try:
                hessian = _hessian(objective, hyperparameters, step) / share
            except stops():
                hyperparameters.assign(best)
                history.cancel()
                return history, None
            if np.isfinite(hessian).all():
                values, vectors = np.linalg.eigh(hessian)
                return history, vectors / np.sqrt(np.maximum(values, _LEAST))
    except (FactorisationError, torch.linalg.LinAlgError):
        pass
    hyperparameters.assign(start)
    return history, None


def _hessian(objective: Callable[[], Tensor], hyperparameters: HyperparameterSet, step: float
             ) -> np.ndarray:
    """Second derivatives of minus the objective, by differences of its gradient."""
    centre = hyperparameters.vector()

    def slope(vector: np.ndarray) -> np.ndarray:
        hyperparameters.assign(vector)
        for item in hyperparameters.free:
            item.raw.grad = None
        objective().backward()
        return hyperparameters.gradient()

    here = slope(centre)
    found = np.array([here - slope(centre + step * unit) for unit in np.eye(len(centre))]) / step
    hyperparameters.assign(centre)
    return (found + found.T) / 2
