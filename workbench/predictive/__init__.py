"""Laws of predictions: each a named distribution with mean, variance, cdf, quantile and sample."""

from workbench.predictive.base import Predictive, join
from workbench.predictive.empirical import Point, Samples
from workbench.predictive.laws import Gamma, LogNormal, Normal, ScaledNoncentralChi2
from workbench.predictive.marginal import marginal_law
from workbench.predictive.mixtures import Mixture
from workbench.predictive.multiplied import GammaMultiplied
from workbench.predictive.probabilities import LogitNormal, ProbitNormal

__all__ = [
    "Gamma", "GammaMultiplied", "LogNormal", "LogitNormal", "Mixture", "Normal", "Point",
    "Predictive", "ProbitNormal", "Samples", "ScaledNoncentralChi2", "join", "marginal_law",
]
