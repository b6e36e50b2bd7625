"""Aggregation operators: linear maps from values of individuals to values of bags."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator

import torch
from jaxtyping import Float
from torch import Tensor

from workbench.checks import reject
from workbench.gp.data.bags import Bags
from workbench.gp.kernels.bag_gram import bag_cross, bag_gram
from workbench.gp.kernels.grammar import Term
from workbench.gp.numerics.linalg import quadratic_forms

# Pairs of individuals evaluated at once inside one bag; bounds the memory of `quad_diag`.
_PAIRS = 4_000_000
# Entries of a table that are multiplied at once: few enough to stay in a processor's cache.
_ENTRIES = 500_000


class AggregationOperator(ABC):
    """A linear map A from N individuals to B bags, never stored as a dense matrix.

    Rows are observations: ``operator(values)`` is ``values @ A.T`` over the last axis.
    """

    bags: Bags

    @abstractmethod
    def coefficients(self) -> Float[Tensor, " N"]:
        """The one non-zero entry of A in each individual's column (N,)."""

    def __call__(self, values: Float[Tensor, "... N"]) -> Float[Tensor, "... B"]:
        """Aggregate the last axis."""
        if values.shape[-1] != len(self.bags.x):
            raise reject(
                f"values of {len(self.bags.x)} individuals in the last axis",
                f"shape {tuple(values.shape)}", "pass one value per individual",
            )
        out = torch.zeros(*values.shape[:-1], self.bags.count).to(values)
        return out.index_add(-1, self.bags.membership, values * self.coefficients().to(values))

    def white_variance(self) -> Float[Tensor, " B"]:
        """Variance of the aggregate of unit white noise, of which clusters keep a share."""
        squares = self.coefficients().square() * self.bags.unaveraged
        return torch.zeros(self.bags.count).to(squares).index_add(
            0, self.bags.membership, squares)

    def constant(self, value: Float[Tensor, " 1"]) -> Float[Tensor, " B"]:
        """Aggregate a field that is the same everywhere."""
        return self(value.expand(len(self.bags.x)))

    def rows(self, values: Float[Tensor, "N M"]) -> Float[Tensor, "B M"]:
        """Aggregate the first axis of a table of row vectors: A @ values."""
        out = torch.zeros(self.bags.count, values.shape[1]).to(values)
        scaled = values * self.coefficients().to(values)[:, None]
        return out.index_add(0, self.bags.membership, scaled)

    def dense(self) -> Float[Tensor, "B N"]:
        """A as a dense matrix; for tests and small data."""
        count = len(self.bags.x)
        matrix = torch.zeros(self.bags.count, count).to(self.bags.weight)
        individuals = torch.arange(count, device=matrix.device)
        matrix[self.bags.membership, individuals] = self.coefficients()
        return matrix

    def gram(self, terms: list[Term], x: Float[Tensor, "N D"]) -> Float[Tensor, "B B"]:
        """A K(x, x) Aᵀ, of which the N x N matrix is never held (`bag_gram`)."""
        return bag_gram(terms, x, self.bags, self.coefficients().to(x))

    def cross(self, terms: list[Term], new: Float[Tensor, "n D"], x: Float[Tensor, "N D"]
              ) -> Float[Tensor, "n B"]:
        """K(new, x) Aᵀ without gradients."""
        return bag_cross(terms, new, x, self.bags, self.coefficients().to(x))

    # What a posterior is conditioned by and with, of one kernel; an operator may replace it by a
    # cheaper one (`workbench.gp.fields.mediated`), but then in all four.
    def posterior_gram(self, terms: list[Term], x: Float[Tensor, "N D"]) -> Float[Tensor, "B B"]:
        """A K Aᵀ of the kernel that `cross` is of."""
        return self.gram(terms, x)

    def posterior_prior(self, terms: list[Term], one: Float[Tensor, "n D"],
                        other: Float[Tensor, "m D"], x: Float[Tensor, "N D"]
                        ) -> Float[Tensor, "n m"]:
        """K between inputs, of the kernel that `cross` is of."""
        return sum(term(one, other) for term in terms)

    def posterior_variances(self, terms: list[Term], new: Float[Tensor, "n D"],
                            operator: AggregationOperator, x: Float[Tensor, "N D"]
                            ) -> Float[Tensor, " M"]:
        """diag(A K Aᵀ) for other bags, of the kernel that `cross` is of."""
        return operator.quad_diag(lambda a, b: sum(term(a, b) for term in terms), new)

    def quad_diag(self, kernel, x: Float[Tensor, "N D"]) -> Float[Tensor, " B"]:
        """diag(A K(x, x) Aᵀ): a sum over the pairs inside each bag, in padded blocks of bags."""
        coefficients = self.coefficients().to(x)
        parts = []
        for index, mask in blocks(self.bags):
            a = coefficients[index] * mask
            parts.append(quadratic_forms(a, kernel(x[index], x[index])))
        return restore_order(self.bags, parts)


class SegmentSum(AggregationOperator):
    """Weighted sum over each bag, Law et al. 2018, eq. (2)."""

    def __init__(self, bags: Bags):
        self.bags = bags

    def coefficients(self) -> Float[Tensor, " N"]:
        """The weights."""
        return self.bags.weight


class SegmentMean(AggregationOperator):
    """Weighted mean over each bag: weights divided by their sum in the bag."""

    def __init__(self, bags: Bags):
        self.bags = bags

    def coefficients(self) -> Float[Tensor, " N"]:
        """The weights over the total weight of their bag."""
        return self.bags.weight / self.bags.totals[self.bags.membership]


class Identity(SegmentSum):
    """Every individual is its own observation, with coefficient one.

    Raises
    ------
    InputError
        If any bag holds more than one individual.
    """

    def __init__(self, bags: Bags):
        if bags.count != len(bags.x):
            raise reject(
                "bags of one individual", f"{len(bags.x)} individuals in {bags.count} bags",
                "aggregate with SegmentSum or SegmentMean",
            )
        super().__init__(bags)

    def coefficients(self) -> Float[Tensor, " N"]:
        """Ones."""
        return torch.ones_like(self.bags.weight)

    # Bags are sorted, so that the identity leaves every table as it is, at no cost.
    def __call__(self, values: Float[Tensor, "... N"]) -> Float[Tensor, "... N"]:
        """The values themselves."""
        return values

    def rows(self, values: Float[Tensor, "N M"]) -> Float[Tensor, "N M"]:
        """The table itself."""
        return values

    def gram(self, terms: list[Term], x: Float[Tensor, "N D"]) -> Float[Tensor, "N N"]:
        """K(x, x) itself."""
        return sum(term(x, x) for term in terms)

    def cross(self, terms: list[Term], new: Float[Tensor, "n D"], x: Float[Tensor, "N D"]
              ) -> Float[Tensor, "n N"]:
        """K(new, x) itself."""
        return sum(term(new, x) for term in terms)


OPERATORS = {"sum": SegmentSum, "mean": SegmentMean}


def weighted_rows(values: Float[Tensor, " N"], table: Float[Tensor, "N M"], bags: Bags
                  ) -> Float[Tensor, "B M"]:
    """Sum of ``values[i] * table[i]`` over each bag, differentiable in both.

    The products are formed a part at a time: as a whole they would be as large as the table, and
    writing and reading them takes longer than the sum.
    """
    return _WeightedRows.apply(values, table, bags.membership, bags.count)


class _WeightedRows(torch.autograd.Function):
    @staticmethod
    def forward(ctx, values, table, members, count):
        ctx.save_for_backward(values, table, members)
        out = torch.zeros(count, table.shape[1]).to(table)
        for v, rows, bag in _parts(values, table, members):
            out.index_add_(0, bag, v[:, None] * rows)
        return out

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, gradient):
        values, table, members = ctx.saved_tensors
        need_values, need_table = ctx.needs_input_grad[:2]
        of_values = torch.empty_like(values) if need_values else None
        of_table = torch.empty_like(table) if need_table else None
        start = 0
        for v, rows, bag in _parts(values, table, members):
            mine, part = gradient[bag], slice(start, start := start + len(v))
            if need_values:
                of_values[part] = (mine * rows).sum(1)
            if need_table:
                torch.mul(v[:, None], mine, out=of_table[part])
        return of_values, of_table, None, None


def _parts(values: Tensor, table: Tensor, members: Tensor):
    rows = max(1, _ENTRIES // table.shape[1])
    return zip(values.split(rows), table.split(rows), members.split(rows), strict=True)


def blocks(bags: Bags, pairs: int | None = None) -> Iterable[tuple[Tensor, Tensor]]:
    """Yield padded groups of bags of similar size: positions (b, n) and mask (b, n).

    Bags come in order of size, so padding stays small; each group holds at most ``pairs`` pairs
    of individuals (by default `_PAIRS`); a bag with more than that is a group of its own.
    """
    if pairs is not None:
        return _padded(bags, pairs)
    return _kept(bags, "_blocks", lambda: list(_padded(bags, _PAIRS)))


def _kept(bags: Bags, name: str, compute: Callable):
    """What every evaluation asks of the same bags, found once and kept with them."""
    known = vars(bags)
    if name not in known:
        known[name] = compute()
    return known[name]


def _padded(bags: Bags, pairs: int) -> Iterator[tuple[Tensor, Tensor]]:
    sizes = bags.sizes.long()
    starts = torch.cat([sizes.new_zeros(1), sizes.cumsum(0)[:-1]])
    order, begin = sizes.argsort(stable=True), 0
    while begin < len(order):
        end = begin + 1
        while end < len(order) and (end + 1 - begin) * int(sizes[order[end]]) ** 2 <= pairs:
            end += 1
        group = order[begin:end]
        step = torch.arange(int(sizes[group].max()), device=sizes.device)
        mask = step < sizes[group, None]
        # Padding repeats the bag's first individual, whose coefficient the mask sets to zero.
        yield starts[group, None] + step * mask, mask.to(bags.weight)
        begin = end


def restore_order(bags: Bags, per_block: list[Tensor]) -> Tensor:
    """Join results of `blocks` (one row per bag) and put them back in the order of the bags."""
    order = _kept(bags, "_block_order",
                  lambda: bags.sizes.long().argsort(stable=True).argsort())
    return torch.cat(per_block)[order]
