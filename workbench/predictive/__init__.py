"""Laws of predictions: each a named distribution with mean, variance, cdf, quantile and sample."""

from workbench.predictive.base import Predictive, join
from workbench.predictive.empirical import Point, Samples
from workbench.predictive.laws import (
    Gamma,
    LogitNormal,
    LogNormal,
    Normal,
    ScaledNoncentralChi2,
    marginal_law,
)
from workbench.predictive.mixtures import Mixture

__all__ = [
    "Gamma", "LogNormal", "LogitNormal", "Mixture", "Normal", "Point", "Predictive", "Samples",
    "ScaledNoncentralChi2", "join", "marginal_law",
]
