"""The aggregated GP: exact Gaussian conditioning on bags with their full covariance.

References
----------
Chau et al. 2021, section 4.1, name BAGG-GP a model with bags independent a priori; this one keeps
the whole covariance A K Aᵀ between bags, block kriging's block-to-block covariance.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor

from workbench.bags import Bags, Source
from workbench.fields.exact import ExactField
from workbench.hyperparameters import Hyperparameter
from workbench.inputs import fit_inputs
from workbench.kernels import build
from workbench.links import link_named
from workbench.models import assembly, preserving
from workbench.models.base import Model, ModelFit
from workbench.models.density import log_density
from workbench.models.joint import gaussian, in_parts, sum_bags
from workbench.models.options import (
    AggregatedOptions,
    cast_bags,
    cast_source,
)
from workbench.operators import OPERATORS
from workbench.predictive import Normal
from workbench.training import History, maximise


class AggregatedGP(Model):
    """Exact GP regression on weighted bag means or sums, Normal observations, identity link.

    Counts are modelled as rates per unit of weight. Needs all pairs of individuals per evaluation:
    meant for up to some thousands of them; `VBAgg` with ``likelihood="normal"`` scales further.

    Parameters
    ----------
    **options
        Fields of `AggregatedOptions`.
    """

    name = "aggregated-gp"
    summary = "exact GP on bag means, full covariance between bags"
    paper = "Chau et al. 2021 (true aggregated GP); Hamelijnck et al. 2019"
    options_type = AggregatedOptions

    def fit(self, source: Source, *, progress: bool = False, callback=None) -> ExactFit:
        """Maximise evidence plus log prior over the free hyperparameters."""
        return self._train(source, {}, progress, callback, False)

    def condition(self, source: Source, hyperparameters: Mapping) -> ExactFit:
        """Condition with all hyperparameters given and none trained."""
        return self._train(source, hyperparameters, False, None, True)

    @property
    def parts(self) -> tuple[type[ExactState], type[ExactFit]]:
        """State and fit of this model."""
        return ExactState, ExactFit

    def _train(self, source, given, progress, callback, condition) -> ExactFit:
        state_type, fit_type = self.parts
        state = state_type(self, source)
        state.hyperparameters.fix(given)
        if condition:
            state.hyperparameters.require_all(given)
        return fit_type(self, state, state.train(progress, callback))


class ExactState:
    """An aggregated GP assembled for one source."""

    likelihood_name = "normal"

    def __init__(self, model: AggregatedGP, source: Source):
        self.options, self.link = model.options, link_named("identity")
        self.given, options = source, self.options
        self.rescaled = source.kind == "count" and source.aggregation == "sum"
        self.source = cast_source(source.as_rates() if self.rescaled else source, options)
        bags = model.reduce(self.source.bags)
        self.transform = fit_inputs(self.source.bags, options.transform, options.extrapolation)
        x = self.transform(bags.x)
        terms = build(options.kernel, bags.columns, x, options.seed)
        self.field = ExactField(terms, x, OPERATORS[self.source.aggregation](bags))
        scale = assembly.link_scale(self.link, self.source)
        for term in terms:
            if term.name != "kernel":
                term.kernel.outputscale = term.kernel.outputscale.detach() * scale**2
        with torch.no_grad():
            self.field.mean.fill_(float(self.source.mean_rate))
        extent = bags.x.amax(0) - bags.x.amin(0)
        self.noise = assembly.NoiseModel(options.noise, self.source)
        items = [
            Hyperparameter("mean", self.field.mean, None, "value"),
            *assembly.kernel_hyperparameters(terms, self.transform, extent, scale),
            *self.noise.items,
        ]
        self.hyperparameters = assembly.finish(items, options)

    def evidence(self) -> Tensor:
        """Log evidence of the source at the present hyperparameters."""
        return self.field.evidence(self.source.targets.value, self.noise())

    def train(self, progress: bool, callback) -> History:
        """Maximise evidence plus log prior, then keep the posterior."""
        history = maximise(
            lambda pulse: self.evidence() + self.hyperparameters.log_prior(), self.hyperparameters,
            snapshot=lambda: None, restore=lambda _: None, max_steps=self.options.max_steps,
            tolerance=self.options.tolerance, progress=progress, callback=callback,
            restarts=5,
        )
        self.settle()
        return history

    def settle(self) -> None:
        """Keep the posterior at the present hyperparameters."""
        self.field.condition(self.source.targets.value, self.noise())


class ExactFit(ModelFit):
    """A fitted aggregated GP; the same calls as `VariationalFit`.

    ``trained`` and ``area_effect`` are accepted for a uniform interface: this model has no
    separate area effect, so they change nothing.
    """

    def latent(self, bags: Bags) -> Normal:
        """Law of f at the individuals."""
        bags = cast_bags(bags, self.state.options)
        rows = max(1, 30_000_000 // len(self.state.field.x))
        parts = [self.state.field.marginals(self.state.transform(c)) for c in bags.x.split(rows)]
        mean, variance = (torch.cat(p) for p in zip(*parts, strict=True))
        return Normal(mean.detach(), variance.detach().sqrt())

    def at(self, bags: Bags, trained=None, area_effect: bool = False) -> Normal:
        """Law of the rate at the individuals, the same as `latent`."""
        return self.latent(bags)

    def over(self, bags: Bags, trained=None, area_effect: bool = False) -> Normal:
        """Law of the bag parameter."""
        bags = self.model.reduce(cast_bags(bags, self.state.options))
        operator = OPERATORS[self.state.source.aggregation](bags)
        mean, variance = self.state.field.aggregate(self.state.transform(bags.x), operator)
        return Normal(mean.detach(), variance.detach().sqrt())

    def draw_latent(self, bags: Bags, samples: int, seed: int) -> Tensor:
        """Joint draws of f at the individuals (samples, N); see `workbench.models.joint`."""
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
        bags = self.model.reduce(cast_bags(bags, self.state.options))
        return sum_bags(OPERATORS[self.state.source.aggregation](bags),
                        self.draw_rates(bags, None, samples, seed))

    def simulate_bags(self, bags: Bags, trained, samples: int, seed: int) -> Tensor:
        """Joint posterior predictive observations of bags (samples, B)."""
        bags = cast_bags(bags, self.state.options)
        drawn = self.draw_totals(bags, None, samples, seed)
        return self._observe(drawn, self.state.noise.std(bags), bags.totals, seed)

    def simulate_individuals(self, bags: Bags, trained, samples: int, seed: int) -> Tensor:
        """Joint posterior predictive observations of individuals (samples, N)."""
        bags = cast_bags(bags, self.state.options)
        noise = self.state.noise.std(bags.singletons())
        drawn = self.draw_rates(bags, None, samples, seed)
        if self.state.source.aggregation == "sum" and not self.state.rescaled:
            drawn = drawn * bags.weight         # its contribution to a sum
        return self._observe(drawn, noise, bags.weight, seed)

    def preserve(self, bags: Bags, trained, totals: Tensor, samples: int, seed: int
                 ) -> tuple[Tensor, Tensor]:
        """Expectations and observations of individuals given totals (samples, N) each.

        See `workbench.models.preserving`.
        """
        bags = cast_bags(bags, self.state.options)
        drawn = self.draw_rates(bags, trained, samples, seed)
        noise = preserving.individual_noise(self.state.noise, bags)
        return preserving.preserve(self.state, drawn, bags, totals, noise,
                                   np.random.default_rng([seed, 1]))

    def log_density(self, y: Tensor, bags: Bags, trained: Tensor | None, unit: str, samples: int,
                    seed: int) -> Tensor:
        """See `workbench.models.density`."""
        return log_density(self, y, bags, trained, unit, samples, seed)

    def _observe(self, drawn: Tensor, noise: Tensor, weight: Tensor, seed: int) -> Tensor:
        generator = np.random.default_rng([seed, 1])
        observed = drawn + noise * torch.as_tensor(
            generator.standard_normal(tuple(drawn.shape))).to(drawn)
        return observed * weight if self.state.rescaled else observed
