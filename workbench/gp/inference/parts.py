"""Bags worked through some at a time, so that what a step needs in between is that of a few.

The expected log-likelihood is a sum over bags. Values and gradients of runs of bags are added up,
and what a run needs in between is freed before the next: the objective is the same, and memory
hardly grows with the number of bags. Features of all bags are kept while q is sought, without
gradients.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from workbench.gp.fields.geometry import Geometry
from workbench.gp.fields.projected import ProjectedData
from workbench.gp.numerics.shapes import PerBag

# Entries of features that are worked on together: 32 MB in float64, and some ten times as much with
# all that is derived from them.
ENTRIES = 4_000_000

#: The expected log-likelihood of observations of some bags at q's moments.
Expected = Callable[[ProjectedData, PerBag, Tensor, Tensor], Tensor]


@dataclass(frozen=True)
class Parts:
    """A source at the present hyperparameters, in runs of its bags.

    Parameters
    ----------
    bags : list of slice
        Which of the source's.
    geometries : list of Geometry
        Of each run.
    project : callable
        From a geometry to its data at the hyperparameters, differentiable in these.
    fixed : list of ProjectedData
        Of each run, without gradients; empty where every sum projects ``anew``.
    free : list of Tensor
        What is learnt: raw hyperparameters, and inducing inputs where these are.
    """

    bags: list[slice]
    geometries: list[Geometry]
    project: Callable[[Geometry], ProjectedData]
    fixed: list[ProjectedData]
    free: list[Tensor]

    def detach(self) -> Parts:
        """Itself: q is sought on what has no gradients."""
        return self

    def total(self, expected: Expected, y: PerBag, mean: Tensor, covariance: Tensor,
              anew: bool = False) -> Tensor:
        """The sum over all bags (), differentiable in q's moments, or in the hyperparameters.

        Parameters
        ----------
        expected : callable
            ``expected(data, y, mean, covariance)`` of a run of bags.
        y : Tensor (B,)
            Observations of all.
        mean, covariance : Tensor (M,), (M, M)
            Of q.
        anew : bool
            Whether runs are projected again, for gradients of the hyperparameters.
        """
        if anew:
            return summed([lambda run=run, seen=seen: expected(
                self.project(seen), y[run], mean, covariance)
                for run, seen in zip(self.bags, self.geometries, strict=True)],
                self.free)
        return summed([lambda run=run, seen=seen: expected(seen, y[run], mean, covariance)
                       for run, seen in zip(self.bags, self.fixed, strict=True)],
                      [mean, covariance])


def seen_in_learning(state, whole: bool = False) -> ProjectedData | Parts:
    """What a state learns on, at its present hyperparameters: in parts where there is much of it.

    What cannot be divided (`in_parts`) is seen together.

    Parameters
    ----------
    state : VariationalState
        Not changed.
    whole : bool
        Whether to see all its individuals instead.
    """
    seen = state.geometry if whole else state.learning
    if _count(state, seen) < 2 or not in_parts(state):
        return state.project(seen)
    found = divided(state, seen)
    with torch.no_grad():
        return replace(found, fixed=[state.project(one).detach() for one in found.geometries])


def _count(state, seen: Geometry) -> int:
    """Runs of bags that a geometry is divided into."""
    entries = len(seen.x) * len(state.field.q_mean)
    return min(math.ceil(entries / ENTRIES), seen.operator.bags.count)


def divided(state, seen: Geometry) -> Parts:
    """A geometry in runs of bags of about `ENTRIES` entries, none of them projected yet.

    Parameters
    ----------
    state : VariationalState
        Not changed.
    seen : Geometry
    """
    bags = runs(seen.operator.bags.sizes.cpu().numpy(), _count(state, seen))
    learnt = [z for z in state.field.inducing if z is not None and z.requires_grad]
    return Parts(bags, [part(seen, one) for one in bags], state.project, [],
                 [item.raw for item in state.hyperparameters.free] + learnt)


def in_parts(state) -> bool:
    """Whether bags can be seen some at a time.

    Not where one has a noise or trials of its own, nor by sampling, whose draws are of all.
    """
    return (not state.likelihood.has_noise and state.source.bags.trials is None
            and state.bound.name != "monte-carlo")


def summed(terms: Sequence[Callable[[], Tensor]], inputs: Sequence[Tensor]) -> Tensor:
    """The sum of terms (), one after another, with the sum of their gradients in the inputs.

    Parameters
    ----------
    terms : sequence of callable
        Of no arguments, to a Tensor ().
    inputs : sequence of Tensor
        That gradients are taken of, once.
    """
    wanted = [one for one in inputs if one.requires_grad]
    if not wanted or not torch.is_grad_enabled():
        return sum(term() for term in terms)
    return _Sum.apply(terms, (wanted,), *wanted)


def part(whole: Geometry, bags: slice) -> Geometry:
    """A run of bags of a geometry, with the clusters that they have in it."""
    ends = np.r_[0, whole.operator.bags.sizes.long().cumsum(0).cpu().numpy()]
    rows = slice(int(ends[bags.start]), int(ends[bags.stop]))
    own = whole.operator.bags.run(bags, rows)
    clusters = whole.clusters
    if clusters is not None:
        marks = np.r_[0, clusters.bags.sizes.long().cumsum(0).cpu().numpy()]
        inside = slice(int(marks[bags.start]), int(marks[bags.stop]))
        clusters = replace(clusters, bags=clusters.bags.run(bags, inside),
                           of=clusters.of[rows] - inside.start,
                           partner=clusters.partner[rows] - rows.start)
    concentration, shift = (None if one is None else one[rows]
                            for one in (whole.concentration, whole.shift))
    return Geometry(whole.x[rows], type(whole.operator)(own), clusters, concentration, shift)


def runs(sizes: np.ndarray, count: int) -> list[slice]:
    """So many runs of bags: neighbours in order, each with about as many individuals.

    Parameters
    ----------
    sizes : array (B,)
        Individuals of each bag; there are at least as many bags as runs.
    count : int
        Of runs.
    """
    ends = np.searchsorted(np.cumsum(sizes), sizes.sum() * np.arange(1, count) / count) + 1
    edges = np.r_[0, ends, len(sizes)]
    for k in range(1, count):               # at least one bag each, from either end
        edges[k] = max(edges[k], edges[k - 1] + 1)
    for k in range(count - 1, 0, -1):
        edges[k] = min(edges[k], edges[k + 1] - 1)
    return [slice(int(a), int(b)) for a, b in zip(edges[:-1], edges[1:], strict=True)]


class _Sum(torch.autograd.Function):
    """Each term's graph is made, differentiated and freed before the next one's."""

    @staticmethod
    def forward(ctx, terms: Sequence[Callable[[], Tensor]], held: tuple[list[Tensor]],
                *inputs: Tensor) -> Tensor:
        # The terms look at the tensors that are held, not at the copies that come in here.
        (wanted,), total = held, inputs[0].new_zeros(())
        gradients = [torch.zeros_like(one) for one in inputs]
        for term in terms:
            with torch.enable_grad():
                value = term()
            found = torch.autograd.grad(value, wanted, allow_unused=True)
            total = total + value.detach()
            gradients = [have if one is None else have + one
                         for have, one in zip(gradients, found, strict=True)]
        ctx.save_for_backward(*gradients)
        return total

    @staticmethod
    @once_differentiable
    def backward(ctx, gradient: Tensor) -> tuple:
        return None, None, *(gradient * one for one in ctx.saved_tensors)
