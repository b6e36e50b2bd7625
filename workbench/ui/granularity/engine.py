"""Gaussian processes from summaries and from complete data, in closed form and fast.

What a slider moves must be answered within a tenth of a second, so distances are computed once
per geometry and everything here starts from them. numpy and scipy.linalg alone: no torch.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import cholesky, get_lapack_funcs, solve_triangular

from workbench.granularity.correlations import CORRELATIONS

KERNELS = ("rbf", "matern12", "matern32", "matern52")
JITTER = 1e-10          # of the variance; the summaries' own variances do the rest
NEWTON_STEPS = 30
_ROOT3, _ROOT5 = np.sqrt(3.0), np.sqrt(5.0)


@dataclass(frozen=True)
class Model:
    """Kernel and noise.

    Parameters
    ----------
    kernel : {"rbf", "matern12", "matern32", "matern52"}
    lengthscale : float
        Unit of the places.
    variance : float
        Of the Gaussian process.
    noise : float
        Standard deviation of one observation; unused by the Poisson likelihood.
    likelihood : {"normal", "poisson"}
    nugget : float
        Variance of white noise in the process, w in the formulas.
    """

    kernel: str = "rbf"
    lengthscale: float = 1.0
    variance: float = 1.0
    noise: float = 0.3
    likelihood: str = "normal"
    nugget: float = 0.0

    def covariance(self, distance: np.ndarray) -> np.ndarray:
        """Kernel at distances, without the nugget."""
        found = CORRELATIONS[self.kernel](distance / self.lengthscale)
        found *= self.variance
        return found

    def errors(self, statistic: np.ndarray, counts: np.ndarray) -> np.ndarray:
        """Variance of each summary statistic around the process: v(statistic) / n_j."""
        if self.likelihood == "poisson":        # the statistic is log of the mean
            return np.exp(-statistic) / counts
        return self.noise**2 / counts


@dataclass(frozen=True)
class Conditioned:
    """A Gaussian process given observations: its posterior anywhere is one product away."""

    model: Model
    root: np.ndarray        # lower Cholesky factor of K + diag(V + w)
    coefficients: np.ndarray
    constant: float
    evidence: float

    def mean(self, cross: np.ndarray) -> np.ndarray:
        """Posterior mean where ``cross`` is the kernel between there (rows) and the data."""
        return self.constant + cross @ self.coefficients

    def sd(self, cross: np.ndarray) -> np.ndarray:
        """Posterior standard deviation of the process, without the nugget."""
        half = solve_triangular(self.root, cross.T, lower=True, check_finite=False)
        explained = np.einsum("ij,ij->j", half, half)
        return np.sqrt(np.maximum(self.model.variance - explained, 0.0))


def condition(model: Model, distance: np.ndarray, statistic: np.ndarray, errors: np.ndarray,
              constant: float = 0.0) -> Conditioned:
    """Condition on noisy values of the process.

    Parameters
    ----------
    model : Model
    distance : array, m x m
        Between the places of the values.
    statistic : array, m
        The values, such as means of cells.
    errors : array, m
        Their variances V.
    constant : float
        Mean of the process.
    """
    gram = model.covariance(distance)
    gram.flat[:: gram.shape[0] + 1] += errors + model.nugget + JITTER * model.variance
    # The transpose is the same matrix in LAPACK's own order, so that nothing is copied.
    root = cholesky(gram.T, lower=True, overwrite_a=True, check_finite=False)
    residual = statistic - constant
    half = solve_triangular(root, residual, lower=True, check_finite=False)
    coefficients = solve_triangular(root, half, lower=True, trans=1, check_finite=False)
    evidence = -0.5 * (half @ half + residual.size * np.log(2 * np.pi)) - np.log(
        np.diagonal(root)).sum()
    return Conditioned(model, root, coefficients, constant, float(evidence))


def laplace(model: Model, distance: np.ndarray, values: np.ndarray,
            constant: float = 0.0) -> Conditioned:
    """Complete data under a Poisson likelihood: Laplace's approximation at the mode.

    At the mode f, the posterior is that of values ``f + (y - exp f) / exp f`` with variances
    ``exp(-f)``; Newton's method finds it by conditioning on them again and again.
    """
    f = np.full(values.shape, constant)
    found = None
    for _ in range(NEWTON_STEPS):
        rate = np.exp(np.clip(f, -20, 20))
        found = condition(model, distance, f + (values - rate) / rate, 1 / rate, constant)
        new = constant + model.covariance(distance) @ found.coefficients
        step = new - f
        largest = np.abs(step).max()
        f = f + step * min(1.0, 2.0 / max(largest, 1e-300))     # no leaps: exp would overflow
        if largest < 1e-8:
            break
    return found


def within(model: Model, counts: np.ndarray, spreads: np.ndarray) -> float:
    """What complete outputs add to the evidence of the means, given the cells' variances.

    With it the noise can be learnt (Shikuri 2025, eq. 15, Normal likelihood); it is free of the
    kernel, and zero under the Poisson likelihood.

    Parameters
    ----------
    model : Model
    counts, spreads : arrays, m
        Number of outputs in each cell, and their variance (divided by the count).
    """
    if model.likelihood == "poisson":
        return 0.0
    square = model.noise**2
    inner = -0.5 * counts * (np.log(2 * np.pi * square) + spreads / square)
    return float((inner + 0.5 * np.log(2 * np.pi * square / counts)).sum())


def learn(model: Model, distance: np.ndarray, statistic: np.ndarray, counts: np.ndarray,
          spreads: np.ndarray, constant: float, bounds: dict[str, tuple[float, float]],
          tick: Callable[[int, float], None] = lambda step, value: None) -> tuple[Model, float]:
    """Maximise the evidence of the summaries over what has bounds, by L-BFGS-B on logarithms.

    Parameters
    ----------
    model : Model
        Where to start, and what is held.
    distance, statistic, counts, spreads : arrays
        Of the summaries.
    constant : float
        Mean of the process.
    bounds : dict
        Of lengthscale, variance, noise: those named are learnt.
    tick : callable
        Called with step and evidence; what it raises ends the search.

    Returns
    -------
    (Model, float)
        The model learnt and its log evidence.
    """
    from scipy.optimize import minimize  # a fifth of a second that the page need not wait

    names = list(bounds)
    limits = np.log([bounds[name] for name in names])
    start = np.clip(np.log([getattr(model, name) for name in names]), limits[:, 0], limits[:, 1])
    steps = [0]

    def at(logs: np.ndarray) -> Model:
        return replace(model, **dict(zip(names, np.exp(logs).tolist(), strict=True)))

    def loss(logs: np.ndarray) -> tuple[float, np.ndarray]:
        here = at(logs)
        value, slopes = evidence_and_slopes(here, distance, statistic, counts, spreads, constant)
        steps[0] += 1
        tick(steps[0], value)
        return -value, -np.array([slopes[name] for name in names])

    found = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=limits)
    return at(found.x), -float(found.fun)


def evidence_and_slopes(model: Model, distance: np.ndarray, statistic: np.ndarray,
                        counts: np.ndarray, spreads: np.ndarray, constant: float,
                        ) -> tuple[float, dict[str, float]]:
    """Log evidence of summaries and its derivatives by the logarithms of the hyperparameters."""
    errors = model.errors(statistic, counts)
    fit = condition(model, distance, statistic, errors, constant)
    (invert,) = get_lapack_funcs(("potri",), (fit.root,))
    inverse, _ = invert(fit.root, lower=1)
    inverse = np.tril(inverse) + np.tril(inverse, -1).T
    slope = 0.5 * (np.outer(fit.coefficients, fit.coefficients) - inverse)
    signal = model.covariance(distance)
    slopes = {
        "variance": float((slope * signal).sum()),
        "lengthscale": float((slope * signal * _growth(model, distance)).sum()),
        "noise": 0.0,
    }
    if model.likelihood == "normal":
        own = -counts + counts * spreads / model.noise**2 + 1
        slopes["noise"] = float(2 * (np.diagonal(slope) * errors).sum() + own.sum())
    return fit.evidence + within(model, counts, spreads), slopes


def _growth(model: Model, distance: np.ndarray) -> np.ndarray:
    """Derivative of log correlation by log lengthscale."""
    r = distance / model.lengthscale
    if model.kernel == "rbf":
        return r**2
    if model.kernel == "matern12":
        return r
    if model.kernel == "matern32":
        return 3 * r**2 / (1 + _ROOT3 * r)
    return (5 / 3) * r**2 * (1 + _ROOT5 * r) / (1 + _ROOT5 * r + 5 * r**2 / 3)
