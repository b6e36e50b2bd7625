"""Laws of predictions: each a named distribution with mean, variance, cdf, quantile and sample."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
import scipy.stats
import torch
from jaxtyping import Float
from torch import Tensor

from workbench.checks import require


class Predictive(ABC):
    """A distribution for each of n units (individuals or bags), marginally.

    `cdf` and `quantile` go through SciPy on the CPU; `sample` is reproducible from its seed.
    """

    @property
    @abstractmethod
    def mean(self) -> Float[Tensor, " n"]:
        """Expected value (n,)."""

    @property
    @abstractmethod
    def variance(self) -> Float[Tensor, " n"]:
        """Variance (n,)."""

    @abstractmethod
    def _frozen(self):
        """The SciPy distribution with this law."""

    @property
    def std(self) -> Float[Tensor, " n"]:
        """Standard deviation (n,)."""
        return self.variance.sqrt()

    def cdf(self, value: float | Tensor) -> Float[Tensor, " n"]:
        """P(unit <= value) (n,)."""
        return self._tensor(self._frozen().cdf(_numpy(value)))

    def exceedance(self, threshold: float | Tensor) -> Float[Tensor, " n"]:
        """P(unit > threshold) (n,)."""
        return self._tensor(self._frozen().sf(_numpy(threshold)))

    def quantile(self, levels: float | list[float]) -> Float[Tensor, "q n"]:
        """Quantiles at ``levels`` in [0, 1], (q, n)."""
        q = np.atleast_1d(np.asarray(levels, dtype=float))
        require(bool(((q >= 0) & (q <= 1)).all()), f"quantile levels must lie in [0, 1], got {q}")
        return self._tensor(np.stack([self._frozen().ppf(level) for level in q]))

    def interval(self, level: float = 0.95) -> tuple[Tensor, Tensor]:
        """Central interval that holds ``level`` of the probability."""
        lower, upper = self.quantile([(1 - level) / 2, (1 + level) / 2])
        return lower, upper

    def sample(self, count: int, seed: int = 0) -> Float[Tensor, "count n"]:
        """Independent draws (count, n)."""
        size = (count, len(self.mean))
        return self._tensor(self._frozen().rvs(size=size, random_state=np.random.default_rng(seed)))

    def _tensor(self, values) -> Tensor:
        return torch.as_tensor(np.asarray(values)).to(self.mean)


def _numpy(value) -> np.ndarray:
    return value.detach().cpu().numpy() if isinstance(value, Tensor) else np.asarray(value)


def _positive(scale: Tensor) -> np.ndarray:
    """A scale that SciPy accepts: without any variance it answers NaN instead of the one value."""
    return np.maximum(_numpy(scale).astype(float), 1e-150)


@dataclass(frozen=True)
class Normal(Predictive):
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

    def _frozen(self):
        return scipy.stats.norm(_numpy(self.location), _positive(self.scale))


@dataclass(frozen=True)
class LogNormal(Predictive):
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

    def _frozen(self):
        return scipy.stats.lognorm(_positive(self.scale), scale=np.exp(_numpy(self.location)))


@dataclass(frozen=True)
class ScaledNoncentralChi2(Predictive):
    """Square of N(location, scale²): the law of a rate under the square link.

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
        """P(v² <= value) = P(-√value <= v <= √value); exact and fast, unlike the series."""
        root, normal = np.sqrt(np.maximum(_numpy(value), 0.0)), self._magnitude()
        return self._tensor(normal.cdf(root) - normal.cdf(-root))

    def exceedance(self, threshold: float | Tensor) -> Tensor:
        """P(v² > threshold) = P(v > √threshold) + P(v < -√threshold)."""
        root, normal = np.sqrt(np.maximum(_numpy(threshold), 0.0)), self._magnitude()
        return self._tensor(normal.sf(root) + normal.cdf(-root))

    def sample(self, count: int, seed: int = 0) -> Tensor:
        """Squares of Gaussian draws (count, n)."""
        return Normal(self.location, self.scale).sample(count, seed).square()

    def _frozen(self):
        # SciPy's quantiles lose accuracy at non-centralities beyond 1e4; there the square of a
        # Gaussian far from zero is monotone, so its quantile is the square of the Gaussian's.
        return _SquaredNormal(np.abs(_numpy(self.location)), _positive(self.scale))

    def _magnitude(self):
        # v and -v have one square; with a positive location the lower tail keeps its digits.
        return scipy.stats.norm(np.abs(_numpy(self.location)), _positive(self.scale))


class _SquaredNormal:
    """Quantiles of the square of a Gaussian by bisection on its exact cdf."""

    def __init__(self, location: np.ndarray, scale: np.ndarray):
        self.location, self.scale = location, scale

    def ppf(self, level: float) -> np.ndarray:
        normal = scipy.stats.norm(self.location, self.scale)
        low = np.zeros_like(self.location)
        high = self.location + 40 * self.scale
        if level >= 1:
            return np.full_like(low, np.inf)
        for _ in range(80):
            middle = (low + high) / 2
            below = normal.cdf(middle) - normal.cdf(-middle) < level
            low, high = np.where(below, middle, low), np.where(below, high, middle)
        return np.square((low + high) / 2)


@dataclass(frozen=True)
class Gamma(Predictive):
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

    def _frozen(self):
        mean = _numpy(self.location)
        # SciPy's quantiles lose their way at shapes beyond 1e14; that is a point for all purposes.
        variance = np.maximum(_numpy(self.spread), 1e-14 * mean**2)
        return scipy.stats.gamma(mean**2 / variance, scale=variance / mean)


@dataclass(frozen=True)
class Point(Predictive):
    """All probability on one value: what a method without uncertainty predicts."""

    location: Tensor

    @property
    def mean(self) -> Tensor:
        """The value."""
        return self.location

    @property
    def variance(self) -> Tensor:
        """Zero."""
        return torch.zeros_like(self.location)

    def cdf(self, value: float | Tensor) -> Tensor:
        """One from the value on."""
        return (torch.as_tensor(value).to(self.location) >= self.location).to(self.location)

    def exceedance(self, threshold: float | Tensor) -> Tensor:
        """One below the value."""
        return 1 - self.cdf(threshold)

    def quantile(self, levels: float | list[float]) -> Tensor:
        """The value at every level."""
        return self.location.expand(len(np.atleast_1d(levels)), -1)

    def sample(self, count: int, seed: int = 0) -> Tensor:
        """The value, ``count`` times."""
        return self.location.expand(count, -1)

    def _frozen(self):
        raise NotImplementedError("a point has no density")


@dataclass(frozen=True)
class Samples(Predictive):
    """An empirical law: draws (count, n), joint across units."""

    draws: Tensor

    @property
    def mean(self) -> Tensor:
        """Average of the draws."""
        return self.draws.mean(0)

    @property
    def variance(self) -> Tensor:
        """Variance of the draws."""
        return self.draws.var(0)

    def cdf(self, value: float | Tensor) -> Tensor:
        """Share of draws at or below the value."""
        return (self.draws <= torch.as_tensor(value).to(self.draws)).to(self.draws).mean(0)

    def exceedance(self, threshold: float | Tensor) -> Tensor:
        """Share of draws above the threshold."""
        return 1 - self.cdf(threshold)

    def quantile(self, levels: float | list[float]) -> Tensor:
        """Empirical quantiles (q, n)."""
        q = torch.as_tensor(np.atleast_1d(levels)).to(self.draws)
        return torch.as_tensor(
            np.quantile(_numpy(self.draws), _numpy(q), axis=0)
        ).to(self.draws)

    def sample(self, count: int, seed: int = 0) -> Tensor:
        """Draws with replacement (count, n)."""
        rows = np.random.default_rng(seed).integers(len(self.draws), size=count)
        return self.draws[torch.as_tensor(rows)]

    def _frozen(self):
        raise NotImplementedError("an empirical law has no density")


def marginal_law(link: str, mean: Tensor, variance: Tensor) -> Predictive:
    """Law of ψ(v) for v ~ N(mean, variance) under a named link."""
    laws = {"identity": Normal, "exp": LogNormal, "square": ScaledNoncentralChi2}
    return laws[link](mean, variance.clamp_min(0).sqrt())
