"""Tails of chi-square variables and the infimum over ξ in the bounds of Shikuri 2025."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import gammaincc

# The larger root of 2 √(πξ) exp(-ξ) = 1. Lemma 4.5 says that F(m, ξm) falls with m from here on;
# its proof needs ξ ≥ 2 ξ₀ (the integral begins at ξ/2). By computation it does fall for m ≥ 2, but
# F(1, ξ) = 0.228 < F(2, 2ξ) = 0.234 at ξ₀, until ξ = 1.5364. F(n, ξn) ≤ F(m, ξm) for n ≥ m, which
# the bounds need, fails for m = 1, n = 2 only.
LEAST_XI = 1.4519741958962475


def upper_tail(degrees, value):
    """F(a, b): probability that a chi-square variable of ``a`` degrees exceeds ``b``.

    Parameters
    ----------
    degrees, value : float or array
        Degrees of freedom a, and b.

    Returns
    -------
    float or array
        Probabilities.

    References
    ----------
    Shikuri 2025, section 3.1.
    """
    return gammaincc(np.asarray(degrees) / 2, np.asarray(value) / 2)


def least_bound(slope: float, degrees: int) -> tuple[float, float]:
    """Infimum over ξ ≥ ξ₀ of slope √ξ + F(m, ξm), and the ξ that attains it.

    The derivative vanishes where slope = 2 m √ξ p(ξm), p the chi-square density. The right side
    falls with ξ for ξ ≥ 1, so the minimum is unique: at ξ₀ if the slope is larger there, else at
    the one root, found by bisection on the logarithm.

    Parameters
    ----------
    slope : float
        Sum of the square roots that multiply √ξ; at zero the infimum is 0, approached as ξ → ∞.
    degrees : int
        Number of centroids m.

    Returns
    -------
    bound, xi : float
        The infimum and where it is attained.

    References
    ----------
    Shikuri 2025, eq. (10).
    """
    if slope == 0:
        return 0.0, math.inf
    half, wanted = degrees / 2, math.log(slope)

    def excess(xi: float) -> float:
        density = (half - 1) * math.log(xi * half) - xi * half - math.lgamma(half) - math.log(2)
        return math.log(2 * degrees) + math.log(xi) / 2 + density - wanted

    low = high = LEAST_XI
    if excess(low) > 0:
        while excess(high) > 0:
            low, high = high, 2 * high
        while high - low > 1e-14 * high:
            middle = (low + high) / 2
            if middle in (low, high):
                break
            low, high = (middle, high) if excess(middle) > 0 else (low, middle)
    return slope * math.sqrt(high) + float(upper_tail(degrees, high * degrees)), high


def weighted_quantile(total: float, root: float, top: float, level) -> np.ndarray:
    """A value that Σ cᵢ χ²₁ exceeds with probability at most exp(-level).

    Parameters
    ----------
    total, root, top : float
        Σ cᵢ, √Σ cᵢ² and max cᵢ of the non-negative weights.
    level : float or array
        Minus the logarithm of the probability.

    Returns
    -------
    array
        Of the shape of ``level``.

    References
    ----------
    Laurent and Massart 2000, Adaptive estimation of a quadratic functional, Lemma 1.
    """
    level = np.asarray(level, dtype=float)
    return total + 2 * root * np.sqrt(level) + 2 * top * level


def weighted_tail(total: float, root: float, top: float, value) -> np.ndarray:
    """Bound of the probability that Σ cᵢ χ²₁ exceeds a value: the inverse of `weighted_quantile`.

    One for values up to the mean.

    Parameters
    ----------
    total, root, top
        As of `weighted_quantile`.
    value : float or array
        What may be exceeded.

    Returns
    -------
    array
        Of the shape of ``value``.
    """
    above = np.maximum(np.asarray(value, dtype=float) - total, 0)
    if top == 0:
        return np.where(above > 0, 0.0, 1.0)
    # s = √level solves top s² + root s = above / 2; written so that small values keep digits.
    s = above / (root + np.sqrt(root**2 + 2 * top * above))
    return np.exp(-(s**2))


def least_direct_bound(total: float, root: float, top: float, points: int) -> float:
    """Infimum over δ of δ + P(Σ cᵢ χ²₁ > n δ²), with the bound of `weighted_tail`.

    Every level gives a valid bound: a grid loses sharpness (below one per mille), not validity.
    """
    level = np.concatenate([[0.0], np.geomspace(1e-4, 100, 2000)])
    quantile = weighted_quantile(total, root, top, level)
    return float((np.sqrt(quantile / points) + np.exp(-level)).min())
