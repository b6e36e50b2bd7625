"""Calibration of predictive distributions: coverage, PIT and reliability."""

from __future__ import annotations

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike

from workbench.checks import require
from workbench.evaluation.scoring import check_draws, chunks

LEVELS = tuple(np.round(np.arange(0.05, 0.951, 0.05), 2)) + (0.99,)


def central_intervals(draws: ArrayLike, levels: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """Central intervals of draws.

    The ends are draws themselves (inverse of the empirical distribution function), so the
    interval of a count has counts as ends.

    Parameters
    ----------
    draws : array (sample, n)
        Draws.
    levels : array (level,)
        Nominal coverages, between 0 and 1.

    Returns
    -------
    lower, upper : array (level, n)
        Ends of the intervals.
    """
    draws = np.asarray(draws)
    tail = (1 - np.atleast_1d(np.asarray(levels, dtype=float))) / 2
    lower = np.empty((tail.size, draws.shape[1]))
    upper = np.empty_like(lower)
    for part in chunks(*draws.shape):
        ordered = np.sort(draws[:, part], axis=0)
        lower[:, part] = np.quantile(ordered, tail, axis=0, method="inverted_cdf")
        upper[:, part] = np.quantile(ordered, 1 - tail, axis=0, method="inverted_cdf")
    return lower, upper


def pit(observed: ArrayLike, draws: ArrayLike, seed: int = 0) -> np.ndarray:
    r"""Randomised probability integral transform of each observation among its draws.

    With ties broken at random, :math:`u = (\#\{x_s < y\} + v\,(\#\{x_s = y\} + 1)) / (S + 1)`,
    v uniform: exactly uniform for counts and for continuous values alike when the observation is
    one more draw from the same distribution.

    Parameters
    ----------
    observed : array (n,)
        Observed values.
    draws : array (sample, n)
        Draws from the predictive distribution of each.
    seed : int
        Seed of the tie breaking.

    Returns
    -------
    array (n,) in (0, 1)

    References
    ----------
    Czado, Gneiting and Held 2009, Predictive model assessment for count data.
    """
    y, draws = check_draws(observed, draws)
    below, equal = np.empty(y.size), np.empty(y.size)
    for part in chunks(*draws.shape):
        below[part] = (draws[:, part] < y[part]).sum(0)
        equal[part] = (draws[:, part] == y[part]).sum(0)
    jitter = np.random.default_rng(seed).uniform(size=y.size)
    return (below + jitter * (equal + 1)) / (draws.shape[0] + 1)


def covered_by_pit(pit: ArrayLike, levels: ArrayLike = LEVELS) -> np.ndarray:
    """Whether each unit lies in its central intervals, by its PIT.

    Parameters
    ----------
    pit : array (n,)
        Of a continuous distribution ``cdf(truth)``; of counts randomised, so that a calibrated
        distribution covers exactly at the nominal level.
    levels : array (level,)
        Nominal coverages, between 0 and 1.

    Returns
    -------
    bool array (level, n)
        True inside.
    """
    levels = np.atleast_1d(np.asarray(levels, dtype=float))
    return np.abs(2 * np.asarray(pit, dtype=float) - 1) <= levels[:, None]


def covered(observed: ArrayLike, draws: ArrayLike, levels: ArrayLike = LEVELS) -> np.ndarray:
    """Whether each observation lies in its central predictive intervals, ends included.

    For small counts even a calibrated distribution then covers more than the level;
    ``covered_by_pit(pit(observed, draws))`` has exactly the level.

    Parameters
    ----------
    observed, draws
        As of `pit`.
    levels : array (level,)
        As of `covered_by_pit`.

    Returns
    -------
    bool array (level, n)
        True inside.
    """
    y, draws = check_draws(observed, draws)
    lower, upper = central_intervals(draws, levels)
    return (lower <= y) & (y <= upper)


def coverage(observed: ArrayLike, draws: ArrayLike, levels: ArrayLike = LEVELS) -> np.ndarray:
    """Share of observations inside their central intervals.

    Parameters
    ----------
    observed, draws, levels
        As of `covered`.

    Returns
    -------
    ndarray (level,)
        From 0 to 1.
    """
    return covered(observed, draws, levels).mean(1)


def pit_histogram(pit: ArrayLike, bins: int = 10) -> xr.Dataset:
    """Histogram of PIT values as a density, with the band of a calibrated distribution.

    Parameters
    ----------
    pit : array (n,)
        PIT values; those that are not finite are left out.
    bins : int
        Number of bins.

    Returns
    -------
    xr.Dataset
        ``density`` (bin), 1 everywhere under calibration, and ``lower``, ``upper`` (bin): 1 +- 2
        binomial standard errors; coordinates ``bin`` (centres) and ``left``, ``right``.
    """
    values = np.asarray(pit, dtype=float)
    values = values[np.isfinite(values)]
    require(values.size > 0, "there are no PIT values to count")
    counts, edges = np.histogram(values, bins=bins, range=(0, 1))
    error = 2 * np.sqrt((bins - 1) / values.size)  # of density = bins * Binomial(n, 1/bins) / n
    return xr.Dataset(
        {
            "density": ("bin", counts * bins / values.size),
            "lower": ("bin", np.full(bins, max(0.0, 1 - error))),
            "upper": ("bin", np.full(bins, 1 + error)),
        },
        coords={
            "bin": (edges[:-1] + edges[1:]) / 2,
            "left": ("bin", edges[:-1]),
            "right": ("bin", edges[1:]),
        },
        attrs={"units_counted": int(values.size)},
    )


def reliability(
    inside: ArrayLike, levels: ArrayLike = LEVELS, groups: ArrayLike | None = None
) -> xr.Dataset:
    """Empirical against nominal coverage, with the band of a calibrated distribution.

    Parameters
    ----------
    inside : bool array (level, n)
        From `covered` or `covered_by_pit`.
    levels : array (level,)
        Nominal coverages.
    groups : array (n,), optional
        Units of one group (individuals of one bag) share their errors. With groups, the band
        uses the effective number of independent units, from the between-group variance of the
        number covered.

    Returns
    -------
    xr.Dataset
        ``coverage``, ``effective_n`` and ``lower``, ``upper`` = nominal +- 2 standard errors,
        each (level).
    """
    inside = np.asarray(inside, dtype=float)
    levels = np.atleast_1d(np.asarray(levels, dtype=float))
    require(
        inside.ndim == 2 and inside.shape[0] == levels.size and inside.shape[1] > 0,
        f"expected coverage of shape ({levels.size}, n), got {inside.shape}",
    )
    effective = _effective_n(inside, groups)
    error = 2 * np.sqrt(levels * (1 - levels) / effective)
    return xr.Dataset(
        {
            "coverage": ("level", inside.mean(1)),
            "effective_n": ("level", effective),
            "lower": ("level", np.clip(levels - error, 0, 1)),
            "upper": ("level", np.clip(levels + error, 0, 1)),
        },
        coords={"level": levels},
        attrs={"units_counted": inside.shape[1]},
    )


def _effective_n(inside: np.ndarray, groups: ArrayLike | None) -> np.ndarray:
    units = inside.shape[1]
    if groups is None:
        return np.full(len(inside), float(units))
    _, group = np.unique(np.asarray(groups), return_inverse=True)
    rate = inside.mean(1)
    spread = np.array([np.bincount(group, weights=row) for row in inside - rate[:, None]])
    variance = (spread**2).sum(1) / units**2  # of the mean, groups independent
    count = float(group.max() + 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        effective = rate * (1 - rate) / variance
    # all in or all out says nothing about the spread: count one unit per group then
    return np.clip(np.where(np.isfinite(effective), effective, count), 1.0, units)
