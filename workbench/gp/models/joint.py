"""Joint draws of dense Gaussian posteriors."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from workbench.checks import require
from workbench.gp.data.bags import Bags
from workbench.gp.data.runs import split
from workbench.gp.numerics.linalg import cholesky

#: Individuals that are drawn jointly by models with dense covariances: 200 MB in float64. More are
#: drawn in runs of whole bags, each jointly; the runs are independent of each other.
MOST_JOINT = 5_000


def in_parts(bags: Bags, draw: Callable[[Bags, slice], Tensor]) -> Tensor:
    """Draws (samples, N) of runs of whole bags, of up to `MOST_JOINT` individuals each."""
    return torch.cat([draw(part, which) for part, which in split(bags, MOST_JOINT)], 1)


def gaussian(mean: Tensor, covariance: Tensor, samples: int, generator: np.random.Generator
             ) -> Tensor:
    """Draws of N(mean, covariance) (samples, n)."""
    require(samples > 0, f"samples must be positive, got {samples}")
    noise = torch.as_tensor(generator.standard_normal((samples, len(mean)))).to(mean)
    covariance = (covariance + covariance.mT) / 2
    if not bool((covariance.diagonal() > 0).any()):
        return mean.expand(samples, -1)
    root = cholesky(covariance, "posterior covariance of the places", 1e-10)
    return mean + noise @ root.mT


def sum_bags(operator, drawn: Tensor) -> Tensor:
    """Sums or means over bags of draws at individuals (samples, B)."""
    return sum_runs(drawn * operator.coefficients().to(drawn), operator.bags)


def sum_runs(values: Tensor, bags: Bags) -> Tensor:
    """Unweighted sums over bags of the last of two axes (samples, B), without gradients.

    Individuals of a bag are neighbours in memory: several times faster than adding by index.
    """
    ends = torch.bincount(bags.membership, minlength=bags.count).cumsum(0)
    offsets = torch.cat([ends.new_zeros(1), ends]).expand(len(values), -1).contiguous()
    return torch.segment_reduce(values.contiguous(), "sum", offsets=offsets, axis=1)
