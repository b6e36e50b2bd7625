"""Theorem 5.5 with its constants, and a bound of the same kind that needs no inverse of K_ff.

Write E₁ = K_ff - W K_uu Wᵀ and E₂ = K_*f - K_*u Wᵀ, whose entries are at most β, W⁺ for the means
over cells, A = K_ff⁻¹ W, M = K_*u K_uu⁻¹, u₀ and S for mean and covariance of u given the
statistics, T = K_uu - S. Appendix C.3, carried out with equalities in place of O(β), is

    Wᵀ A = K_uu⁻¹ - K_uu⁻¹ W⁺ E₁ A,    K_*f A = M + D,    D = (E₂ - M W⁺ E₁) A,
    μ_p - μ_q = D u₀,
    Σ_p - Σ_q = D S Dᵀ - D T Mᵀ - M T Aᵀ E₂ᵀ - M S Aᵀ E₁ W⁺ᵀ Mᵀ - E₂ K_ff⁻¹ E₂ᵀ.

As |aᵀ x| ≤ max |a| Σ |x|, every term is at most β, or β², times what `posterior_error_bound`
computes: that is (16) with constants, and holds of any table.

**It does not say that the differences vanish with β.** The theorem supposes that K_ff⁻¹ times a
matrix of O(β) is O(β). With two points i, j in one cell and v = e_i - e_j, Wᵀ v = 0, so that
K_ff v = E₁ v and K_ff⁻¹ E₁ v = v: K_ff⁻¹ E₁ has the eigenvalue one however small β is, and as
vᵀ K_ff v ≤ 4β, K_ff⁻¹ is never smaller than 1/(2β). The supposition fails whenever n > m. What C.3
uses is less, that K_ff⁻¹ W stays bounded and E₂ K_ff⁻¹ E₂ᵀ is O(β). Both hold of the Laplacian
kernel on a line as points move to their centroids: f is Markov, and a constant stretch says
nothing new. They fail where f has derivatives: points of one cell that share a value say that f is
flat there, and μ_p, Σ_p tend to the posterior given f *and* f' = 0 at the centroids. Gaussian
kernel, centroids 0 and 1, two points each at ±h, lengthscale one, u₀ = (1, 1): μ_p - μ_q at 1/2
tends to -0.106 while β falls like h. (The theorem also lists K_u*⁻¹, of a matrix that is not
square: C.3 uses K_uu⁻¹.)

What does vanish is the difference from the posterior of the *complete data*, of means under Normal
noise Λ = diag(v of each point's cell). With P = K_*f (K_ff + Λ)⁻¹, Q = K_*u (K_uu + V)⁻¹ W⁺ and
α = Λ⁻¹ (y - W u₀), from the difference of two inverses,

    μ_complete - μ_q = (E₂ - P E₁) α,
    Σ_q - Σ_complete = P E₂ᵀ + (E₂ - P E₁) Qᵀ,

and (K_ff + Λ)⁻¹ is at most Λ⁻¹: `complete_error_bound` is O(β) for every kernel.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from workbench.checks import reject, require
from workbench.granularity.correlations import Correlation, check_variance, gram
from workbench.granularity.points import as_assignment, as_points

_LEAST = 1e-13          # of the largest eigenvalue of K_ff: below it its inverse has no digits


@dataclass(frozen=True)
class PosteriorErrorBound:
    """How far posteriors at new inputs are apart at most, and how far they are.

    Parameters
    ----------
    beta : float
        β: the largest entry of E₁ and E₂, in units of f².
    mean, covariance : ndarray (s,), (s, s)
        Bounds of the absolute differences of means and covariances, in units of f and f².
    mean_change, covariance_change : ndarray (s,), (s, s)
        The differences themselves: the first posterior minus that of the summaries.
    """

    beta: float
    mean: np.ndarray
    covariance: np.ndarray
    mean_change: np.ndarray
    covariance_change: np.ndarray


def posterior_error_bound(points, centroids, assignment, new_points, statistics, variances, *,
                          kernel: str | Correlation = "matern32", lengthscale=1.0,
                          variance: float = 1.0) -> PosteriorErrorBound:
    """Theorem 5.5 with its constants: μ_p, Σ_p against μ_q, Σ_q.

    μ_p and Σ_p predict from the complete inputs, each with its centroid's value; μ_q and Σ_q from
    the centroids alone.

    Parameters
    ----------
    points, centroids : array-like (n, d) and (m, d), or vectors on a line
    assignment : array of int (n,)
        Row of each point's centroid, from zero; every centroid has a point.
    new_points : array-like (s, d)
        Where f is predicted.
    statistics : array-like (m,)
        ȳ on the link scale, with the prior mean taken off.
    variances : float or array-like (m,)
        Their variances V, v(ȳ)/n.
    kernel, lengthscale, variance
        See `workbench.granularity.input_error_bound`.

    Returns
    -------
    PosteriorErrorBound

    Raises
    ------
    InputError
        On shapes that do not fit, variances that are not positive, a centroid without points, or
        points so near each other under the kernel that K_ff has no inverse in double precision.

    References
    ----------
    Shikuri 2025, theorem 5.5 and appendix C.3.

    Examples
    --------
    >>> x, z, w = [0.1, 0.3, 0.8, 0.9], [0.2, 0.8], [0, 0, 1, 1]
    >>> found = posterior_error_bound(x, z, w, [0.5], [1.0, -1.0], 0.1, kernel="laplacian")
    >>> round(found.beta, 3), abs(found.mean_change) <= found.mean
    (0.181, array([ True]))
    """
    x, z, new, w, counts = _table(points, centroids, assignment, new_points)
    v = _positive(variances, len(z), "variances")
    y = _values(statistics, len(z), "statistics")
    check_variance(variance)
    g = (kernel, lengthscale, variance)
    k_uu, k_ff, k_sf, k_su = gram(z, z, *g), gram(x, x, *g), gram(new, x, *g), gram(new, z, *g)
    first, second = k_ff - k_uu[np.ix_(w, w)], k_sf - k_su[:, w]
    beta = float(max(np.abs(first).max(), np.abs(second).max()))
    inverse, prior_inverse = _inverse(k_ff, "points"), _inverse(k_uu, "centroids")
    a = inverse @ np.eye(len(z))[w]
    weights = k_su @ prior_inverse                                   # M
    shrink = np.linalg.solve(k_uu + np.diag(v), k_uu).T              # K_uu (K_uu + V)⁻¹
    given, told = k_uu - shrink @ k_uu, shrink @ k_uu                # S, T
    from_all = k_sf @ a                                              # K_*f A
    mean = shrink @ y
    size = np.abs(weights).sum(1)
    reach = 1 + size
    kept, lost = (np.abs(a @ part @ weights.T).sum(0) for part in (given, told))
    linear = reach[:, None] * lost + lost[:, None] + kept[:, None] * size
    square = (np.outer(reach, reach) * np.abs(a @ given @ a.T).sum() + np.abs(inverse).sum())
    covariance = beta * np.minimum(linear, linear.T) + beta**2 * square
    change = (from_all @ given @ from_all.T - k_sf @ inverse @ k_sf.T
              - weights @ given @ weights.T + weights @ k_su.T)
    return PosteriorErrorBound(
        beta, beta * reach * np.abs(a @ mean).sum(), covariance, (from_all - weights) @ mean,
        change)


def complete_error_bound(points, centroids, assignment, new_points, values, noise, *,
                         kernel: str | Correlation = "matern32", lengthscale=1.0,
                         variance: float = 1.0) -> PosteriorErrorBound:
    """The posterior given Normal complete data against that of their cells' means: O(β).

    Parameters
    ----------
    points, centroids, assignment, new_points
        See `posterior_error_bound`; points may be in one place.
    values : array-like (n,)
        Observations y, with the prior mean taken off.
    noise : float or array-like (m,)
        v of each cell, the variance of one observation.
    kernel, lengthscale, variance
        See `workbench.granularity.input_error_bound`.

    Returns
    -------
    PosteriorErrorBound
        Of the complete data's posterior minus μ_q, Σ_q, with V = v/n.

    Raises
    ------
    InputError
        On shapes that do not fit, noise that is not positive, or a centroid without points.

    References
    ----------
    Ours, in place of theorem 5.5 of Shikuri 2025 (see the module).

    Examples
    --------
    >>> x, z, w = [0.1, 0.3, 0.8, 0.9], [0.2, 0.8], [0, 0, 1, 1]
    >>> found = complete_error_bound(x, z, w, [0.5], [1.2, 0.8, -0.7, -1.1], 0.1, kernel="rbf")
    >>> round(found.beta, 3), abs(found.mean_change) <= found.mean
    (0.109, array([ True]))
    """
    x, z, new, w, counts = _table(points, centroids, assignment, new_points)
    v, y = _positive(noise, len(z), "noise"), _values(values, len(x), "values")
    check_variance(variance)
    g = (kernel, lengthscale, variance)
    k_uu, k_ff, k_sf, k_su = gram(z, z, *g), gram(x, x, *g), gram(new, x, *g), gram(new, z, *g)
    beta = float(max(np.abs(k_ff - k_uu[np.ix_(w, w)]).max(), np.abs(k_sf - k_su[:, w]).max()))
    summarised = cho_factor(k_uu + np.diag(v / counts), lower=True)
    complete = cho_factor(k_ff + np.diag(v[w]), lower=True)
    means = np.bincount(w, y, len(z)) / counts
    held = cho_solve(summarised, means)
    away = (y - (k_uu @ held)[w]) / v[w]                              # α
    p, q = cho_solve(complete, k_sf.T).T, cho_solve(summarised, k_su.T).T
    all_p, all_q = np.abs(p).sum(1), np.abs(q).sum(1)                 # W⁺ keeps the sum
    linear = all_p[:, None] + all_q + np.outer(all_p, all_q)
    return PosteriorErrorBound(
        beta, beta * (1 + all_p) * np.abs(away).sum(), beta * np.minimum(linear, linear.T),
        p @ y - k_su @ held, q @ k_su.T - p @ k_sf.T)


def _table(points, centroids, assignment, new_points):
    x, z = as_points(points, "points"), as_points(centroids, "centroids")
    new, w = as_points(new_points, "new_points"), as_assignment(assignment, len(x), len(z))
    if not x.shape[1] == z.shape[1] == new.shape[1]:
        raise reject(f"points, centroids and new points of {x.shape[1]} dimensions",
                     f"{z.shape[1]} and {new.shape[1]} of the others", "give them alike")
    counts = np.bincount(w, minlength=len(z)).astype(float)
    require(bool((counts > 0).all()), f"{int((counts == 0).sum())} centroids have no points; leave "
            "them out")
    return x, z, new, w, counts


def _positive(values, size: int, name: str) -> np.ndarray:
    one = np.ndim(values) == 0
    found = _values(np.full(size, values, dtype=float) if one else values, size, name)
    require(bool((found > 0).all()), f"{name} are not all positive; give variances above zero")
    return found


def _values(values, size: int, name: str) -> np.ndarray:
    found = np.asarray(values, dtype=float)
    if found.shape != (size,) or not np.isfinite(found).all():
        raise reject(f"{size} finite numbers as {name}", f"shape {found.shape}", "give one each")
    return found


def _inverse(covariance: np.ndarray, name: str) -> np.ndarray:
    values, vectors = np.linalg.eigh(covariance)
    require(bool(values[0] > _LEAST * values[-1]), f"the {name} are so near each other that their "
            "covariance has no inverse in double precision; take fewer, or a rougher kernel")
    return (vectors / values) @ vectors.T
