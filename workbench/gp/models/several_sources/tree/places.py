"""Gaussians inside bags, and bags in padded groups in which these are computed.

Parents are drawn jointly inside a bag, so that means over bags have the right variance; between
bags draws are not distinguished, for every answer is about one bag.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from workbench.gp.data.bags import Bags
from workbench.gp.kernels.operators import AggregationOperator, blocks, restore_order
from workbench.gp.models.several_sources.tree.draws import Draws
from workbench.gp.numerics.linalg import FactorisationError, report_jitter

# Pairs of individuals, times draws, that are held at once; features are some ten times as many.
_PAIRS = 300_000


@dataclass(frozen=True)
class Place:
    """Bags of similar size, padded to the largest.

    Parameters
    ----------
    x : Tensor (b, n, D)
        Standardised inputs; padding repeats a bag's first individual.
    mask : Tensor (b, n)
        One for individuals, zero for padding.
    draws : Draws
        Normals of the GPs that are sampled.
    """

    x: Tensor
    mask: Tensor
    draws: Draws


@dataclass(frozen=True)
class Conditional:
    """A Gaussian inside each bag for each draw of the parents.

    Parameters
    ----------
    mean : Tensor (S, b, n)
        S is one where nothing is drawn.
    covariance : Tensor (S, b, n, n)
        Between the individuals of a bag.
    """

    mean: Tensor
    covariance: Tensor

    def draw(self, place: Place, variable: int) -> Tensor:
        """One value for each draw (S, b, n), of the sampled GP at that position."""
        noise = place.draws(variable, self.mean.shape[-1], self.mean)
        root = _root(self.covariance, place.mask)
        if len(root) == 1:
            return self.mean + torch.einsum("bij,sj->sbi", root[0], noise)
        return self.mean + torch.einsum("sbij,sj->sbi", root, noise)


def places(bags: Bags, x: Tensor, draws: Draws) -> Iterator[tuple[Tensor, Place]]:
    """Positions (b, n) and place of groups of bags; bags come in order of size."""
    for index, mask in blocks(bags, max(1, _PAIRS // draws.count)):
        yield index, Place(x[index], mask, draws)


def parts_of(place: Place) -> Iterator[Place]:
    """The place with as many draws at a time as memory allows."""
    count = place.draws.count
    rows = max(1, 10 * _PAIRS // (place.x.shape[0] * place.x.shape[1]**2))
    for start in range(0, count, rows):
        taken = place.draws.part(slice(start, min(start + rows, count)))
        yield Place(place.x, place.mask, taken)


def aggregated(node, operator: AggregationOperator, x: Tensor, draws: Draws
               ) -> tuple[Tensor, Tensor]:
    """Mean and variance (S, B) of A f for each draw of a node's parents; S is one without any."""
    means, variances = [], []
    draws = draws if node.random else draws.part(slice(0, 1))
    for index, place in places(operator.bags, x, draws):
        coefficients = operator.coefficients()[index] * place.mask
        found = [node.total(part, coefficients) for part in parts_of(place)]
        mean, variance = (torch.cat(f) for f in zip(*found, strict=True))
        means.append(mean.mT)
        variances.append(variance.mT)
    return (restore_order(operator.bags, means).mT,
            restore_order(operator.bags, variances).mT.clamp_min(0))


def drawn(node, bags: Bags, x: Tensor, draws: Draws) -> Tensor:
    """Draws of a node at the individuals of bags (S, N), joint inside each bag."""
    out = torch.zeros(draws.count, len(x)).to(x)
    for index, place in places(bags, x, draws):
        value = torch.cat([node.sample(p) for p in parts_of(place)])
        there = place.mask > 0
        out = out.index_put((torch.arange(draws.count, device=x.device)[:, None],
                             index[there][None]), value[:, there])
    return out


def _root(covariance: Tensor, mask: Tensor) -> Tensor:
    """Cholesky roots of covariances (S, b, n, n), with the identity in the place of padding."""
    if covariance.shape[-1] == 1:
        tiny = torch.finfo(covariance.dtype).tiny
        return covariance.clamp_min(tiny).sqrt()
    kept = mask[:, :, None] * mask[:, None, :]
    padding = torch.diag_embed(1 - mask)
    size = (covariance.diagonal(dim1=-2, dim2=-1) * mask).sum(-1) / mask.sum(-1)
    jitter = max(1e-8, 4 * torch.finfo(covariance.dtype).eps)
    tiny = torch.finfo(covariance.dtype).tiny ** 0.5
    while jitter <= 1.001e-2:
        white = jitter * size.detach().clamp_min(tiny)[..., None]
        root, failed = torch.linalg.cholesky_ex(
            covariance * kept + padding + torch.diag_embed(white * mask))
        if not bool(failed.any()):
            report_jitter(jitter, "covariance of a GP inside a bag")
            return root
        jitter *= 10
    raise FactorisationError("the covariance of a GP inside a bag is indefinite")
