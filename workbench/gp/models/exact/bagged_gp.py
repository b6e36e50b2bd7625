"""The aggregated GP: exact Gaussian conditioning on bags with their full covariance.

References
----------
Chau et al. 2021, section 4.1, name BAGG-GP a model with bags independent a priori; this one keeps
the whole covariance A K Aᵀ between bags, block kriging's block-to-block covariance.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from workbench.checks import require
from workbench.gp.data.bags import Bags, Source
from workbench.gp.data.inputs import fit_inputs
from workbench.gp.fields.exact import ExactField
from workbench.gp.kernels.operators import OPERATORS
from workbench.gp.likelihoods import Normal as NormalLikelihood
from workbench.gp.likelihoods.links import link_named
from workbench.gp.likelihoods.noise import noise_convention
from workbench.gp.models import assembly
from workbench.gp.models.base import EvidenceState, Model
from workbench.gp.models.casting import cast_bags
from workbench.gp.models.exact.cost import ExactOptions, exact_cost, refuse_beyond
from workbench.gp.models.fits import ModelFit, prior_of, units_of
from workbench.gp.models.joint import MOST_JOINT, gaussian, in_parts, sum_bags
from workbench.gp.models.keeping import Kept
from workbench.gp.optimisation.hyperparameters import Hyperparameter
from workbench.gp.predictive import Normal


class ExactState(EvidenceState):
    """An aggregated GP assembled for one source.

    Hyperparameters that are all ``given`` say whether there is a noise variance to learn.
    """

    def __init__(self, model: Model, source: Source, given: Mapping | None = None):
        self.given, self.link = source, link_named("identity")
        self.source, self.rescaled = assembly.per_weight(source, model.options)
        self.options = options = replace(
            model.options, noise=noise_convention(model.options, self.source, given))
        bags = model.reduce(self.source.bags)
        self.transform = fit_inputs(self.source.bags, options.transform, options.extrapolation)
        x = self.transform(bags.x)
        scale = self.link.scale(self.source)
        terms = assembly.kernel_terms(options.kernel, bags.columns, x, options.seed, scale)
        self.field = ExactField(terms, x, OPERATORS[self.source.aggregation](bags))
        with torch.no_grad():
            self.field.mean.fill_(float(self.source.mean_rate))
        extent = bags.x.amax(0) - bags.x.amin(0)
        self.likelihood = NormalLikelihood.assemble(self.source, options.noise)
        self.noise = self.likelihood.noise
        items = [
            Hyperparameter("mean", self.field.mean, None, "value"),
            *assembly.kernel_hyperparameters(terms, self.transform, extent, scale),
            *self.likelihood.items,
        ]
        self.hyperparameters = assembly.finish(items, options)

    def evidence(self) -> Tensor:
        """Log evidence of the source at the present hyperparameters."""
        return self.field.evidence(self.source.targets.value, self.noise())

    def compute_posterior(self) -> None:
        """Keep the posterior at the present hyperparameters."""
        self.field.condition(self.source.targets.value, self.noise())


class ExactFit(ModelFit):
    """A fitted aggregated GP; the same calls as `VariationalFit`.

    ``trained`` and ``area_effect`` are accepted for a uniform interface: this model has no
    separate area effect, so they change nothing.
    """

    def latent(self, bags: Bags) -> Normal:
        """Distribution of f at the individuals."""
        bags = cast_bags(bags, self.state.options)
        mean, variance = self.state.field.marginals(self.state.transform(bags.x))
        return Normal(mean.detach(), variance.detach().sqrt())

    def prior(self, bags: Bags) -> Normal:
        """Distribution of f at the individuals before anything was observed."""
        return prior_of(self.state, bags)

    def at(self, bags: Bags, trained=None, area_effect: bool = False) -> Normal:
        """Distribution of the rate at the individuals, the same as `latent`."""
        return self.latent(bags)

    def over(self, bags: Bags, trained=None, area_effect: bool = False) -> Normal:
        """Distribution of the bag parameter."""
        bags = self.model.reduce(cast_bags(bags, self.state.options))
        operator = OPERATORS[self.state.source.aggregation](bags)
        mean, variance = self.state.field.aggregate(self.state.transform(bags.x), operator)
        return Normal(mean.detach(), variance.detach().sqrt())

    def coefficients(self) -> dict[str, tuple[Tensor, Tensor]]:
        """As of `VariationalFit.coefficients`, where the field is exact."""
        field = self.state.field
        return field.coefficients() if type(field) is ExactField else super().coefficients()

    def draw_latent(self, bags: Bags, samples: int, seed: int) -> Tensor:
        """Joint draws of f at the individuals (samples, N); see `workbench.gp.models.joint`."""
        generator, bags = np.random.default_rng(seed), cast_bags(bags, self.state.options)
        return in_parts(bags, lambda part, _: self._joint(part, samples, generator))

    def _joint(self, bags: Bags, samples: int, generator) -> Tensor:
        mean, covariance = self.state.field.joint(self.state.transform(bags.x))
        return gaussian(mean.detach(), covariance.detach(), samples, generator)

    def draw_rates(self, bags: Bags, trained, samples: int, seed: int) -> Tensor:
        """Joint draws of the rate at the individuals, the same as `draw_latent`."""
        return self.draw_latent(bags, samples, seed)

    def draw_totals(self, bags: Bags, trained, samples: int, seed: int) -> Tensor:
        """Joint draws of the bag parameters (samples, B)."""
        generator = np.random.default_rng(seed)
        bags = self.model.reduce(cast_bags(bags, self.state.options))
        return in_parts(bags, lambda part, _: self._totals(part, samples, generator))

    def _totals(self, bags: Bags, samples: int, generator) -> Tensor:
        operator = OPERATORS[self.state.source.aggregation](bags)
        mean, covariance = self.state.field.joint_of_bags(self.state.transform(bags.x), operator)
        return gaussian(mean.detach(), covariance.detach(), samples, generator)

    def simulate_bags(self, bags: Bags, trained, samples: int, seed: int) -> Tensor:
        """Joint posterior predictive observations of bags (samples, B)."""
        bags = cast_bags(bags, self.state.options)
        drawn = self.draw_totals(bags, None, samples, seed)
        return self._observe(drawn, bags, False, seed)

    def simulate_individuals(self, bags: Bags, trained, samples: int, seed: int) -> Tensor:
        """Joint posterior predictive observations of individuals (samples, N)."""
        bags = cast_bags(bags, self.state.options)
        drawn = self.draw_rates(bags, None, samples, seed)
        return self._observe(drawn, bags, True, seed)

    def preserve(self, bags: Bags, trained, totals: Tensor, samples: int, seed: int
                 ) -> tuple[Tensor, Tensor]:
        """Expectations and observations of individuals given totals (samples, N) each.

        See `workbench.gp.likelihoods.preserving`.
        """
        bags = cast_bags(bags, self.state.options)
        drawn = self.draw_rates(bags, trained, samples, seed)
        return self._preserved(drawn, bags, totals, np.random.default_rng([seed, 1]))

    def _observe(self, drawn: Tensor, bags: Bags, individual: bool, seed: int) -> Tensor:
        return self.state.likelihood.observe(drawn, units_of(self.state, bags, individual),
                                             np.random.default_rng([seed, 1]))


class AggregatedGP(Model):
    """Exact GP regression on weighted bag means or sums, Normal observations, identity link.

    Counts are modelled as rates per unit of weight. Needs all pairs of individuals per evaluation:
    meant for up to some ten thousands of them; `VBAgg` with ``likelihood="normal"`` scales further.
    A fit that would take more than ``hours``, by its estimate, is refused before it starts.
    """

    name = "aggregated-gp"
    summary = "exact GP on bag means, full covariance between bags"
    paper = "Chau et al. 2021 (true aggregated GP); Hamelijnck et al. 2019"
    options_type = ExactOptions
    state_type, fit_type = ExactState, ExactFit
    imagines = True

    def pairs(self, bags: Bags) -> int:
        """Pairs of individuals that one evaluation visits."""
        return len(bags.x) ** 2

    def cost(self, bags: Bags) -> tuple[float, float]:
        """Roughly how many seconds and bytes a fit takes at most; see `exact_cost`."""
        bags = self.reduce(bags)
        return exact_cost(bags, self.pairs(bags), self.options)

    def fit(self, source: Source, *, progress: bool = False, callback=None) -> ModelFit:
        """As `Model.fit`; refused where it would take too long."""
        if isinstance(self.options, ExactOptions):
            refuse_beyond(self.name, source.bags, self.pairs(source.bags), self.options)
        return super().fit(source, progress=progress, callback=callback)

    def condition(self, source: Source, hyperparameters: Mapping) -> ModelFit:
        """As `Model.condition`; the hyperparameters say whether there is a noise to learn."""
        return self._conditioned(self.state_type(self, source, hyperparameters), hyperparameters)

    def _blank(self, source: Source, kept: Kept) -> ExactState:
        return self.state_type(self, source, kept.given)

    @torch.no_grad()
    def imagine(self, source: Source, values: Mapping, seed: int, posterior: bool = False
                ) -> tuple[Tensor, Tensor]:
        """As `Model.imagine`, of up to `MOST_JOINT` individuals, all jointly."""
        require(len(source.bags.x) <= MOST_JOINT, f"{self.name} draws a field of at most "
                f"{MOST_JOINT:,} individuals, there are {len(source.bags.x):,}; use vbagg with "
                "likelihood='normal'")
        state = self.state_type(self, source, values)
        state.hyperparameters.fix(values)
        state.hyperparameters.require_all(values)
        generator, bags = np.random.default_rng(seed), cast_bags(source.bags, self.options)
        x = state.transform(bags.x)
        if posterior:
            state.compute_posterior()
            mean, covariance = state.field.joint(x)
        else:
            mean, covariance = state.field.mean.expand(len(x)), state.field.prior(x, x)
        drawn = gaussian(mean, covariance, 1, generator)
        summed = sum_bags(OPERATORS[state.source.aggregation](bags), drawn)
        observed = state.likelihood.observe(summed, units_of(state, bags, False), generator)
        return drawn[0], observed[0]
