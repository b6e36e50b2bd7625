"""The posterior under any power of the likelihood, exact and from one decomposition.

In numpy, as `workbench.gp.models.exact.closed_form`; `MRGP` with powers gives the same numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from workbench.gp.models.exact.closed_form import posterior_std


@dataclass(frozen=True, eq=False)
class Tempered:
    """The posterior under any power φ of the likelihood, from one decomposition.

    With the covariance G of the observations and their noise Λ,
    Λ^-½ G Λ^-½ = U diag(s) Uᵀ gives the posterior mean C φ/(1 + φ s) · Uᵀ Λ^-½ y and variance
    k - Σ_j C_j² φ/(1 + φ s_j), where C = cov(f, A f) Λ^-½ U.

    References
    ----------
    Hamelijnck et al. 2019, section 3.1.

    Parameters
    ----------
    values, residual : array (B,)
        s, and Uᵀ Λ^-½ y.
    cross, squared : array (n, B)
        C and its square.
    prior : float
        Prior variance at the places.
    """

    values: np.ndarray
    residual: np.ndarray
    cross: np.ndarray
    squared: np.ndarray
    prior: float

    def at(self, power: float) -> tuple[np.ndarray, np.ndarray]:
        """Posterior mean and standard deviation (n,) under a power of the likelihood."""
        gain = power / (1 + power * self.values)
        return self.cross @ (gain * self.residual), posterior_std(self.prior, self.squared @ gain)

    def variances(self, powers: np.ndarray) -> np.ndarray:
        """Posterior variance of each place for each power (n, powers)."""
        gain = powers / (1 + powers * self.values[:, None])
        return np.maximum(self.prior - self.squared @ gain, 0.0)


def condition_tempered(gram: np.ndarray, noise: np.ndarray, residual: np.ndarray,
                       cross: np.ndarray, prior: float) -> Tempered:
    """Condition a zero-mean Gaussian process on observations, for any power of their likelihood.

    Parameters
    ----------
    gram : array (B, B)
        Prior covariance of what is observed.
    noise : array (B,)
        Standard deviation of each observation.
    residual : array (B,)
        Observations less their prior mean.
    cross : array (n, B)
        Prior covariance of the places with what is observed.
    prior : float
        Prior variance at the places.
    """
    values, vectors = np.linalg.eigh(gram / noise[:, None] / noise)
    white = (cross / noise) @ vectors
    return Tempered(np.maximum(values, 0.0), vectors.T @ (residual / noise), white, white**2,
                    prior)


def covariance_of_means(kernel: Callable, points: np.ndarray, sizes: np.ndarray,
                        places: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Covariances of means over bags of points with each other (B, B), and with places (n, B).

    Parameters
    ----------
    kernel : callable
        Covariance at distances.
    points : array (N,)
        Points on a line, those of a bag together.
    sizes : array of int (B,)
        Points of each bag.
    places : array (n,)
    """
    starts = np.r_[0, np.cumsum(sizes)[:-1]]
    pairs = kernel(np.abs(points[:, None] - points))
    gram = np.add.reduceat(np.add.reduceat(pairs, starts, 0), starts, 1)
    cross = np.add.reduceat(kernel(np.abs(places[:, None] - points)), starts, 1)
    return gram / (sizes[:, None] * sizes), cross / sizes
