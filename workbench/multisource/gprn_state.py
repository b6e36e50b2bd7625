"""A multi-resolution GP regression network assembled for its sources."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from workbench.bags import Bags, Source, Targets
from workbench.compression import compress
from workbench.fields.inducing import InducingField
from workbench.hyperparameters import Hyperparameter
from workbench.kernels import build, inducing_inputs
from workbench.models import assembly
from workbench.multisource import updates
from workbench.multisource.base import SourcesState
from workbench.multisource.mixture_q import MixtureQ
from workbench.multisource.mr_gp import MRGP
from workbench.multisource.products import (
    Moments,
    Pairs,
    Sight,
    bag_mean,
    bag_variance,
    constant,
    look,
    moments,
    pairs_of,
)
from workbench.multisource.sources import Prepared, SourceSet
from workbench.operators import OPERATORS, Identity
from workbench.shapes import Inputs, PerBag
from workbench.training import History, maximise

_SMALL = 4_000      # individuals for whom looking for clusters saves nothing


@dataclass(frozen=True)
class Seen:
    """A source as q is learnt on it: inputs, and pairs of individuals inside bags."""

    part: Prepared
    x: Inputs
    pairs: Pairs
    ones: PerBag        # the operator applied to a constant one


class GPRNState(SourcesState):
    """Latent functions f_q and W_pq, their q, and the evidence bound.

    Values are standardised by task: y = mean_p A 1 + scale_p Σ_q A (W_pq f_q) + ε.
    """

    def __init__(self, model, sources):
        self.options, self.model = model.options, model
        self.sources = SourceSet(sources, self.options, model.reduce)
        self.q_count, self.p_count = self.options.latent, len(self.sources.tasks)
        self._latent_functions()
        self.means = self.sources.means()
        self.constants = self._constants()
        items = [*self.means, *self.basis_items, *self.weight_items, *self.constants,
                 *self.sources.noises()]
        self.hyperparameters = assembly.finish(items, self.options)
        self.given_weights = torch.tensor([p.source.trust for p in self.sources]).to(
            self.sources.x)
        self.weights, self.estimate = self.given_weights, None
        self.full = [self.see(p, p.x, p.operator) for p in self.sources]
        self.learning = self._clusters()
        self.q = updates.start(self)

    def _latent_functions(self) -> None:
        """f_1 ... f_Q, then W_11, W_12 ... W_PQ."""
        options, sources = self.options, self.sources
        self.fields: list[InducingField] = []
        self.basis_items: list[Hyperparameter] = []
        self.weight_items: list[Hyperparameter] = []
        for q in range(self.q_count):
            label = "f." if self.q_count == 1 else f"f{q + 1}."
            items = self._add(options.kernel, label)
            # The scale of f can be moved into W: one of the two is held.
            for item in items:
                if item.name.endswith(".variance") and options.weights != "constant":
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
        terms = build(kernel, self.sources.bags.columns, x, options.seed)
        z = [None if t.weights else inducing_inputs(t, x, options.inducing, options.seed)
             for t in terms]
        field = InducingField(terms, z)
        field.mean.requires_grad_(False)
        self.fields.append(field)
        items = assembly.kernel_hyperparameters(
            terms, self.transform, self.sources.extent, 1.0)
        for item in items:
            item.name = label + item.name
        return items

    def _constants(self) -> list[Hyperparameter]:
        """Weights that are numbers: one of every basis function is held at one, for its scale."""
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

    def basis(self, q: int) -> int:
        """Position of f_q among the latent functions."""
        return q

    def weight(self, p: int, q: int) -> int:
        """Position of W_pq among the latent functions."""
        return self.q_count + p * self.q_count + q

    def see(self, part: Prepared, x: Inputs, operator) -> Seen:
        """A source by its individuals, or by clusters of them."""
        return Seen(part, x, pairs_of(operator), operator(torch.ones(len(x)).to(x)))

    def _clusters(self) -> list[Seen]:
        if self.options.compress == 0 or len(self.sources.x) <= _SMALL:
            return self.full
        out = []
        for part in self.sources:
            few = compress(replace(part.operator.bags, x=part.x), self.options.compress,
                           self.options.seed).bags
            out.append(self.see(part, few.x, OPERATORS[part.source.aggregation](few)))
        return out

    def sights(self, seen: Seen) -> dict[int, Sight]:
        """Every latent function that the source's task has, at its individuals."""
        wanted = [self.basis(q) for q in range(self.q_count)]
        if self.options.weights != "constant":
            wanted += [self.weight(seen.part.task, q) for q in range(self.q_count)]
        return {g: look(self.fields[g], seen.x, seen.pairs) for g in wanted}

    def factors(self, seen: Seen, sights: dict[int, Sight], component
                ) -> tuple[list[Moments], list[Moments]]:
        """Moments of the weights and of the basis at a source, in one component of q."""
        basis, weights = [], []
        for q in range(self.q_count):
            g = self.basis(q)
            basis.append(moments(sights[g], *component[g]))
            if self.options.weights == "constant":
                item = self.constants[seen.part.task * self.q_count + q]
                weights.append(constant(seen.pairs, item.natural))
                continue
            g = self.weight(seen.part.task, q)
            found = moments(sights[g], *component[g])
            weights.append(found.exponential() if self.options.weights == "positive" else found)
        return weights, basis

    def residual(self, seen: Seen) -> PerBag:
        """Observations less the prior mean, in units of the task's scale (B,)."""
        task = seen.part.task
        gap = seen.part.value - self.means[task].natural * seen.ones
        return gap / self.sources.scale[task]

    def noise_variance(self, seen: Seen) -> PerBag:
        """Noise in the same units (B,)."""
        return seen.part.noise() / self.sources.scale[seen.part.task]**2

    def power(self, seen: Seen) -> Tensor:
        """Composite weight of a source."""
        return self.weights[self.sources.parts.index(seen.part)]

    def expected(self, seen: Seen, sights: dict[int, Sight], q: MixtureQ) -> Tensor:
        """Expected log-likelihood of a source, eq. (35) with its signs mended, times its weight."""
        target, variance = self.residual(seen), self.noise_variance(seen)
        total = 0.0
        for k in range(len(q)):
            weights, basis = self.factors(seen, sights, q.component(k))
            gap = target - bag_mean(seen.pairs, weights, basis)
            total = total + q.weights[k] * (
                (gap.square() + bag_variance(seen.pairs, weights, basis)) / variance).sum()
        scale = self.sources.scale[seen.part.task]
        logs = (2 * math.pi * variance).log().sum() + len(target) * 2 * math.log(scale)
        return -0.5 * self.power(seen) * (total + logs)

    def bound(self, seen: list[Seen], q: MixtureQ, sights=None) -> Tensor:
        """The evidence bound."""
        sights = sights or [self.sights(s) for s in seen]
        each = [self.expected(s, v, q) for s, v in zip(seen, sights, strict=True)]
        return sum(each) - q.divergence()

    def evidence(self) -> Tensor:
        """The bound of all individuals at the present q."""
        return self.bound(self.full, self.q)

    def profile(self, pulse=None) -> Tensor:
        """The bound at the best q plus log prior, differentiable in the hyperparameters."""
        sights = [self.sights(s) for s in self.learning]
        with torch.no_grad():
            updates.settle(self, self.learning,
                           [{g: v.detach() for g, v in one.items()} for one in sights], pulse,
                           self.options.sweeps, 1e-6)
        return self.bound(self.learning, self.q, sights) + self.hyperparameters.log_prior()

    def train(self, progress: bool, callback) -> History:
        """Composite weights, hyperparameters at the best single Gaussian, then the mixture."""
        if self.options.composite != "none" and len(self.sources) > 1:
            self.estimate = composite_weights(self)
            self.weights = self.given_weights * self.estimate.weights
        if self.hyperparameters.free:
            updates.choose_start(self)
        history = maximise(
            self.profile, self.hyperparameters, snapshot=lambda: self.q.copy(),
            restore=self._restore, max_steps=self.options.max_steps,
            tolerance=self.options.tolerance, progress=progress, callback=callback)
        if self.learning is not self.full:
            history.notes.append(
                f"hyperparameters learnt on at most {self.options.compress} clusters per bag "
                "(option compress); q has seen all individuals")
        with torch.no_grad():
            sights = [self.sights(s) for s in self.full]
            updates.settle(self, self.full, sights)
        if self.options.components > 1:
            updates.mix(self, sights)
        if self.estimate is not None:
            history.notes[:0] = self.estimate.notes
        return history

    def _restore(self, q: MixtureQ) -> None:
        self.q = q

    def point_seen(self, bags: Bags, task: int) -> Seen:
        """New individuals, each on its own."""
        return self.see(replace(self.sources.parts[0], task=task), self.transform(bags.x),
                        Identity(bags))

    def bags_seen(self, bags: Bags, task: int) -> Seen:
        """New bags, aggregated as the first source, as if they were a source of a task."""
        first = self.sources.parts[0]
        operator = OPERATORS[first.source.aggregation](bags)
        return self.see(replace(first, task=task), self.transform(bags.x), operator)


def composite_weights(state: GPRNState):
    """Weights of the sources, estimated with one GP of the basis's kernel in place of the network.

    Scores are residuals of fits to each source alone, for which the tasks are put on one scale.
    """
    options = state.options
    inner = MRGP(kernel=options.kernel, composite=options.composite,
                 composite_per=options.composite_per, score_blocks=options.score_blocks,
                 transform=options.transform, extrapolation=options.extrapolation,
                 noise=options.noise, seed=options.seed, dtype=options.dtype,
                 device=options.device, max_steps=options.max_steps)
    alike = [_standardised(part, state) for part in state.sources]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return inner.weights_of(alike)


def _standardised(part: Prepared, state: GPRNState) -> Source:
    start, scale = state.sources.start[part.task], state.sources.scale[part.task]
    ones = part.operator(torch.ones(len(part.x)).to(part.x))
    known = part.source.targets.noise_variance
    targets = Targets((part.value - start * ones) / scale,
                      None if known is None else known / scale**2)
    bags = replace(part.operator.bags, x=part.operator.bags.x)
    return replace(part.source, bags=bags, targets=targets, task="value", trust=1.0)
