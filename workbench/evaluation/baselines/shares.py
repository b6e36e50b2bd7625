"""Shares of an area's total: exact moments, and draws, under log-normal variation."""

from __future__ import annotations

import numpy as np
from scipy.interpolate import CubicSpline

_NORMAL = np.arange(-9.0, 9.001, 0.1)       # nodes of the trapezoidal rule over a standard normal
_STEP = 0.15                                # of the integral over log t


def share_moments(
    expected: np.ndarray, membership: np.ndarray, log_sd: float
) -> tuple[np.ndarray, np.ndarray]:
    r"""Mean and standard deviation of each individual's share of its area.

    The share is :math:`p_i = X_i / \sum_j X_j` with independent
    :math:`X_i = m_i \exp(s\,\epsilon_i - s^2/2)`. Its moments have no closed form, but by
    :math:`1/S = \int_0^\infty e^{-tS} dt` they are one-dimensional integrals of products of
    Laplace transforms of log-normal variables, which are done by the trapezoidal rule over log t.
    A Monte Carlo mean would put noise on the point map.

    Parameters
    ----------
    expected : array (individual,)
        m, expected counts, zero or more, with a positive sum in each area.
    membership : array (individual,)
        Position of the area, sorted.
    log_sd : float
        s, standard deviation of the logarithm.

    Returns
    -------
    mean, std : array (individual,)
        The means of an area add up to 1.
    """
    share = expected / np.bincount(membership, expected)[membership]
    if log_sd == 0:
        return share, np.zeros_like(share)
    log_share = np.log(np.maximum(share, 1e-300))       # a share of zero stays as good as zero
    transform, first, second = _laplace(log_sd, log_share.min())
    low, high = _range(log_sd)
    mean, square = np.zeros_like(share), np.zeros_like(share)
    for u in np.arange(low, high, _STEP):
        own = transform(u + log_share)
        others = np.exp(np.bincount(membership, own)[membership] - own)
        mean += first(u + log_share) * others
        square += second(u + log_share) * others
    total = np.bincount(membership, mean)[membership]   # the step of the rule, to rounding
    mean, square = mean / total, square / total
    return mean, np.sqrt(np.maximum(square - mean**2, 0))


def draw_shares(
    expected: np.ndarray, membership: np.ndarray, log_sd: float, samples: int,
    rng: np.random.Generator,
) -> np.ndarray:
    """Draws (samples, individual) of the shares; in each draw an area's add up to 1.

    Parameters
    ----------
    expected, membership, log_sd
        As of `share_moments`.
    samples : int
        Number of draws.
    rng : np.random.Generator
        Source of randomness.

    Returns
    -------
    array (samples, individual)
        Shares.
    """
    noise = np.exp(log_sd * rng.standard_normal((samples, expected.size)))
    noise *= expected
    starts = np.flatnonzero(np.diff(membership, prepend=-1))
    totals = np.add.reduceat(noise, starts, axis=1)
    noise /= np.repeat(totals, np.diff(np.append(starts, expected.size)), axis=1)
    return noise


def add_up(values: np.ndarray, of: np.ndarray) -> np.ndarray:
    """Sums of columns by group (samples, group); ``of`` (column,) numbers groups without gaps.

    Parameters
    ----------
    values : array (samples, column)
        What is added up.
    of : int array (column,)
        Group of each column, from 0 without gaps.

    Returns
    -------
    array (samples, group)
        Sums.
    """
    if (np.diff(of) < 0).any():
        order = np.argsort(of, kind="stable")
        values, of = values[:, order], of[order]
    return np.add.reduceat(values, np.flatnonzero(np.diff(of, prepend=-1)), axis=1)


def _range(log_sd: float) -> tuple[float, float]:
    # Below, integrands fall as exp(u); above, as the tail of a log-normal variable near zero.
    return -32.0, 6.0 + 8 * log_sd + 0.5 * log_sd**2


def _laplace(log_sd: float, lowest: float) -> tuple[CubicSpline, CubicSpline, CubicSpline]:
    """log E exp(-X), E X exp(-X) and E X² exp(-X) of X = exp(v + s e - s²/2), as functions of v."""
    low, high = _range(log_sd)
    v = np.arange(low + lowest - 1, high + 1, 0.04)
    density = np.exp(-0.5 * _NORMAL**2)
    density /= density.sum()
    logs = v[:, None] + log_sd * _NORMAL - 0.5 * log_sd**2
    values = np.exp(np.minimum(logs, 700))
    fading = np.exp(-values) * density
    transform = np.log(np.maximum(fading.sum(1), 1e-300))
    near = v < -20      # 1 - E X, where the logarithm would round
    transform[near] = -np.exp(v[near])
    return (CubicSpline(v, transform), CubicSpline(v, (values * fading).sum(1)),
            CubicSpline(v, (values**2 * fading).sum(1)))
