"""Which observations of two sources share individuals, and how far their noise then agrees."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from scipy.spatial import cKDTree
from torch import Tensor

from workbench.gp.kernels.operators import AggregationOperator
from workbench.gp.numerics.shapes import Inputs

_EXACT = 1e-9           # standardised units within which individuals are the same, at least


@dataclass(frozen=True)
class Overlap:
    """Pairs of observations of two sources, and the correlation that a common noise gives them.

    Parameters
    ----------
    first, second : Tensor (n,)
        Positions of the observations.
    share : Tensor (n,)
        Correlation of their noise if it is that of common individuals.
    """

    first: Tensor
    second: Tensor
    share: Tensor

    def correlation(self, one: np.ndarray, other: np.ndarray) -> float:
        """How far the noise of the sources agrees, relative to that of common individuals.

        Parameters
        ----------
        one, other : array (B,)
            Residuals of the sources in units of their noise.

        Returns
        -------
        float
            From -1 to 1; zero where nothing overlaps.
        """
        if not len(self.share):
            return 0.0
        first, second, share = (part.cpu().numpy() for part in (
            self.first, self.second, self.share))
        expected, strength = np.zeros(len(other)), np.zeros(len(other))
        np.add.at(expected, second, share * one[first])
        np.add.at(strength, second, share**2)
        seen = strength > 0
        expected, found = expected[seen], other[seen]
        sizes = np.linalg.norm(expected) * np.linalg.norm(found)
        if sizes == 0:
            return 0.0
        return float(np.clip(expected @ found / sizes / np.sqrt(strength[seen].mean()), -1, 1))


def overlap(first: tuple[Inputs, AggregationOperator], second: tuple[Inputs, AggregationOperator]
            ) -> Overlap:
    """Overlap of two sources by the individuals that they have in common.

    Individuals are the same if each is the other's nearest, within half the usual distance of
    neighbours in a source. Observations that weigh individuals by a and b, whose noise is that of
    individuals, have the correlation Σ a_k b_k / (|a| |b|) over common ones.

    Parameters
    ----------
    first, second : tuple of Tensor (N, D) and AggregationOperator
        Standardised inputs of each source's individuals, and its observations of them.

    Returns
    -------
    Overlap
        Of all pairs of observations that have an individual in common.
    """
    like = first[0]
    tables = [x.detach().cpu().numpy() for x, _ in (first, second)]
    reach = max(_EXACT, *(_spacing(table) / 2 for table in tables))
    numbered = [np.column_stack([t, 1e-3 * reach * _occurrence(t)]) for t in tables]
    trees = [cKDTree(table) for table in numbered]
    apart, partner = trees[1].query(numbered[0])
    back = trees[0].query(numbered[1])[1]
    own = np.arange(len(partner))
    same = (apart <= reach) & (back[partner] == own)
    members, units = [], []
    for (_, operator), chosen in zip((first, second), (own[same], partner[same]), strict=True):
        a, bag = operator.coefficients().detach().cpu().numpy(), (
            operator.bags.membership.cpu().numpy())
        norm = np.sqrt(np.bincount(bag, a**2, operator.bags.count))
        members.append(bag[chosen])
        units.append((a / norm[bag])[chosen])
    pairs, of = np.unique(np.column_stack(members), axis=0, return_inverse=True)
    share = np.bincount(of.reshape(-1), units[0] * units[1], len(pairs))
    return Overlap(torch.as_tensor(pairs[:, 0], device=like.device),
                   torch.as_tensor(pairs[:, 1], device=like.device),
                   torch.as_tensor(share).to(like))


def _spacing(table: np.ndarray) -> float:
    if len(table) < 2:
        return 0.0
    return float(np.median(cKDTree(table).query(table, k=2)[0][:, 1]))


def _occurrence(table: np.ndarray) -> np.ndarray:
    """How many equal rows came before each."""
    _, of = np.unique(table, axis=0, return_inverse=True)
    of = of.reshape(-1)
    order = np.argsort(of, kind="stable")
    sizes = np.bincount(of)
    out = np.empty(len(of))
    out[order] = np.arange(len(of)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return out
