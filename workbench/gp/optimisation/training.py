"""Training of hyperparameters by L-BFGS: progress, cancellation, and backing off from failures.

The objective is profiled: q is at its optimum (`workbench.gp.optimisation.natural_gradient`)
whenever it is evaluated. In whitened form that optimum barely moves with the hyperparameters, and
the gradient of the profiled objective is the partial gradient at it, so L-BFGS over a handful of
hyperparameters converges in some tens of evaluations.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import scipy  # its parts are loaded on first use
import torch
from torch import Tensor
from tqdm import tqdm

from workbench.checks import Cancelled, ConvergenceWarning, warn
from workbench.gp.numerics.linalg import FactorisationError
from workbench.gp.optimisation.convergence import left_over, ran_out, steepest
from workbench.gp.optimisation.hyperparameters import HyperparameterSet

Callback = Callable[[int, float, float], None]
_PULSE_SECONDS = 0.5
# Decrement in nats, half the squared length of the gradient in the metric of L-BFGS's curvature:
# what needs no restart, and what a fit that has not converged leaves.
_REST, _LEFT = 1e-3, 0.1
_TRIED = (" (the search tried hyperparameters at which the model cannot be computed, and went "
          "back; if it then does not converge, fix the lengthscales or give them priors)")
_ABNORMAL = 2               # status of L-BFGS where rounding ends its line search


@dataclass
class History:
    """Objective after each outer step, and what happened on the way."""

    objective: list[float] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    converged: bool = False
    cancelled: bool = False
    elapsed: float = 0.0
    failed: bool = False        # worse than a model nested in it: not to be used


def maximise(
    evaluate: Callable[[Callable[[], None]], Tensor], hyperparameters: HyperparameterSet, *,
    snapshot: Callable[[], object] = lambda: None,
    restore: Callable[[object], None] = lambda _: None, max_steps: int = 100,
    tolerance: float = 1e-6, progress: bool = False, callback: Callback | None = None,
    restarts: int = 0, metric: np.ndarray | None = None,
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
        ``callback(step, objective, fraction)`` after each evaluation; may raise `Cancelled`.
    restarts : int
        Most times to begin again, in units of the last gradient, while a decrement of more than
        a thousandth of a nat is left.
    metric : array (P, P), optional
        A root of the inverse Hessian near the start, in which the first step is Newton's.

    Returns
    -------
    History
        On return the best state found is in place, also after `Cancelled` or Ctrl-C.
    """
    started = time.perf_counter()
    search = _Search(evaluate, hyperparameters, snapshot, restore, max_steps, callback,
                     tqdm(total=max_steps, disable=not progress, desc="fit", unit="step"), metric)
    history = search.history
    try:
        if len(hyperparameters.vector()) == 0:
            search.evaluate_once()
        else:
            search.climb(tolerance, restarts)
    except (Cancelled, KeyboardInterrupt):
        if search.best is None:
            raise
        history.cancelled = True
        history.notes.append(f"cancelled after {len(history.objective)} steps; best state kept")
    finally:
        search.bar.close()
    hyperparameters.assign(search.best.vector)
    restore(search.best.state)
    history.elapsed = time.perf_counter() - started
    if not history.converged and not history.cancelled:
        warn(history.notes[-1], ConvergenceWarning)
    return history


@dataclass(frozen=True)
class _Point:
    """Where the objective was evaluated: its value, what it was evaluated at, and its gradient."""

    value: float
    vector: np.ndarray
    state: object
    gradient: np.ndarray | None


class _Search:
    """One search: the objective as L-BFGS asks for it, the best point so far, and its progress."""

    def __init__(self, evaluate, hyperparameters: HyperparameterSet, snapshot, restore,
                 max_steps: int, callback: Callback | None, bar: tqdm,
                 metric: np.ndarray | None) -> None:
        self.history, self.best, self.bar = History(), None, bar
        self._evaluate, self._hyperparameters = evaluate, hyperparameters
        self._snapshot, self._restore = snapshot, restore
        self._max_steps, self._callback = max_steps, callback
        self._told = time.perf_counter()
        # L-BFGS opens with a step of the size of the gradient, hundreds of nats per log unit here:
        # dividing the objective by the largest entry makes that first step one unit.
        self._scale: float | None = None if metric is None else 1.0
        # In a metric half the square of the gradient is what is left to gain, in nats.
        self._flat = 1e-6 if metric is None else 1e-3
        self._origin = hyperparameters.vector()
        self._metric = np.eye(len(self._origin)) if metric is None else metric

    def evaluate_once(self) -> None:
        """The objective where there is nothing to search for."""
        self._remember(float(_guarded(lambda: self._evaluate(self._pulse)).detach()))
        self.history.converged = True

    def climb(self, tolerance: float, restarts: int) -> None:
        """Search by L-BFGS, again from the best point while that leaves something to gain."""
        start, sharp = np.zeros(len(self._origin)), tolerance
        # Raw values are logarithms (or the mean of f): a box of e±25 only stops overflow.
        box = [(-25, 25)] * len(start)
        eps = torch.finfo(next(iter(self._hyperparameters.free)).raw.dtype).eps
        for _ in range(1 + restarts):
            before = -np.inf if self.best is None else self.best.value
            result = scipy.optimize.minimize(
                self._scaled, start, jac=True, method="L-BFGS-B", bounds=box,
                options={"maxfun": self._left_steps(), "maxiter": self._max_steps,
                         "ftol": max(sharp, 50 * eps), "gtol": self._flat},
            )
            # Far from the optimum gradients are huge, and so is what the tests of convergence
            # let pass in units of the first: begin again in units of the last.
            gradient = self._metric.T @ self.best.gradient / self._scale
            decrement = 0.5 * self._scale * float(gradient @ (result.hess_inv @ gradient))
            ended = result.success or result.status == _ABNORMAL
            # What rounding hides of the objective cannot be asked for.
            blur = 50 * eps * (1 + abs(self.best.value))
            rest = max(_REST, blur)
            gained = self.best.value - before > rest
            # A round of few steps knows little of the curvature: one that gains nothing, and
            # yet says that much is left, is not believed at once.
            left = max(_LEFT, 100 * blur)
            if (not ended or decrement < rest or (not gained and decrement <= left)
                    or self._left_steps() < 2):
                break
            start = np.linalg.solve(self._metric, self.best.vector - self._origin)
            sharp = min(tolerance, 0.1 * rest / abs(self.best.value))
            self._scale = None
        self.history.converged = ended and decrement <= left
        self._note_failure(result, ended, decrement)

    def _note_failure(self, result, ended: bool, decrement: float) -> None:
        if self.history.converged:
            return
        along = steepest(self._hyperparameters, self.best.gradient)
        steps = len(self.history.objective)
        self.history.notes.append(
            left_over(steps, decrement, along) if ended else
            ran_out(steps, result.status, result.message, along))

    def _left_steps(self) -> int:
        return self._max_steps - len(self.history.objective)

    def _scaled(self, step: np.ndarray) -> tuple[float, np.ndarray]:
        value, gradient = self._loss(self._origin + self._metric @ step)
        gradient = self._metric.T @ gradient
        if self._scale is None:
            self._scale = max(1.0, float(np.abs(gradient).max()))
        return value / self._scale, gradient / self._scale

    def _loss(self, vector: np.ndarray) -> tuple[float, np.ndarray]:
        """Minus the objective and its gradient; a high plateau where it cannot be computed."""
        self._hyperparameters.assign(vector)
        for item in self._hyperparameters.free:
            item.raw.grad = None
        try:
            value = self._evaluate(self._pulse)
            number = float(value.detach())
            if not np.isfinite(number):
                raise FactorisationError("the objective is not finite")
            value.backward()
            gradient = self._hyperparameters.gradient()
            if not np.isfinite(gradient).all():
                raise FactorisationError("the gradient is not finite")
        except (FactorisationError, torch.linalg.LinAlgError) as error:
            if self.best is None:
                raise _cannot_start(error) from error
            self.history.notes.append(
                f"step {len(self.history.objective) + 1}: backed off, {error}{_TRIED}")
            self._restore(self.best.state)
            return 1e3 + 2 * abs(self.best.value), np.zeros_like(vector)
        self._remember(number, gradient)
        return -number, -gradient

    def _remember(self, value: float, gradient: np.ndarray | None = None) -> None:
        if self.best is None or value > self.best.value:
            self.best = _Point(value, self._hyperparameters.vector(), self._snapshot(), gradient)
        self.history.objective.append(value)
        self.bar.update()
        self.bar.set_postfix(objective=f"{value:.4f}")
        self._tell()

    def _tell(self) -> None:
        self._told = time.perf_counter()
        if self._callback is not None:
            step = len(self.history.objective)
            self._callback(step, self.history.objective[-1], min(1.0, step / self._max_steps))

    def _pulse(self) -> None:
        if self.history.objective and time.perf_counter() - self._told > _PULSE_SECONDS:
            self._tell()


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
        progress=progress, callback=callback, restarts=5, metric=metric)


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


def _guarded(evaluate: Callable[[], Tensor]) -> Tensor:
    """The objective where nothing is trained, or an error that says what to change."""
    try:
        value = evaluate()
    except (FactorisationError, torch.linalg.LinAlgError) as error:
        raise _cannot_start(error) from error
    if not np.isfinite(float(value.detach())):
        raise _cannot_start(FactorisationError("the objective is not finite"))
    return value


def _cannot_start(error: Exception) -> FactorisationError:
    return FactorisationError(
        f"the fit cannot start: {error}; change the initial or fixed hyperparameters"
    )
