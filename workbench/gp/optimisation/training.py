"""Training of hyperparameters by L-BFGS: progress, cancellation, and backing off from failures.

The objective is profiled: q is at its optimum (`workbench.gp.optimisation.natural_gradient`)
whenever it is evaluated. In whitened form that optimum barely moves with the hyperparameters, and
the gradient of the profiled objective is the partial gradient at it, so L-BFGS over a handful of
hyperparameters converges in some tens of evaluations.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
from torch import Tensor
from tqdm import tqdm

from workbench.checks import ConvergenceWarning, stops, warn
from workbench.gp.optimisation.checkpoint import current
from workbench.gp.optimisation.convergence import History
from workbench.gp.optimisation.hyperparameters import HyperparameterSet
from workbench.gp.optimisation.search import Callback, Search
from workbench.gp.optimisation.trails import NOTHING, Diverged, Memory, Record

RESTARTS = 5            # of L-BFGS, where a fit is to be at its optimum


def maximise(
    evaluate: Callable[[Callable[[], None]], Tensor], hyperparameters: HyperparameterSet, *,
    snapshot: Callable[[], object] = lambda: None,
    restore: Callable[[object], None] = lambda _: None, max_steps: int = 100,
    tolerance: float = 1e-6, progress: bool = False, callback: Callback | None = None,
    restarts: int = 0, metric: np.ndarray | None = None, memory: Memory | None = None,
) -> History:
    """Maximise an objective over the free hyperparameters by L-BFGS.

    Parameters
    ----------
    evaluate : callable
        ``evaluate(pulse)``: the objective at the present hyperparameters, differentiable in their
        raw values. An evaluation that takes long calls ``pulse()`` now and then: it repeats the
        last progress to the callback at most twice a second, so that a fit can be cancelled.
    snapshot, restore : callable, optional
        Save and put back whatever else belongs to a state (q).
    max_steps : int
        Largest number of objective evaluations.
    tolerance : float
        Relative change of the objective that counts as converged.
    progress : bool
        Show a tqdm bar with the objective and the time left.
    callback : callable, optional
        ``callback(step, objective, fraction)`` after each evaluation, with the share of the work
        that is likely done; may raise `Cancelled`.
    restarts : int
        Most times to begin again, in units of the last gradient, while a decrement of more than
        a thousandth of a nat is left.
    metric : array (P, P), optional
        A root of the inverse Hessian near the start, in which the first step is Newton's.
    memory : Memory, optional
        All that a state carries from one evaluation to the next. With it the search can go on
        after its process was killed, see `workbench.gp.optimisation.trails`.

    Returns
    -------
    History
        On return the best state found is in place, also after `Cancelled` or Ctrl-C.
    """
    started = time.perf_counter()
    record = (Record(current(), memory) if memory is not None and current() is not None
              else None)
    start = hyperparameters.vector()

    def begin() -> Search:
        hyperparameters.assign(start)
        return Search(evaluate, hyperparameters, snapshot, restore, max_steps, callback,
                      tqdm(total=max_steps, disable=not progress, desc="fit", unit="step"),
                      metric, record)

    search = begin()
    try:
        if len(start) == 0:
            search.evaluate_once()
        else:
            try:
                search.climb(tolerance, restarts)
            except Diverged:
                record.forget()
                search.bar.close()
                search = begin()
                search.climb(tolerance, restarts)
    except stops():
        if search.best is None:
            raise
        search.history.cancel()
    finally:
        search.bar.close()
    hyperparameters.assign(search.best.vector)
    search.note_doubts()
    restore(search.best.state)
    history = search.history
    history.elapsed = time.perf_counter() - started
    if not history.converged and not history.cancelled:
        warn(search.failure, ConvergenceWarning)
    return history


def maximise_evidence(
    evidence: Callable[[], Tensor], hyperparameters: HyperparameterSet, options, *,
    tolerance: float | None = None, progress: bool = False, callback: Callback | None = None,
    metric: np.ndarray | None = None,
) -> History:
    """Maximise evidence plus log prior over the free hyperparameters.

    Parameters
    ----------
    evidence : callable
        The log evidence at the present hyperparameters, nothing else to be searched for.
    hyperparameters : HyperparameterSet
        What is learnt.
    options : Options
        ``max_steps``, and ``tolerance`` unless it is given.
    tolerance, progress, callback, metric
        As of `maximise`.

    Returns
    -------
    History
        On return the best hyperparameters found are in place.
    """
    return maximise(
        lambda pulse: evidence() + hyperparameters.log_prior(), hyperparameters,
        max_steps=options.max_steps,
        tolerance=options.tolerance if tolerance is None else tolerance,
        progress=progress, callback=callback, restarts=RESTARTS, metric=metric, memory=NOTHING)


def scaled_callback(callback: Callback | None, number: int, count: int, until: int | None = None
                    ) -> Callback | None:
    """A callback that tells one part's progress as a share of the whole; None of None.

    Parameters
    ----------
    callback : callable or None
        Told of the whole.
    number, count : int
        Which part it is, from zero, and of how many.
    until : int, optional
        The part that begins where this one ends, by default the next.
    """
    if callback is None:
        return None
    width = (number + 1 if until is None else until) - number
    return lambda step, objective, fraction: callback(
        step, objective, (number + width * fraction) / count)
