"""Clusters of similar individuals inside each bag, for what would be too expensive for all.

Each bag's individuals are split along the input of largest weighted spread, the cluster with most
spread first, until at most ``most`` clusters remain. A cluster stands for its members at their
weighted mean with the summed weight, so bag totals are kept exactly. Hyperparameters are learnt on
clusters where data are large, and covariances inside large bags are kept between clusters.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from workbench.gp.data.bags import Bags
from workbench.gp.numerics.recent import ResultCache

_RECENT = ResultCache(4)      # clusters of the same inputs under several models


@dataclass(frozen=True)
class Clusters:
    """Individuals of each bag in groups of similar inputs.

    Parameters
    ----------
    most : int
        Most clusters per bag that were asked for.
    bags : Bags
        The same bags with the clusters as their individuals (K in all).
    of : Tensor (N,) of int64
        Cluster of each individual, 0 ... K-1.
    partner : Tensor (N,) of int64
        Another member of the individual's cluster, drawn at random without repetition (itself in a
        cluster of one): pairs to estimate means over all pairs of a cluster from.
    """

    most: int
    bags: Bags
    of: Tensor
    partner: Tensor

    def concentration(self, weight: Tensor, own: Tensor | None = None) -> Tensor:
        """Sum of squared shares of weight inside each cluster (K,), of weights (N,).

        ``own`` (N,) is that of the members where these are clusters, too.
        """
        squares = (weight / self.bags.weight[self.of]).square()
        squares = squares if own is None else squares * own
        return torch.zeros_like(self.bags.weight).index_add(0, self.of, squares)


def compress(bags: Bags, most: int, seed: int = 0) -> Clusters:
    """At most ``most`` clusters in each bag.

    Parameters
    ----------
    bags : Bags
        Inputs on the scale that spread is measured on (standardised).
    most : int
        Most clusters per bag; a bag that is a union of more recurring areas has one of each.
    seed : int
        Of the partners.
    """
    found = _RECENT.get(lambda: compressed(bags, most, seed), bags.x, bags.weight,
                        bags.membership, bags.count, bags.recurring, most, seed)
    x, weight, membership, of, partner = found
    recurring = bags.recurring
    if recurring is not None:
        recurring = recurring.new_empty(len(x)).index_copy(0, of, recurring)
    return Clusters(most, replace(bags, x=x, weight=weight, membership=membership,
                                  concentration=None, individual_noise_variance=None, areas=None,
                                  recurring=recurring), of, partner)


def compressed(bags: Bags, most: int, seed: int = 0) -> tuple[Tensor, ...]:
    """As `compress`, not kept.

    Returns
    -------
    tuple of Tensor
        Inputs, weights and bags of clusters (K), and cluster and partner of individuals (N).
    """
    x, weight = bags.x.cpu().numpy(), bags.weight.cpu().numpy()
    ends = np.cumsum(bags.sizes.long().cpu().numpy())
    areas = None if bags.recurring is None else bags.recurring.cpu().numpy()
    generator = np.random.default_rng(seed)
    of, partner = np.empty(len(x), dtype=int), np.empty(len(x), dtype=int)
    inputs, weights, members = [], [], []
    for bag, (start, stop) in enumerate(zip(np.r_[0, ends[:-1]], ends, strict=True)):
        for cluster in _clusters_of(x[start:stop], weight[start:stop], most,
                                    None if areas is None else areas[start:stop]):
            inside = generator.permutation(start + cluster)
            of[inside], partner[inside] = len(inputs), np.roll(inside, 1)
            w = weight[inside]
            inputs.append(w @ x[inside] / w.sum())
            weights.append(w.sum())
            members.append(bag)
    device = bags.membership.device
    return (torch.as_tensor(np.array(inputs)).to(bags.x),
            torch.as_tensor(np.array(weights)).to(bags.weight),
            torch.as_tensor(np.array(members)).to(bags.membership),
            torch.as_tensor(of, device=device), torch.as_tensor(partner, device=device))


def _clusters_of(x: np.ndarray, weight: np.ndarray, most: int, areas: np.ndarray | None
                 ) -> list[np.ndarray]:
    """Clusters of one bag, none of which has individuals of two areas."""
    if areas is None or (areas == areas[0]).all():
        return _clusters(x, weight, most)
    found = []
    for area in np.unique(areas):
        own = np.flatnonzero(areas == area)
        share = max(1, most * len(own) // len(areas))
        found += [own[cluster] for cluster in _clusters(x[own], weight[own], share)]
    return found


def _clusters(x: np.ndarray, weight: np.ndarray, most: int) -> list[np.ndarray]:
    if len(x) <= most:
        return [np.array([i]) for i in range(len(x))]
    everyone = np.arange(len(x))
    heap = [(*_spread(x, weight, everyone), 0, everyone)]
    while len(heap) < most and heap[0][0] < 0:
        _, column, _, cluster = heapq.heappop(heap)
        order = cluster[np.argsort(x[cluster, column], kind="stable")]
        reached = np.cumsum(weight[order])
        cut = int(np.clip(np.searchsorted(reached, reached[-1] / 2), 1, len(order) - 1))
        for part in (order[:cut], order[cut:]):
            heapq.heappush(heap, (*_spread(x, weight, part), int(part[0]), part))
    return [cluster for *_, cluster in heap]


def _spread(x: np.ndarray, weight: np.ndarray, cluster: np.ndarray) -> tuple[float, int]:
    """Minus the weighted sum of squares, and the column that has most of it."""
    w, points = weight[cluster], x[cluster]
    squares = w @ np.square(points - w @ points / w.sum())
    return -float(squares.sum()) if len(cluster) > 1 else 0.0, int(np.argmax(squares))
