"""Distributions of probabilities: a Gaussian through the logistic or the probit function."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar, Self

import numpy as np
import scipy  # its parts are loaded on first use
import torch
from torch import Tensor

from workbench.gp.numerics.special import logistic_moments
from workbench.gp.predictive.base import Family, Parametric, as_levels, positive, to_numpy
from workbench.gp.predictive.distributions import Normal


@dataclass(frozen=True)
class _Squashed(Parametric):
    """A function, from 0 to 1, of N(location, scale²), times a factor.

    Probabilities and quantiles are those of the Gaussian, exact.
    """

    location: Tensor
    scale: Tensor
    factor: Tensor | None = None

    _of_tensor: ClassVar[Callable[[Tensor], Tensor]]
    _of_array: ClassVar[Callable[[np.ndarray], np.ndarray]]
    _inverse: ClassVar[Callable[[np.ndarray], np.ndarray]]

    def __post_init__(self):
        if self.factor is None:
            object.__setattr__(self, "factor", torch.ones_like(self.location))

    def cdf(self, value: float | Tensor) -> Tensor:
        """P(Gaussian <= inverse of the value); zero below the support and one above it."""
        return self._tensor(self._gaussian().cdf(self._place(value)))

    def exceedance(self, threshold: float | Tensor) -> Tensor:
        """P(Gaussian > inverse of the threshold), with all its digits in the far tail."""
        return self._tensor(self._gaussian().sf(self._place(threshold)))

    def quantile(self, levels: float | list[float]) -> Tensor:
        """The function of the Gaussian quantiles, (q, n)."""
        normal, factor = self._gaussian(), to_numpy(self.factor)
        return self._tensor(np.stack(
            [factor * self._of_array(normal.ppf(level)) for level in as_levels(levels)]))

    def sample(self, count: int, seed: int = 0) -> Tensor:
        """The function of Gaussian draws (count, n)."""
        return self.factor * self._of_tensor(Normal(self.location, self.scale).sample(count, seed))

    def scaled(self, factor: float | Tensor) -> Self:
        """The probability times a further factor."""
        return replace(self, factor=self.factor * factor)

    def _gaussian(self) -> Family:
        return Family(scipy.stats.norm, to_numpy(self.location), positive(self.scale))

    def _place(self, value: float | Tensor) -> np.ndarray:
        return self._inverse(np.clip(to_numpy(value) / to_numpy(self.factor), 0, 1))


class LogitNormal(_Squashed):
    """Logistic function of N(location, scale²): a probability under the logit link.

    Mean and variance have no closed form and come by quadrature
    (`workbench.gp.numerics.special.logistic_moments`).

    Parameters
    ----------
    location, scale : Tensor (n,)
        Mean and standard deviation of the log-odds.
    factor : Tensor (n,), optional
        What the probability is multiplied by, such as a number of trials; ones by default.
    """

    _of_tensor = staticmethod(torch.sigmoid)
    _of_array, _inverse = staticmethod(scipy.special.expit), staticmethod(scipy.special.logit)

    @property
    def mean(self) -> Tensor:
        """Expected value."""
        return self.factor * self._moments[0]

    @property
    def variance(self) -> Tensor:
        """Variance."""
        return self.factor.square() * self._moments[2]

    @cached_property
    def _moments(self) -> tuple[Tensor, ...]:
        return logistic_moments(self.location, self.scale.square())


class ProbitNormal(_Squashed):
    """Φ of N(location, scale²): a probability under the probit link.

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

    _of_tensor = staticmethod(torch.special.ndtr)
    _of_array, _inverse = staticmethod(scipy.special.ndtr), staticmethod(scipy.special.ndtri)

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

    def _standardised(self) -> Tensor:
        return self.location / (1 + self.scale.square()).sqrt()
