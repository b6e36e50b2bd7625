"""Predictive distributions without a density: one value, and draws."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
import torch
from torch import Tensor

from workbench.gp.predictive.base import Parametric, Predictive, as_levels, to_numpy


@dataclass(frozen=True)
class Point(Parametric):
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
        return self.location.repeat(len(as_levels(levels)), 1)

    def sample(self, count: int, seed: int = 0) -> Tensor:
        """The value, ``count`` times."""
        return self.location.repeat(count, 1)

    def scaled(self, factor: float | Tensor) -> Self:
        """The value times the factor."""
        return Point(self.location * factor)


@dataclass(frozen=True)
class Samples(Predictive):
    """An empirical distribution: draws (count, n), joint across units.

    Parameters
    ----------
    draws : Tensor (count, n)
        What probabilities, quantiles and samples are of.
    known_mean, known_variance : Tensor (n,), optional
        Moments of what was drawn from, where they have a closed form: then those of the draws,
        with their error of Monte Carlo, are not asked.
    """

    draws: Tensor
    known_mean: Tensor | None = None
    known_variance: Tensor | None = None

    @property
    def like(self) -> Tensor:
        """One draw."""
        return self.draws[0]

    @property
    def mean(self) -> Tensor:
        """Average of the draws, if it is not known."""
        return self.draws.mean(0) if self.known_mean is None else self.known_mean

    @property
    def variance(self) -> Tensor:
        """Variance of the draws, if it is not known."""
        return self.draws.var(0) if self.known_variance is None else self.known_variance

    def cdf(self, value: float | Tensor) -> Tensor:
        """Share of draws at or below the value."""
        return (self.draws <= torch.as_tensor(value).to(self.draws)).to(self.draws).mean(0)

    def exceedance(self, threshold: float | Tensor) -> Tensor:
        """Share of draws above the threshold."""
        return 1 - self.cdf(threshold)

    def quantile(self, levels: float | list[float]) -> Tensor:
        """Empirical quantiles (q, n)."""
        return self._tensor(np.quantile(to_numpy(self.draws), as_levels(levels), axis=0))

    def sample(self, count: int, seed: int = 0) -> Tensor:
        """Draws with replacement (count, n)."""
        rows = np.random.default_rng(seed).integers(len(self.draws), size=count)
        return self.draws[torch.as_tensor(rows)]

    def select(self, units: Tensor | np.ndarray) -> Self:
        """The draws of some units."""
        rows = torch.as_tensor(units)
        return Samples(self.draws[:, rows], *(
            None if known is None else known[rows]
            for known in (self.known_mean, self.known_variance)))

    def scaled(self, factor: float | Tensor) -> Self:
        """Every draw times the factor."""
        mean, variance = self.known_mean, self.known_variance
        return Samples(self.draws * factor, None if mean is None else mean * factor,
                       None if variance is None else variance * factor**2)
