"""Means over bags of each term of a kernel, kept so that hyperparameters can be moved at once.

All that costs are values of k between places and individuals. Their means over bags, K(new, x) Aᵀ,
are kept for each term at unit variance, with their means over pairs of bags: another variance then
costs no value of k. A term of places alone needs its values at the displacements of a grid only.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from cachetools import LRUCache
from torch import Tensor

from workbench.gp.kernels.grammar import Term
from workbench.gp.kernels.lattice import Lattice
from workbench.gp.kernels.operators import AggregationOperator
from workbench.gp.numerics.shapes import Inputs

ROWS = 2_000            # places at once, between two looks at whether to go on
_TABLES = 4             # that are kept

Tick = Callable[[float], None]


class KernelMeans:
    """Means of a kernel over bags of individuals, which are places too.

    Parameters
    ----------
    terms : sequence of Term
        Additive terms; their hyperparameters are read again at each call.
    x, new : Tensor (N, D), (n, D)
        Standardised inputs of the individuals and of the places.
    operator : AggregationOperator
        Of the bags.
    individuals : Tensor (N,) of int64
        Position of each individual among the places.
    lattice : Lattice or None
        Of the places, if bags are square blocks of a grid of one weight.

    Attributes
    ----------
    evaluations : int
        Values of k that were computed.
    """

    def __init__(self, terms: Sequence[Term], x: Inputs, new: Inputs,
                 operator: AggregationOperator, individuals: Tensor, lattice: Lattice | None):
        self.terms, self.x, self.new, self.operator = list(terms), x, new, operator
        self._individuals, self._lattice = individuals, lattice
        self._tables, self._sums, self.evaluations = LRUCache(_TABLES), LRUCache(1), 0

    def sums(self, tick: Tick = lambda share: None) -> tuple[Tensor, Tensor, Tensor]:
        """K(new, x) Aᵀ (n, B), A K Aᵀ (B, B) and the prior variance (n,), summed over terms.

        Parameters
        ----------
        tick : callable
            Told the share of the values that are done; what it raises ends the work.
        """
        key = tuple(_key(term, shape=False) for term in self.terms)
        if key not in self._sums:
            (variance, cross, gram), *others = self.parts(tick)
            cross, gram = variance * cross, variance * gram
            for variance, of_places, of_bags in others:         # in place: tables are large
                cross.addcmul_(variance, of_places)
                gram.addcmul_(variance, of_bags)
            prior = sum(term.diagonal(self.new) for term in self.terms)
            self._sums[key] = cross, gram, prior
        return self._sums[key]

    def parts(self, tick: Tick = lambda share: None) -> list[tuple[Tensor, Tensor, Tensor]]:
        """Of each term its variance, and K(new, x) Aᵀ and A K Aᵀ at unit variance."""
        count = len(self.terms)
        return [(term.kernel.outputscale.detach().clone(),
                 *self._table(i, term, lambda share, i=i: tick((i + share) / count)))
                for i, term in enumerate(self.terms)]

    def _table(self, position: int, term: Term, tick: Tick) -> tuple[Tensor, Tensor]:
        key = position, _key(term, shape=True)
        if key not in self._tables:
            cross = self._computed(term, tick) / term.kernel.outputscale
            gram = self.operator.rows(cross[self._individuals])
            self._tables[key] = cross, (gram + gram.mT) / 2
        return self._tables[key]

    def _computed(self, term: Term, tick: Tick) -> Tensor:
        if term.finite_rank:
            return term.basis(self.new) @ self.operator.rows(term.basis(self.x)).mT
        if self._lattice is not None and self._lattice.covers(term):
            tick(0.0)
            self.evaluations += self._lattice.count
            return self._lattice.means(term)
        found = []
        for number, part in enumerate(self.new.split(ROWS)):
            tick(number * ROWS / len(self.new))
            found.append(self.operator.cross([term], part, self.x))
        self.evaluations += len(self.new) * len(self.x)
        return torch.cat(found)


def _key(term: Term, shape: bool) -> tuple:
    """Hyperparameters of a term, or with ``shape`` all but its variance."""
    return tuple((name, tuple(value.detach().flatten().tolist()))
                 for name, value in term.kernel.named_parameters()
                 if not (shape and name.endswith("raw_outputscale")))
