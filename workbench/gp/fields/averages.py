"""Inducing variables that are averages of f over areas, and no values of it at points.

What Normal values of areas say of f under the identity link they say through its averages over
these areas: with those as variables the posterior is the exact one. Under other links, where what
counts inside an area depends on f, averages over parts of areas come nearest. Where there are more
areas than variables each is the average over areas of similar inputs. Where inputs are few they are
the variables themselves, which is exact under every link.

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
from workbench.gp.kernels.grammar import Term, inducing_inputs
from workbench.gp.kernels.operators import SegmentMean
from workbench.gp.numerics.recent import ResultCache
from workbench.gp.numerics.shapes import Inputs

# Points for each average: where averages are exact, and elsewhere, where five are enough. Of fewer
# than five an average is no better than a point.
_EXACT, _POINTS = 10, 5
# Where exact averages are few their areas may be large: together they have this many points.
_TOGETHER = 1_000
# Most covariances of points with the individuals that are learnt on.
_MOST = 8_000_000
# Of no more individuals than these all are points of exact averages, which leaves nothing that is
# not exact; of more their covariances with each other take too long.
_ALL = 2_000
_DIGITS = 9         # of standardised inputs and shares that are the same
_RECENT = ResultCache(16)


def averages(term: Term, whole: Geometry, learning: Geometry, count: int, seed: int = 0,
             exact: bool = False) -> tuple[Inputs, SegmentMean | None]:
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
        stand for areas: then there are more of these, and no parts. Points are all of two thousand
        individuals or fewer, else a thousand together, and ten for each average at least.

    Returns
    -------
    (Tensor (P, D), SegmentMean or None)
        Inducing inputs on the standardised scale, and from values there to averages (M,). None
        where the inputs are the variables: all that there are, or k-means++ seeds. There are fewer
        averages where individuals are so many that each would be of fewer than five points, and
        seeds where that leaves fewer than half of them.
    """
    bags, columns = whole.operator.bags, list(term.columns)
    wanted = min(count, bags.count) if exact else count
    given = whole.x[:, columns].detach(), bags.membership, bags.weight, bags.count, wanted, exact
    distinct, alike = _RECENT.get(lambda: _distinct(*given), *given)
    if distinct is not None:
        inputs = torch.zeros(len(distinct), whole.x.shape[1]).to(whole.x)
        inputs[:, columns] = distinct.to(whole.x)
        return inputs, None
    areas = int(alike.max()) + 1
    wanted = min(wanted, areas) if exact else wanted
    each = _each_point(len(whole.x), wanted, exact)
    most = wanted if each is None else _most_averages(
        len(learning.x), wanted, exact and wanted == areas)
    if 2 * most < wanted:
        return inducing_inputs(term, whole.x, count, seed), None
    count = min(wanted, most)
    # At most half of the clusters that are learnt on: of all of them averages would seem exact, and
    # noise be learnt that is far smaller than what clusters miss. Where that leaves too few points,
    # as of a few large areas, exact averages are of points of their own.
    half = max(len(learning.x) // 2, bags.count)
    own = exact and (each is None or each > _EXACT or each * count > half)
    seen, room = (whole, len(whole.x)) if own else (learning, half)
    room = min(room, max(_MOST // len(learning.x), _POINTS * count))
    bags, table = seen.operator.bags, torch.zeros_like(seen.x)
    table[:, columns] = seen.x[:, columns].detach()
    bags = Bags(table, bags.membership, bags.weight, bags.count, bags.columns)
    count = count if exact else min(count, room)
    x, membership, weight = _RECENT.get(
        lambda: _averages(bags, alike, count, seed, each, room), bags.x, bags.membership,
        bags.weight, bags.count, alike, count, seed, each, room)
    return x, SegmentMean(Bags(x, membership, weight, int(membership[-1]) + 1, bags.columns))


def one_each(learnt: int, areas: int) -> bool:
    """Whether there may be an average of points of its own for each area.

    Parameters
    ----------
    learnt : int
        Individuals, or clusters of them, that hyperparameters are learnt on.
    areas : int
        Number of areas.
    """
    return learnt * areas * _POINTS <= 2 * _MOST


def _most_averages(learnt: int, wanted: int, every: bool) -> int:
    """Most averages of five points that as many as are learnt on allow for.

    ``every``: there is one of each area, which is exact; that is worth twice as many points.
    """
    if every and one_each(learnt, wanted):
        return wanted
    return _MOST // learnt // _POINTS


def _each_point(individuals: int, wanted: int, exact: bool) -> int | None:
    """Points of each of so many averages; None where all individuals are points."""
    if exact and individuals <= _ALL:
        return None
    return max(_EXACT, _TOGETHER // wanted) if exact else _POINTS


def _distinct(x: Inputs, membership: Tensor, weight: Tensor, areas: int, count: int, exact: bool
              ) -> tuple[Inputs | None, Tensor]:
    """Distinct inputs, where there are no more than ``count``; and a number of each area (B,).

    It is the same for areas of the same inputs: a place at several times. Where averages are exact
    weights must be the same, too.
    """
    rows, of_row = np.unique(np.round(x.cpu().numpy(), _DIGITS), axis=0, return_inverse=True)
    of_row, members = of_row.reshape(-1), membership.cpu().numpy()
    share = weight.cpu().numpy()
    share = share / np.bincount(members, share, areas)[members]
    ends, known, found = np.cumsum(np.bincount(members, minlength=areas)), {}, []
    for start, stop in zip(np.r_[0, ends[:-1]], ends, strict=True):
        own, place = np.unique(of_row[start:stop], return_inverse=True)
        key = own.tobytes()
        if exact:
            key += np.round(np.bincount(place.reshape(-1), share[start:stop]), _DIGITS).tobytes()
        found.append(known.setdefault(key, len(known)))
    return torch.as_tensor(rows) if len(rows) <= count else None, torch.as_tensor(found)


def _averages(bags: Bags, alike: Tensor, count: int, seed: int, each: int | None, room: int
              ) -> tuple[Tensor, Tensor, Tensor]:
    """Points, the average that each belongs to, and its weight there."""
    groups = _grouped(bags, alike, count, seed)
    parts = _clusters(groups, count)
    order = parts.argsort(stable=True)
    inside = replace(groups, x=groups.x[order], weight=groups.weight[order],
                     membership=parts[order], count=int(parts.max()) + 1)
    if each is None:
        return inside.x, inside.membership, inside.weight
    x, weight, membership, _, _ = compressed(
        inside, _each(inside.sizes, min(each * inside.count, room)), seed)
    return x, membership, weight


def _grouped(bags: Bags, alike: Tensor, count: int, seed: int) -> Bags:
    """Areas that are the same as one, and of more than ``count`` those whose centres are alike."""
    share = bags.weight / bags.totals[bags.membership]
    merged = _merged(bags, alike.to(bags.membership.device)[bags.membership], share)
    centres = merged.centres().x.cpu().numpy().astype(float)
    order = np.lexsort(centres.T[::-1])     # not that of the areas, on which nothing shall depend
    place = np.empty(len(order), dtype=int)
    place[order] = np.arange(len(order))
    if len(order) > count:
        from scipy.cluster.vq import kmeans2

        with without_warnings():        # of groups that lose all their areas
            group = kmeans2(centres[order], count, minit="++", rng=seed)[1]
        place = np.unique(group, return_inverse=True)[1].reshape(-1)[place]
    own = torch.as_tensor(place, device=bags.membership.device)[merged.membership]
    return _merged(merged, own, merged.weight)


def _merged(bags: Bags, own: Tensor, weight: Tensor) -> Bags:
    """Bags by other numbers of their individuals; rows that are the same in one are one row."""
    order = own.argsort(stable=True)
    x, own, weight = bags.x[order], own[order], weight[order]
    keyed = torch.cat([own[:, None].to(x), x], 1).cpu().numpy()
    _, first, of_row = np.unique(np.round(keyed, _DIGITS), axis=0, return_index=True,
                                 return_inverse=True)
    if len(first) < len(x):
        of_row = torch.as_tensor(of_row.reshape(-1), device=own.device)
        weight = torch.zeros(len(first)).to(weight).index_add(0, of_row, weight)
        first = torch.as_tensor(first, device=own.device)
        x, own = x[first], own[first]
    return Bags(x, own, weight, int(own[-1]) + 1, bags.columns)


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
