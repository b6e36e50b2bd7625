"""A multi-resolution GP regression network assembled for its sources."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace

import torch
from torch import Tensor

from workbench.checks import stops
from workbench.gp.data.bags import Source, Targets
from workbench.gp.fields.inducing import InducingField
from workbench.gp.kernels.operators import AggregationOperator
from workbench.gp.models import assembly
from workbench.gp.models.several_sources import updates
from workbench.gp.models.several_sources.base import SourcesState
from workbench.gp.models.several_sources.curvature import Correction
from workbench.gp.models.several_sources.mr_gp import MRGP
from workbench.gp.models.several_sources.options import MRGPOptions
from workbench.gp.models.several_sources.products import (
    BagProjection,
    Moments,
    Pairs,
    at,
    bag_mean,
    bag_variance,
    constant,
    exponential,
    pairs_of,
    project,
)
from workbench.gp.models.several_sources.sources import StandardisedSource
from workbench.gp.numerics.linalg import standard_normal_kl
from workbench.gp.numerics.shapes import Inputs, PerBag
from workbench.gp.optimisation.hyperparameters import Hyperparameter
from workbench.gp.optimisation.training import RESTARTS, History, maximise

# Options that name the network's parts, or say how far it is learnt.
_OWN = ("hyperparameters", "initial", "priors", "inducing", "max_steps", "tolerance")
Q = list[tuple[Tensor, Tensor]]     # mean (M,) and covariance (M, M) of each latent function


@dataclass(frozen=True)
class ProjectedSource:
    """A source as q is learnt on it: inputs, and pairs of individuals inside bags."""

    part: StandardisedSource
    x: Inputs
    operator: AggregationOperator
    pairs: Pairs
    ones: PerBag        # the operator applied to a constant one


class GPRNState(SourcesState):
    """Latent functions f_q and W_pq, their q, and the evidence bound.

    Values are standardised by task: y = mean_p A 1 + scale_p Σ_q A (W_pq f_q) + ε.
    """

    def __init__(self, model, sources):
        super().__init__(model, sources)
        self.q_count, self.p_count = self.options.latent, len(self.sources.tasks)
        self._latent_functions()
        self.means = self.sources.means()
        self.constants = self._constants()
        items = [*self.means, *self.basis_items, *self.weight_items, *self.constants,
                 *self.sources.noises()]
        self.hyperparameters = assembly.finish(items, self.options)
        self.weights, self.estimate = self.given_weights, None
        self.full = [self.see(p, p.x, p.operator) for p in self.sources]
        few = self.sources.clusters(self.options.compress, self.options.seed)
        self.learning = self.full if few is None else [
            self.see(p, *clusters) for p, clusters in zip(self.sources, few, strict=True)]
        self.q: Q = updates.start(self)
        self._best: tuple[float, Q] | None = None   # the highest profile so far, and q there

    def _latent_functions(self) -> None:
        """f_1 ... f_Q, then W_11, W_12 ... W_PQ."""
        options, sources = self.options, self.sources
        self.fields: list[InducingField] = []
        self.basis_items: list[Hyperparameter] = []
        self.weight_items: list[Hyperparameter] = []
        for q in range(self.q_count):
            label = "f." if self.q_count == 1 else f"f{q + 1}."
            items = self._add(options.kernel, label)
            # The scale of f can be moved into W: one of the two is held. exp(W) is around one.
            for item in items:
                if item.name.endswith(".variance") and options.weights == "gp":
                    item.fixed = True
            self.basis_items += items
        if options.weights == "constant":
            return
        for task in sources.tasks:
            for q in range(self.q_count):
                label = "w" + ("" if self.q_count == 1 else str(q + 1))
                label += "." if self.p_count == 1 else f".{task}."
                self.weight_items += self._add(options.weight_kernel, label)

    def _add(self, kernel, label: str) -> list[Hyperparameter]:
        x, options = self.sources.x, self.options
        terms = assembly.kernel_terms(kernel, self.sources.bags.columns, x, options.seed)
        field = assembly.inducing_field(terms, x, options.inducing, options.seed)
        field.mean.requires_grad_(False)
        self.fields.append(field)
        items = assembly.kernel_hyperparameters(
            terms, self.transform, self.sources.extent, 1.0)
        for item in items:
            item.name = label + item.name
        return items

    def _constants(self) -> list[Hyperparameter]:
        """Weights that are numbers: one of every basis function is fixed at one, for its scale."""
        if self.options.weights != "constant":
            return []
        items = []
        for p, task in enumerate(self.sources.tasks):
            for q in range(self.q_count):
                name = "weight" + ("" if self.q_count == 1 else str(q + 1))
                name += "" if self.p_count == 1 else f".{task}"
                raw = torch.nn.Parameter(torch.ones(1).to(self.sources.x))
                items.append(Hyperparameter(name, raw, None, "", fixed=p == 0))
        return items

    @property
    def field(self) -> InducingField:
        """The first basis function, whose kernel tells which inputs matter."""
        return self.fields[0]

    def inducing_fields(self) -> list[InducingField]:
        """Those of all latent functions, whose q is kept apart from them."""
        return self.fields

    def learnt(self) -> dict[str, Tensor]:
        """q of the latent functions, and powers of the sources' likelihoods."""
        return {"weights": self.weights} | {
            f"{name}/{g}": part for g, one in enumerate(self.q)
            for name, part in zip(("mean", "covariance"), one, strict=True)}

    def recall(self, learnt: Mapping[str, Tensor]) -> None:
        """Take up q and the powers."""
        self.weights = learnt["weights"].to(self.given_weights)
        self.q = [(learnt[f"mean/{g}"].to(self.sources.x),
                   learnt[f"covariance/{g}"].to(self.sources.x)) for g in range(len(self.q))]

    def weight(self, p: int, q: int) -> int:
        """Position of W_pq among the latent functions, of which f_q is at position q."""
        return self.q_count + p * self.q_count + q

    def see(self, part: StandardisedSource, x: Inputs, operator) -> ProjectedSource:
        """A source by its individuals, or by clusters of them."""
        ones = operator(torch.ones(len(x)).to(x))
        return ProjectedSource(part, x, operator, pairs_of(operator), ones)

    def projections(self, seen: ProjectedSource) -> dict[int, BagProjection]:
        """Every latent function that the source's task has, at its individuals."""
        wanted = list(range(self.q_count))
        if self.options.weights != "constant":
            wanted += [self.weight(seen.part.task, q) for q in range(self.q_count)]
        return {g: project(self.fields[g], seen.x, seen.pairs) for g in wanted}

    def factors(self, seen: ProjectedSource, found: dict[int, Moments]
                ) -> tuple[list[Moments], list[Moments]]:
        """Moments of the weights and of the basis at a source, from those of latent functions."""
        basis, task = [found[q] for q in range(self.q_count)], seen.part.task
        if self.options.weights == "constant":
            numbers = self.constants[task * self.q_count:(task + 1) * self.q_count]
            return [constant(seen.pairs, item.natural) for item in numbers], basis
        weights = [found[self.weight(task, q)] for q in range(self.q_count)]
        if self.options.weights == "exp":
            weights = [exponential(w) for w in weights]
        return weights, basis

    def residual(self, seen: ProjectedSource) -> PerBag:
        """Observations less the prior mean, in units of the task's scale (B,)."""
        task = seen.part.task
        gap = seen.part.value - self.means[task].natural * seen.ones
        return gap / self.sources.scale[task]

    def noise_variance(self, seen: ProjectedSource) -> PerBag:
        """Noise in the same units (B,)."""
        return seen.part.noise() / self.sources.scale[seen.part.task]**2

    def power(self, seen: ProjectedSource) -> Tensor:
        """Composite weight of a source."""
        return self.weights[self.sources.parts.index(seen.part)]

    def expected(self, seen: ProjectedSource, found: dict[int, Moments]) -> Tensor:
        """Expected log-likelihood of a source, eq. (35) with its signs corrected, times its weight.

        ``found`` holds the moments of latent functions there.
        """
        target, variance = self.residual(seen), self.noise_variance(seen)
        weights, basis = self.factors(seen, found)
        gap = target - bag_mean(seen.pairs, weights, basis)
        total = ((gap.square() + bag_variance(seen.pairs, weights, basis)) / variance).sum()
        scale = self.sources.scale[seen.part.task]
        logs = (2 * math.pi * variance).log().sum() + len(target) * 2 * math.log(scale)
        return -0.5 * self.power(seen) * (total + logs)

    def bound(self, seen: list[ProjectedSource], q: Q, projections=None) -> Tensor:
        """The evidence bound."""
        projections = projections or [self.projections(s) for s in seen]
        return self.bound_of(seen, q, [at(one, q) for one in projections])

    def bound_of(self, seen: list[ProjectedSource], q: Q, found: list[dict[int, Moments]]
                 ) -> Tensor:
        """The same from moments of latent functions, by source."""
        each = [self.expected(s, f) for s, f in zip(seen, found, strict=True)]
        return sum(each) - sum(standard_normal_kl(*one) for one in q)

    def evidence(self) -> Tensor:
        """The bound of all individuals at the present q."""
        return self.bound(self.full, self.q)

    def profile(self, pulse=None) -> Tensor:
        """The bound at the best q plus log prior, differentiable in the hyperparameters."""
        projections = [self.projections(s) for s in self.learning]
        with torch.no_grad():
            fixed = [{g: v.detach() for g, v in one.items()} for one in projections]
            # A step too far may leave q at a poor optimum, from which it would not come back.
            if self._best is not None:
                self.q = list(max(self.q, self._best[1],
                                  key=lambda q: float(self.bound(self.learning, q, fixed))))
            updates.optimise_q(self, self.learning, fixed, pulse, updates.ROUNDS)
        value = self.bound(self.learning, self.q, projections) + self.hyperparameters.log_prior()
        if self._best is None or float(value.detach()) > self._best[0]:
            self._best = float(value.detach()), list(self.q)
        return value

    def train(self, progress: bool, callback) -> History:
        """Composite weights, then hyperparameters at the best q, then q on all individuals."""
        if self.options.composite != "none" and len(self.sources) > 1:
            self.estimate = composite_weights(self, callback)
            self.weights = self.given_weights * self.estimate.weights
        if self.hyperparameters.free:
            updates.choose_start(self)
        self._best = None       # of other weights of the sources
        history = maximise(
            self.profile, self.hyperparameters, snapshot=lambda: list(self.q),
            restore=self._restore, max_steps=self.options.max_steps,
            tolerance=self.options.tolerance, progress=progress, callback=callback,
            restarts=RESTARTS)
        if self.learning is not self.full:
            history.notes.append(
                f"hyperparameters learnt on at most {self.options.compress} clusters per bag "
                "(option compress); q has seen all individuals")
        history.notes[:0] = self.sources.notes
        if (not history.cancelled and updates.optimise_q_on_all_data(self, callback, history)
                and self.estimate is not None):
            history.notes[:0] = self.estimate.notes
            self._correct(callback, history)
        return history

    def _correct(self, callback, history: History) -> None:
        """Put the matrix in place of the weights under which hyperparameters were learnt."""
        if self.options.composite != "curvature" or not self.estimate.residuals:
            return
        self.weights = self.given_weights
        try:
            correction = Correction(self, self.estimate)
            correction.apply(updates.pulse_of(callback, history))
        except stops():
            history.cancelled = True
            history.notes.append("cancelled while q was corrected")
            return
        history.notes[:0] = correction.notes

    def _restore(self, q: Q) -> None:
        self.q = list(q)


def composite_weights(state: GPRNState, callback=None):
    """Weights of the sources, estimated with one GP of the basis's kernel in place of the network.

    Scores are residuals of fits to each source alone, for which the tasks are put on one scale.
    """
    names = [f.name for f in fields(MRGPOptions) if f.name not in _OWN]
    given = {name: getattr(state.options, name) for name in names}
    if given["composite"] == "curvature":
        given["composite"] = "ribatet"
    inner = MRGP(**given)
    return inner.weights_of([_standardised(part, state) for part in state.sources], callback)


def _standardised(part: StandardisedSource, state: GPRNState) -> Source:
    start, scale = state.sources.start[part.task], state.sources.scale[part.task]
    ones = part.operator(torch.ones(len(part.x)).to(part.x))
    known = part.source.targets.noise_variance
    targets = Targets((part.value - start * ones) / scale,
                      None if known is None else known / scale**2)
    return replace(part.source, bags=part.operator.bags, targets=targets, task="value",
                   trust=1.0)
