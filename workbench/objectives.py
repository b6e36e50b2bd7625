"""The evidence lower bound of bagged data, and the named forms of its intractable term."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from workbench.checks import InputError, choose
from workbench.fields.inducing import InducingField, Projection
from workbench.likelihoods import BagMoments
from workbench.linalg import standard_normal_kl
from workbench.operators import AggregationOperator, blocks, restore_order
from workbench.residual import Residual, residual_of
from workbench.shapes import Inputs, PerBag


@dataclass(frozen=True)
class View:
    """A source at fixed hyperparameters: all that an objective needs, computed once.

    Parameters
    ----------
    projection : Projection
        Inputs through the inducing features.
    operator : AggregationOperator
        The bags.
    residual : Residual
        Prior covariance inside bags that the features do not explain.
    bag_residual : Tensor (B,) or None
        aᵀ(K_aa - ΦΦᵀ)a of each bag, for the identity link.
    nugget_variance : Tensor ()
        Variance of the individual white noise in f.
    effect_std : Tensor () or None
        Standard deviation of the area's iid effect on the scale of f.
    """

    projection: Projection
    operator: AggregationOperator
    residual: Residual
    bag_residual: PerBag | None
    nugget_variance: Tensor
    effect_std: Tensor | None

    def detach(self) -> View:
        """The same numbers without gradients."""
        def cut(value):
            return None if value is None else value.detach()

        return View(
            self.projection.detach(), self.operator, self.residual.detach(),
            cut(self.bag_residual), cut(self.nugget_variance), cut(self.effect_std),
        )


@dataclass(frozen=True)
class Bound:
    """A named way to the moments of η = Σ w ψ(f).

    ``kind`` says what the resulting objective is: ``exact``, a lower ``bound`` on the evidence, or
    an ``approximation`` that may overshoot it. ``cost`` is per evaluation.
    """

    link: str
    kind: str
    cost: str
    help: str
    moments: Callable[[View, Tensor, Tensor], BagMoments]
    needs_blocks: bool = False


def view(field: InducingField, x: Inputs, operator: AggregationOperator, bound: Bound,
         nugget_variance: Tensor, effect_std: Tensor | None) -> View:
    """Project a source at the field's present hyperparameters, once per outer step."""
    projection = field.project(x)
    bag_residual, prior = None, field.prior
    if bound.link == "identity":
        rows = operator.rows(projection.features)
        bag_residual = operator.quad_diag(prior, x) - rows.square().sum(1)
        residual = Residual(operator.bags, projection.residual, None)
    else:
        residual = residual_of(operator.bags, x, projection.features, projection.residual, prior,
                               always=bound.needs_blocks)
    return View(projection, operator, residual, bag_residual, nugget_variance, effect_std)


def elbo(view: View, bound: Bound, likelihood, y: PerBag, mean: Tensor, covariance: Tensor,
         trust: float = 1.0) -> Tensor:
    """E_q log p(y | η) - KL(q || prior), Law et al. 2018, eq. (8)."""
    moments = bound.moments(view, mean, covariance)
    expected = likelihood.expected_log_prob(y, moments).sum()
    return trust * expected - standard_normal_kl(mean, covariance)


def sensitivity(link: str, view: View, mean: Tensor, covariance: Tensor) -> Tensor:
    """∂ log η / ∂ f_i at the posterior mean (N,); of η itself under the identity link.

    Under exp it is the share of individual i in its bag's total, and sums to one over the bag.
    """
    operator, members = view.operator, view.operator.bags.membership
    m, s = view.projection.marginals(mean, covariance)
    if link == "identity":
        return operator.coefficients()
    s = s + view.nugget_variance
    if link == "exp":
        log_part = operator.coefficients().log() + m + s / 2
        return (log_part - _segment_logsumexp(log_part, operator)[members]).exp()
    total = operator(m.square() + s)
    return 2 * operator.coefficients() * m / total[members]


def _identity(view: View, mean: Tensor, covariance: Tensor) -> BagMoments:
    rows = view.operator.rows(view.projection.features)
    explained = ((rows @ covariance) * rows).sum(1)
    return BagMoments(
        view.operator(view.projection.offset) + rows @ mean, view.bag_residual + explained
    )


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
    log_total = _segment_logsumexp(log_part, operator)
    share = (log_part - log_total[operator.bags.membership]).exp()
    rows = _segment(operator, share[:, None] * projection.features)
    residual = _segment(operator, share * view.residual.times(share))
    log_variance = residual + ((rows @ covariance) * rows).sum(1)
    log_mean = log_total - log_variance / 2
    if jensen:
        log_mean = _segment_logsumexp(log_weight + m + view.nugget_variance / 2, operator)
    total = log_total.exp()
    return BagMoments(
        total, total.square() * log_variance.expm1(), log_mean - _nugget(view, share) / 2,
        _effect(view, share),
    )


def _square(view: View, mean: Tensor, covariance: Tensor) -> BagMoments:
    """Moments of T = Σ p v² with the full covariance inside each bag; E log T by ζ, eq. (11).

    E T = Σ p (m² + S_ii); Var T = 4 m̃ᵀS̃m̃ + 2 tr(S̃²), with m̃ = √p m and S̃ = √p S √p. The
    paper's (13) prints S_ii/2 and drops the weights: both are slips (E v² = m² + S).
    """
    operator, projection = view.operator, view.projection
    p = operator.coefficients()
    m, s = projection.marginals(mean, covariance)
    total = operator(m.square() + s + view.nugget_variance)
    variances = []
    groups = zip(blocks(operator.bags), view.residual.pairs, strict=True)
    for (index, mask), prior in groups:
        phi, weight = projection.features[index], p[index] * mask
        joint = prior + (phi @ covariance) @ phi.mT
        weighted = weight * m[index]
        quad = torch.einsum("bi,bij,bj->b", weighted, joint, weighted)
        trace = torch.einsum("bi,bij,bj->b", weight, joint.square(), weight)
        variances.append(4 * quad + 2 * trace)
    variance = restore_order(operator.bags, variances)
    relative = variance / total.square()
    share = 2 * p * m / total[operator.bags.membership]
    log_mean = total.log() - (relative + _nugget(view, share)) / 2
    return BagMoments(total, variance, log_mean, _effect(view, share))


def _nugget(view: View, share: Tensor) -> PerBag:
    """Variance of the nugget's sum over a bag, on the scale of log η."""
    return view.nugget_variance * _segment(view.operator, share.square())


def _effect(view: View, share: Tensor) -> PerBag | None:
    """Prior variance of the iid effects on log η of each bag: area effect plus nugget."""
    nugget = _nugget(view, share)
    if view.effect_std is None:
        return nugget if float(view.nugget_variance.detach()) > 0 else None
    slope = _segment(view.operator, share)
    return (slope * view.effect_std).square() + nugget


def _segment(operator: AggregationOperator, values: Tensor) -> Tensor:
    """Unweighted sum over each bag along the first axis."""
    out = torch.zeros(operator.bags.count, *values.shape[1:]).to(values)
    return out.index_add(0, operator.bags.membership, values)


def _segment_logsumexp(values: Tensor, operator: AggregationOperator) -> PerBag:
    members = operator.bags.membership
    top = torch.full((operator.bags.count,), -torch.inf).to(values)
    top = top.scatter_reduce(0, members, values.detach(), "amax")
    return _segment(operator, (values - top[members]).exp()).log() + top


BOUNDS = {
    "gaussian": Bound("identity", "exact", "N M + pairs", "closed form: η is Gaussian", _identity),
    "moment": Bound(
        "exp", "approximation", "N M + pairs",
        "η as a log-normal with its mean and (first-order) log-variance; calibrated",
        lambda v, m, c: _exp(v, m, c, jensen=False),
    ),
    "jensen": Bound(
        "exp", "bound", "N M + pairs",
        "E log Σ p eᵛ >= log Σ p eᵐ (the paper's eq. 12): a bound without overdispersion and "
        "nugget, but badly over-confident",
        lambda v, m, c: _exp(v, m, c, jensen=True),
    ),
    "taylor": Bound(
        "square", "approximation", "N_a² M per bag",
        "second-order ζ (the paper's eq. 11); can overshoot the evidence", _square,
        needs_blocks=True,
    ),
}
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
    bound = BOUNDS[choose("bound", name, BOUNDS)]
    if bound.link != link:
        fitting = [n for n, b in BOUNDS.items() if b.link == link]
        raise InputError(
            f"bound {name!r} is for link {bound.link!r}, not {link!r}; use {' or '.join(fitting)}"
        )
    return bound
