"""Likelihoods of continuous observations: Normal, and Exponential for positive ones."""

from __future__ import annotations

import math

import numpy as np
import torch
from torch import Tensor

from workbench.checks import require
from workbench.gp.data.bags import Source
from workbench.gp.likelihoods.base import Likelihood, Units, standard_normal
from workbench.gp.likelihoods.effect_quadrature import effect_posterior, poisson_lognormal
from workbench.gp.likelihoods.moments import BagMoments
from workbench.gp.likelihoods.noise import NoiseModel
from workbench.gp.likelihoods.sharing import absorb, shares
from workbench.gp.numerics.shapes import PerBag
from workbench.gp.predictive import LogNormal, Predictive


class Normal(Likelihood):
    """Gaussian observations of η with variance given per bag; exact, no bound is needed.

    Parameters
    ----------
    variance : callable returning Tensor (B,)
        Observation variance of each bag, differentiable.
    noise : NoiseModel, optional
        Gives the standard deviations of other observations.

    References
    ----------
    Law et al. 2018, appendix A: E log N(y; η, V) = log N(y; E η, V) - Var η / (2 V).
    """

    name, has_noise = "normal", True
    links = ("exp", "square", "identity")
    no_area_effect = ("overdispersion='area' is for counts: the Normal likelihood's noise variance "
                      "already is an iid effect of the area")

    def __init__(self, variance, noise: NoiseModel | None = None):
        super().__init__()
        self.variance, self.noise = variance, noise
        self.items = [] if noise is None else noise.items

    @classmethod
    def assemble(cls, source: Source, noise: str, white=None) -> Normal:
        """With noise of the named convention; arguments as of `Likelihood.assemble`."""
        model = NoiseModel(noise, source)
        return cls(model if white is None else lambda: model() + white(), model)

    def of(self, areas: Tensor) -> Normal:
        """The likelihood of some areas' values alone, with the same hyperparameters.

        Parameters
        ----------
        areas : Tensor (n,)
            Their numbers.
        """
        return Normal(lambda: self.variance()[areas])

    @classmethod
    def default_link(cls, source: Source) -> str:
        """The identity for continuous values of which some are negative, else exp."""
        negative = source.kind == "continuous" and bool((source.targets.value < 0).any())
        return "identity" if negative else "exp"

    @classmethod
    def observed(cls, source: Source) -> Source:
        """Counts as rates: totals of unequal areas share no scale."""
        return source.as_rates() if source.kind == "count" else source

    @classmethod
    def rescales(cls, source: Source) -> bool:
        """Whether the values are totals of counts."""
        return source.kind == "count" and source.aggregation == "sum"

    def expected_log_prob(self, y: PerBag, moments: BagMoments) -> PerBag:
        """E_q log p(y | η) of each bag (B,)."""
        variance = self.variance()
        squared = (y - moments.mean).square() + moments.variance
        return -0.5 * (squared / variance + (2 * math.pi * variance).log())

    def total_variance(self, moments: BagMoments) -> PerBag:
        """Var η + V (B,)."""
        return moments.variance + self.variance()

    @classmethod
    def log_prob(cls, y: Tensor, parameter: Tensor, std: Tensor) -> Tensor:
        """Log density given the parameter, elementwise."""
        return torch.distributions.Normal(parameter, std, validate_args=False).log_prob(y)

    @classmethod
    def observe(cls, rates: Tensor, units: Units, generator: np.random.Generator) -> Tensor:
        """Expected observations plus noise; in units of the totals where these were rescaled."""
        noise = (units.noise_std * standard_normal(generator, rates) if units.individuals is None
                 else units.individuals.drawn(lambda like: standard_normal(generator, like), rates))
        return (rates * units.exposure + noise) * units.scale

    @classmethod
    def log_density(cls, y: Tensor, predicted: Predictive, units: Units, samples: int, seed: int
                    ) -> Tensor:
        """See `Likelihood.log_density`; the parameter is Normal or taken as such by its moments."""
        if units.individual and not units.rescaled:
            predicted = predicted.scaled(units.exposure)
        variance = predicted.variance + units.noise_std.square()
        squared = (y / units.scale - predicted.mean).square() / variance
        return (-0.5 * (squared + (2 * math.pi * variance).log()) - units.scale.log())[None]

    @classmethod
    def given_totals(cls, rates: Tensor, units: Units, totals: Tensor,
                     generator: np.random.Generator) -> tuple[Tensor, Tensor]:
        """Individuals with the noise that the total leaves them, in the mean and drawn."""
        bags, members = units.bags, units.bags.membership
        weight = bags.weight.to(rates)
        base = rates * weight if units.sums else rates
        noise = units.individuals.to(rates)
        noise = noise.times(weight) if units.rescaled else noise
        into = (torch.ones_like(weight) if units.sums
                else weight / bags.totals.to(rates)[members])
        drawn = base + noise.drawn(lambda like: standard_normal(generator, like), base)
        towards = noise.towards(into)
        return (absorb(base, towards, into, members, totals),
                absorb(drawn, towards, into, members, totals))


class Exponential(Likelihood):
    """Positive observations with mean η, p(y | η) = exp(-y/η)/η; or η exp(a) with an iid effect a.

    A reconstruction: Law et al. 2018 name this model, but neither their text at hand nor their
    code has its objective. What is needed are E log η and E 1/η. Under ``jensen`` (exp link) both
    are replaced by upper bounds, so that the objective is a lower bound on the evidence; elsewhere
    E 1/η is (1 + Var η / (E η)²) / E η: exact of a log-normal η, which the exp link's ``moment``
    takes it for, and the delta method under the square link. There 1/f² has no mean under a
    Gaussian q, and neither has 1/η of bags of one or two individuals: the delta method is then
    the only answer, and ``monte-carlo`` none.

    With an effect, p(y | η) is `exponential_lognormal`, averaged over log η.
    """

    name, learns_effects = "exponential", True

    @classmethod
    def check(cls, options, source: Source) -> None:
        """Also refuse the invalid bound; see `Likelihood.check`."""
        super().check(options, source)
        require((options.link, options.bound) != ("square", "jensen"), "under the square link "
                "bound='jensen' gives no bound for the exponential likelihood, which needs E 1/η; "
                "use bound='taylor'")

    @classmethod
    def check_values(cls, source: Source) -> None:
        """Refuse counts, and values that are not positive; see `Likelihood.check_values`."""
        require(source.kind == "continuous", "the exponential likelihood is for continuous "
                "positive values, but these are counts; use likelihood='poisson'")
        require_positive(source.targets.value)

    def expected_log_prob(self, y: PerBag, moments: BagMoments) -> PerBag:
        """E_q log p(y | η) of each bag (B,)."""
        moments.require_positive_link("exponential")
        if moments.effect_variance is None:
            log_mean, inverse = moments.inverse()
            return -log_mean - y * inverse
        nodes, weights = moments.log_nodes()
        return exponential_lognormal(y[:, None], nodes, moments.effect_at_nodes) @ weights

    def effect_posterior(self, y: PerBag, log_mean: PerBag, effect_variance: PerBag
                         ) -> tuple[PerBag, PerBag]:
        """Location and variance (B,) of a bag's iid effect given its value, log η at its mean."""
        return effect_posterior(torch.ones_like(y), y.log() - log_mean, effect_variance, sign=-1)

    def total_variance(self, moments: BagMoments) -> PerBag:
        """Var η + (E η)² (B,)."""
        return moments.variance + moments.mean.square()

    @classmethod
    def observe(cls, rates: Tensor, units: Units, generator: np.random.Generator) -> Tensor:
        """Individuals of one bag share their draw: each is exponential, and so is their sum."""
        members = units.bags.membership
        count = int(members.max()) + 1 if units.individual else rates.shape[1]
        draws = torch.as_tensor(generator.standard_exponential((len(rates), count))).to(rates)
        return rates * units.exposure * (draws[:, members] if units.individual else draws)

    @classmethod
    def log_density(cls, y: Tensor, predicted: Predictive, units: Units, samples: int, seed: int
                    ) -> Tensor:
        """See `Likelihood.log_density`; exact of a log-normal parameter."""
        require_positive(y)
        weight = units.exposure
        if isinstance(predicted, LogNormal):
            return exponential_lognormal(
                y, predicted.location + weight.log(), predicted.scale.square())[None]
        mean = (predicted.sample(samples, seed) * weight).clamp_min(torch.finfo(y.dtype).tiny)
        return -mean.log() - y / mean

    @classmethod
    def given_totals(cls, rates: Tensor, units: Units, totals: Tensor,
                     generator: np.random.Generator) -> tuple[Tensor, Tensor]:
        """Each is its share of the total: the bag's random factor is common."""
        bags, weight = units.bags, units.bags.weight.to(rates)
        whole = totals if units.sums else totals * bags.totals
        found = whole[bags.membership] * shares(rates * weight, bags.membership, bags.count)
        found = found if units.sums else found / weight
        return found, found


def exponential_lognormal(y: Tensor, log_mean: Tensor, effect_variance: Tensor) -> Tensor:
    """Log ∫ Exponential(y | exp(log_mean + a)) N(a; 0, effect_variance) da, elementwise.

    A Poisson-log-normal integral for a count of one, because log Exponential(y | e^g) =
    log Poisson(1 | y e^{-g}) - log y.
    """
    log_y = y.log()
    one = torch.ones_like(y)
    return poisson_lognormal(one, log_y - log_mean, effect_variance) - log_y


def require_positive(y: PerBag) -> None:
    """Raise unless every value is positive and finite."""
    bad = (~((y > 0) & torch.isfinite(y))).nonzero()
    require(
        len(bad) == 0,
        f"{len(bad)} values are not positive, the first at bag {int(bad[0]) if len(bad) else 0}; "
        "the exponential likelihood needs values above zero: leave these bags out, or use "
        "likelihood='normal'",
    )
