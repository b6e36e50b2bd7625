"""Why a search of hyperparameters did not converge, in words: the likely cause, and what to try."""

from __future__ import annotations

import numpy as np

from workbench.gp.optimisation.hyperparameters import HyperparameterSet

_LIMIT = 1          # status of L-BFGS that has used up its evaluations or iterations


def steepest(hyperparameters: HyperparameterSet, gradient: np.ndarray | None) -> str:
    """The hyperparameter along which the objective rises most; empty if that is not known.

    Parameters
    ----------
    hyperparameters : HyperparameterSet
        What was searched over.
    gradient : array, optional
        Of the objective in the raw values of those that are free, in one vector.

    Returns
    -------
    str
        Its name.
    """
    if gradient is None or not np.isfinite(gradient).all() or not np.any(gradient):
        return ""
    names = [item.name for item in hyperparameters.free for _ in range(item.raw.numel())]
    return names[int(np.argmax(np.abs(gradient)))]


def ran_out(evaluations: int, status: int, message: str, along: str) -> str:
    """What to say of a search that was ended by its limit, or by a failure of L-BFGS.

    Parameters
    ----------
    evaluations : int
        How many there were.
    status : int
        Of the result of L-BFGS.
    message : str
        Of the same.
    along : str
        From `steepest`.

    Returns
    -------
    str
        One sentence on the cause, one on the remedy.
    """
    where = f", steepest along {along}" if along else ""
    if status != _LIMIT:
        return (f"not converged after {evaluations} evaluations: the search broke off ({message})"
                f"{where}. Likely the objective is not smooth there: fix "
                f"{along or 'a hyperparameter'} or give it a prior, or raise max_steps")
    remedy = f", fix {along} or give it a prior" if along else ", fix a hyperparameter"
    return (f"not converged after {evaluations} evaluations: the limit was reached while the "
            f"objective still rose{where}. Likely the search began far from the optimum, or the "
            f"totals hardly tell this value: raise max_steps; if it still does not end{remedy}")


def left_over(evaluations: int, nats: float, along: str) -> str:
    """What to say of a search that ended by itself with much of the objective left.

    Parameters
    ----------
    evaluations : int
        How many there were.
    nats : float
        What is left, to second order.
    along : str
        From `steepest`.

    Returns
    -------
    str
        One sentence on the cause, one on the remedy.
    """
    where = f", most of it along {along}" if along else ""
    return (f"not converged after {evaluations} evaluations: to second order {nats:.3g} nats of "
            f"the objective are left{where}. Likely the totals tell a combination of "
            f"hyperparameters, but not each of them: fix {along or 'one'} or give it a prior, or "
            "lower tolerance and raise max_steps")
