"""What inducing features leave unexplained of f: a residual covariance inside each bag.

Kept as padded blocks of bags while they fit into memory; beyond that only its diagonal is kept,
which makes totals of bags look too certain when inducing inputs are sparse for the lengthscale.
Between bags the residual is taken as independent (Snelson and Ghahramani 2007, the PIC
approximation).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from workbench.bags import Bags
from workbench.operators import blocks
from workbench.shapes import Features, Inputs, PerIndividual

# Pairs of individuals inside bags that are kept at once: 16 million are 128 MiB in float64.
MOST_PAIRS = 16_000_000


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
        Covariance inside each padded group of `blocks`; None where only the diagonal is kept.
    """

    bags: Bags
    diagonal: PerIndividual
    pairs: list[Tensor] | None

    def detach(self) -> Residual:
        """The same numbers without gradients."""
        pairs = None if self.pairs is None else [p.detach() for p in self.pairs]
        return Residual(self.bags, self.diagonal.detach(), pairs)

    def times(self, values: PerIndividual) -> PerIndividual:
        """R v, the covariance applied inside each bag (N,)."""
        if self.pairs is None:
            return self.diagonal * values
        out = torch.zeros_like(values)
        for (index, mask), pair in zip(blocks(self.bags), self.pairs, strict=True):
            product = torch.einsum("bij,bj->bi", pair, values[index] * mask) * mask
            out = out.index_add(0, index.reshape(-1), product.reshape(-1))
        return out

    def draw(self, noise: Tensor) -> Tensor:
        """Draws with this covariance from standard normal ``noise`` (samples, N)."""
        if self.pairs is None:
            return noise * self.diagonal.sqrt()
        out = torch.zeros_like(noise)
        for (index, mask), pair in zip(blocks(self.bags), self.pairs, strict=True):
            padded = pair * mask[:, :, None] * mask[:, None, :]
            # Eigenvalues, because a residual is singular wherever an inducing input sits.
            values, vectors = torch.linalg.eigh((padded + padded.mT) / 2)
            # Largest first: a bag of n has at most n, which its n entries of noise then drive.
            root = (vectors * values.clamp_min(0).sqrt()[:, None, :]).flip(-1)
            drawn = torch.einsum("bij,sbj->sbi", root, noise[:, index] * mask) * mask
            out = out.index_add(1, index.reshape(-1), drawn.reshape(len(noise), -1))
        return out


def residual_of(bags: Bags, x: Inputs, features: Features, diagonal: PerIndividual,
                prior: Callable[[Inputs, Inputs], Tensor], always: bool = False) -> Residual:
    """Residual of a projection: prior covariance minus what the features explain, inside bags.

    ``always`` keeps the pairs whatever their number, for bounds that need them.
    """
    pairs = float(bags.sizes.square().sum())
    empty = not bool((diagonal.detach() > 0).any())
    if not always and (pairs > MOST_PAIRS or empty or bags.count == len(x)):
        return Residual(bags, diagonal, None)
    kept = []
    for index, _ in blocks(bags):
        phi = features[index]
        kept.append(prior(x[index], x[index]) - phi @ phi.mT)
    return Residual(bags, diagonal, kept)
