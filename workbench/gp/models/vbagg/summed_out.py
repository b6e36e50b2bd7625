"""Effects of areas that are seen once, integrated out while hyperparameters and f are learnt.

Of positives out of trials in one period each area has one bag. As a term of the field its effect U
is one more inducing variable, and with a thousand areas q has a thousand rows more, at the third
power of which an evaluation takes time. Given f, though, U of an area is a number of its bag alone:
the likelihood integrates it out by quadrature, as that of counts does, and q is of f. The objective
is no lower than that of a q of both. In the end q is of both again, for maps and predictions:

    a = s U of a bag with E a | g = location - gain (g - E g) and variance ``spread``, g = ψ⁻¹(T),

so that f + U has the mean and variance of g + a; s is the slope of g in a shift of f. Location and
spread are those by which the probability ψ(g + a) has its posterior mean and variance.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps

import torch
from torch import Tensor

from workbench.gp.data.bags import Bags
from workbench.gp.data.recurring import common_areas
from workbench.gp.expectations import bound_named, sensitivity_named
from workbench.gp.likelihoods.odds_quadrature import LEAST_VARIANCE
from workbench.gp.models.vbagg.persistent import keeps_effects, map_field

_LEFT = 0.05    # of an effect's variance given g, that stays its own whatever q leaves out of g


def seen_once(state) -> bool:
    """Whether every bag is all that is seen of an area, whose effect can be integrated out."""
    if not keeps_effects(state) or not hasattr(state.likelihood, "effect_given"):
        return False
    areas = common_areas(state.bags)
    return (areas is not None and bool((areas >= 0).all())
            and len(areas.unique()) == state.bags.count and state.source.trust == 1
            and state.bound is bound_named("default", state.link.name))


@contextmanager
def summed_out(state) -> Iterator[None]:
    """While it lasts the state's field is f alone, and its likelihood integrates effects out.

    Parameters
    ----------
    state : VariationalState
        Changed in place: in the end q is of f and effects, whatever it was in the beginning. One
        whose effects cannot be integrated out is left as it is.
    """
    if state.summed is not None or not seen_once(state):
        yield
        return
    whole = state.field
    state.field, state.summed, state.scales = map_field(state), whole.terms[-1], None
    try:
        yield
        whole.inducing[:-1] = state.field.inducing
        whole.set_q(*_with_effects(state))
    finally:
        state.field, state.summed, state.scales = whole, None, None
        if state.trained_data is not None:
            state.trained_data = state.project().detach() if state.fits else None


def with_effects_summed_out(method: Callable) -> Callable:
    """A method of a state, while which effects are `summed_out`."""
    @wraps(method)
    def inside(state, *args, **options):
        with summed_out(state):
            return method(state, *args, **options)
    return inside


def aside(state):
    """A state as it was learnt: with the field of f alone, where effects were integrated out.

    Parameters
    ----------
    state : VariationalState
        Not changed; it is returned itself where they were not.
    """
    if state.summed is not None or not seen_once(state):
        return state
    out = copy.copy(state)
    out.field, out.summed, out.trained_data = map_field(state), state.field.terms[-1], None
    return out


def _with_effects(state) -> tuple[Tensor, Tensor]:
    """Mean and covariance of q of f and the effects, by the present q of f."""
    field, bags = state.field, state.bags
    with torch.no_grad():
        near = state.rough or not state.fits
        seen = state.project(state.learning if near else state.geometry).detach()
        mean, covariance = field.q_mean, field.q_covariance
        moments = state.bound.moments(seen, mean, covariance)
        share = sensitivity_named(state.link.name)(seen, mean, covariance)
        rows = seen.weighted_features(share)
        location, scale, gain = state.likelihood.effect_given(state.source.targets.value, moments)
        variance, spread = moments.on_link[1], scale.square()
        unit = moments.effect_variance.clamp_min(LEAST_VARIANCE).sqrt()     # of U, in a
        with_rows = rows @ covariance
        explained = (with_rows * rows).sum(1)
        # What the features leave of g is known to the effect, too: f + U has the variance of g + a
        # if cov(a, g) is that of all of g, as far as the effect's own variance allows.
        tiny = torch.finfo(gain.dtype).tiny
        reach = torch.minimum(variance / explained.clamp_min(tiny), (
            ((1 - _LEFT) * spread + gain.square() * variance)
            / (gain.square() * explained).clamp_min(tiny)).sqrt())
        pull = gain * reach / unit
        own = (spread + gain.square() * variance) / unit.square() - pull.square() * explained
        place = _places(bags)
        between = field.q_mean.new_zeros(bags.count, len(mean))
        between[place] = -pull[:, None] * with_rows
        loads = torch.zeros_like(between)
        loads[place] = pull[:, None] * rows
        effects = loads @ covariance @ loads.mT
        effects[place, place] += own
        location = torch.zeros_like(own).index_copy(0, place, location / unit)
        return (torch.cat([mean, location]),
                torch.cat([torch.cat([covariance, between.mT], 1),
                           torch.cat([between, effects], 1)]))


def _places(bags: Bags) -> Tensor:
    """Of each bag, which of the inducing variables of effects is its area's (B,)."""
    return common_areas(bags).unique(return_inverse=True)[1]
