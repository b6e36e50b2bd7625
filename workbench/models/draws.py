"""Joint draws of a variational posterior: f, rates, totals of bags and what is observed of them.

One draw holds one function f for all individuals, one effect for each area and one multiplier: sums
of its individuals, and any other functional of it, are draws of that functional.
"""

from __future__ import annotations

import torch
from torch import Tensor

from workbench.bags import Bags, known_trials
from workbench.likelihoods import Poisson
from workbench.models.effects import (
    has_effects,
    is_negative_binomial,
    posterior_effects,
    regression,
)
from workbench.models.joint import sum_bags
from workbench.operators import OPERATORS
from workbench.views import sensitivity


def latent(fit, bags: Bags, samples: int, generator) -> Tensor:
    """Draws of f at individuals, without nugget and area effect (samples, N)."""
    weights = _features(fit, samples, generator)
    return torch.cat([_f(fit.individual_view(part), weights, generator)
                      for part, _ in fit.parts(bags, None)], 1)


def rates(fit, bags: Bags, trained: Tensor | None, samples: int, generator) -> Tensor:
    """Draws of rates at individuals, with nugget, area effects and multipliers (samples, N).

    Effects and multipliers of ``trained`` bags are conditional on their totals, others' are from
    their prior.
    """
    weights = _features(fit, samples, generator)
    return torch.cat([_rates(fit, weights, part, known, generator)
                      for part, known in fit.parts(bags, trained)], 1)


def totals(fit, bags: Bags, trained: Tensor | None, samples: int, generator) -> Tensor:
    """Draws of bag parameters η (samples, B), of the bags as the model sees them."""
    weights, out = _features(fit, samples, generator), []
    operator = OPERATORS[fit.state.source.aggregation]
    for part, known in fit.parts(bags, trained):
        seen = fit.state.model_bags(part)
        drawn = _rates(fit, weights, seen, known, generator)
        out.append(sum_bags(operator(seen), drawn))
    return torch.cat(out, 1)


def observe_bags(fit, parameter: Tensor, bags: Bags, generator) -> Tensor:
    """Observations of bags with parameters (samples, B)."""
    state = fit.state
    if state.likelihood_name == "binomial":
        return state.likelihood.sample(parameter, generator, known_trials(bags))
    if is_negative_binomial(state):
        return Poisson().sample(parameter, generator)       # the multiplier is in the parameter
    if state.likelihood_name != "normal":
        return state.likelihood.sample(parameter, generator)
    observed = parameter + state.noise.std(bags) * _normal(generator, parameter)
    # A Normal model of counts works per unit of weight; answer in counts.
    return observed * bags.totals if state.rescaled else observed


def observe_individuals(fit, drawn: Tensor, bags: Bags, generator) -> Tensor:
    """Observations of individuals with rates (samples, N); see `simulate_individuals`."""
    state, weight = fit.state, bags.weight.to(drawn)
    if state.likelihood_name in ("poisson", "negative-binomial"):
        return Poisson().sample(drawn * weight, generator)
    if state.likelihood_name == "binomial":
        share = weight / bags.totals.to(drawn)[bags.membership]
        return state.likelihood.sample_individuals(
            share * drawn, bags.membership, known_trials(bags), generator)
    sums = state.source.aggregation == "sum"
    if state.likelihood_name == "exponential":
        means = drawn * weight if sums else drawn
        return state.likelihood.sample_individuals(means, bags.membership, generator)
    noise = state.noise.std(bags.singletons()) * _normal(generator, drawn)
    if state.rescaled:
        return (drawn + noise) * weight
    return (drawn * weight if sums else drawn) + noise


def _features(fit, samples: int, generator) -> Tensor:
    field = fit.state.field
    root = torch.linalg.cholesky(field.q_covariance)
    noise = torch.as_tensor(generator.standard_normal((samples, len(root)))).to(root)
    return field.q_mean + noise @ root.mT


def _f(seen, weights: Tensor, generator) -> Tensor:
    f = seen.projection.offset + weights @ seen.projection.features.mT
    return f + seen.residual.draw(len(weights), generator)


def _rates(fit, weights: Tensor, bags: Bags, trained, generator) -> Tensor:
    """Rates of individuals for draws of q's features (samples, M)."""
    state, field = fit.state, fit.state.field
    seen = fit.individual_view(bags)
    features = seen.projection.features
    f = _f(seen, weights, generator)
    if is_negative_binomial(state):
        f = f + state.nugget_variance.sqrt() * _normal(generator, f)
        return _with_multipliers(fit, state.link.psi(f), bags, trained, generator)
    if not has_effects(state):
        return state.link.psi(f + state.nugget_variance.sqrt() * _normal(generator, f))
    share = sensitivity(state.link.name, seen, field.q_mean, field.q_covariance)
    members, count = bags.membership, bags.count

    def total(values):
        out = torch.zeros(len(values), count).to(values)
        return out.index_add(1, members, values)

    # Draw the effects from their prior, then move them to the posterior of the bag's effect
    # (Matheron's rule), given this draw's own total.
    own = state.nugget_variance.sqrt() * _normal(generator, f)
    if state.area_std is not None:
        own = own + state.area_std * _normal(generator, f[:, :1].expand(-1, count))[:, members]
    moments = fit.moments(seen)
    effects = posterior_effects(state, moments, trained)
    drawn = total(share * own)
    g = total(share * (f - seen.projection.offset - features @ field.q_mean))
    noise = _normal(generator, drawn)
    wanted = effects.location - effects.gain * g + effects.spread.sqrt() * noise
    known = (effects.gain > 0).to(drawn)
    b = regression(state, share, bags, effects)
    found = state.link.psi(f + own + b * ((wanted - drawn) * known)[:, members])
    # All this is first order in the effects; the bag's total is known beyond that.
    reached = total(seen.operator.coefficients() * found).log()
    return found * ((moments.log_mean + g + wanted - reached) * known).exp()[:, members]


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


def _normal(generator, like: Tensor) -> Tensor:
    return torch.as_tensor(generator.standard_normal(tuple(like.shape))).to(like)
