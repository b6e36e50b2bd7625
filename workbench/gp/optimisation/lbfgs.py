"""The optimal Gaussian q by L-BFGS, in coordinates where the present q is a standard normal.

Natural-gradient steps crawl where the objective is far from quadratic: few bags with huge counts,
whose totals bind a non-linear sum. With m = m₀ + L₀ a and root L₀ C of the covariance, L₀ the
root of a q that natural gradients have brought near, the problem is well scaled and L-BFGS over
(a, C) finishes it.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy  # its parts are loaded on first use
import torch
from torch import Tensor

from workbench.gp.numerics.linalg import FactorisationError, factor

Objective = Callable[[Tensor, Tensor], Tensor]
_NAME = "variational covariance"


def climb(objective: Objective, mean: Tensor, covariance: Tensor, steps: int,
          tolerance: float) -> Tensor:
    """The best mean at a fixed covariance, never worse than the given one (M,).

    Arguments and errors as of `polish`.
    """
    root = factor(covariance, _NAME)

    def place(flat: Tensor) -> tuple[Tensor, Tensor]:
        return mean + root @ flat, covariance

    return _maximise(objective, place, np.zeros(len(mean)), mean, covariance, steps, tolerance)[0]


def polish(objective: Objective, mean: Tensor, covariance: Tensor, steps: int,
           tolerance: float) -> tuple[Tensor, Tensor, float]:
    """Maximise ``objective(mean, covariance)`` from a q that is already near.

    Parameters
    ----------
    objective : callable
        Differentiable in mean (M,) and covariance (M, M).
    mean, covariance : Tensor
        Where to start.
    steps : int
        Most evaluations.
    tolerance : float
        Relative gain of a step that counts as converged.

    Returns
    -------
    mean, covariance, value
        Never worse than the start.

    Raises
    ------
    FactorisationError
        If the covariance at the start is not positive definite.
    """
    size, root = len(mean), factor(covariance, _NAME)
    rows, columns = torch.tril_indices(size, size)

    def place(flat: Tensor) -> tuple[Tensor, Tensor]:
        factor = torch.zeros(size, size).to(mean).index_put((rows, columns), flat[size:])
        lower = root @ factor
        return mean + root @ flat[:size], lower @ lower.mT

    start = np.concatenate([np.zeros(size), torch.eye(size)[rows, columns].numpy()]).astype(float)
    return _maximise(objective, place, start, mean, covariance, steps, tolerance)


def _maximise(objective: Objective, place, start: np.ndarray, mean: Tensor, covariance: Tensor,
              steps: int, tolerance: float) -> tuple[Tensor, Tensor, float]:
    """L-BFGS over a vector that ``place`` turns into a Gaussian; the best one that was met."""
    best = (mean, covariance, float(objective(mean, covariance).detach()))

    def loss(vector: np.ndarray) -> tuple[float, np.ndarray]:
        nonlocal best
        with torch.enable_grad():
            flat = torch.as_tensor(vector).to(mean).requires_grad_()
            m, s = place(flat)
            try:
                value = objective(m, s)
            except FactorisationError:
                return 1e3 + 2 * abs(best[2]), np.zeros_like(vector)
            number = float(value.detach())
            if not np.isfinite(number):
                return 1e3 + 2 * abs(best[2]), np.zeros_like(vector)
            (gradient,) = torch.autograd.grad(value, flat)
        if number > best[2]:
            best = (m.detach(), s.detach(), number)
        return -number, -gradient.cpu().numpy().astype(float)

    scipy.optimize.minimize(
        loss, start, jac=True, method="L-BFGS-B",
        options={"maxfun": steps, "maxiter": steps, "ftol": tolerance, "gtol": 1e-8, "maxcor": 20},
    )
    return best
