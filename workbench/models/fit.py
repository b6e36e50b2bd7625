"""What a fitted variational model answers: laws at individuals and over bags, and simulation."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor

from workbench.bags import Bags, known_trials, split
from workbench.bounds import bound_named
from workbench.likelihoods import BagMoments, Poisson
from workbench.models.base import ModelFit
from workbench.models.density import log_density
from workbench.models.effects import conditional, has_effects, posterior_effects, regression
from workbench.models.options import cast_bags
from workbench.models.state import MOST_FEATURES
from workbench.predictive import Gamma, LogitNormal, LogNormal, Normal, Predictive, join
from workbench.views import View, sensitivity

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
        starts from this one's.
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
        """Law of the rate at the individuals, the nugget included.

        With ``area_effect`` the area's iid effect is included too, and for trained bags the
        law is conditional on the bag's observed total.
        """
        state = self.state
        if not area_effect or not has_effects(self.state):
            mean, variance = self._marginals(bags)
            return state.link.law(mean, variance + state.nugget_variance)
        laws = []
        for part, known in self._parts(bags, trained):
            seen = self._individual_view(part)
            laws.append(conditional(state, seen, self._moments(seen), part, known))
        law = join(laws)
        return state.link.law(law.mean, law.variance)

    @torch.no_grad()
    def over(self, bags: Bags, trained: Tensor | None = None, area_effect: bool = False
             ) -> Predictive:
        """Law of the bag parameter η.

        Log-normal under exp, Gamma under square, logit-normal under logit, else Normal.
        """
        return join([self._over(part, known, area_effect)
                     for part, known in self._parts(bags, trained)])

    def _over(self, bags: Bags, trained: Tensor | None, area_effect: bool) -> Predictive:
        moments = self._moments(self._view(bags))
        if self.state.link.name == "identity":
            return Normal(moments.mean, moments.variance.sqrt())
        if self.state.link.name == "logit":
            return LogitNormal(moments.logit_mean, moments.logit_variance.sqrt())
        if area_effect and has_effects(self.state):
            effects = posterior_effects(self.state, moments, trained)
            log_mean = moments.log_mean + effects.location
            log_variance = (1 - effects.gain).square() * moments.log_variance + effects.spread
            return LogNormal(log_mean, log_variance.sqrt())
        if self.state.link.name == "exp":
            centre = moments.mean.log() - moments.log_variance / 2
            return LogNormal(centre, moments.log_variance.sqrt())
        return Gamma(moments.mean, moments.variance)

    @torch.no_grad()
    def simulate_bags(self, bags: Bags, trained: Tensor | None, samples: int, seed: int) -> Tensor:
        """Posterior predictive observations of bags (samples, B)."""
        generator = np.random.default_rng(seed)
        law = self.over(bags, trained, area_effect=True)
        parameter = law.sample(samples, seed=int(generator.integers(2**31)))
        if self.state.likelihood_name == "negative-binomial":
            parameter = parameter * self._multipliers(parameter, trained, generator)
            return Poisson().sample(parameter, generator)
        return self._observe_bags(parameter, bags, generator)

    @torch.no_grad()
    def simulate_individuals(self, bags: Bags, trained: Tensor | None, samples: int, seed: int
                             ) -> Tensor:
        """Joint posterior predictive observations of individuals (samples, N).

        Draws share the function f and the area effects, so that sums over individuals are
        themselves posterior predictive draws. Of positives out of trials an individual's are those
        of its bag's participants who come from it, in proportion to weight.
        """
        state, generator = self.state, np.random.default_rng(seed)
        rates = self._joint_rates(bags, trained, samples, generator)
        weight = bags.weight.to(rates)
        if state.likelihood_name == "poisson":
            return state.likelihood.sample(rates * weight, generator)
        if state.likelihood_name == "negative-binomial":
            totals = torch.zeros(samples, bags.count).to(rates)
            totals = totals.index_add(1, bags.membership, rates * weight)
            shared = self._multipliers(totals, trained, generator)[:, bags.membership]
            return Poisson().sample(rates * weight * shared, generator)
        if state.likelihood_name == "binomial":
            share = weight / bags.totals.to(rates)[bags.membership]
            return state.likelihood.sample_individuals(
                share * rates, bags.membership, known_trials(bags), generator)
        if state.likelihood_name == "exponential":
            means = rates * weight if state.source.aggregation == "sum" else rates
            return state.likelihood.sample_individuals(means, bags.membership, generator)
        noise = torch.as_tensor(generator.standard_normal(rates.shape)).to(rates)
        observed = rates + state.noise.std(bags.singletons()) * noise
        return observed * weight if state.rescaled else observed

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

    def _moments(self, seen: View) -> BagMoments:
        """Moments by the link's best form: a lower bound trains q, but predicts too low."""
        field, link = self.state.field, self.state.link.name
        return bound_named("default", link).moments(seen, field.q_mean, field.q_covariance)

    @torch.no_grad()
    def bag_moments(self) -> BagMoments:
        """Moments of the training bags' parameter η, as training saw them."""
        state = self.state
        seen = state.trained_view or state.view_of(state.learning).detach()
        return self._moments(seen)

    def _individual_view(self, bags: Bags) -> View:
        """The bags with all their individuals, also for a model that reduces them."""
        return self._view_of(cast_bags(bags, self.state.options))

    def _parts(self, bags: Bags, trained: Tensor | None):
        """Runs of whole bags whose features fit into memory, and their training positions."""
        most = max(1, MOST_FEATURES // len(self.state.field.q_mean))
        for part, which in split(bags, most):
            yield part, None if trained is None else trained[which]

    def _joint_rates(self, bags: Bags, trained, samples: int, generator) -> Tensor:
        field = self.state.field
        root = torch.linalg.cholesky(field.q_covariance)
        noise = torch.as_tensor(generator.standard_normal((samples, len(root)))).to(root)
        draws = field.q_mean + noise @ root.mT
        return torch.cat([self._rates_given(draws, part, known, generator)
                          for part, known in self._parts(bags, trained)], 1)

    def _rates_given(self, draws: Tensor, bags: Bags, trained, generator) -> Tensor:
        """Rates of individuals for draws of q's features (samples, M)."""
        state, samples, field = self.state, len(draws), self.state.field
        seen = self._individual_view(bags)
        features = seen.projection.features

        def normal(*shape):
            return torch.as_tensor(generator.standard_normal(shape)).to(features)

        f = seen.projection.offset + draws @ features.mT
        f = f + seen.residual.draw(samples, generator)
        if not has_effects(self.state):
            return state.link.psi(f + state.nugget_variance.sqrt() * normal(*f.shape))
        share = sensitivity(state.link.name, seen, field.q_mean, field.q_covariance)
        members, count = bags.membership, bags.count

        def total(values):
            out = torch.zeros(len(values), count).to(values)
            return out.index_add(1, members, values)

        # Draw the effects from their prior, then move them to the posterior of the bag's effect
        # (Matheron's rule), given this draw's own total.
        own = state.nugget_variance.sqrt() * normal(*f.shape)
        if state.area_std is not None:
            own = own + state.area_std * normal(samples, count)[:, members]
        moments = self._moments(seen)
        effects = posterior_effects(state, moments, trained)
        drawn = total(share * own)
        g = total(share * (f - seen.projection.offset - features @ field.q_mean))
        wanted = effects.location - effects.gain * g
        wanted = wanted + effects.spread.sqrt() * normal(samples, count)
        known = (effects.gain > 0).to(drawn)
        b = regression(state, share, bags, effects)
        rates = state.link.psi(f + own + b * ((wanted - drawn) * known)[:, members])
        # All this is first order in the effects; the bag's total is known beyond that.
        reached = total(seen.operator.coefficients() * rates).log()
        return rates * ((moments.log_mean + g + wanted - reached) * known).exp()[:, members]

    def _multipliers(self, totals: Tensor, trained: Tensor | None, generator) -> Tensor:
        """Gamma multipliers of the negative binomial, one per area and draw (samples, B).

        The individuals of an area share it; given a trained area's count y and total η it is
        Gamma(r + y, r + η), else Gamma(r, r).
        """
        r = float(self.state.likelihood.dispersion())
        seen = torch.zeros(totals.shape[1]).to(totals)
        exposure = torch.zeros_like(totals)
        if trained is not None:
            known = trained >= 0
            seen[known] = self.state.source.targets.value[trained[known]]
            exposure[:, known] = totals[:, known]
        shape = (r + seen).expand_as(totals).cpu().numpy()
        draws = generator.gamma(shape, 1 / (r + exposure.cpu().numpy()))
        return torch.as_tensor(draws).to(totals)

    def _observe_bags(self, parameter: Tensor, bags: Bags, generator) -> Tensor:
        state = self.state
        if state.likelihood_name == "binomial":
            return state.likelihood.sample(parameter, generator, known_trials(bags))
        if state.likelihood_name != "normal":
            return state.likelihood.sample(parameter, generator)
        std = state.noise.std(bags)
        observed = parameter + std * torch.as_tensor(
            generator.standard_normal(parameter.shape)).to(parameter)
        # A Normal model of counts works per unit of weight; answer in counts.
        return observed * bags.totals if state.rescaled else observed
