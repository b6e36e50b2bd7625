"""Likelihoods of continuous observations: Normal, and Exponential for positive ones."""

from __future__ import annotations

import math

import numpy as np
import torch
from torch import Tensor

from workbench.checks import require
from workbench.likelihoods.effect_quadrature import effect_posterior, poisson_lognormal
from workbench.likelihoods.moments import BagMoments
from workbench.shapes import PerBag


class Normal:
    """Gaussian observations of η with variance given per bag; exact, no bound is needed.

    Parameters
    ----------
    variance : callable returning Tensor (B,)
        Observation variance of each bag, differentiable.

    References
    ----------
    Law et al. 2018, appendix A: E log N(y; η, V) = log N(y; E η, V) - Var η / (2 V).
    """

    kind = "continuous"

    def __init__(self, variance):
        self.variance = variance

    def expected_log_prob(self, y: PerBag, moments: BagMoments) -> PerBag:
        """E_q log p(y | η) of each bag (B,)."""
        variance = self.variance()
        squared = (y - moments.mean).square() + moments.variance
        return -0.5 * (squared / variance + (2 * math.pi * variance).log())

    def subset(self, bags: Tensor) -> Normal:
        """The likelihood of some of the bags, by their positions."""
        return Normal(lambda: self.variance()[bags])


class Exponential:
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

    kind = "continuous"

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

    def subset(self, bags: Tensor) -> Exponential:
        """The likelihood of some of the bags, by their positions."""
        return self

    def sample(self, parameter: Tensor, generator: np.random.Generator) -> Tensor:
        """Observations with the given means, of any shape."""
        draws = generator.standard_exponential(tuple(parameter.shape))
        return parameter * torch.as_tensor(draws).to(parameter)

    def sample_individuals(self, parameter: Tensor, members: Tensor, generator: np.random.Generator
                           ) -> Tensor:
        """Observations of individuals with given means (samples, N), ``members`` their bags.

        Those of one bag share their draw: each is exponential, and so is their sum.
        """
        shared = torch.ones(len(parameter), int(members.max()) + 1).to(parameter)
        return parameter * self.sample(shared, generator)[:, members]


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
