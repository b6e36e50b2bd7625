"""Moments under the square link: T = Σ p v², v ~ N(m, S) with S = R + Φ C Φᵀ.

E T = Σ p (m² + S_ii); Var T = 4 m̃ᵀS̃m̃ + 2 tr(S̃²), with m̃ = √p m and S̃ = √p S √p. The paper's
(13) prints S_ii/2 and drops the weights: both are slips (E v² = m² + S). A nugget raises E T and is
otherwise left to the likelihood, as under the exp link.
"""

from __future__ import annotations

import torch
from torch import Tensor

from workbench.gp.expectations.inside import (
    effect_variance,
    nugget_variance,
    quadratic,
    trace_of_square,
)
from workbench.gp.fields.projected import ProjectedData
from workbench.gp.likelihoods import BagMoments
from workbench.gp.numerics.special import expected_log_square, gamma_log_bias


def taylor(view: ProjectedData, mean: Tensor, covariance: Tensor, lowrank: bool = False
           ) -> BagMoments:
    """E log T by ζ, eq. (11): log E T - Var T / (2 (E T)²).

    ``lowrank`` keeps the diagonal of R alone.
    """
    total, share = _total(view, mean, covariance)
    variance = _variance(view, mean, covariance, lowrank)
    bias = variance / total.square() + nugget_variance(view, share)
    return BagMoments(total, variance, total.log() - bias / 2, effect_variance(view, share))


def gamma(view: ProjectedData, mean: Tensor, covariance: Tensor) -> BagMoments:
    """T taken as Gamma with its mean and variance: E log T = ψ(k) - log k + log E T.

    k = (E T)² / Var T, and Var log T = ψ'(k). One individual with m = 0 is Gamma: exact there.
    """
    total, share = _total(view, mean, covariance)
    variance = _variance(view, mean, covariance, lowrank=False)
    relative = (variance / total.square()).clamp_min(torch.finfo(total.dtype).tiny)
    log_mean = total.log() + gamma_log_bias(relative) - nugget_variance(view, share) / 2
    return BagMoments(total, variance, log_mean, effect_variance(view, share),
                      log_variance=lambda: torch.polygamma(1, relative.reciprocal()))


def jensen(view: ProjectedData, mean: Tensor, covariance: Tensor) -> BagMoments:
    """E log T >= log Σ p exp(ξ), ξ = E log v², Lemma 1 of the paper: marginals alone.

    A nugget's ν² joins each exp(ξ): log(e^z + ν²) is convex in z. Var T, where a likelihood asks
    for it, is that of `taylor` with ``lowrank``.
    """
    total, share = _total(view, mean, covariance)
    m, s = view.projection.marginals(mean, covariance)
    log_square = expected_log_square(m, s.clamp_min(torch.finfo(s.dtype).tiny))
    if float(view.nugget_variance.detach()) > 0:
        own = view.own_nugget
        own = torch.where(own > 0, own, torch.finfo(own.dtype).tiny)
        log_square = torch.logaddexp(log_square, own.log())
    log_mean = view.logsumexp(view.operator.coefficients().log() + log_square)
    return BagMoments(total, lambda: _variance(view, mean, covariance, lowrank=True),
                      log_mean - nugget_variance(view, share) / 2, effect_variance(view, share))


def shares(view: ProjectedData, mean: Tensor, covariance: Tensor) -> Tensor:
    """∂ log η / ∂f_i at the posterior mean (N,)."""
    p, members = view.operator.coefficients(), view.operator.bags.membership
    m, s = view.projection.marginals(mean, covariance)
    total = view.operator(m.square() + (s + view.own_nugget))
    return 2 * p * m / total[members]


def _total(view: ProjectedData, mean: Tensor, covariance: Tensor) -> tuple[Tensor, Tensor]:
    """E T of each bag, and ∂ log E T / ∂ m of each individual."""
    p, members = view.operator.coefficients(), view.operator.bags.membership
    m, s = view.projection.marginals(mean, covariance)
    total = view.operator(m.square() + s + view.own_nugget)
    return total, 2 * p * m / total[members]


def _variance(view: ProjectedData, mean: Tensor, covariance: Tensor, lowrank: bool) -> Tensor:
    p = view.operator.coefficients()
    m, _ = view.projection.marginals(mean, covariance)
    residual = view.residual.diagonal_part() if lowrank else view.residual
    return (4 * quadratic(view, covariance, p * m, residual)
            + 2 * trace_of_square(view, covariance, p, residual))
