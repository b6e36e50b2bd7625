"""A positive distribution times an independent Gamma multiplier of mean one."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
import scipy  # its parts are loaded on first use
import torch
from torch import Tensor

from workbench.gp.predictive.base import Predictive, as_levels, to_numpy

_POINTS = 32


@dataclass(frozen=True)
class GammaMultiplied(Predictive):
    """Distribution of u v: v from ``base``, u ~ Gamma(shape, shape) independent of it.

    The rate of a negative binomial model, whose areas have Gamma multipliers. Probabilities are by
    Gauss-Legendre quadrature over the probability scale of the narrower of the two factors, so that
    the other one's cdf is smooth between nodes.

    Parameters
    ----------
    base : Predictive
        Distribution of a positive quantity (n,).
    shape : Tensor (n,)
        Shape of the multiplier; its variance is 1 / shape.
    """

    base: Predictive
    shape: Tensor

    @property
    def like(self) -> Tensor:
        """That of the base."""
        return self.base.like

    @property
    def mean(self) -> Tensor:
        """That of the base."""
        return self.base.mean

    @property
    def variance(self) -> Tensor:
        """Var v + E v² / shape."""
        second = self.base.variance + self.base.mean.square()
        return self.base.variance + second / self.shape

    def cdf(self, value: float | Tensor) -> Tensor:
        """P(u v <= value)."""
        return self._mean_over_nodes(value, "cdf")

    def exceedance(self, threshold: float | Tensor) -> Tensor:
        """P(u v > threshold)."""
        return self._mean_over_nodes(threshold, "exceedance")

    def quantile(self, levels: float | list[float]) -> Tensor:
        """Roots of the cdf, by Chandrupatla's method on the logarithm (q, n)."""
        return self._tensor(np.stack([self._root(level) for level in as_levels(levels)]))

    def sample(self, count: int, seed: int = 0) -> Tensor:
        """Independent draws (count, n)."""
        generator = np.random.default_rng(seed)
        base = self.base.sample(count, int(generator.integers(2**31)))
        shape = to_numpy(self.shape)
        return base * self._tensor(generator.gamma(shape, 1 / shape, (count, len(shape))))

    def select(self, units: Tensor | np.ndarray) -> Self:
        """The same of some units."""
        return GammaMultiplied(self.base.select(units), self.shape[torch.as_tensor(units)])

    def scaled(self, factor: float | Tensor) -> Self:
        """The base times the factor."""
        return GammaMultiplied(self.base.scaled(factor), self.shape)

    @cached_property
    def _nodes(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Nodes of the narrower factor (k, n), their weights (k,), and where that is the base."""
        points, weights = np.polynomial.legendre.leggauss(_POINTS)
        levels, shape = (points + 1) / 2, to_numpy(self.shape).astype(float)
        relative = to_numpy(self.base.variance) / np.square(to_numpy(self.base.mean))
        narrow = relative < 1 / shape
        multiplier = np.stack([scipy.special.gammaincinv(shape, q) for q in levels]) / shape
        tiny = np.finfo(float).tiny
        nodes = np.where(narrow, to_numpy(self.base.quantile(levels)), multiplier)
        return np.maximum(nodes, tiny), weights / 2, narrow

    def _mean_over_nodes(self, value, side: str) -> Tensor:
        nodes, weights, narrow = self._nodes
        at = np.broadcast_to(to_numpy(value), narrow.shape).astype(float)
        out, rows = np.empty(narrow.shape), np.flatnonzero(~narrow)
        if rows.size:
            predicted = self.base.select(rows)
            parts = [to_numpy(getattr(predicted, side)(at[rows] / u)) for u in nodes[:, rows]]
            out[rows] = weights @ np.stack(parts)
        rows = np.flatnonzero(narrow)
        if rows.size:
            shape = to_numpy(self.shape)[rows].astype(float)
            tail = scipy.special.gammainc if side == "cdf" else scipy.special.gammaincc
            scaled = np.maximum(at[rows], 0) / nodes[:, rows] * shape
            out[rows] = weights @ tail(shape, scaled)
        return self._tensor(out)

    def _root(self, level: float) -> np.ndarray:
        from scipy.optimize import elementwise  # loads much of SciPy

        shape = to_numpy(self.shape).astype(float)
        if level in (0, 1):
            return np.full(shape.shape, np.inf if level else 0.0)
        # One of two independent factors lies beyond its own quantile if the product does.
        tail = [max(level / 4, 1e-300), 1 - (1 - level) / 4]
        ends = to_numpy(self.base.quantile(tail))
        times = np.stack([scipy.special.gammaincinv(shape, q) / shape for q in tail])
        low, high = np.log(np.maximum(ends * times, 1e-300))
        units = np.arange(shape.size)

        def beyond(log_value: np.ndarray, unit: np.ndarray) -> np.ndarray:
            predicted = self.select(unit)
            predicted.__dict__["_nodes"] = tuple(
                part[..., unit] if part.ndim == 2 or part.dtype == bool else part
                for part in self._nodes)
            value = np.exp(log_value)
            if level <= 0.5:
                return to_numpy(predicted.cdf(value)) - level
            return (1 - level) - to_numpy(predicted.exceedance(value))

        found = elementwise.find_root(beyond, (low, high), args=(units,),
                                      tolerances={"fatol": 1e-10})
        return np.exp(found.x)
