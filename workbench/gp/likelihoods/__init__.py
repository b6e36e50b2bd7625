"""Likelihoods of bag observations: expected log-probability under q, checks, draws and densities.

A likelihood sees a bag only through the moments of its parameter η. An iid effect of the area (see
``overdispersion``) multiplies η by exp(a), a ~ N(0, effect_variance), and is integrated out of the
likelihood itself: an explicit q(a) independent of q(f) would leave all uncertainty about the area's
total to a, and make the map absurdly certain.
"""

from workbench.gp.data.bags import Source
from workbench.gp.likelihoods.base import Likelihood, Units
from workbench.gp.likelihoods.binomial import Binomial, binomial_log_prob
from workbench.gp.likelihoods.continuous import (
    Exponential,
    Normal,
    exponential_lognormal,
    require_positive,
)
from workbench.gp.likelihoods.counts import NegativeBinomial, Poisson, require_counts
from workbench.gp.likelihoods.effect_quadrature import (
    effect_mode,
    effect_posterior,
    poisson_lognormal,
)
from workbench.gp.likelihoods.moments import (
    BagMoments,
    OddsMoments,
    ProbitMoments,
    SampledMoments,
    SampledOdds,
)
from workbench.gp.likelihoods.noise import AREA, FAY_HERRIOT, noise_convention

LIKELIHOODS: dict[str, type[Likelihood]] = {
    one.name: one for one in (Poisson, NegativeBinomial, Normal, Exponential, Binomial)}


def likelihood_for(name: str, source: Source) -> type[Likelihood]:
    """The likelihood of that name; ``auto`` goes by what was observed."""
    if name != "auto":
        return LIKELIHOODS[name]
    if source.bags.trials is not None:
        return Binomial
    return Poisson if source.kind == "count" else Normal


__all__ = [
    "AREA", "FAY_HERRIOT", "LIKELIHOODS", "BagMoments", "Binomial", "Exponential", "Likelihood",
    "NegativeBinomial", "Normal", "OddsMoments", "Poisson", "ProbitMoments", "SampledMoments",
    "SampledOdds", "Units",
    "binomial_log_prob", "effect_mode", "effect_posterior", "exponential_lognormal",
    "likelihood_for", "noise_convention", "poisson_lognormal", "require_counts", "require_positive",
]
