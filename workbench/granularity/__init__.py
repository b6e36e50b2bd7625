"""Granularity of summarised data beside the lengthscale: bounds of input approximation, advice.

>>> from workbench.granularity import advise_cells
>>> advise_cells([(0, 100), (0, 60)], tolerance=0.3, lengthscale=20.0).areas
77
"""

from workbench.checks.moved import moved
from workbench.granularity.advice import CellAdvice, Coarsening, TrustedLengthscales
from workbench.granularity.adviser import advise_cells, coarsening, trusted_lengthscales
from workbench.granularity.bounds import InputErrorBound, input_error_bound, rms_input_error
from workbench.granularity.cells import cell_rms
from workbench.granularity.chi_square import LEAST_XI
from workbench.granularity.correlations import CORRELATIONS, correlation
from workbench.granularity.points import nearest

__all__ = [
    "CORRELATIONS", "LEAST_XI", "CellAdvice", "Coarsening", "InputErrorBound",
    "TrustedLengthscales", "advise_cells", "cell_rms", "coarsening", "correlation",
    "input_error_bound", "nearest", "rms_input_error", "trusted_lengthscales",
]

_ERRORS = "workbench.papers.shikuri2025.covariance_errors"
__getattr__ = moved(__name__, {
    name: f"{_ERRORS}.{name}" for name in (
        "covariance_error", "covariance_error_bound", "largest_change", "zeta_one", "zeta_two")
} | {"trust_region_kappa": "workbench.papers.shikuri2025.kappa.trust_region_kappa"})
