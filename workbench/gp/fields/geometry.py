"""What of a source does not change with hyperparameters: inputs, aggregation, and clusters."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from workbench.gp.data.compression import Clusters, compress
from workbench.gp.kernels.operators import AggregationOperator
from workbench.gp.numerics.shapes import Inputs, PerIndividual

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
    concentration : Tensor (N,) or None
        Where the individuals are themselves clusters: the sum of squared shares of their members,
        which is what is left in a cluster's mean of the variance of white noise. None is one.
    shift : Tensor (N,) or None
        Where the individuals are themselves clusters: what is added to f, so that their rates are
        the means of their members'. None is zero.
    """

    x: Inputs
    operator: AggregationOperator
    clusters: Clusters | None
    concentration: PerIndividual | None = None
    shift: PerIndividual | None = None


def geometry(x: Inputs, operator: AggregationOperator,
             concentration: PerIndividual | None = None) -> Geometry:
    """Geometry of a source, clustered if its bags hold more than `MOST_PAIRS` pairs.

    ``concentration`` is by default that of the bags.
    """
    bags = operator.bags
    concentration = bags.concentration if concentration is None else concentration
    if float(bags.sizes.square().sum()) <= MOST_PAIRS:
        return Geometry(x, operator, None, concentration)
    most = math.isqrt(MOST_PAIRS // bags.count)
    clusters = compress(replace(bags, x=x), min(max(most, _FEWEST), _MOST))
    return Geometry(x, operator, clusters, concentration)
