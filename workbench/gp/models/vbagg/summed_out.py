"""Effects of areas that are seen once, integrated out while hyperparameters and f are learnt.

Of positives out of trials in one period each area has one bag. As a term of the field its effect U
is one more inducing variable, and with a thousand areas q has a thousand rows more, at the third
power of which an evaluation takes time. Given f, though, U of an area is a number of its bag alone:
the likelihood integrates it out by quadrature, as that of counts does, and q is of f. In the end q
is of both again, for maps and predictions. Near the mean u of U

    ψ⁻¹(T) = g + s (U - u),   E[U | g] = u - gain (g - E g) / s,   Var[U | g] = spread / s²,

where g is ψ⁻¹(T) with u added to f, and s its slope in a shift of f; u is found in a few rounds,
for where individuals of an area differ, s changes with u. Mean and spread of U are those by which
the probability has its posterior mean and variance.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import wraps

import torch
from torch import Tensor

from workbench.gp.data.bags import Bags, Source
from workbench.gp.data.recurring import alone, common_areas
from workbench.gp.expectations import bound_named, sensitivity_named
from workbench.gp.fields.projected import ProjectedData
from workbench.gp.kernels.persistent import PersistentTerm
from workbench.gp.likelihoods import Likelihood
from workbench.gp.likelihoods.odds_quadrature import floored_variance
from workbench.gp.models.options import VariationalOptions
from workbench.gp.models.vbagg.persistent import keeps_effects, map_field

_LEFT = 0.05    # of an effect's variance given g, that stays its own whatever q leaves out of g
_ROUNDS, _AT_REST = 20, 1e-3    # in which u is found, and its last change in prior sds


def apart(likelihood: type[Likelihood], options: VariationalOptions, source: Source) -> bool:
    """Whether effects of areas can be integrated out one by one.

    Parameters
    ----------
    likelihood : type
        Of the source.
    options : VariationalOptions
        Of the model.
    source : Source
        Every bag of which has to be all that is seen of an area.
    """
    if not hasattr(likelihood, "effect_given") or source.trust != 1 or not alone(source.bags):
        return False
    link = likelihood.link(options.link, source).name
    return bound_named(options.bound, link) is bound_named("default", link)


def seen_once(state) -> bool:
    """Whether areas keep effects that can be integrated out."""
    return keeps_effects(state) and apart(type(state.likelihood), state.options, state.given)


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
    whole, before, q = state.field, state.trained_data, None
    state.field, state.summed, state.scales = map_field(state), whole.terms[-1], None
    state.trained_data = None
    try:
        yield
        q, learnt = _with_effects(state), state.field.inducing
        if any(new is not old for new, old in zip(learnt, whole.inducing, strict=False)):
            whole.inducing = [*learnt, whole.inducing[-1]]
            state.design = replace(state.design, inducing=list(whole.inducing))
        whole.set_q(*q)
    finally:
        projected = state.trained_data is not None
        state.field, state.summed, state.scales = whole, None, None
        state.trained_data = before if q is None else (
            state.project().detach() if projected and state.fits else None)


def with_effects_summed_out(method: Callable) -> Callable:
    """A method of a state, while which effects are `summed_out`."""
    @wraps(method)
    def inside(state, *args, **options):
        with summed_out(state):
            return method(state, *args, **options)
    return inside


def std_of_effects(term: PersistentTerm, bags: Bags) -> Tensor:
    """Standard deviation of effects that are integrated out, each with the mean of its nuggets.

    Parameters
    ----------
    term : PersistentTerm
        Of the effects.
    bags : Bags
        Learnt from, each all that is seen of an area.

    Returns
    -------
    Tensor () or (B,)
        One of all areas, or of each where there is a nugget.
    """
    variance = term.kernel.outputscale
    if term.nugget is not None:
        variance = variance + term.kept(common_areas(bags))
    return variance.sqrt()


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


@torch.no_grad()
def _with_effects(state) -> tuple[Tensor, Tensor]:
    """Mean and covariance of q of f and the effects, by the present q of f."""
    field, bags = state.field, state.bags
    mean, covariance, std = field.q_mean, field.q_covariance, state.area_std
    near = state.rough or not state.fits
    seen = state.trained_data or state.project(
        state.learning if near else state.geometry).detach()
    tiny, u = torch.finfo(mean.dtype).tiny, mean.new_zeros(bags.count)

    def at(u: Tensor) -> tuple:
        view = _moved(seen, u)
        moments = state.bound.moments(view, mean, covariance)
        return view, moments, (moments.effect_variance.sqrt() / std).clamp_min(tiny)

    y, movable = state.source.targets.value, torch.ones_like(u, dtype=torch.bool)
    for _ in range(_ROUNDS):
        _, moments, slope = at(u)
        found = state.likelihood.effect_mean(y, moments, slope * u)
        # A share that is one but for rounding has no slope: effects are looked at from zero there.
        movable &= torch.isfinite(found) & torch.isfinite(moments.on_link[1])
        last, u = u, torch.where(movable, found / slope, 0.0)
        if bool(((u - last).abs() < _AT_REST * std).all()):
            break
    view, moments, slope = at(u)
    location, scale, gain = state.likelihood.effect_given(y, moments, slope * u)
    share = sensitivity_named(state.link.name)(view, mean, covariance)
    rows = view.weighted_features(share)
    variance, spread = moments.on_link[1], scale.square()
    unit = floored_variance(moments.effect_variance).sqrt()         # of s U
    with_rows = rows @ covariance
    explained = (with_rows * rows).sum(1)
    # What the features leave of g is known to the effect, too: f + U has the variance of g + s U if
    # cov(U, g) is that of all of g, as far as the effect's own variance allows.
    reach = torch.minimum(variance / explained.clamp_min(tiny), (
        ((1 - _LEFT) * spread + gain.square() * variance)
        / (gain.square() * explained).clamp_min(tiny)).sqrt())
    pull = gain * reach / unit
    own = (spread + gain.square() * variance) / unit.square() - pull.square() * explained
    place = _places(bags)
    loads, known = torch.zeros_like(rows), torch.zeros_like(u)
    loads[place], known[place] = -pull[:, None] * rows, location / unit
    between = loads @ covariance
    effects = between @ loads.mT
    effects[place, place] += own
    return (torch.cat([mean, known]),
            torch.cat([torch.cat([covariance, between.mT], 1),
                       torch.cat([between, effects], 1)]))


def _moved(seen: ProjectedData, u: Tensor) -> ProjectedData:
    """Individuals with a number of their bag added to f."""
    projection = seen.projection
    return replace(seen, projection=replace(
        projection, offset=projection.offset + u[seen.operator.bags.membership]))


def _places(bags: Bags) -> Tensor:
    """Of each bag, which of the inducing variables of effects is its area's (B,)."""
    return common_areas(bags).unique(return_inverse=True)[1]
