"""What a fitted variational model predicts: distributions of individuals and bags, and draws."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from workbench.gp.data.bags import Bags
from workbench.gp.data.recurring import unknown
from workbench.gp.data.runs import split
from workbench.gp.expectations import bound_named, prediction_named
from workbench.gp.fields.projected import ProjectedData, with_effects
from workbench.gp.inference.parts import seen_in_learning
from workbench.gp.kernels.operators import OPERATORS
from workbench.gp.likelihoods import BagMoments
from workbench.gp.likelihoods.preserving import Groups
from workbench.gp.models.casting import cast_bags
from workbench.gp.models.fits import ModelFit, prior_of
from workbench.gp.models.vbagg import draws, persistent
from workbench.gp.models.vbagg.components import coefficients, components
from workbench.gp.models.vbagg.design import MOST_FEATURES
from workbench.gp.models.vbagg.effects import (
    conditional,
    expected_of_clusters,
    given_total,
    has_effects,
    learns_effects,
    multiplied,
    multipliers,
    posterior_effects,
    require_one_per_bag,
)
from workbench.gp.models.vbagg.known_totals import chosen, reached_by
from workbench.gp.models.vbagg.summed_out import aside
from workbench.gp.numerics.recent import LastResult
from workbench.gp.predictive import GammaMultiplied, LogNormal, Normal, Predictive, join

_CHUNK = 100_000


class VariationalFit(ModelFit):
    """A fitted VBAgg, centre-point or constant model.

    ``trained`` arguments give, for each bag asked about, its position among the training bags or
    -1; only trained bags have posterior knowledge of their area effect.
    """

    def __init__(self, model, state, history):
        super().__init__(model, state, history)
        self._last_marginals = LastResult()

    @cached_property
    def objective(self) -> float:
        """The final evidence lower bound (without log priors).

        Of the clusters that q was found on, where all individuals do not fit into memory.
        """
        state = aside(self.state)
        with torch.no_grad():
            seen = state.trained_data
            if seen is None:
                seen = state.project() if state.fits else seen_in_learning(state)
            return float(state.objective(seen, state.field.q_mean, state.field.q_covariance))

    def with_hyperparameters(self, values: Mapping) -> VariationalFit:
        """The posterior with some hyperparameters at other values and the rest as they are.

        Much faster than ``condition``: what does not depend on them is kept, and q starts from this
        one's. Of a fit averaged over settings it is that at one of them, as its notes say.
        """
        return self.model.warm_start(self, {**self.hyperparameters, **values})

    @torch.no_grad()
    def latent(self, bags: Bags) -> Normal:
        """Distribution of f at the individuals, without nugget and effects of areas."""
        if persistent.keeps_effects(self.state):
            found = self._find_marginals(bags, persistent.map_field(self.state))
        else:
            found = self._marginals(bags)
        return Normal(found[0], found[1].sqrt())

    @torch.no_grad()
    def at(self, bags: Bags, trained: Tensor | None = None, area_effect: bool = False
           ) -> Predictive:
        """Distribution of the rate at the individuals: nugget, area effect and multiplier included.

        Effects (or Gamma multipliers under a negative binomial) have their prior: the rate in an
        area of which nothing was observed, and its mean an expected rate. With ``area_effect``
        those of trained bags are conditional on the bag's observation instead.
        """
        known = trained if area_effect else None
        bags = self._nowhere(bags, area_effect)
        parts = [self._at(part, which) for part, which in self.parts(bags, known)]
        if not self.state.likelihood.multiplied:
            return join(parts)
        return GammaMultiplied(join([p.base for p in parts]), torch.cat([p.shape for p in parts]))

    def _at(self, bags: Bags, trained: Tensor | None) -> Predictive:
        state = self.state
        if state.likelihood.multiplied:
            seen = self.individual_view(bags)
            moments = self.moments(seen)
            found = multipliers(state, moments, trained)
            predicted = multiplied(state, seen, moments, bags, found)
            rate = state.link.distribution(predicted.mean, predicted.variance)
            reached = (found.location + found.scale.square() / 2).exp()
            return GammaMultiplied(reached_by(rate, seen, found.known, reached),
                                   found.shape[bags.membership])
        if not has_effects(state):
            mean, variance = self._marginals(bags)
            return state.link.distribution(mean, variance + persistent.own_nugget(state, bags))
        if not self.knows_totals(trained):
            require_one_per_bag(trained, bags.count)
            mean, variance = self._marginals(bags)
            std = state.area_std
            own = persistent.own_nugget(state, bags) + (0.0 if std is None else std.square())
            return state.link.distribution(mean, variance + own)
        seen = self.individual_view(bags)
        moments = self.moments(seen)
        effects = posterior_effects(state, moments, trained)
        predicted = conditional(state, seen, moments, bags, trained)
        rate = state.link.distribution(predicted.mean, predicted.variance)
        reached = given_total(state, moments, effects).mean
        return rate if state.link.linear else reached_by(rate, seen, effects.gain > 0, reached)

    @torch.no_grad()
    def over(self, bags: Bags, trained: Tensor | None = None, area_effect: bool = False
             ) -> Predictive:
        """Distribution of the bag parameter η, in the sense of `at`: its mean is the sum of theirs.

        Log-normal under exp, Gamma under square (log-normal if totals of bags are known), logit-
        normal under logit, else Normal; times a Gamma multiplier under the negative binomial.
        """
        known = trained if area_effect and self.knows_totals(trained) else None
        bags = self._nowhere(bags, area_effect)
        parts = [self._over(part, which) for part, which in self.parts(bags, known)]
        if not self.state.likelihood.multiplied:
            return join(parts)
        return GammaMultiplied(join([p.base for p in parts]), torch.cat([p.shape for p in parts]))

    @torch.no_grad()
    def fitted_sum(self, bags: Bags) -> float:
        """As of `ModelFit.fitted_sum`; from clusters where all individuals would take long."""
        state = self.state
        if not state.fits and state.sees(bags):
            return expected_of_clusters(state)
        if state.likelihood.multiplied or self.model.at_centres or state.rescaled:
            return super().fitted_sum(bags)
        # Means of individuals need no covariances between them, which `over` finds.
        weight = OPERATORS[state.source.aggregation](cast_bags(bags, state.options)).coefficients()
        return float((weight * self.at(bags).mean).sum())

    def _over(self, bags: Bags, trained: Tensor | None) -> Predictive:
        state, field = self.state, self.state.field
        seen = self._view(bags)
        whole = prediction_named(state.link.name)(
            *with_effects(seen, field.q_mean, field.q_covariance, state.link.averaged))
        # Known totals are log-normal, and joined with those that are not; sums of f are Normal.
        predicted = (state.link.of_bags(whole) if trained is None or state.link.linear
                     else LogNormal.matched(whole.mean, whole.variance))
        if state.likelihood.multiplied:
            found = multipliers(state, self.moments(seen), trained)
            if trained is not None:
                predicted = chosen(found.known, LogNormal(found.location, found.scale), predicted)
            return GammaMultiplied(predicted, found.shape)
        if trained is None:
            return predicted
        moments = self.moments(seen)
        found = posterior_effects(state, moments, trained)
        return chosen(found.gain > 0, given_total(state, moments, found), predicted)

    def knows_totals(self, trained: Tensor | None) -> bool:
        """Whether effects or multipliers of some bags can be given their totals."""
        learns = self.state.likelihood.multiplied or learns_effects(self.state)
        return learns and trained is not None and bool((trained >= 0).any())

    @property
    def keeps_effects(self) -> bool:
        """Whether areas keep effects over periods."""
        return persistent.keeps_effects(self.state)

    @torch.no_grad()
    def draw_latent(self, bags: Bags, samples: int, seed: int) -> Tensor:
        """Joint draws of f at the individuals (samples, N)."""
        return draws.latent(self, bags, samples, np.random.default_rng(seed))

    @torch.no_grad()
    def draw_rates(self, bags: Bags, trained: Tensor | None, samples: int, seed: int) -> Tensor:
        """Joint draws of rates, see `at` (samples, N); trained bags given their totals."""
        bags = self._nowhere(bags, trained is not None)
        return draws.rates(self, bags, trained, samples, np.random.default_rng(seed))

    @torch.no_grad()
    def draw_totals(self, bags: Bags, trained: Tensor | None, samples: int, seed: int) -> Tensor:
        """Joint draws of bag parameters, see `over` (samples, B)."""
        bags = self._nowhere(bags, trained is not None)
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

        See `workbench.gp.likelihoods.preserving`.
        """
        generator = np.random.default_rng(seed)
        drawn = draws.rates(self, bags, trained, samples, generator)
        return self._preserved(drawn, bags, totals, generator)

    @torch.no_grad()
    def preserve_sums(self, bags: Bags, trained: Tensor | None, totals: Tensor, groups: Groups,
                      samples: int, seed: int) -> Tensor:
        """As of `ModelFit.preserve_sums`; individuals are never held for all draws."""
        return draws.preserved_sums(self, bags, trained, totals, groups, samples,
                                    np.random.default_rng(seed))

    @torch.no_grad()
    def coefficients(self) -> dict[str, tuple[Tensor, Tensor]]:
        """Posterior mean and sd of the weights of linear and constant terms.

        Slopes are per standardised covariate, in the order of the term's columns.
        """
        return coefficients(self.state.field)

    def components(self, bags: Bags, by: str = "term", known: Tensor | None = None
                   ) -> dict[str, Normal]:
        """Distribution of each summand of f at the individuals; see `vbagg.components`."""
        return components(self, bags, by, known)

    def prior(self, bags: Bags) -> Normal:
        """Distribution of f at the individuals before any total was seen."""
        return prior_of(self.state, bags, persistent.map_field(self.state))

    def _marginals(self, bags: Bags) -> tuple[Tensor, Tensor]:
        """Mean and variance (N,) of f at the individuals; a map asks for both f and the rate."""
        return self._last_marginals.get(lambda: self._find_marginals(bags), bags,
                                        self.state.field.q_mean)

    def _find_marginals(self, bags: Bags, field=None) -> tuple[Tensor, Tensor]:
        x = self.state.transform.of(replace(bags, x=bags.x.to(self.state.x)))
        found = [(field or self.state.field).marginals(chunk) for chunk in x.split(_CHUNK)]
        mean, variance = (torch.cat(part) for part in zip(*found, strict=True))
        return mean, variance.clamp_min(0)

    def _view(self, bags: Bags) -> ProjectedData:
        return self._project(self.state.model_bags(bags))

    def _project(self, bags: Bags) -> ProjectedData:
        state, bags = self.state, persistent.with_kept_noise(self.state, bags)
        if (state.rough or state.trained_data is not None) and state.sees(bags):
            return state.trained_data or state.project(state.design.sketch).detach()
        return state.project(state.geometry_of(bags)).detach()

    def _nowhere(self, bags: Bags, known: bool) -> Bags:
        """The bags, in unknown areas if their effects are to have their prior."""
        return bags if known or not self.keeps_effects else unknown(bags)

    def moments(self, seen: ProjectedData) -> BagMoments:
        """Moments by the link's best form: a lower bound trains q, but predicts too low."""
        field, link = self.state.field, self.state.link.name
        return bound_named("default", link).moments(seen, field.q_mean, field.q_covariance)

    def individual_view(self, bags: Bags) -> ProjectedData:
        """The bags with all their individuals, also for a model that reduces them."""
        return self._project(cast_bags(bags, self.state.options))

    def parts(self, bags: Bags, trained: Tensor | None):
        """Runs of whole bags whose features fit into memory, and their training positions."""
        most = max(1, MOST_FEATURES // len(self.state.field.q_mean))
        return ((part, trained if trained is None else trained[which])
                for part, which in split(bags, most))
