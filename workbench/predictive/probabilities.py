"""Laws of probabilities: a Gaussian through the logistic or the probit function."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
import scipy.special
import scipy.stats
import torch
from torch import Tensor

from workbench.predictive.base import Parametric, as_levels, positive, to_numpy
from workbench.predictive.laws import Normal
from workbench.special import logistic_moments


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
class ProbitNormal(Parametric):
    """Φ of N(location, scale²): the law of a probability under the probit link.

    Everything is closed: E Φ(v) = Φ(a) with a = location / √(1 + scale²), and E Φ(v)² = Φ(a) - 2
    T(a, 1/√(1 + 2 scale²)) with Owen's T.

    Parameters
    ----------
    location, scale : Tensor (n,)
        Mean and standard deviation of the Gaussian.
    factor : Tensor (n,), optional
        What the probability is multiplied by; ones by default.

    References
    ----------
    Owen 1980, A table of normal integrals, 10,010.8 and 20,010.3.
    """

    location: Tensor
    scale: Tensor
    factor: Tensor | None = None

    def __post_init__(self):
        if self.factor is None:
            object.__setattr__(self, "factor", torch.ones_like(self.location))

    @property
    def mean(self) -> Tensor:
        """Expected value."""
        return self.factor * torch.special.ndtr(self._standardised())

    @property
    def variance(self) -> Tensor:
        """Variance."""
        a = to_numpy(self._standardised())
        owen = scipy.special.owens_t(a, 1 / np.sqrt(1 + 2 * to_numpy(self.scale)**2))
        # Φ(a) (1 - Φ(a)) - 2T, so that nothing is lost where Φ(a) is near one.
        spread = scipy.special.ndtr(a) * scipy.special.ndtr(-a) - 2 * owen
        return self.factor.square() * self._tensor(spread).clamp_min(0)

    def cdf(self, value: float | Tensor) -> Tensor:
        """P(v <= Φ⁻¹(value)); zero below the support and one above it."""
        return self._tensor(self._gaussian().cdf(self._probit(value)))

    def exceedance(self, threshold: float | Tensor) -> Tensor:
        """P(v > Φ⁻¹(threshold)), with all its digits in the far tail."""
        return self._tensor(self._gaussian().sf(self._probit(threshold)))

    def quantile(self, levels: float | list[float]) -> Tensor:
        """Φ of the Gaussian quantiles, (q, n)."""
        normal, factor = self._gaussian(), to_numpy(self.factor)
        return self._tensor(np.stack(
            [factor * scipy.special.ndtr(normal.ppf(level)) for level in as_levels(levels)]))

    def sample(self, count: int, seed: int = 0) -> Tensor:
        """Φ of Gaussian draws (count, n)."""
        return self.factor * torch.special.ndtr(
            Normal(self.location, self.scale).sample(count, seed))

    def scaled(self, factor: float | Tensor) -> Self:
        """The probability times a further factor."""
        return ProbitNormal(self.location, self.scale, self.factor * factor)

    def _standardised(self) -> Tensor:
        return self.location / (1 + self.scale.square()).sqrt()

    def _gaussian(self):
        return scipy.stats.norm(to_numpy(self.location), positive(self.scale))

    def _probit(self, value: float | Tensor) -> np.ndarray:
        return scipy.special.ndtri(np.clip(to_numpy(value) / to_numpy(self.factor), 0, 1))
