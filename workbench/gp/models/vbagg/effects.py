"""The iid effects below a map: the area's own, and the nugget's sum over its individuals.

Their prior is on the scale of f; on g, which is log η of a bag or, under the identity link, η, they
add up to one Gaussian effect a, which the likelihood integrates out. Given a bag's observation its
posterior is known, and with it the distribution of f plus effects at each individual, conditional
on the total that was observed. Of an area whose total is not known the effects have their prior. A
negative binomial has Gamma multipliers instead. Of Normal values under the identity link all of
this is exact, but for noise that individuals share (`_error`); else to first order in the effects.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from workbench.checks import require
from workbench.gp.data.bags import Bags
from workbench.gp.expectations import sensitivity_named
from workbench.gp.fields.projected import ProjectedData
from workbench.gp.likelihoods import BagMoments
from workbench.gp.likelihoods.moments import LOG_WEIGHTS
from workbench.gp.likelihoods.moments import POINTS as LOG_POINTS
from workbench.gp.likelihoods.noise import AREA
from workbench.gp.models.vbagg import persistent
from workbench.gp.numerics.linalg import floored
from workbench.gp.predictive import LogNormal, Normal

_CHUNK = 100_000
_FIRST_ORDER = (
    "effects of areas given their totals act to first order, which is not enough here; use "
    "dtype='float64', or area_effect=False")


@dataclass(frozen=True)
class AreaEffects:
    """Posterior of each bag's total iid effect a on g, given the bag's observation.

    With g as it is without the effect, a | g ≈ N(location - gain (g - E g), spread): where g is
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
    """Whether the model has an area effect or a nugget that observations of bags say more of.

    A nugget of positives out of trials is none: the effect that an area keeps holds its sum. Under
    the identity link there is none of a model at centres, whose nugget is one for all individuals.
    """
    own = state.area_std is not None or (
        not state.likelihood.proportions and float(state.nugget_variance.detach()) > 0)
    return own and (not state.at_centres if state.link.linear else state.link.positive)


def learns_effects(state) -> bool:
    """Whether effects of trained bags are known better than a priori."""
    return has_effects(state) and (state.link.linear or state.likelihood.learns_effects)


def centred(state, moments: BagMoments) -> tuple[Tensor, Tensor]:
    """Mean and variance (B,) of g, which effects add to."""
    if state.link.linear:
        return moments.mean, moments.variance
    if state.likelihood.proportions:
        return moments.on_link
    return moments.log_mean, moments.log_variance


def expected_of_clusters(state) -> float:
    """Sum over all bags of their totals by the clusters that are learnt on, effects at their prior.

    Parameters
    ----------
    state : VariationalState
        Of totals; not changed.

    Returns
    -------
    float
        In units of the totals.
    """
    seen, field = state.learning, state.field
    moments = [field.marginals(some) for some in seen.x.split(_CHUNK)]
    mean, variance = (torch.cat(parts) for parts in zip(*moments, strict=True))
    if seen.shift is not None:
        mean = mean + seen.shift
    if has_effects(state):
        area = 0.0 if state.area_std is None else state.area_std.square()
        variance = variance + persistent.own_nugget(state, seen.operator.bags) + area
    return float(seen.operator.bags.weight @ state.link.distribution(mean, variance).mean)


def require_one_per_bag(trained: Tensor | None, count: int) -> None:
    """Raise unless ``trained`` says of every bag where it was trained on."""
    got = count if trained is None else len(trained)
    require(got == count, f"expected one entry per bag ({count}), got {got}")


def posterior_effects(state, moments: BagMoments, trained: Tensor | None) -> AreaEffects:
    """Effects of bags; ``trained`` gives each bag's training position, or -1.

    Poisson and exponential likelihoods learn them, and a Normal one under the identity link; a
    negative binomial has its own multipliers.
    """
    prior = moments.effect_variance
    location, gain, spread = torch.zeros_like(prior), torch.zeros_like(prior), prior.clone()
    require_one_per_bag(trained, len(prior))
    known = torch.full((len(prior),), -1) if trained is None else trained
    where = known >= 0
    if not learns_effects(state) or not bool(where.any()):
        return AreaEffects(location, gain, spread, prior)
    y, mean = state.source.targets.value[known[where]], centred(state, moments)[0][where]
    if state.link.linear:
        # a and the noise of the observation are Gaussian, and y - g is their sum
        gain[where] = prior[where] / (prior[where] + _error(state, prior[where], known[where]))
        location[where] = gain[where] * (y - mean)
        spread[where] = (1 - gain[where]) * prior[where]
    else:
        location[where], spread[where] = state.likelihood.effect_posterior(y, mean, prior[where])
        # -dE[a | g]/dg: exactly this for any likelihood of g + a, as the prior of a is Gaussian.
        gain[where] = 1 - spread[where] / prior[where].clamp_min(1e-10)
    return AreaEffects(location, gain, spread, prior)


def _error(state, own: Tensor, known: Tensor) -> Tensor:
    """Variance of what is neither f nor a in the observations of bags, under the identity link.

    Noise that individuals share is what the nugget leaves of a bag's value, and may be next to
    nothing where the nugget is large. Values do not say how much of that is an error of theirs: as
    much again as the nugget has in them is taken to be, so that intervals cover in both cases.
    """
    noise = state.noise()[known]
    return noise + own if state.noise.convention == AREA else noise


def given_total(state, moments: BagMoments, effects: AreaEffects) -> Normal | LogNormal:
    """Distribution of η with its effect given the bags' observations."""
    mean, spread = centred(state, moments)
    variance = (1 - effects.gain).square() * spread + effects.spread
    kind = Normal if state.link.linear else LogNormal
    return kind(mean + effects.location, variance.sqrt())


def regression(state, share: Tensor, bags: Bags, effects: AreaEffects) -> Tensor:
    """Coefficient of an individual's own effect on its bag's effect a, a priori (N,).

    Of a cluster the mean of those of its members.
    """
    unaveraged = persistent.with_kept_noise(state, bags).unaveraged
    covariance = state.nugget_variance * unaveraged * share
    if state.area_std is not None:
        slope = torch.zeros(bags.count).to(share).index_add(0, bags.membership, share)
        covariance = covariance + state.area_std.square() * slope[bags.membership]
    prior = effects.prior[bags.membership]
    return covariance / prior.clamp_min(torch.finfo(prior.dtype).tiny)


def conditional(state, seen: ProjectedData, moments: BagMoments, bags: Bags, trained: Tensor | None
                ) -> Normal:
    """Distribution of f + its iid effects at individuals, given the totals of trained bags.

    With b the regression of the individual's effect on a, and a | g as in `AreaEffects`: mean
    m + b location; variance S - 2 b gain cov(f, g) + (b gain)² var g + b² spread + what a does not
    explain of the individual's effect.
    """
    effects = posterior_effects(state, moments, trained)
    share, with_total, (m, s) = _with_total(state, seen, bags)
    members = bags.membership
    b = regression(state, share, bags, effects)
    own = persistent.own_nugget(state, bags)
    own = own if state.area_std is None else own + state.area_std.square()
    gain = b * effects.gain[members]
    variance = _difference(
        s, -2 * gain * with_total, gain.square() * centred(state, moments)[1][members],
        b.square() * (effects.spread[members] - effects.prior[members]), own,
        least=0.0 if state.link.linear else 1e-12)
    return Normal(m + b * effects.location[members], variance.sqrt())


def _difference(*terms: Tensor, least: float = 0.0) -> Tensor:
    """Variances as sums of terms of both signs: below ``least`` by rounding, they are at it."""
    return floored(sum(terms), sum(term.abs() for term in terms), least, _FIRST_ORDER)


def total_effects(state, seen: ProjectedData, moments: BagMoments, bags: Bags,
                  trained: Tensor | None) -> tuple[Tensor, Tensor]:
    """Mean and sd (N,) of the iid effects at individuals alone, given totals of trained bags.

    The summand of `conditional` that is not f: b times the bag's effect, whose variance is
    gain² var g + spread, and what that effect does not explain of the individual's. With it comes
    the effect that the area keeps over periods, which is a part of g.
    """
    effects = posterior_effects(state, moments, trained)
    share, _, _ = _with_total(state, seen, bags)
    members = bags.membership
    b, own = regression(state, share, bags, effects), persistent.own_nugget(state, bags)
    own = own if state.area_std is None else own + state.area_std.square()
    known = (effects.gain.square() * centred(state, moments)[1] + effects.spread
             - effects.prior)
    mean, parts = b * effects.location[members], [own, b.square() * known[members]]
    if persistent.keeps_effects(state):
        lasting, spread, with_total = persistent.kept(state, seen, bags, share)
        mean = mean + lasting
        parts += [spread, -2 * b * effects.gain[members] * with_total]
    return mean, _difference(*parts).sqrt()


@dataclass(frozen=True)
class Multipliers:
    """Gamma multipliers u of a negative binomial's bags, given their counts.

    With g = log η, u | g ~ Gamma(shape, 1) / (r + e^g known), so that a total's log is
    h(g) = g + log shape - log(r + e^g) plus that of a Gamma(shape, shape) multiplier.

    Parameters
    ----------
    shape : Tensor (B,)
        r + y of trained bags, r of others.
    known : Tensor (B,) of bool
        Which bags' counts are known.
    gain : Tensor (B,)
        -∂ log E[u | g] / ∂ g at E g; zero where the count is not known.
    location, scale : Tensor (B,)
        Log-normal distribution of e^h, with its mean.
    """

    shape: Tensor
    known: Tensor
    gain: Tensor
    location: Tensor
    scale: Tensor


def multipliers(state, moments: BagMoments, trained: Tensor | None) -> Multipliers:
    """Multipliers of bags, log η taken as Gaussian; only trained bags' are known."""
    r = state.likelihood.dispersion().detach()
    log_mean = moments.log_mean
    trained = (torch.full((len(log_mean),), -1) if trained is None else trained).to(log_mean.device)
    known = trained >= 0
    shape = r.expand(len(log_mean)).clone()
    if bool(known.any()):
        shape[known] += state.source.targets.value[trained[known]]
    variance = moments.log_variance
    if moments.effect_variance is not None:
        variance = variance + moments.effect_variance
    points = LOG_POINTS.to(log_mean)
    g = log_mean[:, None] + variance.clamp_min(1e-16).sqrt()[:, None] * points
    h = g + shape.log()[:, None] - torch.logaddexp(r.log(), g)
    weights = LOG_WEIGHTS.to(log_mean).exp()
    log_expected = torch.logsumexp(h + LOG_WEIGHTS.to(log_mean), 1)
    spread = ((h - (h @ weights)[:, None]).square() @ weights).clamp_min(1e-16)
    gain = torch.sigmoid(log_mean - r.log()) * known
    return Multipliers(shape, known, gain, log_expected - spread / 2, spread.sqrt())


def multiplied(state, seen: ProjectedData, moments: BagMoments, bags: Bags, found: Multipliers
               ) -> Normal:
    """Distribution of f with its nugget at individuals, and what g says of a known multiplier.

    Of log rate = f - gain (g - E g) to first order under exp; under square a rate's factor acts on
    f by half its logarithm, at the mean. The rest of the multiplier is Gamma(shape, shape).
    """
    members = bags.membership
    share, with_total, (m, s) = _with_total(state, seen, bags)
    nugget = persistent.own_nugget(state, bags)
    # of a cluster's mean
    kept = state.nugget_variance * persistent.with_kept_noise(state, bags).unaveraged
    spread = moments.log_variance
    if moments.effect_variance is not None:
        spread = spread + moments.effect_variance
    factor = found.gain[members] * state.link.per_log_rate(m)
    variance = _difference(s + nugget, -2 * factor * (with_total + kept * share),
                           factor.square() * spread[members], least=1e-12)
    return Normal(m, variance.sqrt())


def _with_total(state, seen: ProjectedData, bags: Bags
                ) -> tuple[Tensor, Tensor, tuple[Tensor, Tensor]]:
    """Shares, cov(f_i, g) = Σ_j share_j S_ij to first order, and marginals of f."""
    q_mean, q_covariance = state.field.q_mean, state.field.q_covariance
    share = sensitivity_named(state.link.name)(seen, q_mean, q_covariance)
    members, features = bags.membership, seen.projection.features
    rows = torch.zeros(bags.count, features.shape[1]).to(features)
    rows = rows.index_add(0, members, share[:, None] * features)
    with_total = (features @ q_covariance * rows[members]).sum(1)
    with_total = with_total + seen.residual.times(share)
    return share, with_total, seen.projection.marginals(q_mean, q_covariance)
