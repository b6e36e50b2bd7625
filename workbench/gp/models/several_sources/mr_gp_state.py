"""A multi-resolution GP assembled for its sources.

p(f | y) ∝ p(f) Π_a N(y_a; A_a f, σ_a²)^φ_a is the posterior under noise σ_a²/φ_a. With Λ these
tempered variances the log normaliser is

    log N(y; A mean, A K Aᵀ + Λ) + Σ_a Σ_n [(1 - φ_a) log(2π σ_a²) - log φ_a] / 2,

the maximum over all q of the composite evidence bound.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import torch
from torch import Tensor

from workbench.checks import reject
from workbench.gp.data.bags import Bags
from workbench.gp.fields.exact import ExactField
from workbench.gp.fields.geometry import Geometry, geometry
from workbench.gp.fields.inducing import Aggregated, InducingField
from workbench.gp.fields.projected import aggregated_data
from workbench.gp.inference.collapsed import collapsed
from workbench.gp.kernels.operators import AggregationOperator
from workbench.gp.models import assembly
from workbench.gp.models.several_sources.base import SourcesState
from workbench.gp.models.several_sources.magnitude import Weights
from workbench.gp.models.several_sources.sources import stack
from workbench.gp.optimisation.starts import scan_lengthscales
from workbench.gp.optimisation.training import History, maximise_evidence


class StackedOperator(AggregationOperator):
    """The operators of several sources as one."""

    def __init__(self, bags: Bags, operators: list[AggregationOperator]):
        self.bags = bags
        self._coefficients = torch.cat([o.coefficients() for o in operators])

    def coefficients(self) -> Tensor:
        """Those of the sources, one after the other (N,)."""
        return self._coefficients


class MRGPState(SourcesState):
    """A multi-resolution GP assembled for its sources; parameters are those of `SourcesState`.

    Raises
    ------
    InputError
        If the sources are of several tasks.
    """

    def __init__(self, model, sources):
        super().__init__(model, sources)
        options = self.options
        if len(self.sources.tasks) > 1:
            raise reject("sources of one task", f"tasks {', '.join(self.sources.tasks)}",
                         "use mr-gprn or mr-dgp, which relate tasks to each other")
        x, scale = self.sources.x, self.sources.scale[0]
        self.operator = StackedOperator(self.sources.bags, [p.operator for p in self.sources])
        terms = assembly.kernel_terms(
            options.kernel, self.sources.bags.columns, x, options.seed, scale)
        self.value = torch.cat([p.value for p in self.sources])
        self._geometries: dict[int, Geometry] = {}
        self.field = ExactField(terms, x, self.operator) if options.inducing == 0 else (
            assembly.inducing_field(terms, x, options.inducing, options.seed))
        mean = self.sources.means()[0]
        mean.raw = self.field.mean
        with torch.no_grad():
            self.field.mean.fill_(self.sources.start[0])
        self.kernel_items = assembly.kernel_hyperparameters(
            terms, self.transform, self.sources.extent, scale)
        self.hyperparameters = assembly.finish(
            [mean, *self.kernel_items, *self.sources.noises()], options)
        self.weights, self.estimate = self.given_weights, Weights(self.given_weights)
        self.learning = self._clusters()
        if self.hyperparameters.free:
            scan_lengthscales(self.kernel_items, self.learning_evidence, set(options.initial))

    def set_weights(self, estimate: Weights) -> None:
        """Multiply the powers of the sources' likelihoods by estimated weights."""
        self.estimate, self.weights = estimate, self.given_weights * estimate.weights

    def _clusters(self) -> tuple[Tensor, StackedOperator] | None:
        """Inputs and bags of clusters, where there are many individuals."""
        few = self.sources.clusters(self.options.compress, self.options.seed) if (
            self.hyperparameters.free) else None
        if few is None:
            return None
        inputs, operators = zip(*few, strict=True)
        return torch.cat(inputs), StackedOperator(stack([o.bags for o in operators]), operators)

    def inducing_fields(self) -> list[InducingField]:
        """The field, unless it is exact."""
        return [self.field] if self.options.inducing > 0 else []

    def learnt(self) -> dict[str, Tensor]:
        """Powers of the sources' likelihoods."""
        return {"weights": self.weights}

    def recall(self, learnt: Mapping[str, Tensor]) -> None:
        """The posterior follows from the hyperparameters and the powers."""
        self.weights = learnt["weights"].to(self.given_weights)
        self.estimate = Weights(self.weights / self.given_weights)
        self.compute_posterior()

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
            return collapsed(self._seen(x, operator), self.value, variance, power)[0]
        field = self.field
        if operator is not self.operator:
            field = ExactField(list(self.field.terms), x, operator)
            field.mean = self.field.mean
        constant = (1 - power) * (2 * math.pi * variance).log() - power.log()
        return field.evidence(self.value, variance / power) + 0.5 * constant.sum()

    def _seen(self, x: Tensor, operator: StackedOperator) -> Aggregated:
        """Through the inducing inputs; what does not change with hyperparameters is kept."""
        if id(operator) not in self._geometries:
            self._geometries[id(operator)] = geometry(x, operator)
        return aggregated_data(self.field, self._geometries[id(operator)])

    def train(self, progress: bool, callback) -> History:
        """Maximise the composite evidence plus log prior, then compute the posterior."""
        history = maximise_evidence(self.learning_evidence, self.hyperparameters, self.options,
                                    progress=progress, callback=callback)
        if self.learning is not None:
            history.notes.append(
                f"hyperparameters learnt on at most {self.options.compress} clusters per bag "
                f"(option compress); the posterior uses all {len(self.sources.x)} individuals")
        history.notes[:0] = [*self.sources.notes, *self.estimate.notes]
        self.compute_posterior()
        return history

    @torch.no_grad()
    def compute_posterior(self) -> None:
        """Keep the posterior at the present hyperparameters."""
        variance, power = self.noise_variance(), self.powers()
        if self.options.inducing == 0:
            self.field.condition(self.value, variance / power)
        else:
            seen = self._seen(self.sources.x, self.operator)
            self.field.set_q(*collapsed(seen, self.value, variance, power)[1:])
