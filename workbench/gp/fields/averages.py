"""Inducing variables that are averages of f over areas, and no values of it at points.

What Normal values of areas say of f under the identity link they say through its averages over
these areas: with those as variables the posterior is the exact one. Under other links, where what
counts inside an area depends on f, averages over parts of areas come nearest. Where there are more
areas than variables each is the average over areas of similar inputs.

References
----------
Lázaro-Gredilla and Figueiras-Vidal 2009, Inter-domain Gaussian processes for sparse inference using
inducing features.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from workbench.checks import without_warnings
from workbench.gp.data.bags import Bags
from workbench.gp.data.compression import compressed
from workbench.gp.fields.geometry import Geometry
from workbench.gp.kernels.grammar import Term
from workbench.gp.kernels.operators import SegmentMean
from workbench.gp.numerics.recent import ResultCache

# Points for each average: where averages are exact; elsewhere, where five are enough; and at least.
_EXACT, _POINTS, _FEWEST = 10, 5, 2
# Covariances of points with the individuals that are learnt on: most that there are, and with all
# individuals as points, which leaves nothing that is not exact.
_MOST, _ALL = 8_000_000, 4_000_000
_RECENT = ResultCache(16)


def averages(term: Term, whole: Geometry, learning: Geometry, count: int, seed: int = 0,
             exact: bool = False) -> SegmentMean:
    """Averages over areas, parts of them or groups of them, as similar as a term's columns say.

    Parameters
    ----------
    term : Term
        Of a kernel. Other columns than its own are set to zero, which it ignores.
    whole, learning : Geometry
        Individuals of the areas, and what hyperparameters are learnt on: these, or clusters.
    count : int
        Most averages. Of fewer areas parts are averaged over: as many of each, while there are
        that many individuals. Of more, groups of areas, each of which counts as much.
    seed : int
        Of the groups.
    exact : bool
        Whether the posterior through averages over areas is the exact one, but for the points that
        stand for areas: then there are more of these, and no parts.

    Returns
    -------
    SegmentMean
        From values at its ``bags.x`` (P, D), on the standardised scale, to averages (M,).
    """
    everyone = _all(len(whole.x), len(learning.x), exact)
    seen = whole if everyone else learning
    # At most half of the clusters that are learnt on: of all of them averages would seem exact, and
    # noise be learnt that is far smaller than what clusters miss.
    room = len(seen.x) if seen is whole else max(len(seen.x) // 2, seen.operator.bags.count)
    bags, table, columns = seen.operator.bags, torch.zeros_like(seen.x), list(term.columns)
    count = min(count, bags.count if exact else room)
    each = None if everyone else _EXACT if exact else _POINTS
    table[:, columns] = seen.x[:, columns].detach()
    bags = Bags(table, bags.membership, bags.weight, bags.count, bags.columns)
    x, membership, weight = _RECENT.get(
        lambda: _averages(bags, count, seed, each, room), bags.x, bags.membership, bags.weight,
        bags.count, count, seed, each, room)
    return SegmentMean(Bags(x, membership, weight, int(membership[-1]) + 1, bags.columns))


def points_of(count: int, individuals: int, learnt: int, exact: bool) -> int:
    """Most points of so many averages, of so many individuals, and so many that are learnt on."""
    if _all(individuals, learnt, exact):
        return individuals
    return _most(count, learnt, _EXACT if exact else _POINTS)


def _all(individuals: int, learnt: int, exact: bool) -> bool:
    return exact and individuals * learnt <= _ALL


def _most(count: int, learnt: int, each: int) -> int:
    return max(_FEWEST * count, min(each * count, _MOST // learnt))


def _averages(bags: Bags, count: int, seed: int, each: int | None, room: int
              ) -> tuple[Tensor, Tensor, Tensor]:
    """Points, the average that each belongs to, and its weight there."""
    groups = _grouped(bags, count, seed)
    parts = _clusters(groups, count)
    order = parts.argsort(stable=True)
    inside = replace(groups, x=groups.x[order], weight=groups.weight[order],
                     membership=parts[order], count=int(parts.max()) + 1)
    if each is None:
        return inside.x, inside.membership, inside.weight
    most = _each(inside.sizes, min(_most(inside.count, len(bags.x), each), room))
    x, weight, membership, _, _ = compressed(inside, most, seed)
    return x, membership, weight


def _grouped(bags: Bags, count: int, seed: int) -> Bags:
    """Areas that are the same in these columns as one, and of more than ``count`` those alike.

    A ring is not the same as what it surrounds: spread is compared beside centres.
    """
    centres, squares = (replace(bags, x=x).centres().x for x in (bags.x, bags.x.square()))
    both = torch.cat([centres, squares], 1).cpu().numpy().astype(float)
    distinct, place = np.unique(both, axis=0, return_inverse=True)
    place = place.reshape(-1)
    if len(distinct) > count:
        from scipy.cluster.vq import kmeans2

        with without_warnings():        # of groups that lose all their areas
            group = kmeans2(distinct[:, :centres.shape[1]], count, minit="++", rng=seed)[1]
        place = group[place]
    group = np.unique(place, return_inverse=True)[1].reshape(-1)
    own = torch.as_tensor(group, device=bags.membership.device)[bags.membership]
    order = own.argsort(stable=True)
    share = bags.weight / bags.totals[bags.membership]
    return Bags(bags.x[order], own[order], share[order], int(group.max()) + 1, bags.columns)


def _clusters(bags: Bags, count: int) -> Tensor:
    """Parts of the bags (N,), ``count`` in all at most, or the bags themselves."""
    most = _each(bags.sizes, count)
    return bags.membership if most == 1 else compressed(bags, most)[3]


def _each(sizes: Tensor, total: int) -> int:
    """Parts of each bag, one at least, so that all together are no more than a number."""
    most, largest = 1, int(sizes.max())
    while most < largest and float(sizes.clamp_max(most + 1).sum()) <= total:
        most += 1
    return most
