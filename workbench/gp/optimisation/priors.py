"""Priors on positive hyperparameters, in natural units, with densities on the log scale.

A maximum a posteriori estimate depends on the scale its density is taken on. All priors here give
the density of the *logarithm* of the hyperparameter, as TMB and R-INLA do.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from workbench.checks import require

_POSITIVE = re.compile(r"(\d+\.?\d*|\.\d+)(e[+-]?\d+)?", re.IGNORECASE)


class Prior(Protocol):
    """A density on the logarithm of a positive hyperparameter."""

    def log_density(self, value: Tensor) -> Tensor:
        """Log density of log(value), elementwise."""

    def quantile(self, probability: Tensor) -> Tensor:
        """Value below which the hyperparameter lies with a probability, elementwise."""


@dataclass(frozen=True)
class LogNormal:
    """log θ ~ N(log median, sigma²).

    Parameters
    ----------
    median : float, tuple of float or Tensor
        Median in the hyperparameter's unit; one per entry where units differ between entries.
    sigma : float
        Standard deviation of log θ.
    """

    median: float | tuple[float, ...] | Tensor
    sigma: float

    def log_density(self, value: Tensor) -> Tensor:
        """Log density of log(value)."""
        median = torch.as_tensor(self.median, dtype=torch.float64).to(value)
        z = (value.log() - median.log()) / self.sigma
        return -0.5 * z.square() - math.log(self.sigma * math.sqrt(2 * math.pi))

    def quantile(self, probability: Tensor) -> Tensor:
        """Value below which the hyperparameter lies with a probability, elementwise."""
        median = torch.as_tensor(self.median, dtype=torch.float64).to(probability)
        return median * (self.sigma * torch.special.ndtri(probability)).exp()

    def __str__(self) -> str:
        medians = self.median if isinstance(self.median, tuple) else (self.median,)
        shown = " ".join(f"{median:.3g}" for median in medians)
        return f"log-normal(median {shown}, sigma {self.sigma:.3g})"


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

    def quantile(self, probability: Tensor) -> Tensor:
        """Value below which the hyperparameter lies with a probability, elementwise."""
        half = self.dimension / 2
        rate = -math.log(self.probability) * self.shortest**half
        return (rate / -probability.log()).pow(1 / half)

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

    def quantile(self, probability: Tensor) -> Tensor:
        """Value below which the hyperparameter lies with a probability, elementwise."""
        std = -torch.log1p(-probability) * self.largest / -math.log(self.probability)
        return std.square() if self.of_variance else std

    def __str__(self) -> str:
        return f"PC: P(std > {self.largest:.3g}) = {self.probability:.3g}"


@dataclass(frozen=True)
class Multiple:
    """θ is about so many times another hyperparameter: log θ ~ N(log(factor × other), sigma²).

    Parameters
    ----------
    others : tuple of str
        Name of the other hyperparameter, of the same unit. If several are named, standard
        deviations or variances (their names say which), the root of the sum of their variances
        stands for it.
    factor : float
        Median of θ, in units of the other.
    sigma : float
        Standard deviation of log θ.
    """

    others: tuple[str, ...]
    factor: float
    sigma: float

    @property
    def _plain(self) -> bool:
        return len(self.others) == 1 and not self.others[0].endswith("variance")

    def given(self, *values: Tensor) -> LogNormal:
        """The prior of θ where the others have these values ()."""
        return LogNormal(self.factor * self.together(*values), self.sigma)

    def together(self, *values):
        """What θ is a multiple of: from values of the others, tensors or other arrays."""
        if self._plain:
            return values[0]
        return sum(value if name.endswith("variance") else value**2
                   for name, value in zip(self.others, values, strict=True))**0.5

    def __str__(self) -> str:
        variances = [name if name.endswith("variance") else f"{name}²" for name in self.others]
        other = self.others[0] if self._plain else f"√({' + '.join(variances)})"
        return f"log-normal(median {self.factor:.3g} × {other}, sigma {self.sigma:.3g})"


def goes_by(prior: Prior | Multiple | None) -> list[str]:
    """Names of the other hyperparameters that a prior goes by."""
    return list(prior.others) if isinstance(prior, Multiple) else []


def parse(text: str, name: str) -> Prior | None:
    """Read a prior from text, for command lines: ``none``, ``lognormal:2:1`` or ``pc:0.5:0.05``.

    ``pc:VALUE:PROBABILITY`` bounds a lengthscale from below and a variance or standard deviation
    (both by VALUE of the standard deviation) from above.
    """
    require(isinstance(text, str), f"prior {text!r} of {name} is not understood; write it as text, "
            "none, lognormal:MEDIAN:SIGMA or pc:VALUE:PROBABILITY, or pass a prior object")
    if text == "none":
        return None
    kind, *numbers = text.split(":")
    complaint = (
        f"prior {text!r} of {name} is not understood; write none, lognormal:MEDIAN:SIGMA or "
        "pc:VALUE:PROBABILITY, with positive numbers and a probability below one"
    )
    require(kind in ("lognormal", "pc") and len(numbers) == 2, complaint)
    require(all(_POSITIVE.fullmatch(number) for number in numbers), complaint)
    first, second = (float(number) for number in numbers)
    require(first > 0 and second > 0 and (kind == "lognormal" or second < 1), complaint)
    if kind == "lognormal":
        return LogNormal(first, second)
    if name.endswith("lengthscale"):
        return PCLengthscale(first, second)
    return PCStd(first, second, of_variance=name.endswith("variance"))


def log_prior(prior: Prior | None, value: Tensor) -> Tensor:
    """Sum of the log density over the entries, zero without a prior."""
    return torch.zeros((), dtype=value.dtype) if prior is None else prior.log_density(value).sum()
