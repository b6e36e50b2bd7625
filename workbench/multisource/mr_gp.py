"""MR-GP: one Gaussian process behind several sources, conditioned in closed form.

p(f | y) ∝ p(f) Π_a N(y_a; A_a f, σ_a²)^φ_a is the posterior under noise σ_a²/φ_a. With Λ these
tempered variances the log normaliser is

    log N(y; A mean, A K Aᵀ + Λ) + Σ_a Σ_n [(1 - φ_a) log(2π σ_a²) - log φ_a] / 2,

the maximum over all q of the composite evidence bound.

References
----------
Hamelijnck et al. 2019, section 3.1 (MR-GP); with φ = 1 the product likelihood of VBAGG-NORMAL.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from workbench.bags import Bags
from workbench.checks import reject
from workbench.collapsed import collapsed
from workbench.compression import compress
from workbench.fields.exact import ExactField
from workbench.fields.inducing import InducingField
from workbench.geometry import Geometry, geometry
from workbench.kernels import build, inducing_inputs
from workbench.models import assembly
from workbench.models.options import cast_bags
from workbench.multisource.base import MultiSourceModel, SourcesFit, SourcesState
from workbench.multisource.composite import StackedOperator, weigh
from workbench.multisource.magnitude import Weights
from workbench.multisource.options import MRGPOptions
from workbench.multisource.sources import SourceSet, stack
from workbench.multisource.starts import scan_lengthscales
from workbench.operators import OPERATORS
from workbench.predictive import Normal
from workbench.training import History, maximise
from workbench.views import View, view

_SMALL = 4_000      # individuals for whom looking for clusters saves nothing


class MRGP(MultiSourceModel):
    """Multi-resolution GP: one field behind several sources of one quantity, in closed form.

    Every source has bags of its own, of any size and wherever they lie, and a noise of its own.
    Sources that depend on each other make the posterior too narrow under the product of their
    likelihoods; ``composite`` estimates powers that correct it.

    Parameters
    ----------
    **options
        Fields of `MRGPOptions`.

    Raises
    ------
    InputError
        If the sources are of several tasks.

    References
    ----------
    Hamelijnck et al. 2019, section 3; appendix E for its relation to VBAGG-NORMAL.
    """

    name = "mr-gp"
    summary = "one GP behind several sources, exact; composite weights for dependent ones"
    paper = "Hamelijnck et al. 2019 (MR-GP; VBAGG-NORMAL of several sources)"
    options_type = MRGPOptions

    def _assemble(self, sources, callback) -> MRGPState:
        state = MRGPState(self, sources)
        # Before values are given: the same sources have the same weights, conditioned or learnt.
        state.weigh(callback)
        return state

    def _fitted(self, state, history: History) -> MRGPFit:
        return MRGPFit(self, state, history)

    def weights_of(self, sources, callback=None) -> Weights:
        """Composite weights of sources, without a fit."""
        return self._assemble(sources, callback).estimate


class MRGPState(SourcesState):
    """A multi-resolution GP assembled for its sources."""

    def __init__(self, model: MRGP, sources):
        self.options = options = model.options
        self.sources = SourceSet(sources, options, model.reduce)
        if len(self.sources.tasks) > 1:
            raise reject("sources of one task", f"tasks {', '.join(self.sources.tasks)}",
                         "use mr-gprn or mr-dgp, which relate tasks to each other")
        x, scale = self.sources.x, self.sources.scale[0]
        self.operator = StackedOperator(self.sources.bags, [p.operator for p in self.sources])
        terms = build(options.kernel, self.sources.bags.columns, x, options.seed)
        for term in terms:
            if term.name != "kernel":
                term.kernel.outputscale = term.kernel.outputscale.detach() * scale**2
        self.value = torch.cat([p.value for p in self.sources])
        self._geometries: dict[int, Geometry] = {}
        if options.inducing == 0:
            self.field = ExactField(terms, x, self.operator)
        else:
            z = [None if t.weights else inducing_inputs(t, x, options.inducing, options.seed)
                 for t in terms]
            self.field = InducingField(terms, z)
        mean = self.sources.means()[0]
        mean.raw = self.field.mean
        with torch.no_grad():
            self.field.mean.fill_(self.sources.start[0])
        self.kernel_items = assembly.kernel_hyperparameters(
            terms, self.transform, self.sources.extent, scale)
        self.hyperparameters = assembly.finish(
            [mean, *self.kernel_items, *self.sources.noises()], options)
        self.given_weights = torch.tensor([p.source.trust for p in self.sources]).to(x)
        self.weights, self.estimate = self.given_weights, Weights(self.given_weights)
        self.learning = self._clusters()
        if self.hyperparameters.free:
            scan_lengthscales(self.kernel_items, self.learning_evidence, set(options.initial))

    def weigh(self, callback=None) -> None:
        """Estimate composite weights, if the options ask for them."""
        self.estimate = weigh(self, callback)
        self.weights = self.given_weights * self.estimate.weights

    def _clusters(self) -> tuple[Tensor, StackedOperator] | None:
        """Inputs and bags of clusters, where there are many individuals."""
        most = self.options.compress
        if most == 0 or len(self.sources.x) <= _SMALL or not self.hyperparameters.free:
            return None
        few = [compress(replace(p.operator.bags, x=p.x), most, self.options.seed).bags
               for p in self.sources]
        operators = [OPERATORS[p.source.aggregation](b)
                     for p, b in zip(self.sources, few, strict=True)]
        return torch.cat([b.x for b in few]), StackedOperator(stack(few), operators)

    def noise_variance(self) -> Tensor:
        """σ² of every observation (B,)."""
        return torch.cat([p.noise() for p in self.sources])

    def powers(self) -> Tensor:
        """φ of every observation (B,)."""
        return torch.cat([w.expand(p.operator.bags.count)
                          for w, p in zip(self.weights, self.sources, strict=True)])

    def evidence(self) -> Tensor:
        """Log normaliser of the composite posterior, or its bound through inducing inputs."""
        return self._evidence(self.sources.x, self.operator)

    def learning_evidence(self) -> Tensor:
        """The same on clusters of individuals, where there are many."""
        return self.evidence() if self.learning is None else self._evidence(*self.learning)

    def _evidence(self, x: Tensor, operator: StackedOperator) -> Tensor:
        variance, power = self.noise_variance(), self.powers()
        if self.options.inducing > 0:
            return collapsed(self._view(x, operator), self.value, variance, power)[0]
        field = self.field
        if operator is not self.operator:
            field = ExactField(list(self.field.terms), x, operator)
            field.mean = self.field.mean
        constant = (1 - power) * (2 * math.pi * variance).log() - power.log()
        return field.evidence(self.value, variance / power) + 0.5 * constant.sum()

    def _view(self, x: Tensor, operator: StackedOperator) -> View:
        """Through the inducing inputs; what does not change with hyperparameters is kept."""
        if id(operator) not in self._geometries:
            self._geometries[id(operator)] = geometry(x, operator)
        return view(self.field, self._geometries[id(operator)], torch.zeros(()).to(x), None)

    def train(self, progress: bool, callback) -> History:
        """Maximise the composite evidence plus log prior, then keep the posterior."""
        history = maximise(
            lambda pulse: self.learning_evidence() + self.hyperparameters.log_prior(),
            self.hyperparameters,
            snapshot=lambda: None, restore=lambda _: None, max_steps=self.options.max_steps,
            tolerance=self.options.tolerance, progress=progress, callback=callback, restarts=5)
        if self.learning is not None:
            history.notes.append(
                f"hyperparameters learnt on at most {self.options.compress} clusters per bag "
                f"(option compress); the posterior uses all {len(self.sources.x)} individuals")
        history.notes[:0] = [*self.sources.notes, *self.estimate.notes]
        self.settle()
        return history

    @torch.no_grad()
    def settle(self) -> None:
        """Keep the posterior at the present hyperparameters."""
        variance, power = self.noise_variance(), self.powers()
        if self.options.inducing == 0:
            self.field.condition(self.value, variance / power)
        else:
            seen = self._view(self.sources.x, self.operator)
            self.field.set_q(*collapsed(seen, self.value, variance, power)[1:])


class MRGPFit(SourcesFit):
    """A fitted multi-resolution GP."""

    def at(self, bags: Bags, trained=None, area_effect: bool = False, task: str | None = None,
           source: str | None = None) -> Normal:
        """Law of the field at the individuals."""
        state = self.state
        state.sources.asked(task, source)
        bags = cast_bags(bags, state.options)
        rows = max(1, 30_000_000 // max(len(state.sources.x), 1))
        parts = [state.field.marginals(state.transform(c)) for c in bags.x.split(rows)]
        mean, variance = (torch.cat(p).detach() for p in zip(*parts, strict=True))
        return Normal(mean, variance.clamp_min(0).sqrt())

    def over(self, bags: Bags, trained=None, area_effect: bool = False, task: str | None = None,
             source: str | None = None) -> Normal:
        """Law of the mean or sum of the field over each bag."""
        state = self.state
        kind = state.sources.asked(task, source).source.aggregation
        bags = self.model.reduce(cast_bags(bags, state.options))
        with torch.no_grad():
            mean, variance = state.field.aggregate(
                state.transform(bags.x), OPERATORS[kind](bags))
        return Normal(mean, variance.clamp_min(0).sqrt())

    @torch.no_grad()
    def draw(self, bags: Bags, samples: int, seed: int = 0, task: str | None = None) -> Tensor:
        """Joint draws of the field at the individuals (samples, n)."""
        state, rng = self.state, np.random.default_rng(seed)
        state.sources.asked(task)
        x = state.transform(cast_bags(bags, state.options).x)
        if state.options.inducing == 0:
            mean, covariance = state.field.joint(x)
        else:
            seen, q = state.field.project(x), state.field
            mean = seen.offset + seen.features @ q.q_mean
            covariance = (seen.features @ q.q_covariance @ seen.features.mT
                          + q.unexplained(x, seen.features))
        values, vectors = torch.linalg.eigh(covariance)
        white = torch.as_tensor(rng.standard_normal((samples, len(x)))).to(x)
        return mean + white @ (vectors * values.clamp_min(0).sqrt()).mT

    def joint(self, bags: Bags) -> tuple[Tensor, Tensor]:
        """Mean (n,) and covariance (n, n) of the field at the individuals.

        Raises
        ------
        InputError
            If the fit has inducing inputs.
        """
        state = self.state
        if state.options.inducing > 0:
            raise reject("an exact fit", f"{state.options.inducing} inducing inputs",
                         "fit with inducing=0")
        return state.field.joint(state.transform(cast_bags(bags, state.options).x))

    def move(self, values: Mapping) -> MRGPFit:
        """The posterior with some hyperparameters at other values and all else as it is."""
        state = MRGPState(self.model, self.state.given)
        state.hyperparameters.fix({**self.hyperparameters, **values})
        state.weights, state.estimate = self.state.weights, self.state.estimate
        state.settle()
        return MRGPFit(self.model, state, self.history)
