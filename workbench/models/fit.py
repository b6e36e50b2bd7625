"""What a fitted variational model answers: laws at individuals and over bags, and simulation."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor

from workbench.bags import Bags, split
from workbench.bounds import bound_named, prediction_named
from workbench.likelihoods import BagMoments
from workbench.models import draws, preserving
from workbench.models.base import ModelFit
from workbench.models.density import log_density
from workbench.models.effects import (
    conditional,
    given_total,
    has_effects,
    is_negative_binomial,
    multiplied,
    multipliers,
    posterior_effects,
    require_one_per_bag,
)
from workbench.models.options import cast_bags
from workbench.models.preserving import Groups
from workbench.models.state import MOST_FEATURES
from workbench.predictive import (
    Gamma,
    GammaMultiplied,
    LogitNormal,
    LogNormal,
    Normal,
    Predictive,
    join,
)
from workbench.views import View, with_effects

_CHUNK = 100_000


class VariationalFit(ModelFit):
    """A fitted VBAgg, centre-point or constant model.

    ``trained`` arguments give, for each bag asked about, its position among the training bags or
    -1; only trained bags have posterior knowledge of their area effect.
    """

    @property
    def objective(self) -> float:
        """The final evidence lower bound (without log priors).

        Of the clusters that q was found on, where all individuals do not fit into memory.
        """
        state = self.state
        with torch.no_grad():
            seen = state.trained_view
            if seen is None:
                seen = state.view() if state.fits else state.view_of(state.learning)
            return float(state.objective(seen, state.field.q_mean, state.field.q_covariance))

    def move(self, values: Mapping) -> VariationalFit:
        """The posterior with some hyperparameters at other values and the rest as they are.

        Much faster than ``condition``: what does not depend on them is kept, and the search for q
        starts from this one's. Of a fit that is averaged over settings it is the posterior at one
        setting alone, and its notes say so.
        """
        return self.model.near(self, {**self.hyperparameters, **values})

    @torch.no_grad()
    def latent(self, bags: Bags) -> Normal:
        """Law of f at the individuals, without nugget and area effect."""
        mean, variance = self._marginals(bags)
        return Normal(mean, variance.sqrt())

    @torch.no_grad()
    def at(self, bags: Bags, trained: Tensor | None = None, area_effect: bool = False
           ) -> Predictive:
        """Law of the rate at the individuals: nugget, area effect and multiplier included.

        The effect of an area (or its Gamma multiplier under a negative binomial) has its prior:
        the rate in an area of which nothing was observed, and its mean an expected rate. With
        ``area_effect`` those of trained bags are conditional on the bag's observed total instead.
        """
        known = trained if area_effect else None
        parts = [self._at(part, which) for part, which in self.parts(bags, known)]
        if not is_negative_binomial(self.state):
            return join(parts)
        return GammaMultiplied(join([p.base for p in parts]), torch.cat([p.shape for p in parts]))

    def _at(self, bags: Bags, trained: Tensor | None) -> Predictive:
        state = self.state
        if is_negative_binomial(state):
            seen = self.individual_view(bags)
            moments = self.moments(seen)
            found = multipliers(state, moments, trained)
            law = multiplied(state, seen, moments, bags, found)
            base = self._reach(state.link.law(law.mean, law.variance), seen, found.known,
                               (found.location + found.scale.square() / 2).exp())
            return GammaMultiplied(base, found.shape[bags.membership])
        if not has_effects(state):
            mean, variance = self._marginals(bags)
            return state.link.law(mean, variance + state.nugget_variance)
        if trained is None or not bool((trained >= 0).any()):
            require_one_per_bag(trained, bags.count)
            mean, variance = self._marginals(bags)
            area = 0.0 if state.area_std is None else state.area_std.square()
            return state.link.law(mean, variance + state.nugget_variance + area)
        seen = self.individual_view(bags)
        moments = self.moments(seen)
        effects = posterior_effects(state, moments, trained)
        law = conditional(state, seen, moments, bags, trained)
        return self._reach(state.link.law(law.mean, law.variance), seen, effects.gain > 0,
                           given_total(moments, effects).mean)

    @staticmethod
    def _reach(law, seen: View, known: Tensor, expected: Tensor):
        """The law scaled so that means in known bags add up to the bag's expected total.

        The effects act to first order, the bag's total is known beyond that.
        """
        reached = seen.sum(seen.operator.coefficients() * law.mean)
        factor = torch.where(known, expected / reached, torch.ones_like(reached))
        return law.scaled(factor[seen.operator.bags.membership])

    @torch.no_grad()
    def over(self, bags: Bags, trained: Tensor | None = None, area_effect: bool = False
             ) -> Predictive:
        """Law of the bag parameter η, in the same sense as `at`: its mean is the sum of theirs.

        Log-normal under exp, Gamma under square (log-normal if totals of bags are known), logit-
        normal under logit, else Normal; times a Gamma multiplier under the negative binomial.
        """
        known = trained if area_effect and self._knows_any(trained) else None
        parts = [self._over(part, which) for part, which in self.parts(bags, known)]
        if not is_negative_binomial(self.state):
            return join(parts)
        return GammaMultiplied(join([p.base for p in parts]), torch.cat([p.shape for p in parts]))

    def _over(self, bags: Bags, trained: Tensor | None) -> Predictive:
        state, field = self.state, self.state.field
        seen = self._view(bags)
        if state.link.name == "logit":
            moments = self.moments(seen)
            return LogitNormal(moments.logit_mean, moments.logit_variance.sqrt())
        whole = prediction_named(state.link.name)(
            *with_effects(seen, field.q_mean, field.q_covariance))
        if state.link.name == "identity":
            return Normal(whole.mean, whole.variance.sqrt())
        log_variance = (whole.variance / whole.mean.square()).log1p()
        law = LogNormal(whole.mean.log() - log_variance / 2, log_variance.sqrt())
        if trained is None and state.link.name == "square":
            law = Gamma(whole.mean, whole.variance)
        if is_negative_binomial(state):
            found = multipliers(state, self.moments(seen), trained)
            if trained is not None:
                law = _where(found.known, LogNormal(found.location, found.scale), law)
            return GammaMultiplied(law, found.shape)
        if trained is None:
            return law
        moments = self.moments(seen)
        found = posterior_effects(state, moments, trained)
        return _where(found.gain > 0, given_total(moments, found), law)

    def _knows_any(self, trained: Tensor | None) -> bool:
        """Whether effects or multipliers of some bags are conditional on their totals."""
        learns = has_effects(self.state) or is_negative_binomial(self.state)
        return learns and trained is not None and bool((trained >= 0).any())

    @torch.no_grad()
    def draw_latent(self, bags: Bags, samples: int, seed: int) -> Tensor:
        """Joint draws of f at the individuals (samples, N)."""
        return draws.latent(self, bags, samples, np.random.default_rng(seed))

    @torch.no_grad()
    def draw_rates(self, bags: Bags, trained: Tensor | None, samples: int, seed: int) -> Tensor:
        """Joint draws of what `at` is the law of (samples, N); trained bags given their totals."""
        return draws.rates(self, bags, trained, samples, np.random.default_rng(seed))

    @torch.no_grad()
    def draw_totals(self, bags: Bags, trained: Tensor | None, samples: int, seed: int) -> Tensor:
        """Joint draws of what `over` is the law of (samples, B)."""
        return draws.totals(self, bags, trained, samples, np.random.default_rng(seed))

    @torch.no_grad()
    def simulate_bags(self, bags: Bags, trained: Tensor | None, samples: int, seed: int) -> Tensor:
        """Joint posterior predictive observations of bags (samples, B)."""
        generator = np.random.default_rng(seed)
        parameter = draws.totals(self, bags, trained, samples, generator)
        return draws.observe_bags(self, parameter, bags, generator)

    @torch.no_grad()
    def simulate_individuals(self, bags: Bags, trained: Tensor | None, samples: int, seed: int
                             ) -> Tensor:
        """Joint posterior predictive observations of individuals (samples, N).

        Draws share the function f and the area effects, so that sums over individuals are
        themselves posterior predictive draws. Of positives out of trials an individual's are those
        of its bag's participants who come from it, in proportion to weight.
        """
        generator = np.random.default_rng(seed)
        drawn = draws.rates(self, bags, trained, samples, generator)
        return draws.observe_individuals(self, drawn, bags, generator)

    @torch.no_grad()
    def preserve(self, bags: Bags, trained: Tensor | None, totals: Tensor, samples: int, seed: int
                 ) -> tuple[Tensor, Tensor]:
        """Draws given the bags' totals: expectations and observations (samples, N) of each.

        See `workbench.models.preserving`.
        """
        generator = np.random.default_rng(seed)
        drawn = draws.rates(self, bags, trained, samples, generator)
        noise = preserving.noise_of(self.state, bags)
        return preserving.preserve(self.state, drawn, bags, totals, noise, generator)

    @torch.no_grad()
    def preserve_sums(self, bags: Bags, trained: Tensor | None, totals: Tensor, groups: Groups,
                      samples: int, seed: int) -> Tensor:
        """As of `ModelFit.preserve_sums`; individuals are never held for all draws."""
        return draws.preserved_sums(self, bags, trained, totals, groups, samples,
                                    np.random.default_rng(seed))

    def log_density(self, y: Tensor, bags: Bags, trained: Tensor | None, unit: str, samples: int,
                    seed: int) -> Tensor:
        """See `workbench.models.density`."""
        return log_density(self, y, bags, trained, unit, samples, seed)

    @torch.no_grad()
    def coefficients(self) -> dict[str, tuple[Tensor, Tensor]]:
        """Posterior mean and sd of the weights of linear and constant terms.

        Slopes are per standardised covariate, in the order of the term's columns.
        """
        state, out = self.state, {}
        for term, (start, stop) in zip(
            state.field.terms, state.field.blocks().values(), strict=True
        ):
            if term.weights:
                root = term.kernel.outputscale.sqrt()
                block = slice(start, stop)
                std = state.field.q_covariance.diagonal()[block].sqrt()
                out[term.name] = (root * state.field.q_mean[block], root * std)
        return out

    @torch.no_grad()
    def components(self, bags: Bags) -> dict[str, Normal]:
        """Law of each additive term of f at the individuals, by the term's name."""
        state, out = self.state, {}
        x = state.transform(bags.x.to(state.x))
        for term, z, (start, stop) in zip(
            state.field.terms, state.field.inducing, state.field.blocks().values(), strict=True
        ):
            alone = type(state.field)([term], [z])
            block = slice(start, stop)
            mean, variance = alone.project(x).marginals(
                state.field.q_mean[block], state.field.q_covariance[block, block])
            out[term.name] = Normal(mean, variance.sqrt())
        return out

    def _marginals(self, bags: Bags) -> tuple[Tensor, Tensor]:
        state, means, variances = self.state, [], []
        for chunk in bags.x.to(state.x).split(_CHUNK):
            mean, variance = state.field.marginals(state.transform(chunk))
            means.append(mean)
            variances.append(variance)
        return torch.cat(means), torch.cat(variances).clamp_min(0)

    def _view(self, bags: Bags) -> View:
        state = self.state
        return self._view_of(state.model_bags(bags))

    def _view_of(self, bags: Bags) -> View:
        state = self.state
        if state.trained_view is not None and state.sees(bags):
            return state.trained_view
        return state.view_of(state.geometry_of(bags)).detach()

    def moments(self, seen: View) -> BagMoments:
        """Moments by the link's best form: a lower bound trains q, but predicts too low."""
        field, link = self.state.field, self.state.link.name
        return bound_named("default", link).moments(seen, field.q_mean, field.q_covariance)

    def individual_view(self, bags: Bags) -> View:
        """The bags with all their individuals, also for a model that reduces them."""
        return self._view_of(cast_bags(bags, self.state.options))

    def parts(self, bags: Bags, trained: Tensor | None):
        """Runs of whole bags whose features fit into memory, and their training positions."""
        most = max(1, MOST_FEATURES // len(self.state.field.q_mean))
        for part, which in split(bags, most):
            yield part, None if trained is None else trained[which]


def _where(known: Tensor, first: LogNormal, second: LogNormal) -> LogNormal:
    return LogNormal(torch.where(known, first.location, second.location),
                     torch.where(known, first.scale, second.scale))
