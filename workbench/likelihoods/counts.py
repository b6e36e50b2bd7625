"""Likelihoods of counts: Poisson and negative binomial, and Poisson with a log-normal effect."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from workbench.checks import require
from workbench.likelihoods.effect_quadrature import effect_posterior, poisson_lognormal
from workbench.likelihoods.moments import BagMoments
from workbench.shapes import PerBag


class Poisson:
    """Counts with mean η, or η exp(a) with the area's iid effect a integrated out.

    Without an effect only E η and E log η are needed (Law et al. 2018, eqs. 8, 10 to 12). With
    one, log p(y | η) = log ∫ Poisson(y | η e^a) N(a; 0, τ²) da by adaptive quadrature around its
    mode (`effect_quadrature`), and its expectation over log η by Gauss-Hermite quadrature.
    """

    kind = "count"

    def expected_log_prob(self, y: PerBag, moments: BagMoments) -> PerBag:
        """E_q log p(y | η) of each bag (B,)."""
        moments.require_positive_link("Poisson")
        if moments.effect_variance is None:
            return y * moments.log_mean - moments.mean - torch.lgamma(y + 1)
        nodes, weights = moments.log_nodes()
        return poisson_lognormal(y[:, None], nodes, moments.effect_at_nodes) @ weights

    def effect_posterior(self, y: PerBag, log_mean: PerBag, effect_variance: PerBag
                         ) -> tuple[PerBag, PerBag]:
        """Location and variance (B,) of a bag's iid effect given its count, log η at its mean."""
        return effect_posterior(y, log_mean, effect_variance)

    def subset(self, bags: Tensor) -> Poisson:
        """The likelihood of some of the bags, by their positions."""
        return self

    def sample(self, parameter: Tensor, generator: np.random.Generator) -> Tensor:
        """Counts with the given means, of any shape."""
        draws = generator.poisson(parameter.detach().cpu().numpy())
        return torch.as_tensor(draws).to(parameter)


class NegativeBinomial:
    """Counts with mean η and variance η + η²/r: Poisson counts with Gamma(r, r) multipliers.

    Parameters
    ----------
    dispersion : callable returning Tensor ()
        r, differentiable; large r is Poisson.
    """

    kind = "count"

    def __init__(self, dispersion):
        self.dispersion = dispersion

    def expected_log_prob(self, y: PerBag, moments: BagMoments) -> PerBag:
        """E_q log p(y | η) of each bag, E log(η + r) by Gauss-Hermite quadrature in log η.

        Of a nugget only what it adds to E η counts: its variance in a bag's total is small beside
        the dispersion, which takes it up.
        """
        moments.require_positive_link("negative binomial")
        r = self.dispersion()
        nodes, weights = moments.log_nodes()
        if moments.effect_variance is not None:
            nodes = nodes + moments.effect_at_nodes / 2
        log_sum = torch.logaddexp(nodes, r.log()) @ weights
        constant = torch.lgamma(y + r) - torch.lgamma(r) - torch.lgamma(y + 1) + r * r.log()
        return constant + y * (nodes @ weights) - (y + r) * log_sum

    def subset(self, bags: Tensor) -> NegativeBinomial:
        """The likelihood of some of the bags, by their positions."""
        return self

    def sample(self, parameter: Tensor, generator: np.random.Generator) -> Tensor:
        """Counts with the given means, of any shape."""
        r = float(self.dispersion().detach())
        mixed = parameter.detach().cpu().numpy() * generator.gamma(r, 1 / r, parameter.shape)
        return torch.as_tensor(generator.poisson(mixed)).to(parameter)


def require_counts(y: PerBag) -> None:
    """Raise unless every value can be a count (fractional ones may stand for weighted counts)."""
    bad = ((y < 0) | ~torch.isfinite(y)).nonzero()
    require(
        len(bad) == 0,
        f"{len(bad)} counts are negative or not finite, the first at bag "
        f"{int(bad[0]) if len(bad) else 0}; a count is zero or more",
    )
