"""The iid effects below a map: the area's own, and the nugget's sum over its individuals.

Their prior is on the scale of f; on log η of a bag they add up to one Gaussian effect a, which the
likelihood integrates out. Given a bag's observation its posterior is known, and with it the law of
f plus effects at each individual, conditional on the total that was observed.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from workbench.bags import Bags
from workbench.checks import require
from workbench.likelihoods import BagMoments
from workbench.predictive import Normal
from workbench.views import View, sensitivity


@dataclass(frozen=True)
class AreaEffects:
    """Posterior of each bag's total iid effect a on log η, given the bag's observation.

    With g = log η without the effect, a | g ≈ N(location - gain (g - E g), spread): where g is
    larger the effect must be smaller, for the total is known. ``spread`` is the posterior variance
    of a at g = E g, and E exp(a) there is exact, too; see `likelihoods.effect_quadrature`.

    Parameters
    ----------
    location, gain, spread, prior : Tensor (B,)
        As above; ``prior`` is the prior variance of a. Untrained bags have location and gain zero
        and spread equal to prior.
    """

    location: Tensor
    gain: Tensor
    spread: Tensor
    prior: Tensor


def has_effects(state) -> bool:
    """Whether the model has an area effect or a nugget on a positive link."""
    return state.link.positive and (
        state.area_std is not None or float(state.nugget_variance.detach()) > 0
    )


def posterior_effects(state, moments: BagMoments, trained: Tensor | None) -> AreaEffects:
    """Effects of bags; ``trained`` gives each bag's training position, or -1.

    Poisson and exponential likelihoods learn them; a negative binomial has its own multipliers.
    """
    prior = moments.effect_variance
    location, gain, spread = torch.zeros_like(prior), torch.zeros_like(prior), prior.clone()
    known = torch.full((len(prior),), -1) if trained is None else trained
    require(
        len(known) == len(prior), f"expected one entry per bag ({len(prior)}), got {len(known)}"
    )
    where = known >= 0
    if state.likelihood_name in ("poisson", "exponential") and bool(where.any()):
        y = state.source.targets.value[known[where]]
        location[where], spread[where] = state.likelihood.effect_posterior(
            y, moments.log_mean[where], prior[where])
        # -dE[a | g]/dg: exactly this for any likelihood of g + a, as the prior of a is Gaussian.
        gain[where] = 1 - spread[where] / prior[where].clamp_min(1e-10)
    return AreaEffects(location, gain, spread, prior)


def regression(state, share: Tensor, bags: Bags, effects: AreaEffects) -> Tensor:
    """Coefficient of an individual's own effect on its bag's effect a, a priori (N,)."""
    covariance = state.nugget_variance * share
    if state.area_std is not None:
        slope = torch.zeros(bags.count).to(share).index_add(0, bags.membership, share)
        covariance = covariance + state.area_std.square() * slope[bags.membership]
    return covariance / effects.prior[bags.membership].clamp_min(1e-12)


def conditional(state, seen: View, moments: BagMoments, bags: Bags, trained: Tensor | None
                ) -> Normal:
    """Law of f + its iid effects at individuals, given the totals of trained bags.

    With g = log η, b the regression of the individual's effect on a, and a | g as in `AreaEffects`:
    mean m + b location; variance S - 2 b gain cov(f, g) + (b gain)² var g + b² spread + what a does
    not tell of the individual's effect.
    """
    q_mean, q_covariance = state.field.q_mean, state.field.q_covariance
    effects = posterior_effects(state, moments, trained)
    share = sensitivity(state.link.name, seen, q_mean, q_covariance)
    members, features = bags.membership, seen.projection.features
    rows = torch.zeros(bags.count, features.shape[1]).to(features)
    rows = rows.index_add(0, members, share[:, None] * features)
    # cov(f_i, g) = Σ_j share_j S_ij, to first order.
    with_total = (features @ q_covariance * rows[members]).sum(1)
    with_total = with_total + seen.residual.times(share)
    m, s = seen.projection.marginals(q_mean, q_covariance)
    b = regression(state, share, bags, effects)
    own = state.nugget_variance
    own = own if state.area_std is None else own + state.area_std.square()
    gain = b * effects.gain[members]
    variance = (
        s - 2 * gain * with_total + gain.square() * moments.log_variance[members]
        + b.square() * (effects.spread[members] - effects.prior[members]) + own
    )
    return Normal(m + b * effects.location[members], variance.clamp_min(1e-12).sqrt())
