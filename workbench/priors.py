"""Priors on positive hyperparameters, in natural units, with densities on the log scale.

A maximum a posteriori estimate depends on the scale its density is taken on. All priors here give
the density of the *logarithm* of the hyperparameter, as TMB and R-INLA do.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from workbench.checks import require


class Prior(Protocol):
    """A density on the logarithm of a positive hyperparameter."""

    def log_density(self, value: Tensor) -> Tensor:
        """Log density of log(value), elementwise."""


@dataclass(frozen=True)
class LogNormal:
    """log θ ~ N(log median, sigma²).

    Parameters
    ----------
    median : float
        Median in the hyperparameter's unit.
    sigma : float
        Standard deviation of log θ.
    """

    median: float
    sigma: float

    def log_density(self, value: Tensor) -> Tensor:
        """Log density of log(value)."""
        z = (value.log() - math.log(self.median)) / self.sigma
        return -0.5 * z.square() - math.log(self.sigma * math.sqrt(2 * math.pi))

    def __str__(self) -> str:
        return f"log-normal(median {self.median:.3g}, sigma {self.sigma:.3g})"


@dataclass(frozen=True)
class PCLengthscale:
    """Penalised-complexity prior of a lengthscale: P(ℓ < shortest) = probability.

    References
    ----------
    Fuglstad et al. 2019, Constructing priors that penalize the complexity of Gaussian random
    fields, Theorem 2.6, with the lengthscale in place of the range (they are proportional).
    """

    shortest: float
    probability: float = 0.05
    dimension: int = 2

    def log_density(self, value: Tensor) -> Tensor:
        """Log density of log(value)."""
        half = self.dimension / 2
        rate = -math.log(self.probability) * self.shortest**half
        return math.log(half * rate) - half * value.log() - rate * value.pow(-half)

    def __str__(self) -> str:
        return f"PC: P(lengthscale < {self.shortest:.3g}) = {self.probability:.3g}"


@dataclass(frozen=True)
class PCStd:
    """Penalised-complexity prior of a standard deviation: P(σ > largest) = probability.

    ``of_variance`` says that the hyperparameter itself is the variance σ².

    References
    ----------
    Simpson et al. 2017, Penalising model component complexity, section 3.3.
    """

    largest: float
    probability: float = 0.05
    of_variance: bool = False

    def log_density(self, value: Tensor) -> Tensor:
        """Log density of log(value)."""
        rate = -math.log(self.probability) / self.largest
        std = value.sqrt() if self.of_variance else value
        halved = math.log(2) if self.of_variance else 0.0
        return math.log(rate) - rate * std + std.log() - halved

    def __str__(self) -> str:
        return f"PC: P(std > {self.largest:.3g}) = {self.probability:.3g}"


def parse(text: str, name: str) -> Prior | None:
    """Read a prior from text, for command lines: ``none``, ``lognormal:2:1`` or ``pc:0.5:0.05``.

    ``pc:VALUE:PROBABILITY`` bounds a lengthscale from below and a variance or standard deviation
    (both by VALUE of the standard deviation) from above.
    """
    if text == "none":
        return None
    kind, *numbers = text.split(":")
    require(
        kind in ("lognormal", "pc") and len(numbers) == 2,
        f"prior {text!r} of {name} is not understood; write none, lognormal:MEDIAN:SIGMA or "
        "pc:VALUE:PROBABILITY",
    )
    first, second = (float(number) for number in numbers)
    if kind == "lognormal":
        return LogNormal(first, second)
    if name.endswith("lengthscale"):
        return PCLengthscale(first, second)
    return PCStd(first, second, of_variance=name.endswith("variance"))


def log_prior(prior: Prior | None, value: Tensor) -> Tensor:
    """Sum of the log density over the entries, zero without a prior."""
    return torch.zeros((), dtype=value.dtype) if prior is None else prior.log_density(value).sum()
