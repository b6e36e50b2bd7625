"""What every predictive distribution answers, and those that SciPy answers for."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import fields, replace
from typing import Self

import numpy as np
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
    def cdf(self, value: float | Tensor) -> Float[Tensor, " n"]:
        """P(unit <= value) (n,)."""

    @abstractmethod
    def exceedance(self, threshold: float | Tensor) -> Float[Tensor, " n"]:
        """P(unit > threshold) (n,)."""

    @abstractmethod
    def quantile(self, levels: float | list[float]) -> Float[Tensor, "q n"]:
        """Quantiles at ``levels`` in [0, 1], (q, n)."""

    @abstractmethod
    def sample(self, count: int, seed: int = 0) -> Float[Tensor, "count n"]:
        """Independent draws (count, n)."""

    @abstractmethod
    def select(self, units: Tensor | np.ndarray) -> Self:
        """The distribution of some units, by their positions or by one truth value per unit."""

    @abstractmethod
    def scaled(self, factor: float | Tensor) -> Self:
        """The distribution of ``factor`` times each unit; positive factors, one number or (n,)."""

    @property
    def std(self) -> Float[Tensor, " n"]:
        """Standard deviation (n,)."""
        return self.variance.sqrt()

    def interval(self, level: float = 0.95) -> tuple[Tensor, Tensor]:
        """Central interval that holds ``level`` of the probability."""
        lower, upper = self.quantile([(1 - level) / 2, (1 + level) / 2])
        return lower, upper

    @property
    @abstractmethod
    def like(self) -> Float[Tensor, " n"]:
        """Any tensor (n,) of the dtype and on the device of the answers."""

    def _tensor(self, values) -> Tensor:
        return torch.as_tensor(np.asarray(values)).to(self.like)


class Parametric(Predictive):
    """A distribution given by its parameters: a dataclass whose every field is a tensor (n,)."""

    location: Tensor

    @property
    def like(self) -> Tensor:
        """The location, whose mean may be expensive."""
        return self.location

    def select(self, units: Tensor | np.ndarray) -> Self:
        """The same distribution with the parameters of some units."""
        rows = torch.as_tensor(units)
        return replace(self, **{f.name: getattr(self, f.name)[rows] for f in fields(self)})


def join(distributions: list[Parametric]) -> Parametric:
    """Distributions of the same kind as one distribution of all their units, in their order."""
    first = distributions[0]
    if len(distributions) == 1:
        return first
    return replace(first, **{f.name: torch.cat([getattr(one, f.name) for one in distributions])
                             for f in fields(first)})


class Family:
    """A family of SciPy's distributions at parameters.

    To freeze it, as SciPy calls that, takes a millisecond, most of it for the text of its help: as
    long as thousands of probabilities.

    Parameters
    ----------
    family : scipy.stats.rv_continuous
        Such as ``scipy.stats.norm``.
    *parameters, **named
        Its parameters, each one for all units or one for each.
    """

    def __init__(self, family, *parameters: np.ndarray, **named: np.ndarray):
        self._family, self.parameters, self._named = family, parameters, named

    def cdf(self, value: np.ndarray) -> np.ndarray:
        """P(unit <= value)."""
        return self._family.cdf(value, *self.parameters, **self._named)

    def sf(self, value: np.ndarray) -> np.ndarray:
        """P(unit > value), with all its digits in the far tail."""
        return self._family.sf(value, *self.parameters, **self._named)

    def ppf(self, level: float) -> np.ndarray:
        """The quantile at a level."""
        return self._family.ppf(level, *self.parameters, **self._named)

    def rvs(self, size: tuple[int, ...], random_state: np.random.Generator) -> np.ndarray:
        """Independent draws."""
        return self._family.rvs(*self.parameters, **self._named, size=size,
                                random_state=random_state)


class SciPyDistribution(Parametric):
    """A distribution of SciPy's, which gives probabilities, quantiles and draws."""

    @abstractmethod
    def _family(self) -> Family:
        """The same distribution as SciPy has it."""

    def cdf(self, value: float | Tensor) -> Tensor:
        """P(unit <= value) (n,)."""
        return self._tensor(self._family().cdf(to_numpy(value)))

    def exceedance(self, threshold: float | Tensor) -> Tensor:
        """P(unit > threshold) (n,), with all its digits in the far tail."""
        return self._tensor(self._family().sf(to_numpy(threshold)))

    def quantile(self, levels: float | list[float]) -> Tensor:
        """Quantiles at ``levels`` in [0, 1], (q, n)."""
        family = self._family()
        return self._tensor(np.stack([family.ppf(level) for level in as_levels(levels)]))

    def sample(self, count: int, seed: int = 0) -> Tensor:
        """Independent draws (count, n)."""
        size = (count, len(self.like))
        return self._tensor(self._family().rvs(size=size, random_state=np.random.default_rng(seed)))


def as_levels(levels: float | list[float]) -> np.ndarray:
    """Quantile levels (q,) as an array.

    Raises
    ------
    InputError
        If one lies outside [0, 1].
    """
    q = np.atleast_1d(np.asarray(levels, dtype=float))
    require(bool(((q >= 0) & (q <= 1)).all()), f"quantile levels must lie in [0, 1], got {q}")
    return q


def to_numpy(value) -> np.ndarray:
    """A number, array or tensor as an array on the CPU."""
    return value.detach().cpu().numpy() if isinstance(value, Tensor) else np.asarray(value)


def positive(scale: Tensor) -> np.ndarray:
    """A scale that SciPy accepts: without any variance it answers NaN instead of the one value."""
    return np.maximum(to_numpy(scale).astype(float), 1e-150)
