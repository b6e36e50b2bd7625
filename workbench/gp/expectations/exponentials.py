"""Moments under the identity and the exp link."""

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
from workbench.gp.kernels.operators import blocks, restore_order
from workbench.gp.likelihoods import BagMoments
from workbench.gp.numerics.linalg import quadratic_forms


def gaussian(view: ProjectedData, mean: Tensor, covariance: Tensor) -> BagMoments:
    """Moments of η = Σ w f, which is Gaussian: exact."""
    operator, a = view.operator, view.operator.coefficients()
    rows = operator.rows(view.projection.features)
    explained = ((rows @ covariance) * rows).sum(1)
    residual = operator(view.residual.times(a))
    return BagMoments(operator(view.projection.offset) + rows @ mean, residual + explained,
                      effect_variance=effect_variance(view, a))


def moment(view: ProjectedData, mean: Tensor, covariance: Tensor) -> BagMoments:
    """Moments of T = Σ p exp(v), v ~ N(m, S) with S = R + Φ S_q Φᵀ, T taken as log-normal.

    With e_i = p_i exp(m_i + S_ii/2): E T = Σ e_i, and log T has variance sᵀ S s with the shares
    s = e / E T. E log T is what a log-normal with that mean and log-variance has.

    A nugget raises E T; its part of log T has mean zero and is left to the likelihood, as an
    effect of variance ``nugget_variance``, so half of that is taken off E log T.
    """
    log_total, share = _total(view, mean, covariance)
    log_variance = quadratic(view, covariance, share, view.residual)
    log_mean = log_total - (log_variance + nugget_variance(view, share)) / 2
    return BagMoments(log_total.exp(), log_mean=log_mean, log_variance=log_variance,
                      effect_variance=effect_variance(view, share))


def matched(view: ProjectedData, mean: Tensor, covariance: Tensor) -> BagMoments:
    """Moments of a prediction of T = Σ p exp(v): `moment`, with the variance of T itself.

    `moment` takes Var log T to first order, which is too little where individuals vary widely and
    apart from each other: then a few of them make up the total. With e_i = p_i exp(m_i + S_ii/2),
    Var T = Σ_ij e_i e_j (exp S_ij - 1) inside each bag, and log T is given the variance
    log(1 + Var T / (E T)²): Fenton and Wilkinson's log-normal. Pairs are summed one by one where
    the residual keeps them; in bags that are clustered exp S_ij is taken to second order about
    the bag's mean covariance, with its diagonal exact.

    The view's own nugget and area effect are not looked at: see
    `workbench.gp.fields.projected.with_effects`.

    References
    ----------
    Fenton 1960, The sum of log-normal probability distributions.
    """
    log_total, share = _total(view, mean, covariance)
    excess = _pairwise if view.residual.clusters is None else _about_the_mean
    # Negative by rounding alone: expm1 of a covariance, or half its square about its mean, is none.
    log_variance = excess(view, covariance, share).clamp_min(0).log1p()
    return BagMoments(log_total.exp(), log_mean=log_total - log_variance / 2,
                      log_variance=log_variance)


def _pairwise(view: ProjectedData, covariance: Tensor, share: Tensor) -> Tensor:
    """Σ_ij s_i s_j (exp S_ij - 1) of each bag, pair by pair."""
    bags, residual, sums = view.operator.bags, view.residual, []
    values, vectors = torch.linalg.eigh(covariance)
    rotated = view.projection.features @ (vectors * values.clamp_min(0).sqrt())
    for number, (index, mask) in enumerate(blocks(bags)):
        s, phi = share[index] * mask, rotated[index]
        inside = phi @ phi.mT
        if residual.pairs is None:
            inside = inside + torch.diag_embed(residual.diagonal[index])
        else:
            inside = inside + residual.pairs[number]
        sums.append(quadratic_forms(s, inside.expm1()))
    return restore_order(bags, sums)


def _about_the_mean(view: ProjectedData, covariance: Tensor, share: Tensor) -> Tensor:
    """The same with exp S_ij ≈ e^c (1 + d + d²/2), d = S_ij - c, c = sᵀSs; diagonals are exact."""
    common = quadratic(view, covariance, share, view.residual)
    squares = trace_of_square(view, covariance, share, view.residual)
    _, diagonal = view.projection.marginals(
        torch.zeros(len(covariance)).to(covariance), covariance)
    c = common[view.operator.bags.membership]
    # of cov(f_i, f_i): a cluster's members have more of their own than their mean has
    d = diagonal - view.projection.residual + view.residual.diagonal - c
    own = view.sum(share.square() * (d.exp() - 1 - d - d.square() / 2))
    return common.exp() * (1 + (squares - common.square()) / 2 + own) - 1


def jensen(view: ProjectedData, mean: Tensor, covariance: Tensor) -> BagMoments:
    """As `moment`, but E log T >= log Σ p e^m, the paper's eq. (12).

    For a likelihood that falls in log T and 1/T: E log T <= log E T, and E 1/T <=
    1/Σ p exp(m - S_ii/2), the best of the bounds Σ α_i² E[e^{-v_i}]/p_i over simplex weights α.
    """
    log_weight = view.operator.coefficients().log()
    m, s = view.projection.marginals(mean, covariance)
    log_total, share = _total(view, mean, covariance)
    log_mean = view.logsumexp(log_weight + m + view.own_nugget / 2)
    return BagMoments(
        log_total.exp(), log_mean=log_mean - nugget_variance(view, share) / 2,
        log_variance=lambda: quadratic(view, covariance, share, view.residual),
        effect_variance=effect_variance(view, share),
        inverse_bounds=lambda: (log_total, (-view.logsumexp(log_weight + m - s / 2)).exp()))


def _total(view: ProjectedData, mean: Tensor, covariance: Tensor) -> tuple[Tensor, Tensor]:
    """log E T of each bag and the individuals' shares of it."""
    m, s = view.projection.marginals(mean, covariance)
    log_part = view.operator.coefficients().log() + m + (s + view.own_nugget) / 2
    log_total = view.logsumexp(log_part)
    return log_total, (log_part - log_total[view.operator.bags.membership]).exp()


def weights(view: ProjectedData, mean: Tensor, covariance: Tensor) -> Tensor:
    """∂η / ∂f_i under the identity link (N,): the weights themselves."""
    return view.operator.coefficients()


def shares(view: ProjectedData, mean: Tensor, covariance: Tensor) -> Tensor:
    """∂ log η / ∂f_i at the posterior mean (N,): shares of the bag's total, which sum to one."""
    return _total(view, mean, covariance)[1]
