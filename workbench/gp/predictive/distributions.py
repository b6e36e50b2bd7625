"""Parametric distributions: of a Gaussian process, of rates under each link, of positive sums."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
import scipy  # its parts are loaded on first use
import torch
from torch import Tensor

from workbench.gp.predictive.base import (
    Family,
    Parametric,
    SciPyDistribution,
    as_levels,
    positive,
    to_numpy,
)


@dataclass(frozen=True)
class Normal(SciPyDistribution):
    """N(location, scale²)."""

    location: Tensor
    scale: Tensor

    @property
    def mean(self) -> Tensor:
        """Location."""
        return self.location

    @property
    def variance(self) -> Tensor:
        """Scale squared."""
        return self.scale.square()

    def scaled(self, factor: float | Tensor) -> Self:
        """Location and scale times the factor."""
        return Normal(self.location * factor, self.scale * factor)

    def _family(self) -> Family:
        return Family(scipy.stats.norm, to_numpy(self.location), positive(self.scale))


@dataclass(frozen=True)
class LogNormal(SciPyDistribution):
    """exp of N(location, scale²): the distribution of a rate under the exponential link."""

    location: Tensor
    scale: Tensor

    @classmethod
    def matched(cls, mean: Tensor, variance: Tensor) -> Self:
        """The one with this mean and variance."""
        log_variance = (variance / mean.square()).log1p()
        return cls(mean.log() - log_variance / 2, log_variance.sqrt())

    @cached_property
    def mean(self) -> Tensor:
        """exp(location + scale²/2)."""
        return (self.location + self.scale.square() / 2).exp()

    @property
    def variance(self) -> Tensor:
        """Mean² (exp(scale²) - 1)."""
        return self.mean.square() * self.scale.square().expm1()

    def scaled(self, factor: float | Tensor) -> Self:
        """Location plus the logarithm of the factor."""
        return LogNormal(self.location + torch.as_tensor(factor).to(self.location).log(),
                         self.scale)

    def _family(self) -> Family:
        return Family(scipy.stats.lognorm, positive(self.scale),
                      scale=np.exp(to_numpy(self.location)))


@dataclass(frozen=True)
class ScaledNoncentralChi2(Parametric):
    """Square of N(location, scale²): the distribution of a rate under the square link.

    Probabilities and quantiles are those of the Gaussian, exact and fast; SciPy's series loses
    accuracy at non-centralities beyond 1e4.

    References
    ----------
    Law et al. 2018, section 3.1: v² = S χ'²(1, m²/S).
    """

    location: Tensor
    scale: Tensor

    @property
    def mean(self) -> Tensor:
        """Location² + scale²."""
        return self.location.square() + self.scale.square()

    @property
    def variance(self) -> Tensor:
        """2 scale⁴ + 4 location² scale²."""
        s2 = self.scale.square()
        return 2 * s2.square() + 4 * self.location.square() * s2

    def cdf(self, value: float | Tensor) -> Tensor:
        """P(v² <= value) = P(-√value <= v <= √value)."""
        root, normal = np.sqrt(np.maximum(to_numpy(value), 0.0)), self._magnitude()
        return self._tensor(normal.cdf(root) - normal.cdf(-root))

    def exceedance(self, threshold: float | Tensor) -> Tensor:
        """P(v² > threshold) = P(v > √threshold) + P(v < -√threshold)."""
        root, normal = np.sqrt(np.maximum(to_numpy(threshold), 0.0)), self._magnitude()
        return self._tensor(normal.sf(root) + normal.cdf(-root))

    def quantile(self, levels: float | list[float]) -> Tensor:
        """Squares of the roots found by bisection on the exact cdf, (q, n)."""
        normal = self._magnitude()
        location, scale = normal.parameters
        return self._tensor(np.stack(
            [_square_quantile(normal, location + 40 * scale, q) for q in as_levels(levels)]))

    def sample(self, count: int, seed: int = 0) -> Tensor:
        """Squares of Gaussian draws (count, n)."""
        return Normal(self.location, self.scale).sample(count, seed).square()

    def scaled(self, factor: float | Tensor) -> Self:
        """Location and scale times the root of the factor."""
        root = torch.as_tensor(factor).to(self.location).sqrt()
        return ScaledNoncentralChi2(self.location * root, self.scale * root)

    def _magnitude(self) -> Family:
        # v and -v have one square; with a positive location the lower tail keeps its digits.
        return Family(scipy.stats.norm, np.abs(to_numpy(self.location)), positive(self.scale))


def _square_quantile(normal, most: np.ndarray, level: float) -> np.ndarray:
    if level >= 1:
        return np.full_like(most, np.inf)
    low, high = np.zeros_like(most), most
    for _ in range(80):
        middle = (low + high) / 2
        below = normal.cdf(middle) - normal.cdf(-middle) < level
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    return np.square((low + high) / 2)


@dataclass(frozen=True)
class Gamma(SciPyDistribution):
    """Gamma with a given mean and variance: a positive sum matched to its first two moments."""

    location: Tensor
    spread: Tensor

    @property
    def mean(self) -> Tensor:
        """The mean it was matched to."""
        return self.location

    @property
    def variance(self) -> Tensor:
        """The variance it was matched to."""
        return self.spread

    def scaled(self, factor: float | Tensor) -> Self:
        """Mean times the factor, variance times its square."""
        return Gamma(self.location * factor, self.spread * factor**2)

    def _family(self) -> Family:
        mean = to_numpy(self.location)
        # SciPy's quantiles lose their way at shapes beyond 1e14; that is a point for all purposes.
        variance = np.maximum(to_numpy(self.spread), 1e-14 * mean**2)
        return Family(scipy.stats.gamma, mean**2 / variance, scale=variance / mean)
