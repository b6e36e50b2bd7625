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
    restarts: int = 0,
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

    Returns
    -------
    History
        On return the best state found is in place, also after `Cancelled` or Ctrl-C.
    """
    history, started = History(), time.perf_counter()
    best: dict = {"value": -np.inf}
    bar = tqdm(total=max_steps, disable=not progress, desc="fit", unit="step")

    def remember(value: float, gradient: np.ndarray | None = None) -> None:
        if value > best["value"]:
            best.update(value=value, vector=hyperparameters.vector(), state=snapshot(),
                        gradient=gradient)
        history.objective.append(value)
        bar.update()
        bar.set_postfix(objective=f"{value:.4f}")
        tell()

    def tell() -> None:
        told[0] = time.perf_counter()
        if callback is not None:
            step = len(history.objective)
            callback(step, history.objective[-1], min(1.0, step / max_steps))

    def pulse() -> None:
        if history.objective and time.perf_counter() - told[0] > _PULSE_SECONDS:
            tell()

    told = [started]

    # L-BFGS opens with a step of the size of the gradient, hundreds of nats per log unit here:
    # dividing the objective by the largest entry makes that first step one unit.
    scale: list[float] = []

    def scaled(vector: np.ndarray) -> tuple[float, np.ndarray]:
        value, gradient = loss(vector)
        if not scale:
            scale.append(max(1.0, float(np.abs(gradient).max())))
        return value / scale[0], gradient / scale[0]

    def loss(vector: np.ndarray) -> tuple[float, np.ndarray]:
        hyperparameters.assign(vector)
        for item in hyperparameters.free:
            item.raw.grad = None
        try:
            value = evaluate(pulse)
            number = float(value.detach())
            if not np.isfinite(number):
                raise FactorisationError("the objective is not finite")
            value.backward()
            gradient = hyperparameters.gradient()
            if not np.isfinite(gradient).all():
                raise FactorisationError("the gradient is not finite")
        except (FactorisationError, torch.linalg.LinAlgError) as error:
            if best["value"] == -np.inf:
                raise _cannot_start(error) from error
            history.notes.append(f"step {len(history.objective) + 1}: backed off, {error}{_TRIED}")
            restore(best["state"])
            return 1e3 + 2 * abs(best["value"]), np.zeros_like(vector)
        remember(number, gradient)
        return -number, -gradient

    start = hyperparameters.vector()
    try:
        if len(start) == 0:
            number = float(_guarded(lambda: evaluate(pulse)).detach())
            remember(number)
            history.converged = True
        else:
            # Raw values are logarithms (or the mean of f): a box of e±25 only stops overflow.
            box = [(v - 25, v + 25) for v in start]
            sharp, eps = tolerance, torch.finfo(next(iter(hyperparameters.free)).raw.dtype).eps
            for _ in range(1 + restarts):
                before = best["value"]
                result = scipy.optimize.minimize(
                    scaled, start, jac=True, method="L-BFGS-B", bounds=box,
                    options={"maxfun": max_steps - len(history.objective), "maxiter": max_steps,
                             "ftol": max(sharp, 50 * eps), "gtol": 1e-6},
                )
                # Far from the optimum gradients are huge, and so is what the tests of convergence
                # let pass in units of the first: begin again in units of the last.
                decrement = 0.5 * scale[0] * float(
                    (best["gradient"] / scale[0]) @ (result.hess_inv @ (
                        best["gradient"] / scale[0])))
                ended = result.success or result.status == _ABNORMAL
                # What rounding hides of the objective cannot be asked for.
                blur = 50 * eps * (1 + abs(best["value"]))
                rest = max(_REST, blur)
                gained = best["value"] - before > rest
                # A round of few steps knows little of the curvature: one that gains nothing, and
                # yet says that much is left, is not believed at once.
                left = max(_LEFT, 100 * blur)
                if (not ended or decrement < rest or (not gained and decrement <= left)
                        or max_steps - len(history.objective) < 2):
                    break
                start, sharp = best["vector"], min(tolerance, 0.1 * rest / abs(best["value"]))
                scale.clear()
            history.converged = ended and decrement <= left
            if not ended:
                history.notes.append(ran_out(len(history.objective), result.status, result.message,
                                             steepest(hyperparameters, best["gradient"])))
            elif not history.converged:
                history.notes.append(left_over(len(history.objective), decrement,
                                               steepest(hyperparameters, best["gradient"])))
    except (Cancelled, KeyboardInterrupt):
        if best["value"] == -np.inf:
            raise
        history.cancelled = True
        history.notes.append(f"cancelled after {len(history.objective)} steps; best state kept")
    finally:
        bar.close()
    hyperparameters.assign(best["vector"])
    restore(best["state"])
    history.elapsed = time.perf_counter() - started
    if not history.converged and not history.cancelled:
        warn(history.notes[-1], ConvergenceWarning)
    return history


def maximise_evidence(
    evidence: Callable[[], Tensor], hyperparameters: HyperparameterSet, options, *,
    tolerance: float | None = None, progress: bool = False, callback: Callback | None = None,
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
    tolerance, progress, callback
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
        progress=progress, callback=callback, restarts=5)


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
