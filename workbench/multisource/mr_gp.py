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

import torch
from torch import Tensor

from workbench.bags import Bags
from workbench.checks import reject
from workbench.collapsed import collapsed
from workbench.fields.exact import ExactField
from workbench.fields.inducing import InducingField
from workbench.geometry import geometry
from workbench.kernels import build, inducing_inputs
from workbench.models import assembly
from workbench.models.options import cast_bags
from workbench.multisource.base import MultiSourceModel, SourcesFit, SourcesState
from workbench.multisource.composite import StackedOperator, weigh
from workbench.multisource.magnitude import Weights
from workbench.multisource.options import MRGPOptions
from workbench.multisource.sources import SourceSet
from workbench.multisource.starts import scan_lengthscales
from workbench.predictive import Normal
from workbench.training import History, maximise
from workbench.views import View, view


class MRGP(MultiSourceModel):
    """Multi-resolution GP: one field behind several sources of one quantity, in closed form.

    Every source has bags of its own, of any size and wherever they lie, and a noise of its own.
    Sources that depend on each other make the posterior too narrow under the product of their
    likelihoods; ``composite`` estimates powers that mend this.

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

    def _train(self, sources, given: Mapping, progress, callback, condition) -> MRGPFit:
        state = MRGPState(self, sources)
        state.hyperparameters.fix(given)
        if condition:
            state.hyperparameters.require_all(given)
        return MRGPFit(self, state, state.train(progress, callback))

    def weights_of(self, sources) -> Weights:
        """Composite weights of sources, without a fit."""
        return weigh(MRGPState(self, sources))


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
        self.geometry = None
        if options.inducing == 0:
            self.field = ExactField(terms, x, self.operator)
        else:
            z = [None if t.weights else inducing_inputs(t, x, options.inducing, options.seed)
                 for t in terms]
            self.field = InducingField(terms, z)
            self.geometry = geometry(x, self.operator)
        mean = self.sources.means()[0]
        mean.raw = self.field.mean
        with torch.no_grad():
            self.field.mean.fill_(self.sources.start[0])
        self.kernel_items = assembly.kernel_hyperparameters(
            terms, self.transform, self.sources.extent, scale)
        self.hyperparameters = assembly.finish(
            [mean, *self.kernel_items, *self.sources.noises()], options)
        self.given_weights = torch.tensor([p.source.trust for p in self.sources]).to(x)
        self.weights = self.given_weights
        if self.hyperparameters.free:
            scan_lengthscales(self.kernel_items, self.evidence, set(options.initial))

    def noise_variance(self) -> Tensor:
        """σ² of every observation (B,)."""
        return torch.cat([p.noise() for p in self.sources])

    def powers(self) -> Tensor:
        """φ of every observation (B,)."""
        return torch.cat([w.expand(p.operator.bags.count)
                          for w, p in zip(self.weights, self.sources, strict=True)])

    def evidence(self) -> Tensor:
        """Log normaliser of the composite posterior, or its bound through inducing inputs."""
        variance, power = self.noise_variance(), self.powers()
        if self.geometry is not None:
            return collapsed(self._view(), self.value, variance, power)[0]
        constant = (1 - power) * (2 * math.pi * variance).log() - power.log()
        return self.field.evidence(self.value, variance / power) + 0.5 * constant.sum()

    def _view(self) -> View:
        return view(self.field, self.geometry, torch.zeros(()).to(self.value), None)

    def train(self, progress: bool, callback) -> History:
        """Composite weights, then the composite evidence plus log prior, then the posterior."""
        self.estimate = weigh(self)
        self.weights = self.given_weights * self.estimate.weights
        history = maximise(
            lambda pulse: self.evidence() + self.hyperparameters.log_prior(), self.hyperparameters,
            snapshot=lambda: None, restore=lambda _: None, max_steps=self.options.max_steps,
            tolerance=self.options.tolerance, progress=progress, callback=callback, restarts=5)
        history.notes[:0] = self.estimate.notes
        self.settle()
        return history

    @torch.no_grad()
    def settle(self) -> None:
        """Keep the posterior at the present hyperparameters."""
        variance, power = self.noise_variance(), self.powers()
        if self.geometry is None:
            self.field.condition(self.value, variance / power)
        else:
            self.field.set_q(*collapsed(self._view(), self.value, variance, power)[1:])


class MRGPFit(SourcesFit):
    """A fitted multi-resolution GP."""

    def at(self, bags: Bags, trained=None, area_effect: bool = False, task: str | None = None,
           source: str | None = None) -> Normal:
        """Law of the field at the individuals."""
        state = self.state
        state.sources.task_of(task, source)
        bags = cast_bags(bags, state.options)
        rows = max(1, 30_000_000 // max(len(state.sources.x), 1))
        parts = [state.field.marginals(state.transform(c)) for c in bags.x.split(rows)]
        mean, variance = (torch.cat(p).detach() for p in zip(*parts, strict=True))
        return Normal(mean, variance.clamp_min(0).sqrt())

    def over(self, bags: Bags, trained=None, area_effect: bool = False, task: str | None = None,
             source: str | None = None) -> Normal:
        """Law of the mean or sum of the field over each bag."""
        state = self.state
        state.sources.task_of(task, source)
        bags = self.model.reduce(cast_bags(bags, state.options))
        with torch.no_grad():
            mean, variance = state.field.aggregate(state.transform(bags.x), self.operator(bags))
        return Normal(mean, variance.clamp_min(0).sqrt())

    def joint(self, bags: Bags) -> tuple[Tensor, Tensor]:
        """Mean (n,) and covariance (n, n) of the field at the individuals.

        Raises
        ------
        InputError
            If the fit has inducing inputs.
        """
        state = self.state
        if state.geometry is not None:
            raise reject("an exact fit", f"{state.options.inducing} inducing inputs",
                         "fit with inducing=0")
        return state.field.joint(state.transform(cast_bags(bags, state.options).x))

    @property
    def composite_weights(self) -> dict[str, float]:
        """Power of each source's likelihood, by name."""
        names = [p.name for p in self.state.sources]
        return dict(zip(names, self.state.weights.tolist(), strict=True))

    def move(self, values: Mapping) -> MRGPFit:
        """The posterior with some hyperparameters at other values and all else as it is."""
        state = MRGPState(self.model, self.state.given)
        state.hyperparameters.fix({**self.hyperparameters, **values})
        state.weights, state.estimate = self.state.weights, self.state.estimate
        state.settle()
        return MRGPFit(self.model, state, self.history)
