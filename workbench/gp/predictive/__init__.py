"""Predictive distributions, each with mean, variance, cdf, quantile and sample."""

from workbench.gp.predictive.base import Predictive, join
from workbench.gp.predictive.distributions import Gamma, LogNormal, Normal, ScaledNoncentralChi2
from workbench.gp.predictive.empirical import Point, Samples
from workbench.gp.predictive.mixtures import Mixture
from workbench.gp.predictive.multiplied import GammaMultiplied
from workbench.gp.predictive.probabilities import LogitNormal, ProbitNormal

__all__ = [
    "Gamma", "GammaMultiplied", "LogNormal", "LogitNormal", "Mixture", "Normal", "Point",
    "Predictive", "ProbitNormal", "Samples", "ScaledNoncentralChi2", "join",
]
