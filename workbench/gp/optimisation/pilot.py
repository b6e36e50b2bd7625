"""Hyperparameters found on a part of the data first, and how sharply that part knows them.

The evidence of a tenth of the observations costs a thousandth where it is cubic in them. Its
optimum is where the search on all data starts, and its Hessian the metric in which that search
needs a handful of evaluations instead of some tens.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np
from torch import Tensor

from workbench.checks import WorkbenchWarning
from workbench.gp.numerics.linalg import FactorisationError
from workbench.gp.optimisation.hyperparameters import HyperparameterSet
from workbench.gp.optimisation.training import maximise

_STEP = 1e-3        # of raw values, in the differences that the Hessian is made of
_LEAST = 1.0        # curvature: what the part does not know moves by one log unit at most


def pilot(evidence: Callable[[], Tensor], hyperparameters: HyperparameterSet, options,
          share: float) -> np.ndarray | None:
    """Move hyperparameters to the optimum of a part of the data.

    Parameters
    ----------
    evidence : callable
        Log evidence of the part at the present hyperparameters.
    hyperparameters : HyperparameterSet
        What is learnt; on return at the part's optimum.
    options : Options
        ``max_steps`` and ``tolerance``.
    share : float
        Of all observations that are in the part.

    Returns
    -------
    array (P, P) or None
        Root of the inverse Hessian that all data should have there; None, and hyperparameters as
        they were, where the part cannot be fitted.
    """
    start = hyperparameters.vector()
    if len(start) == 0:
        return None

    def objective(_=None) -> Tensor:
        return evidence() + hyperparameters.log_prior()

    try:
        with warnings.catch_warnings():
            # What the part warns of, all data will warn of if it is so.
            warnings.simplefilter("ignore", WorkbenchWarning)
            history = maximise(objective, hyperparameters, max_steps=options.max_steps,
                               tolerance=options.tolerance, restarts=5)
            hessian = _hessian(objective, hyperparameters) / share
    except FactorisationError:
        hyperparameters.assign(start)
        return None
    if not history.converged or not np.isfinite(hessian).all():
        hyperparameters.assign(start)
        return None
    values, vectors = np.linalg.eigh(hessian)
    return vectors / np.sqrt(np.maximum(values, _LEAST))


def _hessian(objective: Callable[[], Tensor], hyperparameters: HyperparameterSet) -> np.ndarray:
    """Second derivatives of minus the objective, by central differences of its gradient."""
    centre, columns = hyperparameters.vector(), []
    for unit in np.eye(len(centre)):
        sides = []
        for sign in (1, -1):
            hyperparameters.assign(centre + sign * _STEP * unit)
            for item in hyperparameters.free:
                item.raw.grad = None
            objective().backward()
            sides.append(hyperparameters.gradient())
        columns.append((sides[1] - sides[0]) / (2 * _STEP))
    hyperparameters.assign(centre)
    found = np.array(columns)
    return (found + found.T) / 2
