"""What of a source does not change with hyperparameters: inputs, aggregation, and clusters."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from workbench.compression import Clusters, compress
from workbench.operators import AggregationOperator
from workbench.shapes import Inputs

# Pairs of individuals inside bags that are kept one by one: 4 million are 32 MiB in float64. Beyond
# that there are as many pairs of clusters, whatever the number of individuals.
MOST_PAIRS = 4_000_000
_FEWEST, _MOST = 8, 40        # clusters per bag


@dataclass(frozen=True)
class Geometry:
    """Standardised inputs and their bags, with clusters where all pairs would be too many.

    Parameters
    ----------
    x : Tensor (N, D)
        Standardised inputs.
    operator : AggregationOperator
        The bags they belong to, and how these are aggregated.
    clusters : Clusters or None
        Clusters inside each bag; None where pairs of individuals are kept.
    """

    x: Inputs
    operator: AggregationOperator
    clusters: Clusters | None


def geometry(x: Inputs, operator: AggregationOperator) -> Geometry:
    """Geometry of a source, clustered if its bags hold more than `MOST_PAIRS` pairs."""
    bags = operator.bags
    if float(bags.sizes.square().sum()) <= MOST_PAIRS:
        return Geometry(x, operator, None)
    most = math.isqrt(MOST_PAIRS // bags.count)
    return Geometry(x, operator, compress(replace(bags, x=x), min(max(most, _FEWEST), _MOST)))
