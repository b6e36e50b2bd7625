"""What inducing features leave unexplained of f: a residual covariance inside each bag.

Without it totals of bags would look too certain where inducing inputs are sparse for the
lengthscale. Pairs of individuals are kept while they are few. In larger bags pairs of clusters are:
the residual correlation of two individuals is then that of their clusters' centres, scaled so that
the mean correlation inside each cluster is right; every individual keeps its own variance. Between
bags the residual is taken as independent (Snelson and Ghahramani 2007, the PIC approximation).
"""

from __future__ import annotations

import weakref
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor

from workbench.gp.data.bags import Bags
from workbench.gp.data.compression import Clusters
from workbench.gp.fields.geometry import Geometry
from workbench.gp.fields.inducing import InducingField, Projection
from workbench.gp.kernels.operators import blocks, restore_order
from workbench.gp.numerics.linalg import products, quadratic_forms
from workbench.gp.numerics.shapes import Features, PerBag, PerIndividual

# Entries of draws and of covariances that are worked on at once: 8 MB in float64.
_ENTRIES = 1_000_000
_DRAWN: weakref.WeakValueDictionary[int, Residual] = weakref.WeakValueDictionary()


@dataclass(frozen=True)
class Residual:
    """Residual prior covariance of f inside bags.

    Parameters
    ----------
    bags : Bags
        The bags.
    diagonal : Tensor (N,)
        Residual variance of each individual.
    pairs : list of Tensor (b, n, n) or None
        Covariance of individuals, or correlation of clusters, inside each padded group of `blocks`;
        None where only the diagonal is kept.
    clusters : Clusters or None
        Whose pairs they are; None for individuals.
    shared : Tensor (N,) or None
        Mean correlation inside the individual's cluster.
    """

    bags: Bags
    diagonal: PerIndividual
    pairs: list[Tensor] | None
    clusters: Clusters | None = None
    shared: PerIndividual | None = None
    _kept: dict = field(default_factory=dict, repr=False, compare=False)

    def detach(self) -> Residual:
        """The same numbers without gradients."""
        pairs = None if self.pairs is None else [p.detach() for p in self.pairs]
        shared = None if self.shared is None else self.shared.detach()
        return Residual(self.bags, self.diagonal.detach(), pairs, self.clusters, shared)

    def times(self, values: PerIndividual) -> PerIndividual:
        """R v, the covariance applied inside each bag (N,)."""
        if self.pairs is None:
            return self.diagonal * values
        if self.clusters is None:
            return self._blockwise(self.bags, values)
        scale, of = self._scale(), self.clusters.of
        common = self._blockwise(self.clusters.bags, self._gather(scale * values))
        return scale * common[of] + self._own() * values

    def diagonal_part(self) -> Residual:
        """The same variances, independent between individuals."""
        return Residual(self.bags, self.diagonal, None)

    def with_white(self, variance: Tensor) -> Residual:
        """The same plus white noise of individuals, of one variance () or of their own (N,)."""
        diagonal, pairs, shared = self.diagonal + variance, self.pairs, self.shared
        if self.clusters is not None:
            share = self.diagonal / diagonal.clamp_min(1e-30)
            shared = self.shared * share
        elif pairs is not None:
            white = variance.expand(len(self.diagonal))
            pairs = [pair + torch.diag_embed(white[index])
                     for (index, _), pair in zip(blocks(self.bags), pairs, strict=True)]
        return Residual(self.bags, diagonal, pairs, self.clusters, shared)

    def trace_squared(self, weight: PerIndividual) -> PerBag:
        """tr(P R P R) of each bag (B,), P the diagonal matrix of weights."""
        own = self._sum((weight * self.diagonal).square())
        if self.pairs is None:
            return own
        if self.clusters is None:
            return self._pair_sum(self.bags, weight, [pair.square() for pair in self.pairs])
        scale, alone = self._scale().square(), self._own()
        common = self._pair_sum(self.clusters.bags, self._gather(weight * scale),
                                [pair.square() for pair in self.pairs])
        return common + self._sum(weight.square() * alone * (2 * scale + alone))

    def trace_with(self, weight: PerIndividual, left: Features, right: Features) -> PerBag:
        """tr(P R P F Gᵀ) of each bag (B,), F and G the rows ``left`` and ``right`` (N, M)."""
        if self.pairs is None:
            return self._sum(weight.square() * self.diagonal * (left * right).sum(1))
        if self.clusters is None:
            return self._between(self.bags, weight[:, None] * left, weight[:, None] * right)
        common = (weight * self._scale())[:, None]
        own = self._sum(weight.square() * self._own() * (left * right).sum(1))
        return own + self._between(
            self.clusters.bags, self._gather(common * left), self._gather(common * right))

    def draw(self, samples: int, generator: np.random.Generator) -> Tensor:
        """Draws of a Gaussian with this covariance (samples, N)."""
        def noise(count: int) -> Tensor:
            values = generator.standard_normal((samples, count))
            return torch.as_tensor(values).to(self.diagonal)

        if self.pairs is None:
            return noise(len(self.diagonal)) * self.diagonal.sqrt()
        if self.clusters is None:
            return self._draw_blockwise(self.bags, noise(len(self.diagonal)))
        clusters = self.clusters
        common = self._draw_blockwise(clusters.bags, noise(len(clusters.bags.x)))
        own = self._own().clamp_min(0).sqrt() * noise(len(self.diagonal))
        return self._scale() * common[:, clusters.of] + own

    def _scale(self) -> PerIndividual:
        """Standard deviation of the part that an individual shares with its cluster."""
        return (self.diagonal * self.shared).clamp_min(1e-30).sqrt()

    def _own(self) -> PerIndividual:
        """Variance of the part of its own."""
        return self.diagonal * (1 - self.shared)

    def _sum(self, values: PerIndividual) -> PerBag:
        return torch.zeros(self.bags.count).to(values).index_add(0, self.bags.membership, values)

    def _gather(self, values: Tensor) -> Tensor:
        """Sums over the members of each cluster."""
        out = torch.zeros(len(self.clusters.bags.x), *values.shape[1:]).to(values)
        return out.index_add(0, self.clusters.of, values)

    def _pair_sum(self, bags: Bags, weight: Tensor, pairs: list[Tensor]) -> PerBag:
        sums = []
        for (index, mask), pair in zip(blocks(bags), pairs, strict=True):
            w = weight[index] * mask
            sums.append(quadratic_forms(w, pair))
        return restore_order(bags, sums)

    def _between(self, bags: Bags, left: Tensor, right: Tensor) -> PerBag:
        """Sum over the pairs of a bag of their covariance times the product of their rows."""
        sums = []
        for (index, mask), pair in zip(blocks(bags), self.pairs, strict=True):
            product = pair @ (left[index] * mask[:, :, None])
            sums.append((product * right[index] * mask[:, :, None]).sum((1, 2)))
        return restore_order(bags, sums)

    def _blockwise(self, bags: Bags, values: Tensor) -> Tensor:
        out = torch.zeros_like(values)
        for (index, mask), pair in zip(blocks(bags), self.pairs, strict=True):
            product = products(pair, values[index] * mask) * mask
            out = out.index_add(0, index.reshape(-1), product.reshape(-1))
        return out

    def _draw_blockwise(self, bags: Bags, noise: Tensor) -> Tensor:
        out = torch.empty_like(noise)
        for (index, mask), root in zip(blocks(bags), self._roots(bags), strict=True):
            rows = max(1, _ENTRIES // (len(noise) * index.shape[1]))
            for where, real, some in zip(*(part.split(rows) for part in (index, mask, root)),
                                         strict=True):
                drawn = torch.einsum("bij,sbj->sbi", some, noise[:, where] * real)
                out[:, where[real.bool()]] = drawn[:, real.bool()]
        return out

    def _roots(self, bags: Bags) -> list[Tensor]:
        """Square roots of the covariance inside each group of `blocks`, kept for more draws."""
        found = self._kept.get("roots")
        if found is None:
            found = []
            for (_, mask), pair in zip(blocks(bags), self.pairs, strict=True):
                rows = max(1, _ENTRIES // pair.shape[-1] ** 2)
                found.append(torch.cat([_root(some.detach(), real) for some, real in zip(
                    pair.split(rows), mask.split(rows), strict=True)]))
            self._kept["roots"] = found         # in one step, for threads share a view
            _DRAWN[id(self)] = self
        return found


def forget_roots() -> None:
    """Let go of the square roots kept for more draws, as large as all pairs; draws stay the same.

    They are found again, in some tenths of a second, when they are asked for.
    """
    for one in list(_DRAWN.values()):
        one._kept.clear()


def _root(pair: Tensor, mask: Tensor) -> Tensor:
    """Square roots of padded covariances (b, n, n)."""
    padded = pair * mask[:, :, None] * mask[:, None, :]
    # Eigenvalues, because a residual is singular wherever an inducing input sits.
    values, vectors = torch.linalg.eigh((padded + padded.mT) / 2)
    # Largest first: a bag of n has at most n, which its n entries of noise then drive.
    return (vectors * values.clamp_min(0).sqrt()[:, None, :]).flip(-1)


def residual_of(field: InducingField, projection: Projection, seen: Geometry) -> Residual:
    """Residual of a projection: prior covariance minus what the features explain, inside bags."""
    bags, diagonal = seen.operator.bags, projection.residual
    empty = not bool((diagonal.detach() > 0).any())
    if empty or bags.count == len(seen.x):
        return Residual(bags, diagonal, None)
    if seen.clusters is None:
        return Residual(bags, diagonal, _pairs(field, projection, bags, seen.x))
    centres = seen.clusters.bags
    at_centres = field.project(centres.x)
    pairs = _pairs(field, at_centres, centres, centres.x)
    correlation = []
    for (index, _), pair in zip(blocks(centres), pairs, strict=True):
        std = at_centres.residual[index].clamp_min(1e-30).sqrt()
        unit = pair / (std[:, :, None] * std[:, None, :])
        ones = torch.eye(unit.shape[1], dtype=torch.bool, device=unit.device)
        # A centre on an inducing input has no residual: nothing to share with others.
        correlation.append(torch.where(ones, 1.0, unit.clamp(-1, 1)))
    return Residual(bags, diagonal, correlation, seen.clusters,
                    _within(field, projection, seen))


def _pairs(field: InducingField, projection: Projection, bags: Bags, x: Tensor) -> list[Tensor]:
    return [field.unexplained(x[index], projection.features[index]) for index, _ in blocks(bags)]


def _within(field: InducingField, projection: Projection, seen: Geometry) -> PerIndividual:
    """Mean residual correlation of an individual's cluster, by one random partner for each."""
    partner, of = seen.clusters.partner, seen.clusters.of
    phi = projection.features
    joint = field.unexplained_between(seen.x, seen.x[partner], phi, phi[partner])
    spread = (projection.residual * projection.residual[partner]).clamp_min(1e-30).sqrt()
    count = len(seen.clusters.bags.x)
    explained = torch.zeros(count).to(phi).index_add(0, of, joint)
    possible = torch.zeros(count).to(phi).index_add(0, of, spread)
    return (explained / possible).clamp(0, 1)[of]
