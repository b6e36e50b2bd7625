"""Likelihoods of bag observations: expected log-probability under q, and simulation.

A likelihood sees a bag only through the `BagMoments` of its parameter η. An iid effect of the area
(see ``overdispersion``) multiplies η by exp(a), a ~ N(0, effect_variance), and is integrated out of
the likelihood itself: an explicit q(a) independent of q(f) would leave all uncertainty about the
area's total to a, and make the map absurdly certain.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from workbench.checks import InputError, require
from workbench.shapes import PerBag

_NODES = 12
_POINTS, _WEIGHTS = (torch.as_tensor(a) for a in np.polynomial.hermite_e.hermegauss(_NODES))
_LOG_WEIGHTS = (_WEIGHTS / math.sqrt(2 * math.pi)).log()


@dataclass(frozen=True)
class BagMoments:
    """What a likelihood may ask of the law of η = Σ w ψ(f) under q.

    Parameters
    ----------
    mean : Tensor (B,)
        E η.
    variance : Tensor (B,)
        Var η.
    log_mean : Tensor (B,) or None
        E log η by a named bound or approximation; None under the identity link.
    effect_variance : Tensor (B,) or None
        Prior variance of the bag's iid effect (area effect and nugget) on log η, whose mean is
        zero; None without either.
    """

    mean: PerBag
    variance: PerBag
    log_mean: PerBag | None = None
    effect_variance: PerBag | None = None

    @property
    def log_variance(self) -> PerBag:
        """Var log η of the log-normal with this mean and variance."""
        return (self.variance / self.mean.square()).log1p()

    def log_nodes(self) -> tuple[Float[Tensor, "B k"], Float[Tensor, " k"]]:
        """Gauss-Hermite nodes of log η ~ N(log_mean, log_variance), and their weights."""
        points, weights = _POINTS.to(self.mean), _LOG_WEIGHTS.to(self.mean).exp()
        std = self.log_variance.clamp_min(1e-16).sqrt()
        return self.log_mean[:, None] + std[:, None] * points, weights


class Poisson:
    """Counts with mean η, or η exp(a) with the area's iid effect a integrated out.

    Without an effect only E η and E log η are needed (Law et al. 2018, eqs. 8, 10 to 12). With
    one, log p(y | η) = log ∫ Poisson(y | η e^a) N(a; 0, τ²) da by adaptive Gauss-Hermite quadrature
    around its mode, and its expectation over log η by Gauss-Hermite quadrature.
    """

    kind = "count"

    def expected_log_prob(self, y: PerBag, moments: BagMoments) -> PerBag:
        """E_q log p(y | η) of each bag (B,)."""
        _require_positive_link(moments, "Poisson")
        if moments.effect_variance is None:
            return y * moments.log_mean - moments.mean - torch.lgamma(y + 1)
        nodes, weights = moments.log_nodes()
        return poisson_lognormal(y[:, None], nodes, moments.effect_variance[:, None]) @ weights

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
        _require_positive_link(moments, "negative binomial")
        r = self.dispersion()
        nodes, weights = moments.log_nodes()
        raised = 0.0 if moments.effect_variance is None else moments.effect_variance / 2
        log_sum = torch.logaddexp((nodes.mT + raised).mT, r.log()) @ weights
        constant = torch.lgamma(y + r) - torch.lgamma(r) - torch.lgamma(y + 1) + r * r.log()
        return constant + y * (moments.log_mean + raised) - (y + r) * log_sum

    def sample(self, parameter: Tensor, generator: np.random.Generator) -> Tensor:
        """Counts with the given means, of any shape."""
        r = float(self.dispersion().detach())
        mixed = parameter.detach().cpu().numpy() * generator.gamma(r, 1 / r, parameter.shape)
        return torch.as_tensor(generator.poisson(mixed)).to(parameter)


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


def poisson_lognormal(y: Tensor, log_rate: Tensor, effect_variance: Tensor) -> Tensor:
    """Log ∫ Poisson(y | exp(log_rate + a)) N(a; 0, effect_variance) da, elementwise.

    Adaptive Gauss-Hermite quadrature: nodes are centred at the mode of the integrand and scaled by
    its curvature, so that it is accurate for counts of zero and of millions alike. Needs
    y >= 0; fractional counts are allowed.
    """
    variance = effect_variance.clamp_min(1e-10)
    mode, precision = effect_posterior(y, log_rate.detach(), variance.detach())
    a = mode[..., None] + precision.rsqrt()[..., None] * _POINTS.to(log_rate)
    rate = log_rate[..., None] + a
    log_integrand = (
        y[..., None] * rate - rate.exp() - a.square() / (2 * variance[..., None])
        + 0.5 * _POINTS.to(log_rate).square() + _LOG_WEIGHTS.to(log_rate)
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


def _require_positive_link(moments: BagMoments, name: str) -> None:
    if moments.log_mean is None:
        raise InputError(
            f"the {name} likelihood needs E log η, which the identity link does not give; "
            "use link='exp' or link='square'"
        )


def require_counts(y: PerBag) -> None:
    """Raise unless every value can be a count (fractional ones may stand for weighted counts)."""
    bad = ((y < 0) | ~torch.isfinite(y)).nonzero()
    require(
        len(bad) == 0,
        f"{len(bad)} counts are negative or not finite, the first at bag "
        f"{int(bad[0]) if len(bad) else 0}; a count is zero or more",
    )
