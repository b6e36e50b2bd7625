"""Likelihoods of counts: Poisson and negative binomial, and Poisson with a log-normal effect."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from workbench.checks import require
from workbench.likelihoods.moments import LOG_WEIGHTS, POINTS, BagMoments
from workbench.shapes import PerBag


class Poisson:
    """Counts with mean η, or η exp(a) with the area's iid effect a integrated out.

    Without an effect only E η and E log η are needed (Law et al. 2018, eqs. 8, 10 to 12). With
    one, log p(y | η) = log ∫ Poisson(y | η e^a) N(a; 0, τ²) da by adaptive Gauss-Hermite quadrature
    around its mode, and its expectation over log η by Gauss-Hermite quadrature.
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
        """Mode and precision (B,) of a bag's iid effect given its count, log η at its mean."""
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


def poisson_lognormal(y: Tensor, log_rate: Tensor, effect_variance: Tensor) -> Tensor:
    """Log ∫ Poisson(y | exp(log_rate + a)) N(a; 0, effect_variance) da, elementwise.

    Adaptive Gauss-Hermite quadrature: nodes are centred at the mode of the integrand and scaled by
    its curvature, so that it is accurate for counts of zero and of millions alike. Needs
    y >= 0; fractional counts are allowed.
    """
    variance = effect_variance.clamp_min(1e-10)
    mode, precision = effect_posterior(y, log_rate.detach(), variance.detach())
    a = mode[..., None] + precision.rsqrt()[..., None] * POINTS.to(log_rate)
    rate = log_rate[..., None] + a
    log_integrand = (
        y[..., None] * rate - rate.exp() - a.square() / (2 * variance[..., None])
        + 0.5 * POINTS.to(log_rate).square() + LOG_WEIGHTS.to(log_rate)
    )
    constant = -torch.lgamma(y + 1) - 0.5 * variance.log() - 0.5 * precision.log()
    return torch.logsumexp(log_integrand, -1) + constant


def effect_posterior(y: Tensor, log_rate: Tensor, effect_variance: Tensor) -> tuple[Tensor, Tensor]:
    """Mode and curvature of a given y ~ Poisson(exp(log_rate + a)), a ~ N(0, effect_variance)."""
    prior = 1 / effect_variance.clamp_min(1e-10)
    y, log_rate, prior = torch.broadcast_tensors(y, log_rate, prior)
    guess = (y + 0.5).log() - log_rate
    a = guess * (y + 0.5) / (y + 0.5 + prior)
    for _ in range(30):
        rate = (log_rate + a).exp()
        step = ((y - rate - prior * a) / (rate + prior)).clamp(-2.0, 2.0)
        a = a + step
        if float(step.abs().max()) < 1e-12:
            break
    return a, (log_rate + a).exp() + prior


def require_counts(y: PerBag) -> None:
    """Raise unless every value can be a count (fractional ones may stand for weighted counts)."""
    bad = ((y < 0) | ~torch.isfinite(y)).nonzero()
    require(
        len(bad) == 0,
        f"{len(bad)} counts are negative or not finite, the first at bag "
        f"{int(bad[0]) if len(bad) else 0}; a count is zero or more",
    )
