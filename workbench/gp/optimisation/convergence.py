"""What came of a search of hyperparameters, and in words why it did not converge, and a remedy."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from workbench.gp.numerics.linalg import JITTERED
from workbench.gp.optimisation.hyperparameters import HyperparameterSet

_LIMIT = 1          # status of L-BFGS that has used up its evaluations or iterations
_NEAR = 1e-6        # of the range: what counts as its end
ENDED = "ended at the end of the range"


@dataclass
class History:
    """Objective after each outer step, and what happened on the way."""

    objective: list[float] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    converged: bool = False
    cancelled: bool = False
    elapsed: float = 0.0
    failed: bool = False        # worse than a model nested in it: not to be used

    def cancel(self, unit: str = "steps") -> None:
        """Note that it was cancelled, after so many steps or what else ``objective`` counts."""
        self.cancelled, self.converged = True, False
        self.notes.append(f"cancelled after {len(self.objective)} {unit}; best state kept")


def doubtful(notes: list[str]) -> list[str]:
    """Notes on jitter, and on hyperparameters at the end of their range.

    Parameters
    ----------
    notes : list of str
        Of a `History`.
    """
    return [note for note in notes if ENDED in note or JITTERED in note]


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


def at_bound(hyperparameters: HyperparameterSet, step: np.ndarray, metric: np.ndarray
             ) -> list[str]:
    """What to say of hyperparameters that ended at an end of the range that was searched.

    Parameters
    ----------
    hyperparameters : HyperparameterSet
        What was searched over, with the best values in place.
    step : array (P,)
        From the start to the best, in the metric, as a share of the range.
    metric : array (P, P)
        Raw values moved by a step along each coordinate.

    Returns
    -------
    list of str
        One sentence for each, with its value and the remedy.
    """
    sides = {}
    for k in np.flatnonzero(np.abs(step) >= 1 - _NEAR):
        moved = int(np.argmax(np.abs(metric[:, k])))
        sides[moved] = "upper" if step[k] * metric[moved, k] > 0 else "lower"
    named = [(item.name, value) for item in hyperparameters.free
             for value in item.natural.detach().cpu().reshape(-1).tolist()]
    return [
        f"{named[k][0]} {ENDED} that is searched, the {side} one, at {named[k][1]:.3g}: the data "
        "do not hold it back, so its value means nothing but very "
        f"{'large' if side == 'upper' else 'small'}; fix {named[k][0]} or give it a prior, and "
        "compare the maps" for k, side in sorted(sides.items())]
