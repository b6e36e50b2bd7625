"""The bound η of input approximation, a sharper certificate η', and a direct one.

All bound how far f at the points is from W u, the values of f at their centroids, under the prior.
Let M be any n x m matrix; f - W u = (M - W) u + (f - M u). Then for δ₂ ≤ δ₁

    P(|f - W u| > √n δ₁) ≤ P(|(W - M) u| > √n (δ₁ - δ₂)) + P(|f - M u| > √n δ₂),

as one of the parts must be long where their sum is: no independence is needed. The paper takes
M = K_fu K_uu⁻¹, the prediction of f from u, whose residual has covariance K_ff - K_fu K_uu⁻¹ K_uf.

- Second part, in the paper: the residual is Gaussian with largest variance λ₂ in any direction,
  so |f - M u|² ≤ λ₂ χ²_n and the probability is at most F(n, n δ₂²/λ₂).
- First part, in the paper: |(W - M)u|² ≤ σ_max(W - M)² |u|², and |u|² ≤ λ₁ χ²_m. With
  κ = (n/m)/σ_max² that is F(m, m κ (δ₁ - δ₂)²/λ₁).
- First part, here: (W - M)u is itself Gaussian, of rank at most m, with covariance
  (W - M) K_uu (W - M)ᵀ. With λ_B its largest eigenvalue, |(W - M)u|² ≤ λ_B χ²_m and the
  probability is at most F(m, n (δ₁ - δ₂)²/λ_B). As λ_B ≤ σ_max² λ₁, it never is the worse bound.
- Both make F(m, ξm) + F(n, ξn) when δ₂ = √(ξλ₂) and δ₁ - δ₂ = √(ξλ₁/κ), or √(ξ m λ_B/n) here;
  the second term is at most the first (n ≥ m; see `chi_square.LEAST_XI`), and left out of η and
  η' as in the paper, so that δ₁ + ε is below 2η'. η' ≤ η follows; the theorem's constants a₁, a₂,
  b₁, b₂ are the same.

The direct certificate needs neither M nor an inverse: f - W u is Gaussian with covariance
C = K_ff - W K_uf - K_fu Wᵀ + W K_uu Wᵀ, and |f - W u|² a weighted sum of χ²₁, whose tail follows
from tr C, |C|_F and λ_max(C) (Laurent and Massart 2000). It is inf over δ of δ + that tail, and it
counts the whole probability. tr C / n is the prior mean square error of moving points. It also
spares a sharper tail for λ₂: with M = W the second part is all there is.

A near-singular K_uu (a smooth kernel, a long lengthscale) gets a ridge ("jitter"): M is then
K_fu (K_uu + jitter)⁻¹ and both covariances are those of this M in the prior *without* jitter. Any M
will do in the inequality, so η and η' remain valid. λ_B hardly feels the ridge, κ does: on the toy
of Figure 3, Gaussian, θ = 10, κ is 0.90 with it and 0.0211 without at m = 10 (η = 4.1 and 26), and
without it 3e-7 at m = 20 (n = 200), as the weights of interpolation K_fu K_uu⁻¹ alternate and grow.

Bounds above one say nothing: δ₁ = 0 with probability one has the same sum.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from workbench.checks import choose, require
from workbench.granularity.chi_square import (
    least_bound,
    least_direct_bound,
    upper_tail,
    weighted_tail,
)
from workbench.granularity.correlations import (
    Correlation,
    as_lengthscale,
    check_variance,
    correlation,
    gram,
)
from workbench.granularity.points import as_assignment, as_points

_RIDGE = 1e-12          # of λ₁; then M keeps five digits and λ_B ten (checked with 80 digits)
_LARGEST = 10_000       # points: a dense matrix of 0.8 GB


@dataclass(frozen=True)
class InputErrorBound:
    """What moving points to their centroids does to f under the prior.

    Parameters
    ----------
    points, centroids : int
        n and m.
    beta : float
        β, largest change of a covariance, centroids counted among the new inputs.
    gamma : float
        γ, largest entry of W - K_fu K_uu⁻¹ in absolute value.
    kappa : float
        κ; does not depend on the variance.
    top_eigenvalue, residual_eigenvalue, mapped_eigenvalue : float
        λ₁ of K_uu, λ₂ of the residual of f given u, and λ_B of (W - M) K_uu (W - M)ᵀ.
    bound, certificate, direct_certificate : float
        η, η' and the direct one; in units of f plus a probability, so meant for variance one.
    bound_xi, certificate_xi : float
        The ξ that attain η and η'.
    rms : float
        Root of the prior mean square of f - W u over the points, in units of f. Exact.
    total, root, top : float
        tr C, |C|_F and λ_max(C) of the covariance C of f - W u.
    jitter : float
        Added to the diagonal of K_uu in M, in units of f²; 0 where K_uu is well conditioned.

    References
    ----------
    Shikuri 2025, eqs. (7) and (10), appendix A; λ_B and the direct certificate are ours.
    """

    points: int
    centroids: int
    beta: float
    gamma: float
    kappa: float
    top_eigenvalue: float
    residual_eigenvalue: float
    mapped_eigenvalue: float
    bound: float
    bound_xi: float
    certificate: float
    certificate_xi: float
    direct_certificate: float
    rms: float
    total: float
    root: float
    top: float
    jitter: float

    def exceedance(self, distance, part=None, method: str = "mapped") -> np.ndarray:
        """ε: bound of the prior probability that |f - W u| exceeds √n ``distance``.

        Parameters
        ----------
        distance : float or array
            δ₁, in units of f.
        part : float or array, optional
            δ₂, between 0 and δ₁; the best of 99 fractions of δ₁ by default. Not for ``direct``.
        method : {"paper", "mapped", "direct"}
            With κ and λ₁, with λ_B, or from the covariance of f - W u.

        Returns
        -------
        array
            At most one, of the shape of ``distance``.

        Raises
        ------
        InputError
            If a distance is negative, or a part outside 0 to the distance.

        References
        ----------
        Shikuri 2025, Lemma 4.3 as in appendix A (eq. (7) lacks factors m and n).
        """
        whole = np.asarray(distance, dtype=float)
        require(bool((whole >= 0).all()), f"a distance is zero or more, got {whole.min():g}")
        if choose("method", method, ("paper", "mapped", "direct")) == "direct":
            return weighted_tail(self.total, self.root, self.top, self.points * whole**2)
        if part is None:
            parts = whole * np.linspace(0.01, 0.99, 99).reshape(-1, *[1] * whole.ndim)
        else:
            parts = np.asarray(part, dtype=float)
            require(bool(((parts >= 0) & (parts <= whole)).all()),
                    "the part is outside 0 to the distance; give one between them")
        first = (self.centroids * self.kappa / self.top_eigenvalue if method == "paper"
                 else self.points / max(self.mapped_eigenvalue, 1e-300))
        second = self.points / max(self.residual_eigenvalue, 1e-300)
        tails = (upper_tail(self.centroids, first * (whole - parts) ** 2)
                 + upper_tail(self.points, second * parts**2))
        return np.minimum(tails.min(0) if part is None else tails, 1.0)


def input_error_bound(points, centroids, assignment, *, kernel: str | Correlation = "matern32",
                      lengthscale=1.0, variance: float = 1.0,
                      jitter: float | None = None) -> InputErrorBound:
    """Bounds of the error of moving points to their centroids.

    Parameters
    ----------
    points, centroids : array-like (n, d) and (m, d), or vectors on a line
        n ≥ m and at most 10,000; the memory is that of some n x n matrices.
    assignment : array of int (n,)
        Row of each point's centroid, from zero (`points.nearest` gives the nearest).
    kernel : str or callable
        A name in `correlations.CORRELATIONS` or ``laplacian``, ``gaussian``, or a function of the
        scaled distance.
    lengthscale : float or array (d,)
        In the unit of the points.
    variance : float
        Prior variance.
    jitter : float, optional
        Added to the diagonal of K_uu, in prior variances. By default 0 where the smallest
        eigenvalue is above 1e-12 of the largest, else that much.

    Returns
    -------
    InputErrorBound
        The bounds, and what they are made of.

    Raises
    ------
    InputError
        On points, centroids or assignments that do not fit, two centroids in one place, n < m,
        more than 10,000 points, or an unknown name.

    References
    ----------
    Shikuri 2025, section 4.
    """
    check_variance(variance)
    x, z = as_points(points, "points"), as_points(centroids, "centroids")
    n, m, w = len(x), len(z), as_assignment(assignment, len(x), len(z))
    require(len(np.unique(z, axis=0)) == m, "two centroids are in one place, where K_uu has no "
            "inverse; merge these areas")
    require(n >= m, f"there are {n} points for {m} centroids; η needs at least as many points")
    require(n <= _LARGEST, f"{n} points are too many for dense matrices; thin them to {_LARGEST}")
    require(jitter is None or (np.isfinite(jitter) and jitter >= 0),
            f"jitter {jitter} is negative or unknown; give a number >= 0 or None")
    k_uu, k_fu, k_ff = (gram(a, b, kernel, lengthscale) for a, b in ((z, z), (x, z), (x, x)))
    at_centroids = k_uu[w]                                           # W K_uu
    values, vectors = np.linalg.eigh(k_uu)
    values = np.maximum(values, 0)
    if jitter is None:
        jitter = 0.0 if values[0] > _RIDGE * values[-1] else _RIDGE * values[-1]
    shifted = values + jitter
    require(shifted[0] > 0, "K_uu is singular in double precision; give a jitter above 1e-14 of "
            "the number of centroids, or None")

    # In the eigenvectors' coordinates: A = K_fu V, and (W - M) V.
    rotated = k_fu @ vectors
    mapping = vectors[w] - rotated / shifted
    spread = _top_eigenvalue(mapping.T @ mapping)
    spread_prior = mapping * np.sqrt(values)
    mapped = _top_eigenvalue(spread_prior.T @ spread_prior)
    # Cov(f - M u) = K_ff - A diag((λ + 2j)/(λ + j)²) Aᵀ, a Schur complement where j = 0.
    weighted = rotated * (np.sqrt(values + 2 * jitter) / shifted)
    residual = _top_eigenvalue(k_ff - weighted @ weighted.T)

    # Rows are gathered several times faster than columns; all these are symmetric or summed so.
    change = k_ff - np.ascontiguousarray(at_centroids.T)[w]
    moved = np.ascontiguousarray((k_fu - at_centroids).T)
    beta = max(_largest(change), _largest(moved))
    moved = moved[w]
    covariance = change - moved - moved.T                            # C of f - W u
    total = max(float(np.trace(covariance)), 0.0)
    root, top = float(np.linalg.norm(covariance)), _top_eigenvalue(covariance, 1e-3)

    kappa = n / m / spread if spread > 0 else float("inf")
    std, tail = np.sqrt(variance), np.sqrt(residual)
    bound, xi = least_bound(float(std * (np.sqrt(values[-1] / kappa) + tail)), m)
    sharp, sharp_xi = least_bound(float(std * (np.sqrt(m * mapped / n) + tail)), m)
    return InputErrorBound(
        points=n, centroids=m, beta=variance * beta, kappa=kappa,
        gamma=float(np.abs(mapping @ vectors.T).max()),
        top_eigenvalue=float(variance * values[-1]), residual_eigenvalue=variance * residual,
        mapped_eigenvalue=variance * mapped, bound=bound, bound_xi=xi, certificate=sharp,
        certificate_xi=sharp_xi,
        direct_certificate=least_direct_bound(variance * total, variance * root, variance * top, n),
        rms=float(std * np.sqrt(total / n)), total=variance * total, root=variance * root,
        top=variance * top, jitter=float(variance * jitter))


def rms_input_error(points, centroids, assignment, *, kernel: str | Correlation = "matern32",
                    lengthscale=1.0, variance: float = 1.0) -> float:
    """Prior root mean square of f - W u over the points, in units of f: exact, in O(n).

    Mean over i of k(x_i, x_i) - 2 k(x_i, z_i) + k(z_i, z_i), z_i the point's centroid; divided by
    the prior standard deviation it runs from 0 to √2, and the mean correlation of a value with
    that at its centroid is 1 - rms²/2.

    Parameters
    ----------
    points, centroids, assignment, kernel, lengthscale, variance
        As of `input_error_bound`.

    Returns
    -------
    float
        Zero or more.
    """
    check_variance(variance)
    x, z = as_points(points, "points"), as_points(centroids, "centroids")
    w = as_assignment(assignment, len(x), len(z))
    distance = np.linalg.norm((x - z[w]) / as_lengthscale(lengthscale, x.shape[1]), axis=1)
    return float(np.sqrt(2 * variance * np.mean(1 - correlation(kernel)(distance))))


def _largest(matrix: np.ndarray) -> float:
    """Largest absolute entry, without a copy."""
    return max(float(matrix.max()), -float(matrix.min()))


def _top_eigenvalue(matrix: np.ndarray, tolerance: float = 1e-4) -> float:
    """Largest eigenvalue of a positive semi-definite matrix, to a tolerance where it is large.

    Lanczos in single precision, whose products take half the time, on the matrix scaled to one. The
    start is fixed and has no symmetry: a constant one would miss antisymmetric vectors.
    """
    scale = float(np.abs(matrix).max())
    if len(matrix) > 200 and scale > 0:
        from scipy.sparse.linalg import ArpackError, eigsh  # here: slow to import

        single = (matrix / scale).astype(np.float32)
        start = np.random.default_rng(0).normal(size=len(matrix)).astype(np.float32)
        try:
            return float(eigsh(single, 1, which="LA", v0=start, tol=tolerance, ncv=20, maxiter=100,
                               return_eigenvectors=False)[0]) * scale
        except ArpackError:                     # did not converge
            pass
    return max(float(np.linalg.eigvalsh(matrix)[-1]), 0.0)
