"""Where a source has something to say: which bags of a target lie in its support."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch
from scipy.spatial import cKDTree
from torch import Tensor

from workbench.checks import require
from workbench.gp.data.bags import Bags, Source, Targets


def in_support(bags: Bags, x: Tensor, source: Bags, source_x: Tensor) -> Tensor:
    """Whether at least half of each bag's weight lies in the support of a source (B,).

    An individual lies in the support if its distance to the nearest individual of the source is at
    most half the usual distance between neighbouring bags there (the median over the bags of the
    distance between nearest centres); of a single bag, at most the bag's radius. Distances are
    those of the coordinates, or of all columns where there are none, in standardised units. In one
    dimension this is the range of the source, and half a bag at either end.

    Parameters
    ----------
    bags, source : Bags
        Of the target and of the source.
    x, source_x : Tensor (N, D), (n, D)
        Standardised inputs of their individuals.
    """
    columns = list(bags.columns.coordinates or bags.columns.group("all"))
    points = source_x[:, columns].detach().cpu().numpy()
    far, _ = cKDTree(points).query(x[:, columns].detach().cpu().numpy())
    centres = replace(source, x=source_x).centres().x[:, columns].detach().cpu().numpy()
    inside = torch.as_tensor(far <= _reach(points, centres)).to(bags.weight)
    share = torch.zeros(bags.count).to(bags.weight).index_add(
        0, bags.membership, inside * bags.weight)
    return share >= 0.5 * bags.totals


def _reach(points: np.ndarray, centres: np.ndarray) -> float:
    distinct = np.unique(centres, axis=0)
    if len(distinct) > 1:
        return 0.5 * float(np.median(cKDTree(distinct).query(distinct, 2)[0][:, 1]))
    return float(np.sqrt(((points - centres[0])**2).sum(1)).max())


def keep_bags(source: Source, keep: Tensor) -> Source:
    """The source with some of its bags alone, by one truth value for each.

    Raises
    ------
    InputError
        If none is left.
    """
    require(bool(keep.any()), f"no bag of source {source.name!r} would be left")
    bags, targets = source.bags, source.targets
    rows, position = keep[bags.membership], keep.long().cumsum(0) - 1
    chosen = keep.nonzero().flatten().tolist()
    names = tuple(bags.names[i] for i in chosen) if bags.names else ()
    known = None if bags.noise_variance is None else bags.noise_variance[keep]
    kept = replace(bags, x=bags.x[rows], membership=position[bags.membership[rows]],
                   weight=bags.weight[rows], count=len(chosen), names=names, noise_variance=known,
                   **{name: None if (part := getattr(bags, name)) is None else part[rows]
                      for name in ("concentration", "individual_noise_variance", "areas")})
    values = {name: None if getattr(targets, name) is None else getattr(targets, name)[keep]
              for name in ("value", "noise_variance", "sample_variance")}
    return replace(source, bags=kept, targets=Targets(**values))
