"""One search of hyperparameters by L-BFGS: the best point so far, and what is doubtful about it."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy  # its parts are loaded on first use
import torch
from torch import Tensor
from tqdm import tqdm

from workbench.gp.numerics.linalg import FactorisationError, watched_jitter
from workbench.gp.optimisation.convergence import History, at_bound, left_over, ran_out, steepest
from workbench.gp.optimisation.hyperparameters import HyperparameterSet
from workbench.gp.optimisation.trails import Evaluation, Record

Callback = Callable[[int, float, float], None]
PULSE_SECONDS = 0.5         # between two callbacks in a long evaluation, at least
_USUAL = 15         # evaluations that a search is thought to need yet: most end after 12 to 40
# Decrement in nats, half the squared length of the gradient in the metric of L-BFGS's curvature:
# what needs no restart, and what a fit that has not converged leaves.
_REST, _LEFT = 1e-3, 0.1
_TRIED = (" (the search tried hyperparameters at which the model cannot be computed, and went "
          "back; if it then does not converge, fix the lengthscales or give them priors)")
_RANGE = 25                 # of raw values on either side of their start, which are searched
_ABNORMAL = 2               # status of L-BFGS where rounding ends its line search


@dataclass(frozen=True)
class _Point:
    """Where the objective was evaluated: its value, what it was evaluated at, and its gradient."""

    value: float
    vector: np.ndarray
    state: object
    gradient: np.ndarray | None
    jitter: str = ""        # what was said of it, if it was more than usual


class Search:
    """One search: the objective as L-BFGS asks for it, the best point so far, and its progress."""

    def __init__(self, evaluate, hyperparameters: HyperparameterSet, snapshot, restore,
                 max_steps: int, callback: Callback | None, bar: tqdm,
                 metric: np.ndarray | None = None, trail: Record | None = None) -> None:
        self._trail = trail
        self.history, self.best, self.bar = History(), None, bar
        self._evaluate, self._hyperparameters = evaluate, hyperparameters
        self._snapshot, self._restore = snapshot, restore
        self._max_steps, self._callback = max_steps, callback
        self._told = time.perf_counter()
        # L-BFGS opens with a step of the size of the gradient, hundreds of nats per log unit here:
        # dividing the objective by the largest entry makes that first step one unit.
        self._scale: float | None = None if metric is None else 1.0
        # In a metric half the square of the gradient is what is left to gain, in nats.
        few = max(1, len(hyperparameters.vector()))
        self._flat = 1e-6 if metric is None else (2 * _REST / few) ** 0.5
        # Steps near the optimum are small from the first: one that gains little is not the last.
        self._sharper = 1.0 if metric is None else 0.1
        self._origin, self._known = hyperparameters.vector(), metric is not None
        self._metric = np.eye(len(self._origin)) if metric is None else metric
        # Raw values are logarithms (or the mean of f): a box of e±25 only stops overflow.
        self._box = _RANGE / np.abs(self._metric).max(0, initial=0.0)
        self._jitter, self.failure = "", ""
        self._refused: dict[str, list[int]] = {}    # steps that could not be computed, by reason

    def evaluate_once(self) -> None:
        """The objective where there is nothing to search for."""
        with watched_jitter() as jitter:
            value = _guarded(lambda: self._evaluate(self._pulse))
        self._jitter = jitter.told
        self._remember(float(value.detach()))
        self.history.converged = True

    def climb(self, tolerance: float, restarts: int) -> None:
        """Search by L-BFGS, again from the best point while that leaves something to gain."""
        start, sharp = np.zeros(len(self._origin)), self._sharper * tolerance
        box = list(zip(-self._box, self._box, strict=True))
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
            # Steps beside an optimum tell little of the curvature: in a metric it is the metric's,
            # in which what nothing is known of is held back by a nat for a log unit.
            newton = self._scale * gradient if self._known else result.hess_inv @ gradient
            decrement = 0.5 * self._scale * float(gradient @ newton)
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
            start = self._best_step()
            sharp = min(tolerance, 0.1 * rest / abs(self.best.value))
            self._scale = 1.0 if self._known else None
        self.history.converged = ended and decrement <= left
        self._note_failure(result, ended, decrement)

    def _note_failure(self, result, ended: bool, decrement: float) -> None:
        if self.history.converged:
            return
        along = steepest(self._hyperparameters, self.best.gradient)
        steps = len(self.history.objective)
        self.failure = (left_over(steps, decrement, along) if ended else
                        ran_out(steps, result.status, result.message, along))
        self.history.notes.append(self.failure)

    def note_doubts(self) -> None:
        """Say what is doubtful: steps that failed, jitter at the best point, ends of the range."""
        for reason, steps in self._refused.items():
            more = f" and {len(steps) - 1} more" if len(steps) > 1 else ""
            self.history.notes.append(f"step {steps[0]}{more}: backed off, {reason}{_TRIED}")
        if self.best.jitter:
            self.history.notes.append(self.best.jitter)
        if len(self._origin):
            self.history.notes += at_bound(
                self._hyperparameters, self._best_step() / self._box, self._metric)

    def _best_step(self) -> np.ndarray:
        return np.linalg.solve(self._metric, self.best.vector - self._origin)

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
        again = None if self._trail is None else self._trail.again(vector)
        one = again or self._evaluated(vector)
        self._jitter = one.jitter
        if one.error:
            if self.best is None:
                raise _cannot_start(one.error)
            self._refused.setdefault(one.error, []).append(len(self.history.objective) + 1)
            if again is None:
                self._restore(self.best.state)
            self._store(one, again)
            return 1e3 + 2 * abs(self.best.value), np.zeros_like(vector)
        self._remember(one.value, one.gradient, one, again)
        return -one.value, -one.gradient

    def _evaluated(self, vector: np.ndarray) -> Evaluation:
        for item in self._hyperparameters.free:
            item.raw.grad = None
        try:
            with watched_jitter() as jitter:
                value = self._evaluate(self._pulse)
            number = float(value.detach())
            if not np.isfinite(number):
                raise FactorisationError("the objective is not finite")
            value.backward()
            gradient = self._hyperparameters.gradient()
            if not np.isfinite(gradient).all():
                raise FactorisationError("the gradient is not finite")
        except (FactorisationError, torch.linalg.LinAlgError) as error:
            return Evaluation(vector.copy(), np.nan, np.zeros_like(vector), str(error))
        return Evaluation(vector.copy(), number, gradient, "", jitter.told)

    def _store(self, one: Evaluation, again: Evaluation | None) -> None:
        if self._trail is not None:
            self._trail.store(one, again is not None, self.best.state)

    def _remember(self, value: float, gradient: np.ndarray | None = None,
                  one: Evaluation | None = None, again: Evaluation | None = None) -> None:
        if self.best is None or value > self.best.value:
            state = self._snapshot() if again is None else self._trail.best()
            self.best = _Point(value, self._hyperparameters.vector(), state, gradient,
                               self._jitter)
        self.history.objective.append(value)
        if one is not None:
            self._store(one, again)
        self.bar.update()
        self.bar.set_postfix(objective=f"{value:.4f}")
        self._hyperparameters.together(self._tell)

    def _tell(self) -> None:
        self._told = time.perf_counter()
        if self._callback is not None:
            step = len(self.history.objective)
            done = max(min(1.0, step / self._max_steps), step / (step + _USUAL))
            self._callback(step, self.history.objective[-1], done)

    def _pulse(self) -> None:
        if self.history.objective and time.perf_counter() - self._told > PULSE_SECONDS:
            self._tell()


def _guarded(evaluate: Callable[[], Tensor]) -> Tensor:
    """The objective where nothing is trained, or an error that says what to change."""
    try:
        value = evaluate()
    except (FactorisationError, torch.linalg.LinAlgError) as error:
        raise _cannot_start(error) from error
    if not np.isfinite(float(value.detach())):
        raise _cannot_start(FactorisationError("the objective is not finite"))
    return value


def _cannot_start(error: Exception | str) -> FactorisationError:
    return FactorisationError(
        f"the fit cannot start: {error}; change the initial or fixed hyperparameters"
    )
