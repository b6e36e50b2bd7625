"""Granularity of summarised data beside the lengthscale: bounds of input approximation, advice.

>>> from workbench.granularity import advise_cells
>>> advise_cells([(0, 100), (0, 60)], tolerance=0.3, lengthscale=20.0).areas
77
"""

from workbench.granularity.adviser import (
    CellAdvice,
    Coarsening,
    TrustedLengthscales,
    advise_cells,
    coarsening,
    trusted_lengthscales,
)
from workbench.granularity.bounds import InputErrorBound, input_error_bound, rms_input_error
from workbench.granularity.cells import cell_rms
from workbench.granularity.chi_square import LEAST_XI
from workbench.granularity.correlations import CORRELATIONS, correlation
from workbench.granularity.covariance_errors import (
    covariance_error,
    covariance_error_bound,
    largest_change,
    zeta_one,
    zeta_two,
)
from workbench.granularity.kappa import trust_region_kappa
from workbench.granularity.points import nearest

__all__ = [
    "CORRELATIONS", "LEAST_XI", "CellAdvice", "Coarsening", "InputErrorBound",
    "TrustedLengthscales", "advise_cells", "cell_rms", "coarsening", "correlation",
    "covariance_error", "covariance_error_bound", "input_error_bound", "largest_change", "nearest",
    "rms_input_error", "trust_region_kappa", "trusted_lengthscales", "zeta_one", "zeta_two",
]
