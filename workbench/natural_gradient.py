"""The optimal Gaussian q at fixed hyperparameters: natural gradients with Anderson acceleration.

The fixed point S⁻¹ = I - 2 ∂E/∂S, S⁻¹m = S⁻¹m + ∂E/∂m - m (E the expected log-likelihood, prior
N(0, I)) is reached in one step for the Normal likelihood. Elsewhere plain steps oscillate or crawl;
Anderson acceleration over the last few natural parameters cures both. Every step is safeguarded:
the objective never falls. Where steps fall short the mean alone is brought to its best, and where
they still crawl L-BFGS over mean and covariance takes over.

References
----------
Khan and Lin 2017, Conjugate-computation variational inference; Walker and Ni 2011, Anderson
acceleration for fixed-point iterations.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from workbench.joint_lbfgs import climb, polish
from workbench.linalg import FactorisationError

Objective = Callable[[Tensor, Tensor], Tensor]
_RATES = (1.0, 0.5, 0.25, 0.1, 0.03, 0.01, 1e-3, 1e-4)
_DEPTH = 6
# Short steps in a row after which L-BFGS takes over.
_CRAWL = 3


@dataclass(frozen=True)
class _State:
    """A Gaussian, the objective there, and where the natural-gradient step from it leads."""

    mean: Tensor
    covariance: Tensor
    value: float
    natural: Tensor
    residual: Tensor


def optimise(objective: Objective, mean: Tensor, covariance: Tensor, steps: int = 200,
             tolerance: float = 1e-7) -> tuple[Tensor, Tensor, float]:
    """Maximise ``objective(mean, covariance)`` over Gaussians in whitened coordinates.

    Parameters
    ----------
    objective : callable
        E - KL(N(mean, covariance) || N(0, I)), differentiable in both arguments.
    mean, covariance : Tensor (M,), (M, M)
        Where to start.
    steps : int
        Most steps.
    tolerance : float
        Relative gain of a full step that counts as converged, when two in a row gain no more.

    Returns
    -------
    mean, covariance, value
        The best q found and its objective, never below that of the start.

    Raises
    ------
    FactorisationError
        If the objective is not finite at the start.
    """
    state = _evaluate(objective, mean.detach(), covariance.detach())
    if state is None:
        raise FactorisationError("the objective is not finite at the starting q")
    history: list[_State] = []
    quiet, short, climbed = 0, 0, False
    for _ in range(steps):
        history = [*history[-(_DEPTH - 1):], state]
        following, rate = next(
            ((reached, rate) for natural, rate in _candidates(history)
             if (reached := _at(objective, natural, len(mean))) is not None
             and reached.value >= state.value - 1e-11 * abs(state.value)), (None, 0.0))
        if following is None:
            break
        gain, state = following.value - state.value, following
        # A short step gains little wherever it is taken, and a full one may by bad luck: only two
        # in a row that gain little for their length are the top.
        quiet = quiet + 1 if gain <= rate * tolerance * (1 + abs(state.value)) else 0
        if quiet == 2 or gain == 0:
            break
        short = 0 if rate == 1.0 else short + 1
        if short == 1 and not climbed:
            # Off the best mean the covariance's step is meaningless, and that mean is easily found.
            climbed, history = True, []
            mean = climb(objective, state.mean, state.covariance, steps, tolerance)
            state = _evaluate(objective, mean, state.covariance) or state
        if short == _CRAWL:
            return polish(objective, state.mean, state.covariance, 5 * steps, tolerance)
    return state.mean, state.covariance, state.value


def _candidates(history: list[_State]):
    """Natural parameters to try and their rate: accelerated, then plain steps of falling size."""
    last = history[-1]
    if len(history) > 1:
        residuals = torch.stack([s.residual for s in history], 1).diff(dim=1)
        positions = torch.stack([s.natural for s in history], 1).diff(dim=1)
        # Least squares by normal equations with a whisper of ridge: at most five columns.
        gram = residuals.mT @ residuals
        gram = gram + 1e-12 * gram.diagonal().mean() * torch.eye(len(gram)).to(gram)
        mix, info = torch.linalg.solve_ex(gram, residuals.mT @ last.residual)
        if not info and torch.isfinite(mix).all():
            yield last.natural + last.residual - (positions + residuals) @ mix, 1.0
    for rate in _RATES:
        yield last.natural + rate * last.residual, rate


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
    # -KL contributes (S⁻¹ - I)/2 to ∂/∂S and -m to ∂/∂m, so S⁻¹ - 2 ∂/∂S is I - 2 ∂E/∂S.
    # Both halves of S are free for autograd, hence the sum with the transpose.
    target = precision - (grad_s + grad_s.mT)
    natural = torch.cat([precision @ mean, precision.reshape(-1)])
    wanted = torch.cat([target @ mean + grad_m, target.reshape(-1)])
    return _State(mean, covariance, float(value.detach()), natural, wanted - natural)
