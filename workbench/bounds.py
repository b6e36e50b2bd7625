"""The moments of a bag's parameter η = Σ w ψ(f) under q, and E log η in its named forms.

Under the identity link η is Gaussian and nothing is approximated. Elsewhere E log η has no closed
form: each entry of `BOUNDS` is one way to it, with its kind and its cost.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from torch import Tensor

from workbench.checks import InputError, choose
from workbench.likelihoods import BagMoments
from workbench.operators import blocks, restore_order
from workbench.residual import Residual
from workbench.shapes import PerBag
from workbench.views import View

Moments = Callable[[View, Tensor, Tensor], BagMoments]


@dataclass(frozen=True)
class Bound:
    """A named way to the moments of η = Σ w ψ(f).

    ``kind`` says what the resulting objective is: ``exact``, a lower ``bound`` on the evidence, or
    an ``approximation`` that may overshoot it. ``cost`` is per bag of N_a individuals and M
    inducing features; pairs inside bags are those of `workbench.residual`.
    """

    link: str
    name: str
    kind: str
    cost: str
    help: str
    moments: Moments


def _identity(view: View, mean: Tensor, covariance: Tensor) -> BagMoments:
    operator, a = view.operator, view.operator.coefficients()
    rows = operator.rows(view.projection.features)
    explained = ((rows @ covariance) * rows).sum(1)
    residual = operator(view.residual.times(a))
    return BagMoments(operator(view.projection.offset) + rows @ mean, residual + explained)


def _exp(view: View, mean: Tensor, covariance: Tensor, jensen: bool) -> BagMoments:
    """Moments of T = Σ p exp(v), v ~ N(m, S) with S = R + Φ S_q Φᵀ.

    With e_i = p_i exp(m_i + S_ii/2): E T = Σ e_i, and log T has variance sᵀ S s with the shares
    s = e / E T. Then T is taken as log-normal with that mean and variance of its logarithm.

    A nugget raises E T; its part of log T has mean zero and is left to the likelihood, as an
    effect of variance `_nugget`, so half of that is taken off E log T.
    """
    operator, projection = view.operator, view.projection
    log_weight = operator.coefficients().log()
    m, s = projection.marginals(mean, covariance)
    log_part = log_weight + m + (s + view.nugget_variance) / 2
    log_total = view.logsumexp(log_part)
    share = (log_part - log_total[operator.bags.membership]).exp()
    log_variance = _quadratic(view, covariance, share, view.residual)
    log_mean = log_total - log_variance / 2
    if jensen:
        log_mean = view.logsumexp(log_weight + m + view.nugget_variance / 2)
    total = log_total.exp()
    return BagMoments(
        total, total.square() * log_variance.expm1(), log_mean - _nugget(view, share) / 2,
        _effect(view, share),
    )


def _square(view: View, mean: Tensor, covariance: Tensor, lowrank: bool) -> BagMoments:
    """Moments of T = Σ p v² with the covariance inside each bag; E log T by ζ, eq. (11).

    E T = Σ p (m² + S_ii); Var T = 4 m̃ᵀS̃m̃ + 2 tr(S̃²), with m̃ = √p m and S̃ = √p S √p. The
    paper's (13) prints S_ii/2 and drops the weights: both are slips (E v² = m² + S).

    S = R + Φ C Φᵀ, so tr(S̃²) = tr(R̃²) + 2 tr(R̃ Φ̃CΦ̃ᵀ) + tr((CΦ̃ᵀΦ̃)²). ``lowrank`` keeps the
    diagonal of R alone.
    """
    operator, projection = view.operator, view.projection
    p = operator.coefficients()
    m, s = projection.marginals(mean, covariance)
    total = operator(m.square() + s + view.nugget_variance)
    residual = view.residual.diagonal_part() if lowrank else view.residual
    rows = projection.features @ covariance
    trace = (residual.trace_squared(p) + 2 * residual.trace_with(p, projection.features, rows)
             + _explained_trace(view, covariance, p))
    variance = 4 * _quadratic(view, covariance, p * m, residual) + 2 * trace
    share = 2 * p * m / total[operator.bags.membership]
    log_mean = total.log() - (variance / total.square() + _nugget(view, share)) / 2
    return BagMoments(total, variance, log_mean, _effect(view, share))


def _quadratic(view: View, covariance: Tensor, values: Tensor, residual: Residual) -> PerBag:
    """vᵀ S v inside each bag."""
    rows = view.sum(values[:, None] * view.projection.features)
    return view.sum(values * residual.times(values)) + ((rows @ covariance) * rows).sum(1)


def _explained_trace(view: View, covariance: Tensor, weight: Tensor) -> PerBag:
    """tr((C Φ̃ᵀΦ̃)²) of each bag, by the smaller of M x M and N_a x N_a matrices."""
    traces = []
    for index, mask in blocks(view.operator.bags):
        phi = view.projection.features[index]
        scaled = (weight[index] * mask).sqrt()[:, :, None] * phi
        if phi.shape[1] > phi.shape[2]:
            product = (scaled.mT @ scaled) @ covariance
        else:
            product = scaled @ covariance @ scaled.mT
        traces.append((product * product.mT).sum((1, 2)))
    return restore_order(view.operator.bags, traces)


def _nugget(view: View, share: Tensor) -> PerBag:
    """Variance of the nugget's sum over a bag, on the scale of log η."""
    return view.nugget_variance * view.sum(share.square())


def _effect(view: View, share: Tensor) -> PerBag | None:
    """Prior variance of the iid effects on log η of each bag: area effect plus nugget."""
    nugget = _nugget(view, share)
    if view.effect_std is None:
        return nugget if float(view.nugget_variance.detach()) > 0 else None
    slope = view.sum(share)
    return (slope * view.effect_std).square() + nugget


_ALL = [
    Bound("identity", "gaussian", "exact", "N_a M + pairs", "closed form: η is Gaussian",
          _identity),
    Bound("exp", "moment", "approximation", "N_a M + pairs",
          "η as a log-normal with its mean and (first-order) log-variance; calibrated",
          lambda v, m, c: _exp(v, m, c, jensen=False)),
    Bound("exp", "jensen", "bound", "N_a M + pairs",
          "E log Σ p eᵛ >= log Σ p eᵐ (the paper's eq. 12): a bound without overdispersion and "
          "nugget, but badly over-confident",
          lambda v, m, c: _exp(v, m, c, jensen=True)),
    Bound("square", "taylor", "approximation", "N_a M² + M pairs",
          "second-order ζ (the paper's eq. 11); can overshoot the evidence",
          lambda v, m, c: _square(v, m, c, lowrank=False)),
    Bound("square", "taylor-lowrank", "approximation", "N_a M²",
          "ζ with what inducing features leave unexplained independent between individuals",
          lambda v, m, c: _square(v, m, c, lowrank=True)),
]
# By link and name: the same name may stand for the same idea under several links.
BOUNDS = {(bound.link, bound.name): bound for bound in _ALL}
BOUND_NAMES = tuple(dict.fromkeys(bound.name for bound in _ALL))
DEFAULT_BOUND = {"identity": "gaussian", "exp": "moment", "square": "taylor"}


def bound_named(name: str | None, link: str) -> Bound:
    """The bound of that name, or the link's default.

    Raises
    ------
    InputError
        If the name is unknown or belongs to another link.
    """
    choose("link", link, DEFAULT_BOUND)
    if name is None or name == "default":
        name = DEFAULT_BOUND[link]
    choose("bound", name, BOUND_NAMES)
    if (link, name) not in BOUNDS:
        fitting = [n for of, n in BOUNDS if of == link]
        raise InputError(
            f"bound {name!r} is not for link {link!r}; use {' or '.join(fitting)}"
        )
    return BOUNDS[link, name]
