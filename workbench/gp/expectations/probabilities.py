"""Moments under logit and probit: T = Σ w ψ(v), a bag's probability, w summing to one."""

from __future__ import annotations

import torch
from torch import Tensor

from workbench.gp.expectations.inside import quadratic
from workbench.gp.fields.projected import ProjectedData
from workbench.gp.likelihoods import OddsMoments, ProbitMoments
from workbench.gp.numerics.special import logistic_centre, logistic_moments


def moment(view: ProjectedData, mean: Tensor, covariance: Tensor) -> OddsMoments:
    """T as logit-normal with its mean, and with its log-odds variance to first order.

    E T = Σ w E σ(v). To first order cov(σ(v_i), σ(v_j)) = d_i d_j S_ij with d = E σ'(v), so
    d̃ᵀ S d̃ with d̃ = w d is the variance of T in terms of a shift of f; divided by the square of
    E T(1 - T), the slope of T in its log-odds, it is the variance of logit T. E T(1 - T) =
    E T (1 - E T) - Var T, with Var T by the exact variance of each σ(v_i) and the correlations
    of v. Exact for one individual. Of a nugget, which is independent between individuals, only
    what it adds to E σ(v) counts: its variance in T is small beside that of f.
    """
    weight, residual = view.operator.coefficients(), view.residual
    m, s = _marginals(view, mean, covariance)
    value, slope, spread = logistic_moments(m, s)
    total = view.operator(value)
    # Where a variance is as small as rounding, the ratio of the two is the slope squared.
    wide = s.detach() > torch.finfo(s.dtype).eps ** 0.5
    ratio = torch.where(wide, spread / torch.where(wide, s, 1.0), slope.square())
    scale = ratio.clamp_min(torch.finfo(s.dtype).tiny).sqrt()
    variance = quadratic(view, covariance, weight * scale, residual)
    linear = quadratic(view, covariance, weight * slope, residual)
    steepness = total * (1 - total) - variance
    odds = linear / steepness.square()
    return OddsMoments(total, variance, logistic_centre(total, odds), odds,
                       _effect(view, weight * slope, steepness))


def probit(view: ProjectedData, mean: Tensor, covariance: Tensor) -> ProbitMoments:
    """T as probit-normal with its mean, and with the first-order variance of its probit.

    E T = Σ w Φ(a), a = m / √(1 + S_ii), and d = E φ(v) = φ(a) / √(1 + S_ii). To first order T
    has variance c = d̃ᵀ S d̃, d̃ = w d, in terms of a shift of f. Φ of N(μ, ω) with that mean has the
    slope φ(A) / √(1 + ω), A = Φ⁻¹(E T), so that ω φ(A)² / (1 + ω) = c gives ω = c / (φ(A)² - c).
    As φ(Φ⁻¹(p)) is concave, Σ w φ(a) <= φ(A), and ω is never negative. Exact for one individual.
    Of a nugget only what it adds to S_ii counts, as of `moment`.
    """
    weight = view.operator.coefficients()
    m, s = _marginals(view, mean, covariance)
    root = (1 + s).sqrt()
    a = m / root
    total, rest = (view.operator(torch.special.log_ndtr(side).exp()) for side in (a, -a))
    # By the smaller tail, and densities relative to φ(A), so that far out no digits are lost.
    rare = total < rest
    middle = torch.special.ndtri(torch.where(rare, total, rest)) * torch.where(rare, 1.0, -1.0)
    relative = (0.5 * (middle.square()[view.operator.bags.membership] - a.square())).exp() / root
    change = quadratic(view, covariance, weight * relative, view.residual)
    variance = change / (1 - change)
    root = (1 + variance).sqrt()
    return ProbitMoments(total, middle * root, variance, _effect(view, weight * relative, 1 / root))


def _marginals(view: ProjectedData, mean: Tensor, covariance: Tensor) -> tuple[Tensor, Tensor]:
    """Means and variances (N,) of f with a nugget of individuals."""
    m, s = view.projection.marginals(mean, covariance)
    return m, s + view.own_nugget


def _effect(view: ProjectedData, change: Tensor, steepness: Tensor) -> Tensor | None:
    """Variance of an effect of the bag on ψ⁻¹(T), to first order: one of all its f moves T.

    By the slope of E T in f over that in ψ⁻¹(T): of one individual it is the effect itself.
    """
    if view.effect_std is None:
        return None
    return (view.effect_std * view.sum(change) / steepness).square()


def logit_shares(view: ProjectedData, mean: Tensor, covariance: Tensor) -> Tensor:
    """∂ logit T / ∂f_i at q, as the variance of logit T has it (N,)."""
    weight = view.operator.coefficients()
    m, s = _marginals(view, mean, covariance)
    _, slope, _ = logistic_moments(m, s)
    found = moment(view, mean, covariance)
    steepness = found.mean * (1 - found.mean) - found.variance
    return weight * slope / steepness[view.operator.bags.membership]


def probit_shares(view: ProjectedData, mean: Tensor, covariance: Tensor) -> Tensor:
    """∂ Φ⁻¹(T) / ∂f_i at q, as the variance of Φ⁻¹(T) has it (N,)."""
    weight = view.operator.coefficients()
    m, s = _marginals(view, mean, covariance)
    found, root = probit(view, mean, covariance), (1 + s).sqrt()
    whole = (1 + found.probit_variance).sqrt()
    middle = (found.probit_mean / whole)[view.operator.bags.membership]
    relative = (0.5 * (middle.square() - (m / root).square())).exp() / root
    return weight * relative * whole[view.operator.bags.membership]
