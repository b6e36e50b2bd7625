"""Mixtures of distributions: predictions averaged over hyperparameters, or over models."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
import torch
from torch import Tensor

from workbench.checks import require
from workbench.gp.predictive.base import Predictive, as_levels, to_numpy


@dataclass(frozen=True)
class Mixture(Predictive):
    """One of K distributions, chosen with given probabilities.

    Parameters
    ----------
    weights : Tensor (K,)
        Probabilities of the components: zero or more, adding up to one. They are divided by
        their sum, which rounding leaves next to one.
    components : sequence of K Predictive
        Distributions of the same n units, of any kinds; mixtures among them too.

    Raises
    ------
    InputError
        If the weights are not probabilities, or the components do not agree in number or length.
    """

    weights: Tensor
    components: Sequence[Predictive]

    def __post_init__(self):
        parts = tuple(self.components)
        require(len(parts) > 0, "a mixture needs at least one component")
        lengths = sorted({len(part.like) for part in parts})
        require(len(lengths) == 1, "the components of a mixture must be of the same units, "
                f"got distributions of {' and '.join(map(str, lengths))} units")
        weights = torch.as_tensor(self.weights).to(parts[0].like)
        require(weights.shape == (len(parts),), f"expected one weight for each of {len(parts)} "
                f"components, got weights of shape {tuple(weights.shape)}")
        total = float(weights.sum())
        require(bool((weights >= 0).all()) and abs(total - 1) < 1e-5,
                f"the weights of a mixture must be zero or more and add up to one, got "
                f"{weights.tolist()}; divide them by their sum, {total:.6g}")
        object.__setattr__(self, "components", parts)
        object.__setattr__(self, "weights", weights / total)

    @property
    def like(self) -> Tensor:
        """That of the first component."""
        return self.components[0].like

    @property
    def mean(self) -> Tensor:
        """Weighted average of the components' means."""
        return self._average(part.mean for part in self.components)

    @property
    def variance(self) -> Tensor:
        """Average variance of the components, plus the variance of their means."""
        mean = self.mean
        return self._average(
            part.variance + (part.mean - mean).square() for part in self.components)

    def cdf(self, value: float | Tensor) -> Tensor:
        """Weighted average of the components' probabilities."""
        return self._average(part.cdf(value) for part in self.components)

    def exceedance(self, threshold: float | Tensor) -> Tensor:
        """Weighted average of the components' probabilities, exact in the far tail."""
        return self._average(part.exceedance(threshold) for part in self.components)

    def quantile(self, levels: float | list[float]) -> Tensor:
        """Quantiles (q, n): roots of the cdf, between the least and greatest of the components'.

        Chandrupatla's bracketing method, so that flat stretches and steps of the cdf do no harm.
        """
        q = as_levels(levels)
        there = [part for part, w in zip(self.components, self.weights, strict=True) if w > 0]
        ends = np.stack([to_numpy(part.quantile(q)) for part in there]).astype(float)
        rows = zip(q, ends.min(0), ends.max(0), strict=True)
        return self._tensor(np.stack([self._root(*row) for row in rows]))

    def sample(self, count: int, seed: int = 0) -> Tensor:
        """Draws (count, n), each from one component for all units: what they share is kept."""
        rng = np.random.default_rng(seed)
        chosen = rng.choice(len(self.components), size=count, p=to_numpy(self.weights.double()))
        seeds = rng.integers(2**31, size=len(self.components))
        draws = torch.empty(count, len(self.like)).to(self.like)
        for k, part in enumerate(self.components):
            rows = np.flatnonzero(chosen == k)
            if rows.size:
                draws[torch.as_tensor(rows)] = part.sample(rows.size, int(seeds[k])).to(draws)
        return draws

    def select(self, units: Tensor | np.ndarray) -> Self:
        """The mixture of the components at some units."""
        return Mixture(self.weights, [part.select(units) for part in self.components])

    def scaled(self, factor: float | Tensor) -> Self:
        """The mixture of the scaled components."""
        return Mixture(self.weights, [part.scaled(factor) for part in self.components])

    def _average(self, terms) -> Tensor:
        return sum(w * term for w, term in zip(self.weights, terms, strict=True))

    def _root(self, level: float, low: np.ndarray, high: np.ndarray) -> np.ndarray:
        """Where the cdf reaches the level, for each unit, between two values (n,)."""
        from scipy.optimize import elementwise  # loads much of SciPy

        if level in (0, 1):             # the ends of the support, which may be infinite
            return high if level else low

        def beyond(value: np.ndarray, unit: np.ndarray) -> np.ndarray:
            predicted = self.select(unit)   # the root finder asks only for units not done yet
            if level <= 0.5:
                return to_numpy(predicted.cdf(value)) - level
            return (1 - level) - to_numpy(predicted.exceedance(value))

        units, found = np.arange(low.size), low.copy()
        finite = np.minimum(high, np.finfo(float).max / 4)  # a component's quantile may overflow
        upper = beyond(finite, units) <= 0                  # rounding may put a root at either end
        found[upper] = high[upper]
        inner = np.flatnonzero((low < high) & ~upper & (beyond(low, units) < 0))
        if inner.size:
            found[inner] = elementwise.find_root(
                beyond, (low[inner], finite[inner]), args=(inner,),
                tolerances={"fatol": 1e-13 * min(level, 1 - level)},
            ).x
        return found
