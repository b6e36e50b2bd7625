"""κ, the least (n/m)|u|² with |(W - K_fu K_uu⁻¹)u| = 1, as the paper searched for it.

The constraint fixes the length of B u, B = W - K_fu K_uu⁻¹, so the infimum is (n/m) / σ_max(B)²,
which `workbench.granularity.input_error_bound` computes. Every eigenvector of BᵀB is a stationary
point. The paper's constant start lies near one of the largest κ; where the table is symmetric about
its middle the start is symmetric too, and a method that keeps symmetry reaches an antisymmetric
minimiser by rounding errors only.
"""

from __future__ import annotations

import warnings

import numpy as np

from workbench.checks import require
from workbench.granularity.bounds import InputErrorBound
from workbench.granularity.chi_square import least_bound
from workbench.granularity.correlations import Correlation, gram
from workbench.granularity.points import as_assignment, as_points


def trust_region_kappa(points, centroids, assignment, *, kernel: str | Correlation = "matern32",
                       lengthscale=1.0, max_iterations: int = 1000) -> float:
    """κ as the paper searched for it: SciPy's trust-constr from the constant vector.

    It is never below the infimum, and may be far above it, so that η with it is not a bound. Here u
    stands for K_uu u, gradients are exact and Hessians are SciPy's default, quasi-Newton.
    On the toy of Figure 3 it stops at the limit of iterations, still on its way; how far it comes
    depends on how the constraint is written and on the version of SciPy: for the Laplacian,
    θ = 10, m = 40, from 370 to 450, where the start has 182,000 and the infimum is 2.93.

    Parameters
    ----------
    points, centroids : array-like (n, d) and (m, d)
    assignment : array of int (n,)
        Row of each point's centroid, from zero.
    kernel, lengthscale
        See `correlations.gram`; κ does not depend on the variance.
    max_iterations : int
        SciPy's default is 1000, about a second at m = 40.

    Returns
    -------
    float
        κ where the search stopped.

    Raises
    ------
    InputError
        If moving points to centroids changes nothing in the direction of the start.

    References
    ----------
    Shikuri 2025, appendix B.8.
    """
    from scipy.optimize import NonlinearConstraint, minimize  # here: slow to import

    x, z = as_points(points, "points"), as_points(centroids, "centroids")
    w = as_assignment(assignment, len(x), len(z))
    inner = gram(z, z, kernel, lengthscale)
    moved = inner[w] - gram(x, z, kernel, lengthscale)
    objective, constraint = len(x) / len(z) * inner @ inner, moved.T @ moved
    start = np.ones(len(z))
    length = np.sqrt(start @ constraint @ start)
    require(length > 0, "the constant start of the trust-region search meets no change: all "
            "points lie on their centroids")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")     # quasi-Newton updates skipped on a zero gradient step
        found = minimize(
            lambda u: u @ objective @ u, start / length, jac=lambda u: 2 * objective @ u,
            method="trust-constr", options={"maxiter": max_iterations},
            constraints=[NonlinearConstraint(lambda u: u @ constraint @ u, 1, 1,
                                             jac=lambda u: 2 * constraint @ u)]).x
    # Put back on the constraint, which the method meets to six digits.
    return float(found @ objective @ found / (found @ constraint @ found))


def searched_bound(found: InputErrorBound, kappa: float) -> float:
    """η with κ by the search instead of its infimum: no bound, but what the paper drew.

    Parameters
    ----------
    found : InputErrorBound
        Of the same points, centroids and kernel.
    kappa : float
        From `trust_region_kappa`.

    Returns
    -------
    float
        In units of f plus a probability.
    """
    slope = np.sqrt(found.top_eigenvalue / kappa) + np.sqrt(found.residual_eigenvalue)
    return least_bound(float(slope), found.centroids)[0]
