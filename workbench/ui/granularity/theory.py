"""What theory says of the error before data are seen, from `workbench.granularity`.

All in prior standard deviations: η and η' bound the error of a posterior up to constants that
depend on the data.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from workbench.ui.granularity.cells import Summaries
from workbench.ui.granularity.engine import Model


@dataclass(frozen=True)
class Bound:
    """The paper's bound η and the certificate η' of one setting."""

    bound: float
    certificate: float


def bound(points: np.ndarray, cells: Summaries, model: Model) -> Bound:
    """Bounds for points summarised in cells under a kernel."""
    from workbench.granularity import input_error_bound  # not before the page is drawn

    found = input_error_bound(points, cells.places, cells.assignment, kernel=model.kernel,
                              lengthscale=model.lengthscale)
    return Bound(float(found.bound), float(found.certificate))


@lru_cache(200)
def trusted(kernel: str, tolerance: float, dimension: int) -> float:
    """The shortest lengthscale that cells of side one can be trusted with: the adviser's rule.

    As kernels are functions of distance over lengthscale, it is proportional to the side.
    """
    from workbench.granularity import trusted_lengthscales

    return trusted_lengthscales(np.ones((1, dimension)), tolerance, kernel=kernel).shortest
