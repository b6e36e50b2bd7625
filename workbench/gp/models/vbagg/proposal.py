"""Where settings of hyperparameters are drawn, and how they are weighted.

A posterior of logarithms is skewed: a standard deviation that the data leave open may be as small
as it likes, but not as large. So draws are first from a split Student-t, with two scales along
each axis of the curvature at the best setting; where that serves badly, then from mixtures of
kernels about the draws so far. Points are quasi-random. All draws are weighted as draws of the
mixture of the proposals, and large weights are Pareto-smoothed.

References
----------
Rue, Martino and Chopin 2009, section 6.5 (split normals along the axes of the curvature);
West 1993, Approximating posterior distributions by mixtures (kernels about weighted draws);
Cornuet, Marin, Mira and Robert 2012, Adaptive multiple importance sampling (mixture weights);
Vehtari, Simpson, Gelman, Yao and Gabry 2024, Pareto smoothed importance sampling.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import scipy  # its parts are loaded on first use

_LEAST = 25     # draws, of which the largest fifth are smoothed: five are the fewest
# Degrees of freedom: tails so heavy that no weight is large because the posterior's are heavier.
_FREEDOM = 5.0


class Proposal(Protocol):
    """A distribution that settings are drawn from, at points (n, width) of the unit cube."""

    width: int

    def draw(self, uniform: np.ndarray) -> np.ndarray:
        """Points (n, d)."""

    def log_density(self, points: np.ndarray) -> np.ndarray:
        """Log densities (n,) at points (n, d)."""


@dataclass(frozen=True)
class SplitT:
    """Independent split Student-t distributions along axes through a centre.

    Parameters
    ----------
    centre : array (d,)
        Where the density is highest.
    axes : array (d, d)
        Columns: one unit along each axis.
    scales : array (2, d)
        Scales below and above the centre along each axis, in these units.
    """

    centre: np.ndarray
    axes: np.ndarray
    scales: np.ndarray

    @property
    def width(self) -> int:
        """Coordinates that a draw takes."""
        return len(self.centre)

    def draw(self, uniform: np.ndarray) -> np.ndarray:
        """Points (n, d), by the inverse of the cdf."""
        t, (low, high) = scipy.stats.t, self.scales
        share = low / (low + high)
        below = low * t.ppf(np.minimum(uniform / share, 1) / 2, _FREEDOM)
        above = high * t.ppf((1 + np.maximum(uniform - share, 0) / (1 - share)) / 2, _FREEDOM)
        return self.centre + np.where(uniform < share, below, above) @ self.axes.T

    def log_density(self, points: np.ndarray) -> np.ndarray:
        """Log densities (n,) at points (n, d)."""
        z = np.linalg.solve(self.axes, (points - self.centre).T).T
        low, high = self.scales
        terms = scipy.stats.t.logpdf(z / np.where(z < 0, low, high), _FREEDOM)
        terms += np.log(2 / (low + high))
        return terms.sum(1) - np.linalg.slogdet(self.axes)[1]

    @property
    def covariance(self) -> np.ndarray:
        """Scale matrix (d, d) with the two scales of each axis averaged."""
        root = self.axes * self.scales.mean(0)
        return root @ root.T


class Kernels:
    """Student-t kernels about weighted draws, drawn together so that their spread is the draws'.

    The covariance is that of the draws, shrunk towards the first proposal's by as many draws as
    there are dimensions: of few draws it may be singular.

    Parameters
    ----------
    points : array (n, d)
        Draws so far.
    weights : array (n,)
        Their weights, which sum to one.
    first : SplitT
        The first proposal.
    """

    def __init__(self, points: np.ndarray, weights: np.ndarray, first: SplitT):
        d, size = points.shape[1], effective_number(weights)
        self.width, self.weights = d + 1, weights
        mean = weights @ points
        spread = (points - mean).T @ ((points - mean) * weights[:, None])
        covariance = (size * spread + d * first.covariance) / (size + d)
        # The bandwidth that is best for a Gaussian.
        width = min(1.0, (4 / (size * (d + 2))) ** (1 / (d + 4)))
        self.root = width * np.linalg.cholesky(covariance)
        self.centres = mean + np.sqrt(1 - width**2) * (points - mean)

    def draw(self, uniform: np.ndarray) -> np.ndarray:
        """Points (n, d); the last coordinate chooses the kernel."""
        ends = np.cumsum(self.weights)
        chosen = np.searchsorted(ends, uniform[:, -1] * ends[-1])
        return self.centres[chosen] + scipy.stats.t.ppf(uniform[:, :-1], _FREEDOM) @ self.root.T

    def log_density(self, points: np.ndarray) -> np.ndarray:
        """Log densities (n,) at points (n, d)."""
        apart = points[:, None] - self.centres
        z = np.linalg.solve(self.root, apart.reshape(-1, points.shape[1]).T).T
        each = scipy.stats.t.logpdf(z, _FREEDOM).sum(1).reshape(apart.shape[:2])
        return (scipy.special.logsumexp(each, axis=1, b=self.weights)
                - np.log(self.root.diagonal()).sum())


def spread_points(proposal: Proposal, count: int, seed: int) -> np.ndarray:
    """Draws (count, d) of a proposal at points that fill the unit cube evenly."""
    power = int(np.ceil(np.log2(max(count, 2))))
    uniform = scipy.stats.qmc.Sobol(proposal.width, seed=seed).random_base2(power)[:count]
    return proposal.draw(np.clip(uniform, 1e-9, 1 - 1e-9))


def importance_weights(logs: np.ndarray, points: np.ndarray, drawn: list[tuple[int, Proposal]]
          ) -> tuple[np.ndarray, float]:
    """Weights of draws, and how heavy the tail of their ratios is.

    Parameters
    ----------
    logs : array (n,)
        Log posterior densities, up to a constant; minus infinity where there is none.
    points : array (n, d)
        The draws of all proposals.
    drawn : list of (int, Proposal)
        Proposals, and how many of the draws are theirs.

    Returns
    -------
    weights : array (n,)
        Pareto-smoothed; they sum to one.
    k : float
        Shape k̂ of the generalised Pareto distribution of the largest ratios: above 0.7 averages
        are not to be trusted. Not a number of fewer than 25 finite draws: too few are in the tail.
    """
    # A tenth of a second, which not every import of the package should pay.
    from arviz_stats.base import array_stats

    together = scipy.special.logsumexp(
        [np.log(count) + proposal.log_density(points) for count, proposal in drawn], axis=0)
    finite = np.isfinite(logs)
    ratios, k = (logs - together)[finite], np.nan
    if len(ratios) >= _LEAST and np.ptp(np.sort(ratios)[-(len(ratios) // 5):]) > 0:
        ratios, k = array_stats.psislw(-ratios)
    weights = np.zeros(len(logs))
    weights[finite] = np.exp(ratios - scipy.special.logsumexp(ratios))
    return weights, float(k)


def effective_number(weights: np.ndarray) -> float:
    """How many equally weighted draws tell as much: (Σ w)² / Σ w²."""
    return float(weights.sum() ** 2 / np.square(weights).sum())
