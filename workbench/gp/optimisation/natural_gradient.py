"""The optimal Gaussian q at fixed hyperparameters: safeguarded natural gradients.

The fixed point S⁻¹ = I - 2 ∂E/∂S, S⁻¹m = S⁻¹m + ∂E/∂m - m (E the expected log-likelihood, prior
N(0, I)) is reached in one step for the Normal likelihood. Elsewhere plain steps oscillate or crawl;
Anderson acceleration over the last few natural parameters cures both. Every step is safeguarded:
the objective never falls, and where E is not concave the precision that a step leads to is lifted
to the nearest one that is positive definite, so that there is always a step to take. Where steps
still crawl L-BFGS over mean and covariance takes over for a while.

What counts as converged is the *decrement*, half the squared length of the natural gradient in the
Fisher metric of q: the gain in nats that is left, to second order.

References
----------
Khan and Lin 2017, Conjugate-computation variational inference; Walker and Ni 2011, Anderson
acceleration for fixed-point iterations; Boyd and Vandenberghe 2004, section 9.5.1 (the decrement).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from workbench.gp.numerics.linalg import FactorisationError
from workbench.gp.optimisation.lbfgs import polish

Objective = Callable[[Tensor, Tensor], Tensor]
_RATES = (1.0, 0.5, 0.25, 0.1, 0.03, 0.01, 1e-3, 1e-4)
_DEPTH = 6
# Smallest eigenvalue of a precision that a safeguarded step leads to; the prior's are one.
_FLOOR = 0.1
# Steps in a row that gain little of what they should after which L-BFGS takes over, and for how
# many evaluations.
_CRAWL, _POLISH = 8, 60
_PER_STEP = 4               # evaluations for one of the most steps, after which the search ends


class Optimum(NamedTuple):
    """A q, the objective there, and the gain in nats that is left to second order."""

    mean: Tensor
    covariance: Tensor
    value: float
    decrement: float


@dataclass(frozen=True)
class _State:
    """A Gaussian, the objective there, and where the natural-gradient step from it leads."""

    mean: Tensor
    covariance: Tensor
    value: float
    decrement: float
    natural: Tensor
    residual: Tensor

    def done(self, nats: float) -> bool:
        return self.decrement <= reachable(self.value, nats, self.mean.dtype)

    def optimum(self) -> Optimum:
        return Optimum(self.mean, self.covariance, self.value, self.decrement)


def reachable(value: float, nats: float, dtype: torch.dtype) -> float:
    """The decrement that is asked for, or what the floating point type can tell apart."""
    return max(nats, 50 * torch.finfo(dtype).eps * (1 + abs(value)))


def optimise(objective: Objective, mean: Tensor, covariance: Tensor, steps: int = 200,
             nats: float = 1e-7) -> Optimum:
    """Maximise ``objective(mean, covariance)`` over Gaussians in whitened coordinates.

    Parameters
    ----------
    objective : callable
        E - KL(N(mean, covariance) || N(0, I)), differentiable in both arguments.
    mean, covariance : Tensor (M,), (M, M)
        Where to start.
    steps : int
        Most steps.
    nats : float
        Converged is a decrement of at most so many nats.

    Returns
    -------
    Optimum
        The best q found; its objective is never below that of the start.

    Raises
    ------
    FactorisationError
        If the objective is not finite at the start.
    """
    left = _PER_STEP * steps

    def counted(m: Tensor, s: Tensor) -> Tensor:
        nonlocal left
        left -= 1
        return objective(m, s)

    state = _evaluate(counted, mean.detach(), covariance.detach())
    if state is None:
        raise FactorisationError("the objective is not finite at the starting q")
    history: list[_State] = []
    poor, stalled, rate = 0, 0, 1.0
    for _ in range(steps):
        if state.done(nats) or left < 0:
            break
        history = [*history[-(_DEPTH - 1):], state]
        following, rate = _step(counted, history, rate)
        gain = 0.0 if following is None else following.value - state.value
        poor = 0 if gain > 0.1 * state.decrement else poor + 1
        state = following or state
        if following is None or poor == _CRAWL:
            before, poor, history = state.value, 0, []
            found = polish(counted, state.mean, state.covariance, _POLISH,
                           nats / (1 + abs(before)) / 10)
            state = _evaluate(counted, *found[:2]) or state
            # Polishing twice in vain: what is left is beyond the precision of the objective.
            stalled = stalled + 1 if state.value - before <= nats else 0
            if stalled == 2:
                break
    return state.optimum()


def _step(objective: Objective, history: list[_State], rate: float
          ) -> tuple[_State | None, float]:
    """The first candidate whose objective is no lower, or None, and the rate to go on with."""
    last = history[-1]
    for natural, taken in _candidates(history, rate):
        reached = _at(objective, natural, len(last.mean))
        if reached is not None and reached.value >= last.value - 1e-11 * abs(last.value):
            return reached, rate if taken is None else min(1.0, 2 * taken)
    return None, 1.0


def _candidates(history: list[_State], first: float) -> Iterator[tuple[Tensor, float | None]]:
    """Natural parameters to try and their rate: accelerated (no rate), then ever shorter steps.

    Rates above ``first`` are left out: where the last step had to be short, the next will have to.
    """
    last, size = history[-1], len(history[-1].mean)
    if len(history) > 1:
        residuals = torch.stack([s.residual for s in history], 1).diff(dim=1)
        positions = torch.stack([s.natural for s in history], 1).diff(dim=1)
        # Least squares by normal equations with a whisper of ridge: at most five columns.
        gram = residuals.mT @ residuals
        gram = gram + 1e-12 * gram.diagonal().mean() * torch.eye(len(gram)).to(gram)
        mix, info = torch.linalg.solve_ex(gram, residuals.mT @ last.residual)
        if not info and torch.isfinite(mix).all():
            yield last.natural + last.residual - (positions + residuals) @ mix, None
    wanted = last.natural + last.residual
    precision = wanted[size:].reshape(size, size)
    values, vectors = torch.linalg.eigh((precision + precision.mT) / 2)
    if float(values[0]) < _FLOOR:
        if float(values[0]) > 0 and first == 1.0:
            yield wanted, 1.0
        lifted = (vectors * values.clamp_min(_FLOOR)) @ vectors.mT
        # The same change of the mean per unit of gradient, through the lifted precision.
        gradient = wanted[:size] - precision @ last.mean
        wanted = torch.cat([lifted @ last.mean + gradient, lifted.reshape(-1)])
    for rate in _RATES:
        if rate <= first:
            yield last.natural + rate * (wanted - last.natural), rate


def _at(objective: Objective, natural: Tensor, size: int) -> _State | None:
    precision = natural[size:].reshape(size, size)
    root, info = torch.linalg.cholesky_ex((precision + precision.mT) / 2)
    if info:
        return None
    covariance = torch.cholesky_inverse(root)
    covariance = (covariance + covariance.mT) / 2
    return _evaluate(objective, covariance @ natural[:size], covariance)


def _evaluate(objective: Objective, mean: Tensor, covariance: Tensor) -> _State | None:
    """Objective, gradient and natural-gradient target; None where it is not finite."""
    try:
        with torch.enable_grad():
            m, s = mean.detach().requires_grad_(), covariance.detach().requires_grad_()
            value = objective(m, s)
            if not np.isfinite(float(value.detach())):
                return None
            grad_m, grad_s = torch.autograd.grad(value, (m, s))
    except FactorisationError:
        return None
    root, info = torch.linalg.cholesky_ex(covariance)
    if info:
        return None
    precision = torch.cholesky_inverse(root)
    # Both halves of S are free for autograd, hence the sum with the transpose.
    both = grad_s + grad_s.mT
    change = covariance @ both
    decrement = 0.5 * float(grad_m @ covariance @ grad_m) + 0.25 * float((change * change.mT).sum())
    # -KL contributes (S⁻¹ - I)/2 to ∂/∂S and -m to ∂/∂m, so S⁻¹ - 2 ∂/∂S is I - 2 ∂E/∂S.
    target = precision - both
    natural = torch.cat([precision @ mean, precision.reshape(-1)])
    wanted = torch.cat([target @ mean + grad_m, target.reshape(-1)])
    if not np.isfinite(decrement) or not torch.isfinite(wanted).all():
        return None
    return _State(mean, covariance, float(value.detach()), decrement, natural, wanted - natural)
