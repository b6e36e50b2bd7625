"""Fewer, heavier individuals per bag, for learning hyperparameters on large data.

Each bag's individuals are split along the input of largest weighted spread, the cluster with most
spread first, until at most ``most`` clusters remain; a cluster becomes one individual at its
weighted mean with the summed weight. Bag totals are kept exactly; variation of f inside a cluster
is what is lost, so q and all predictions use the full data again.
"""

from __future__ import annotations

import heapq
from dataclasses import replace

import numpy as np
import torch

from workbench.bags import Bags


def compress(bags: Bags, most: int) -> Bags:
    """The bags with at most ``most`` individuals each.

    Parameters
    ----------
    bags : Bags
        Inputs on the scale that spread is measured on (standardised).
    most : int
        Most individuals per bag.
    """
    x, weight = bags.x.cpu().numpy(), bags.weight.cpu().numpy()
    ends = np.cumsum(bags.sizes.long().cpu().numpy())
    inputs, weights, members = [], [], []
    for bag, (start, stop) in enumerate(zip(np.r_[0, ends[:-1]], ends, strict=True)):
        for cluster in _clusters(x[start:stop], weight[start:stop], most):
            w = weight[start:stop][cluster]
            inputs.append(w @ x[start:stop][cluster] / w.sum())
            weights.append(w.sum())
            members.append(bag)
    return replace(
        bags, x=torch.as_tensor(np.array(inputs)).to(bags.x),
        weight=torch.as_tensor(np.array(weights)).to(bags.weight),
        membership=torch.as_tensor(np.array(members)).to(bags.membership),
    )


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
