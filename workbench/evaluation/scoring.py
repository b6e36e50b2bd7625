"""Proper scores of predictive distributions, from draws, quantiles or conditional densities."""

from __future__ import annotations

import numpy as np
import scoringrules
from numpy.typing import ArrayLike
from scipy.special import gammaln, logsumexp, xlogy

from workbench.checks import require

CHUNK = 500_000  # draws x units at once: what sorting copies of them stays in a cache


def chunks(draws: int, units: int) -> list[slice]:
    """Slices of the units so that one slice holds at most `CHUNK` draws.

    Parameters
    ----------
    draws, units : int
        Shape of the draws.

    Returns
    -------
    list of slice
        Together all units.
    """
    step = max(1, CHUNK // max(draws, 1))
    return [slice(start, min(start + step, units)) for start in range(0, units, step)]


def check_draws(observed: ArrayLike, draws: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """Observed values (n,) and their draws (sample, n), or an error with both shapes.

    Parameters
    ----------
    observed : array (n,)
        Values.
    draws : array (sample, n)
        Draws for each.

    Returns
    -------
    observed, draws : array
        The same as arrays.
    """
    y, draws = np.asarray(observed, dtype=float), np.asarray(draws)
    require(
        y.ndim == 1 and draws.ndim == 2 and draws.shape[1] == y.size and draws.shape[0] > 1,
        f"expected draws of shape (sample, {y.size}) with at least 2 samples, got {draws.shape}",
    )
    return y, draws


def crps(observed: ArrayLike, draws: ArrayLike) -> np.ndarray:
    r"""Continuous ranked probability score of each unit, estimated from draws.

    .. math:: \mathrm{E}|X - y| - \tfrac12 \mathrm{E}|X - X'|

    The estimator is unbiased for the distribution that the draws come from, whatever their number.

    Parameters
    ----------
    observed : array (n,)
    draws : array (sample, n)
        Draws from the predictive distribution of the *observation* (noise included).

    Returns
    -------
    array (n,)
        In the units of the values; smaller is better.

    References
    ----------
    Gneiting and Raftery 2007; Zamo and Naveau 2018 (probability weighted moments).
    """
    y, draws = check_draws(observed, draws)
    out = np.empty(y.size)
    for part in chunks(*draws.shape):
        ensemble = np.ascontiguousarray(draws[:, part].T, dtype=float)
        # by sorting, so never draws x draws of memory
        out[part] = scoringrules.crps_ensemble(y[part], ensemble, estimator="pwm", backend="numpy")
    return out


def interval_score(
    observed: ArrayLike, lower: ArrayLike, upper: ArrayLike, level: float | ArrayLike
) -> np.ndarray:
    r"""Score of central intervals: width plus :math:`2/\alpha` times the miss, alpha = 1 - level.

    Parameters
    ----------
    observed : array (n,)
    lower, upper : array (n,) or (level, n)
    level : float or array (level,)
        Nominal coverage, between 0 and 1.

    Returns
    -------
    array of the shape of ``lower``, in the units of the values; smaller is better.
    """
    lower, upper = np.asarray(lower, dtype=float), np.asarray(upper, dtype=float)
    level = np.asarray(level, dtype=float)
    require(bool(((level > 0) & (level < 1)).all()), f"levels lie between 0 and 1, got {level}")
    require(bool((lower <= upper).all()), "a lower end lies above its upper end")
    alpha = (1 - level)[..., None] if level.ndim else 1 - level
    score = scoringrules.interval_score(
        np.asarray(observed, dtype=float), lower, upper, alpha, backend="numpy"
    )
    return np.reshape(score, lower.shape)  # scoringrules drops axes of length one


def weighted_interval_score(
    observed: ArrayLike,
    median: ArrayLike,
    lower: ArrayLike,
    upper: ArrayLike,
    levels: ArrayLike,
) -> np.ndarray:
    r"""Weighted interval score: nears the CRPS as the levels fill (0, 1).

    .. math:: \frac{1}{K + 1/2} \Big(\tfrac12 |y - m| + \sum_k \tfrac{\alpha_k}{2} S_k\Big),

    with :math:`S_k` the `interval_score` at :math:`\alpha_k = 1 - \text{level}_k`.

    Parameters
    ----------
    observed, median : array (n,)
    lower, upper : array (level, n)
    levels : array (level,)
        Nominal coverages, between 0 and 1.

    Returns
    -------
    array (n,)
        As of `interval_score`.

    References
    ----------
    Bracher et al. 2021, Evaluating epidemic forecasts in an interval format, eq. (1).
    """
    # Not by scoringrules (0.10): on NumPy it adds the median itself for |y - median|.
    y, levels = np.asarray(observed, dtype=float), np.asarray(levels, dtype=float)
    require(levels.ndim == 1 and levels.size > 0, f"expected levels (level,), got {levels.shape}")
    shapes = np.shape(lower), np.shape(upper)
    require(
        shapes == ((levels.size, *y.shape),) * 2,
        f"expected ends of shape {(levels.size, *y.shape)}, got {shapes[0]} and {shapes[1]}",
    )
    scores = interval_score(y, lower, upper, levels)
    missed = np.abs(y - np.asarray(median, dtype=float)) / 2
    return (missed + (1 - levels) / 2 @ scores) / (levels.size + 0.5)


def log_score(log_density: ArrayLike) -> np.ndarray:
    r"""Log score (ignorance) of each unit from conditional log densities.

    The predictive density is the mean over draws :math:`\theta_s` of the *conditional* densities,
    :math:`-\log \frac1S \sum_s p(y \mid \theta_s)`: no histogram and no kernel of draws.

    Parameters
    ----------
    log_density : array (sample, n)
        log p(y | theta_s) of the observed value under each draw of the parameter.

    Returns
    -------
    array (n,)
        Nats; smaller is better.
    """
    log_density = np.asarray(log_density, dtype=float)
    require(log_density.ndim == 2, f"expected (sample, n), got shape {log_density.shape}")
    return np.log(log_density.shape[0]) - logsumexp(log_density, axis=0)


def poisson_log_density(observed: ArrayLike, rates: ArrayLike) -> np.ndarray:
    """Log Poisson mass of counts under draws of their expectation.

    Parameters
    ----------
    observed : array (n,)
        Counts.
    rates : array (sample, n)
        Draws of the expected count.

    Returns
    -------
    array (sample, n)
        Nats.
    """
    y, rates = check_draws(observed, rates)
    return xlogy(y, rates) - rates - gammaln(y + 1)
