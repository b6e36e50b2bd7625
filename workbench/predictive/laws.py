"""Laws with parameters: of a Gaussian process, of its rate under each link, of a positive sum."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
import scipy.special
import scipy.stats
import torch
from torch import Tensor

from workbench.predictive.base import (
    Parametric,
    Predictive,
    SciPyLaw,
    as_levels,
    positive,
    to_numpy,
)
from workbench.special import logistic_moments


@dataclass(frozen=True)
class Normal(SciPyLaw):
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

    def _frozen(self):
        return scipy.stats.norm(to_numpy(self.location), positive(self.scale))


@dataclass(frozen=True)
class LogNormal(SciPyLaw):
    """exp of N(location, scale²): the law of a rate under the exponential link."""

    location: Tensor
    scale: Tensor

    @property
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

    def _frozen(self):
        return scipy.stats.lognorm(positive(self.scale), scale=np.exp(to_numpy(self.location)))


@dataclass(frozen=True)
class ScaledNoncentralChi2(Parametric):
    """Square of N(location, scale²): the law of a rate under the square link.

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
        location, scale = normal.args
        return self._tensor(np.stack(
            [_square_quantile(normal, location + 40 * scale, q) for q in as_levels(levels)]))

    def sample(self, count: int, seed: int = 0) -> Tensor:
        """Squares of Gaussian draws (count, n)."""
        return Normal(self.location, self.scale).sample(count, seed).square()

    def scaled(self, factor: float | Tensor) -> Self:
        """Location and scale times the root of the factor."""
        root = torch.as_tensor(factor).to(self.location).sqrt()
        return ScaledNoncentralChi2(self.location * root, self.scale * root)

    def _magnitude(self):
        # v and -v have one square; with a positive location the lower tail keeps its digits.
        return scipy.stats.norm(np.abs(to_numpy(self.location)), positive(self.scale))


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
class LogitNormal(Parametric):
    """Logistic function of N(location, scale²): the law of a probability under the logit link.

    Probabilities and quantiles are those of the Gaussian, exact; mean and variance have no closed
    form and come by quadrature (`workbench.special.logistic_moments`).

    Parameters
    ----------
    location, scale : Tensor (n,)
        Mean and standard deviation of the log-odds.
    upper : Tensor (n,), optional
        What the probability is multiplied by, such as a number of trials; ones by default.
    """

    location: Tensor
    scale: Tensor
    upper: Tensor | None = None

    def __post_init__(self):
        if self.upper is None:
            object.__setattr__(self, "upper", torch.ones_like(self.location))

    @property
    def mean(self) -> Tensor:
        """Expected value."""
        return self.upper * logistic_moments(self.location, self.scale.square())[0]

    @property
    def variance(self) -> Tensor:
        """Variance."""
        return self.upper.square() * logistic_moments(self.location, self.scale.square())[2]

    def cdf(self, value: float | Tensor) -> Tensor:
        """P(log-odds <= logit(value)); zero below the support and one above it."""
        return self._tensor(self._log_odds().cdf(self._logit(value)))

    def exceedance(self, threshold: float | Tensor) -> Tensor:
        """P(log-odds > logit(threshold)), with all its digits in the far tail."""
        return self._tensor(self._log_odds().sf(self._logit(threshold)))

    def quantile(self, levels: float | list[float]) -> Tensor:
        """Logistic function of the Gaussian quantiles, (q, n)."""
        normal, upper = self._log_odds(), to_numpy(self.upper)
        return self._tensor(np.stack(
            [upper * scipy.special.expit(normal.ppf(level)) for level in as_levels(levels)]))

    def sample(self, count: int, seed: int = 0) -> Tensor:
        """Logistic function of Gaussian draws (count, n)."""
        return self.upper * torch.sigmoid(Normal(self.location, self.scale).sample(count, seed))

    def scaled(self, factor: float | Tensor) -> Self:
        """The upper end times the factor."""
        return LogitNormal(self.location, self.scale, self.upper * factor)

    def _log_odds(self):
        return scipy.stats.norm(to_numpy(self.location), positive(self.scale))

    def _logit(self, value: float | Tensor) -> np.ndarray:
        return scipy.special.logit(np.clip(to_numpy(value) / to_numpy(self.upper), 0, 1))


@dataclass(frozen=True)
class Gamma(SciPyLaw):
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

    def _frozen(self):
        mean = to_numpy(self.location)
        # SciPy's quantiles lose their way at shapes beyond 1e14; that is a point for all purposes.
        variance = np.maximum(to_numpy(self.spread), 1e-14 * mean**2)
        return scipy.stats.gamma(mean**2 / variance, scale=variance / mean)


def marginal_law(link: str, mean: Tensor, variance: Tensor) -> Predictive:
    """Law of ψ(v) for v ~ N(mean, variance) under a named link."""
    laws = {"identity": Normal, "exp": LogNormal, "square": ScaledNoncentralChi2,
            "logit": LogitNormal}
    return laws[link](mean, variance.clamp_min(0).sqrt())
