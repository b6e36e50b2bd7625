"""A multi-resolution GP regression network assembled for its sources."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace

import torch
from torch import Tensor

from workbench.bags import Source, Targets
from workbench.compression import compress
from workbench.fields.inducing import InducingField
from workbench.hyperparameters import Hyperparameter
from workbench.kernels import build, inducing_inputs
from workbench.models import assembly
from workbench.multisource import updates
from workbench.multisource.base import SourcesState
from workbench.multisource.mixture_q import MixtureQ
from workbench.multisource.mr_gp import MRGP
from workbench.multisource.options import MRGPOptions
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
from workbench.operators import OPERATORS
from workbench.shapes import Inputs, PerBag
from workbench.training import History, maximise

# Options that name the network's parts, or say how far it is learnt.
_OWN = ("hyperparameters", "initial", "priors", "inducing", "max_steps", "tolerance")
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

    def factors(self, seen: Seen, found: dict[int, Moments]
                ) -> tuple[list[Moments], list[Moments]]:
        """Moments of the weights and of the basis at a source, from those of latent functions."""
        basis, weights = [], []
        for q in range(self.q_count):
            basis.append(found[self.basis(q)])
            if self.options.weights == "constant":
                item = self.constants[seen.part.task * self.q_count + q]
                weights.append(constant(seen.pairs, item.natural))
                continue
            weight = found[self.weight(seen.part.task, q)]
            weights.append(weight.exponential() if self.options.weights == "positive" else weight)
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

    def expected(self, seen: Seen, q: MixtureQ, found: list[dict[int, Moments]]) -> Tensor:
        """Expected log-likelihood of a source, eq. (35) with its signs mended, times its weight.

        ``found`` holds the moments of latent functions there, of each component of q.
        """
        target, variance = self.residual(seen), self.noise_variance(seen)
        total = 0.0
        for k in range(len(q)):
            weights, basis = self.factors(seen, found[k])
            gap = target - bag_mean(seen.pairs, weights, basis)
            total = total + q.weights[k] * (
                (gap.square() + bag_variance(seen.pairs, weights, basis)) / variance).sum()
        scale = self.sources.scale[seen.part.task]
        logs = (2 * math.pi * variance).log().sum() + len(target) * 2 * math.log(scale)
        return -0.5 * self.power(seen) * (total + logs)

    def bound(self, seen: list[Seen], q: MixtureQ, sights=None) -> Tensor:
        """The evidence bound."""
        sights = sights or [self.sights(s) for s in seen]
        found = [[at(v, q.component(k)) for k in range(len(q))] for v in sights]
        return self.bound_of(seen, q, found)

    def bound_of(self, seen: list[Seen], q: MixtureQ, found: list[list[dict[int, Moments]]]
                 ) -> Tensor:
        """The same from moments of latent functions, by source and component."""
        each = [self.expected(s, q, f) for s, f in zip(seen, found, strict=True)]
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
            self.estimate = composite_weights(self, callback)
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
        history.notes[:0] = self.sources.notes
        if history.cancelled:
            return history
        with torch.no_grad():
            sights = [self.sights(s) for s in self.full]
            if not updates.brought_home(self, sights, callback, history):
                return history
        if self.options.components > 1:
            updates.mix(self, sights)
        if self.estimate is not None:
            history.notes[:0] = self.estimate.notes
        return history

    def _restore(self, q: MixtureQ) -> None:
        self.q = q


def at(sights: dict[int, Sight], component: list[tuple[Tensor, Tensor]]) -> dict[int, Moments]:
    """Moments of every latent function at a source in one component of q."""
    return {g: moments(sight, *component[g]) for g, sight in sights.items()}


def composite_weights(state: GPRNState, callback=None):
    """Weights of the sources, estimated with one GP of the basis's kernel in place of the network.

    Scores are residuals of fits to each source alone, for which the tasks are put on one scale.
    """
    names = [f.name for f in fields(MRGPOptions) if f.name not in _OWN]
    inner = MRGP(**{name: getattr(state.options, name) for name in names})
    return inner.weights_of([_standardised(part, state) for part in state.sources], callback)


def _standardised(part: Prepared, state: GPRNState) -> Source:
    start, scale = state.sources.start[part.task], state.sources.scale[part.task]
    ones = part.operator(torch.ones(len(part.x)).to(part.x))
    known = part.source.targets.noise_variance
    targets = Targets((part.value - start * ones) / scale,
                      None if known is None else known / scale**2)
    bags = replace(part.operator.bags, x=part.operator.bags.x)
    return replace(part.source, bags=bags, targets=targets, task="value", trust=1.0)
