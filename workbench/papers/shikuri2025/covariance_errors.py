"""How far a covariance moves when points are moved to their centroids: ζ₁, ζ₂, and β.

``zeta_one`` and ``zeta_two`` are Table 1 as printed. Both rest on |e^-p - e^-q| ≤ 1 - e^-|p-q|,
which forgets the factor e^-min(p, q): for the Gaussian they tend to one as z and z' draw apart,
where the true difference tends to zero. `largest_change` is the supremum itself, of any kernel.
"""

from __future__ import annotations

import numpy as np

from workbench.checks import choose, reject, require
from workbench.granularity.correlations import (
    ALIASES,
    Correlation,
    as_lengthscale,
    correlation,
    gram,
)
from workbench.granularity.points import as_assignment, as_points

_TABULATED = ("matern12", "rbf", *ALIASES)
_STEPS = 257          # distances looked at where the correlation may rise and fall


def zeta_one(radius, distance, kernel: str) -> np.ndarray:
    """Bound of |k(x, x') - k(z, z')| where x, x' are within a radius of z, z', as printed.

    Parameters
    ----------
    radius : float or array
        α, in lengthscales.
    distance : float or array
        |z - z'|, in lengthscales.
    kernel : {"matern12", "rbf", "laplacian", "gaussian"}
        The printed rows; `largest_change` takes any other kernel.

    Returns
    -------
    array
        The bound, in prior variances.

    References
    ----------
    Shikuri 2025, Table 1 and appendix B.1. The chain there drops an absolute value; the result
    holds all the same, as the far side |z - z'| + 2α changes the square by more than the near one.
    """
    radius, distance = _nonnegative(radius, distance)
    if ALIASES.get(kernel, choose("kernel", kernel, _TABULATED)) in ("matern12", "laplacian"):
        return -np.expm1(-2 * radius + 0 * distance)
    return -np.expm1(-2 * radius * (distance + radius))


def zeta_two(radius, distance, kernel: str, printed: bool = True) -> np.ndarray:
    """Bound of |k(x, x*) - k(z, x*)| where x is within a radius of z.

    Parameters are those of `zeta_one`, distance being |z - x*|. ``printed=False`` replaces the
    Gaussian's 3/2 by 1/2, which the same argument gives: |r² - d²| ≤ α(2d + α) for |r - d| ≤ α.

    References
    ----------
    Shikuri 2025, Table 1 and appendix B.1.
    """
    radius, distance = _nonnegative(radius, distance)
    if ALIASES.get(kernel, choose("kernel", kernel, _TABULATED)) in ("matern12", "laplacian"):
        return -np.expm1(-radius + 0 * distance)
    return -np.expm1(-radius * (distance + (1.5 if printed else 0.5) * radius))


def largest_change(shift, distance, kernel: str | Correlation) -> np.ndarray:
    """Supremum of |ρ(r) - ρ(d)| over distances r within a shift of d: the sharp ζ of any kernel.

    With shift = 2α and d = |z - z'| it is the sharp ζ₁, with shift = α and d = |z - x*| the sharp
    ζ₂; two centroids with radii of their own have the sum of the radii as shift. It is exact for
    the kernels known by name, which fall with distance; of a callable, the largest on a grid of
    257 distances.

    Parameters
    ----------
    shift, distance : float or array
        In lengthscales.
    kernel : str or callable
        See `correlations.correlation`.

    Returns
    -------
    array
        In prior variances.
    """
    shift, distance = np.broadcast_arrays(*_nonnegative(shift, distance))
    rho = correlation(kernel)
    low, high = np.maximum(distance - shift, 0), distance + shift
    at = np.asarray(rho(distance))
    if not callable(kernel):
        return np.maximum(rho(low) - at, at - rho(high))
    largest = np.zeros(distance.shape)
    for t in np.linspace(0, 1, _STEPS):
        np.maximum(largest, np.abs(rho(low + t * (high - low)) - at), out=largest)
    return largest


def covariance_error(points, centroids, assignment, *, kernel: str | Correlation = "matern32",
                     lengthscale=1.0, variance: float = 1.0, new_points=None) -> float:
    """β: the largest change of a covariance when points are replaced by their centroids.

    The smallest number that is not exceeded (the paper's β is any number above it). The centroids
    are counted among the new inputs: the proof of Lemma 4.2 uses β for them too.

    Parameters
    ----------
    points, centroids : array-like (n, d) and (m, d)
    assignment : array of int (n,)
        Row of each point's centroid, from zero.
    kernel, lengthscale, variance
        See `correlations.gram`.
    new_points : array-like (s, d), optional
        Inputs at which one wants to predict.

    References
    ----------
    Shikuri 2025, section 4.
    """
    x, z = as_points(points, "points"), as_points(centroids, "centroids")
    w = as_assignment(assignment, len(x), len(z))
    k = (kernel, lengthscale, variance)
    at_centroids = gram(z, z, *k)
    changes = [gram(x, x, *k) - at_centroids[np.ix_(w, w)], gram(x, z, *k) - at_centroids[w]]
    if new_points is not None:
        changes.append(gram(x, new_points, *k) - gram(z, new_points, *k)[w])
    return max(float(np.abs(change).max()) for change in changes)


def covariance_error_bound(centroids, radii, *, kernel: str | Correlation = "matern32",
                           lengthscale: float = 1.0, variance: float = 1.0,
                           printed: bool = False) -> float:
    """Bound of β by the summary table alone: centroids, and how far its points are from each.

    Covers pairs of points, and points beside centroids.

    Parameters
    ----------
    centroids : array-like (m, d)
    radii : float or array (m,)
        Largest distance of a point from its centroid, in the unit of the centroids.
    kernel, lengthscale, variance
        See `correlations.gram`; here one lengthscale.
    printed : bool
        By Table 1 with the largest radius, instead of the supremum.

    References
    ----------
    Shikuri 2025, section 4 and Table 1.
    """
    from scipy.spatial.distance import cdist  # here: it would double the time of the import

    z = as_points(centroids, "centroids")
    scale = float(as_lengthscale(lengthscale, 1).reshape(-1)[0])
    r, = _nonnegative(radii)
    if r.shape not in ((), (len(z),)):
        raise reject(f"one radius or {len(z)}", f"shape {r.shape}", "give one per centroid")
    r = np.broadcast_to(r, len(z)) / scale
    distance = cdist(z, z) / scale
    if printed:
        require(not callable(kernel), "Table 1 has only the Laplacian and the Gaussian kernel; "
                "use printed=False for other kernels")
        bound = np.maximum(zeta_one(r.max(), distance, kernel),
                           zeta_two(r.max(), distance, kernel))
    else:
        bound = largest_change(r[:, None] + r, distance, kernel)
    return float(variance * bound.max())


def _nonnegative(*values) -> list[np.ndarray]:
    arrays = [np.asarray(value, dtype=float) for value in values]
    for array in arrays:
        require(bool((np.isfinite(array) & (array >= 0)).all()),
                f"{array.ravel()[:3]}... has a negative or unknown entry; give distances >= 0")
    return arrays

