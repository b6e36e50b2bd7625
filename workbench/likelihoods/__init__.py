"""Likelihoods of bag observations: expected log-probability under q, and simulation.

A likelihood sees a bag only through the moments of its parameter η. An iid effect of the area (see
``overdispersion``) multiplies η by exp(a), a ~ N(0, effect_variance), and is integrated out of the
likelihood itself: an explicit q(a) independent of q(f) would leave all uncertainty about the area's
total to a, and make the map absurdly certain.
"""

from workbench.likelihoods.binomial import Binomial, binomial_log_prob
from workbench.likelihoods.continuous import (
    Exponential,
    Normal,
    exponential_lognormal,
    require_positive,
)
from workbench.likelihoods.counts import NegativeBinomial, Poisson, require_counts
from workbench.likelihoods.effect_quadrature import (
    effect_mode,
    effect_posterior,
    poisson_lognormal,
)
from workbench.likelihoods.moments import BagMoments, OddsMoments, SampledMoments, SampledOdds

__all__ = [
    "BagMoments", "Binomial", "Exponential", "NegativeBinomial", "Normal", "OddsMoments", "Poisson",
    "SampledMoments", "SampledOdds", "binomial_log_prob", "effect_mode", "effect_posterior",
    "exponential_lognormal", "poisson_lognormal", "require_counts", "require_positive",
]
