"""Joint draws of a variational posterior: f, rates, totals of bags and what is observed of them.

One draw holds one function f for all individuals, one effect for each area and one multiplier: sums
of its individuals, and any other functional of it, are draws of that functional.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from workbench.gp.data.bags import Bags
from workbench.gp.data.runs import split
from workbench.gp.expectations import sensitivity_named
from workbench.gp.kernels.operators import OPERATORS
from workbench.gp.likelihoods import preserving
from workbench.gp.likelihoods.base import standard_normal
from workbench.gp.likelihoods.preserving import Groups
from workbench.gp.models.casting import cast_bags
from workbench.gp.models.fits import noise_given_totals, units_of
from workbench.gp.models.joint import sum_bags, sum_runs
from workbench.gp.models.vbagg import persistent
from workbench.gp.models.vbagg.effects import (
    has_effects,
    posterior_effects,
    regression,
)
from workbench.gp.numerics.linalg import factor

# Rates that are worked on at once: 8 MB in float64.
_ENTRIES = 1_000_000
# Gauss-Hermite nodes and weights for members of clusters: exact under square and, for a nugget of
# one, to 1e-5 under exp.
_NODES, _SUMS = np.polynomial.hermite_e.hermegauss(7)
_MEMBERS = _NODES.tolist(), (_SUMS / _SUMS.sum()).tolist()
# Of Newton's method for a shift of f, by a difference quotient; and a share that is met.
_ROUNDS, _STEP, _MET = 6, 1e-3, 1e-9


def latent(fit, bags: Bags, samples: int, generator) -> Tensor:
    """Draws of f at individuals, without nugget and effects of areas (samples, N)."""
    weights, state = _features(fit, samples, generator), fit.state
    if not persistent.keeps_effects(state):
        return torch.cat([_f(fit.individual_view(part), weights, generator)
                          for part, _ in fit.parts(bags, None)], 1)
    weights = weights[:, :len(persistent.map_field(state).q_mean)]
    views = (persistent.map_view(state, cast_bags(part, state.options))
             for part, _ in fit.parts(bags, None))
    return torch.cat([_f(view, weights, generator) for view in views], 1)


def rates(fit, bags: Bags, trained: Tensor | None, samples: int, generator) -> Tensor:
    """Draws of rates at individuals, with nugget, area effects and multipliers (samples, N).

    Effects and multipliers of ``trained`` bags are conditional on their totals, others' are from
    their prior.
    """
    weights = _features(fit, samples, generator)
    return torch.cat([_Rates(fit, part, known)(weights, generator)
                      for part, known in fit.parts(bags, trained)], 1)


def preserved_sums(fit, bags: Bags, trained: Tensor | None, totals: Tensor, groups: Groups,
                   samples: int, generator) -> Tensor:
    """Draws of observations given the bags' totals, added up over groups (samples, G).

    Rates are as of `rates`, but never held for all draws: few draws at a time stay in a processor's
    cache, where all together take three times as long.
    """
    noise, weights = noise_given_totals(fit.state, bags), _features(fit, samples, generator)
    out = torch.zeros(samples, groups.count).to(weights)
    inside = which = slice(0, 0)
    for part, known in fit.parts(bags, trained):
        inside = slice(inside.stop, inside.stop + len(part.x))
        which = slice(which.stop, which.stop + part.count)
        drawn = _Rates(fit, part, known)
        added = preserving.summing(fit.state, part, totals[which],
                                   None if noise is None else noise[inside],
                                   groups.part(inside), generator)
        rows = max(1, _ENTRIES // len(part.x))
        out += torch.cat([added(drawn(some, generator)) for some in weights.split(rows)])
    return out


def totals(fit, bags: Bags, trained: Tensor | None, samples: int, generator) -> Tensor:
    """Draws of bag parameters η (samples, B), of the bags as the model sees them."""
    weights, out = _features(fit, samples, generator), []
    operator = OPERATORS[fit.state.source.aggregation]
    for part, known in fit.parts(bags, trained):
        seen = fit.state.model_bags(part)
        drawn = _Rates(fit, seen, known)(weights, generator)
        out.append(sum_bags(operator(seen), drawn))
    return torch.cat(out, 1)


def imagined(fit, bags: Bags, seed: int, trained: Tensor | None = None
             ) -> tuple[Tensor, Tensor]:
    """One draw of rates at individuals (N,) and what is observed of the sums over bags (B,).

    Unlike `totals`, of all individuals also where the model sees bags at their centres.
    """
    with torch.no_grad():
        generator, bags = np.random.default_rng(seed), cast_bags(bags, fit.state.options)
        drawn = rates(fit, bags, trained, 1, generator)
        summed = sum_bags(OPERATORS[fit.state.source.aggregation](bags), drawn)
        return drawn[0], observe_bags(fit, summed, bags, generator)[0]


def observe_bags(fit, parameter: Tensor, bags: Bags, generator) -> Tensor:
    """Observations of bags with parameters (samples, B)."""
    return fit.state.likelihood.observe(parameter, units_of(fit.state, bags, False), generator)


def observe_individuals(fit, drawn: Tensor, bags: Bags, generator) -> Tensor:
    """Observations of individuals with rates (samples, N); see `simulate_individuals`."""
    return fit.state.likelihood.observe(drawn, units_of(fit.state, bags, True), generator)


def _features(fit, samples: int, generator) -> Tensor:
    field = fit.state.field
    root = factor(field.q_covariance, "covariance of q")
    noise = torch.as_tensor(generator.standard_normal((samples, len(root)))).to(root)
    return field.q_mean + noise @ root.mT


def _f(seen, weights: Tensor, generator) -> Tensor:
    f = weights @ seen.projection.features.mT
    f += seen.projection.offset
    return f.add_(seen.residual.draw(len(weights), generator))


class _Rates:
    """Draws of rates at the individuals of some bags, and what all draws have in common."""

    def __init__(self, fit, bags: Bags, trained: Tensor | None):
        self.fit, self.bags, self.trained = fit, bags, trained
        self.state, self.seen = fit.state, fit.individual_view(bags)
        nugget, clustered = self.state.nugget_variance, bags.concentration is not None
        white = self.state.link.averaged(nugget, bags.concentration) if clustered else nugget
        self.white, self.place = white.sqrt(), persistent.places(self.state, bags)
        self.centred = persistent.centring(self.state, bags)
        self.hidden = (nugget - white).sqrt() if clustered else None
        if not has_effects(self.state) or self.state.likelihood.multiplied:
            return
        field = self.state.field
        self.share = sensitivity_named(self.state.link.name)(
            self.seen, field.q_mean, field.q_covariance)
        self.moments = fit.moments(self.seen)
        self.effects = posterior_effects(self.state, self.moments, trained)
        self.regression = regression(self.state, self.share, bags, self.effects)
        self.known = (self.effects.gain > 0).to(self.share)
        self.coefficients = self.seen.operator.coefficients()
        centre = self.seen.projection.offset + self.seen.projection.features @ field.q_mean
        self.centre = sum_runs((self.share * centre)[None], bags)

    def __call__(self, weights: Tensor, generator: np.random.Generator) -> Tensor:
        """Rates (samples, M) for draws of q's features (samples, features)."""
        f = _f(self.seen, weights, generator)
        if self.state.likelihood.multiplied:
            f = f + self._own_noise(f, generator)
            return _with_multipliers(
                self.fit, self._rate(f), self.bags, self.trained, generator)
        if not has_effects(self.state):
            moved = f + self._own_noise(f, generator)
            return self._rate(moved + self._to_known_shares(f, moved))
        return self._with_effects(f, generator)

    def _rate(self, f: Tensor, inside: slice = slice(None)) -> Tensor:
        """ψ(f); of clusters its mean over what their members have of their own beside f."""
        psi = self.state.link.psi
        if self.hidden is None:
            return psi(f)
        return sum(weight * psi(f + point * self.hidden[inside])
                   for point, weight in zip(*_MEMBERS, strict=True))

    def _to_known_shares(self, without: Tensor, f: Tensor) -> Tensor | float:
        """What is added to f of known areas so that nuggets change the share of none.

        Of positives out of trials an area's effect holds all that is known of its share. Nuggets
        beside it add up to nothing, but the rates that they make do not: each draw's share is
        brought back to what it is on average over them, as rates of totals are scaled to theirs.

        Parameters
        ----------
        without, f : Tensor (samples, N)
            Without nuggets, and with them.
        """
        if (self.centred is None or not self.state.likelihood.proportions
                or self.hidden is not None or not bool((self.white > 0).any())):
            return 0.0
        group, share, known = self.centred
        psi, count = self.state.link.psi, int(group.max()) + 1

        def summed(values: Tensor) -> Tensor:
            out = values.new_zeros(len(values), count)
            return out.index_add_(1, group, values * share)

        std = self.seen.own_nugget.clamp_min(0).sqrt()      # as the likelihood has them
        wanted = summed(sum(weight * psi(without + point * std)
                            for point, weight in zip(*_MEMBERS, strict=True)))
        shift = torch.zeros_like(wanted)
        for _ in range(_ROUNDS):
            at = f + shift.index_select(1, group)
            slope = summed(psi(at + _STEP) - psi(at - _STEP)) / (2 * _STEP)
            gap = wanted - summed(psi(at))
            if float(gap.abs().max()) < _MET:
                break
            shift += (gap / slope.clamp_min(torch.finfo(f.dtype).tiny)).clamp(-1, 1)
        return shift.index_select(1, group).mul_(known)

    def _own_noise(self, f: Tensor, generator: np.random.Generator) -> Tensor:
        """Draws of what individuals have of their own.

        Of areas that keep effects the same in all periods, and apart from what the area has of it.
        """
        if self.place is None:
            own = standard_normal(generator, f)
        else:
            like = f.new_empty(len(f), int(self.place.max()) + 1)
            own = standard_normal(generator, like).index_select(1, self.place)
        own = own.mul_(self.white)
        if self.centred is None:
            return own
        group, share, known = self.centred
        mean = own.new_zeros(len(own), int(group.max()) + 1).index_add_(1, group, own * share)
        return own.sub_(mean.index_select(1, group).mul_(known))

    def _with_effects(self, f: Tensor, generator: np.random.Generator) -> Tensor:
        """Effects from their prior, moved to the posterior of the bag's, given the draw's total.

        That is Matheron's rule.
        """
        state, like = self.state, f[:, :1].expand(-1, self.bags.count)
        own = self._own_noise(f, generator)
        areas = None
        if state.area_std is not None:
            areas = state.area_std * standard_normal(generator, like)
        noise = standard_normal(generator, like)
        inside = slice(0, 0)
        for part, which in split(self.bags, max(1, _ENTRIES // len(f))):
            inside = slice(inside.stop, inside.stop + len(part.x))
            self._move(f[:, inside], own[:, inside], None if areas is None else areas[:, which],
                       noise[:, which], part, which, inside)
        return f

    def _move(self, f: Tensor, own: Tensor, areas: Tensor | None, noise: Tensor, bags: Bags,
              which: slice, inside: slice) -> None:
        """Make rates of f, and of effects from their prior, in place, of some of the bags."""
        effects, members, share = self.effects, bags.membership, self.share[inside]
        known = self.known[which]
        # In place, for this is where most of the time of draws goes.
        if areas is not None:
            own += areas.index_select(1, members)
        drawn = sum_runs(share * own, bags)
        g = sum_runs(share * f, bags) - self.centre[:, which]
        wanted = (effects.location[which] - effects.gain[which] * g
                  + effects.spread[which].sqrt() * noise)
        moved = ((wanted - drawn) * known).index_select(1, members)
        found = self._rate(own.add_(f).add_(moved.mul_(self.regression[inside])), inside)
        if self.state.link.linear:      # exact, and sums to the bag's total by itself
            f.copy_(found)
            return
        # All this is first order in the effects; the bag's total is known beyond that.
        reached = sum_runs(self.coefficients[inside] * found, bags).log()
        factor = ((self.moments.log_mean[which] + g + wanted - reached) * known).exp()
        torch.mul(found, factor.index_select(1, members), out=f)


def _with_multipliers(fit, found: Tensor, bags: Bags, trained, generator) -> Tensor:
    """Rates times the Gamma multipliers of the negative binomial, one per area and draw.

    Given a trained area's count y and the draw's total η it is Gamma(r + y, r + η), else
    Gamma(r, r).
    """
    state = fit.state
    r = float(state.likelihood.dispersion())
    seen = torch.zeros(bags.count).to(found)
    exposure = torch.full((len(found), bags.count), r).to(found)
    if trained is not None:
        known = trained >= 0
        seen[known] = state.source.targets.value[trained[known]]
        sums = torch.zeros_like(exposure).index_add(1, bags.membership, found * bags.weight)
        exposure = torch.where(known, r + sums, exposure)
    shape = (r + seen).expand_as(exposure).cpu().numpy()
    drawn = torch.as_tensor(generator.gamma(shape, 1 / exposure.cpu().numpy())).to(found)
    return found * drawn[:, bags.membership]
