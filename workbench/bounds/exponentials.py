"""Moments under the identity and the exp link."""

from __future__ import annotations

from torch import Tensor

from workbench.bounds.inside import effect_variance, nugget_variance, quadratic
from workbench.likelihoods import BagMoments
from workbench.views import View


def gaussian(view: View, mean: Tensor, covariance: Tensor) -> BagMoments:
    """Moments of η = Σ w f, which is Gaussian: exact."""
    operator, a = view.operator, view.operator.coefficients()
    rows = operator.rows(view.projection.features)
    explained = ((rows @ covariance) * rows).sum(1)
    residual = operator(view.residual.times(a))
    return BagMoments(operator(view.projection.offset) + rows @ mean, residual + explained)


def moment(view: View, mean: Tensor, covariance: Tensor) -> BagMoments:
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


def jensen(view: View, mean: Tensor, covariance: Tensor) -> BagMoments:
    """As `moment`, but E log T >= log Σ p e^m, the paper's eq. (12).

    For a likelihood that falls in log T and 1/T: E log T <= log E T, and E 1/T <=
    1/Σ p exp(m - S_ii/2), the best of the bounds Σ α_i² E[e^{-v_i}]/p_i over simplex weights α.
    """
    log_weight = view.operator.coefficients().log()
    m, s = view.projection.marginals(mean, covariance)
    log_total, share = _total(view, mean, covariance)
    log_mean = view.logsumexp(log_weight + m + view.nugget_variance / 2)
    return BagMoments(
        log_total.exp(), log_mean=log_mean - nugget_variance(view, share) / 2,
        log_variance=lambda: quadratic(view, covariance, share, view.residual),
        effect_variance=effect_variance(view, share),
        inverse_bounds=lambda: (log_total, (-view.logsumexp(log_weight + m - s / 2)).exp()))


def _total(view: View, mean: Tensor, covariance: Tensor) -> tuple[Tensor, Tensor]:
    """log E T of each bag and the individuals' shares of it."""
    m, s = view.projection.marginals(mean, covariance)
    log_part = view.operator.coefficients().log() + m + (s + view.nugget_variance) / 2
    log_total = view.logsumexp(log_part)
    return log_total, (log_part - log_total[view.operator.bags.membership]).exp()
