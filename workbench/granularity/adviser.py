"""How fine is fine enough: cells for a lengthscale, lengthscales for a table, coarser tables.

Every answer keeps a measure of error within a tolerance. The measure is

``rms``
    the prior root mean square of f(x) - f(centre) over an area (see `cells.cell_rms`), in prior
    standard deviations of f: exact, and the default. 0.3 means that a value and that at its centre
    correlate by 0.955 on average;
``direct``
    the direct certificate of `bounds` on a regular grid of points: the least sum of a distance δ,
    in prior standard deviations, and a bound ε of the prior probability that the root mean square
    over *all* points exceeds it;
``certificate``
    η' of `bounds`, likewise on a grid. It is not δ + ε: of the two tail terms of ε it leaves out
    the second, which is at most the first, so that δ + ε is below 2η'.

Both certificates are much more careful than rms, and bound the error of a posterior only up to
constants that depend on the data.

A lengthscale that is not known is given as draws (an array), or as a pair (values, weights).
Answers then hold with the stated prior probability: as errors fall with the lengthscale, they are
answers for its lower quantile.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from workbench.checks import choose, reject, require
from workbench.granularity.advice import CellAdvice, Coarsening, TrustedLengthscales
from workbench.granularity.bounds import InputErrorBound, input_error_bound
from workbench.granularity.cells import as_sides, cell_rms, smallest_scale
from workbench.granularity.correlations import Correlation
from workbench.granularity.points import as_domain, as_points, box_cell, box_midpoints
from workbench.granularity.scales import as_draws, lower_quantile

MEASURES = ("rms", "certificate", "direct")
_PER_CELL = 3             # grid points per dimension that a cell needs to be one


def advise_cells(domain, tolerance: float, lengthscale, *, kernel: str | Correlation = "matern32",
                 measure: str = "rms", probability: float = 0.95,
                 points: int = 1000) -> CellAdvice:
    """The coarsest division of a domain into equal, nearly cubic cells that is fine enough.

    Parameters
    ----------
    domain : sequence of (low, high)
        An interval or a box of up to three dimensions; points are uniform in it.
    tolerance : float
        Error that is tolerated, in prior standard deviations.
    lengthscale : float, array (k,) or pair of arrays (values, weights)
        Known, as draws, or as weighted values; in the unit of the domain.
    kernel : str or callable
        See `correlations.correlation`.
    measure : {"rms", "certificate", "direct"}
        See the module.
    probability : float
        Prior probability with which the cells are to be enough.
    points : int
        About as many grid points stand for the domain; not for ``rms``.

    Returns
    -------
    CellAdvice
        The cells and their error.

    Raises
    ------
    InputError
        If no division that the grid points resolve is fine enough (not for ``rms``), or on a
        domain, tolerance or lengthscale that cannot be.
    """
    box, scale = as_domain(domain), lower_quantile(lengthscale, probability)
    _check(tolerance, measure)
    extent = box[:, 1] - box[:, 0]

    def at(longest: int) -> tuple[np.ndarray, float]:
        counts = _counts(extent, extent.max() / longest)
        if measure == "rms":
            return counts, float(cell_rms(extent / counts, scale, kernel))
        return counts, _value(_grid_bound(box, counts, scale, kernel, points), measure)

    counts, error = _coarsest(at, tolerance)
    sides = extent / counts
    return CellAdvice(tuple(sides.tolist()), tuple(counts.tolist()), int(np.prod(counts)), error,
                      scale)


def trusted_lengthscales(sides, tolerance: float, *, centroids=None, counts=None,
                         kernel: str | Correlation = "matern32", measure: str = "rms",
                         lengthscale=None, points: int = 1000) -> TrustedLengthscales:
    """The lengthscales for which a summary table is fine enough.

    Parameters
    ----------
    sides : float or array (m,) or (m, d)
        Extents of the areas, taken as boxes around their centroids; one row if all are alike.
    tolerance : float
        Error that is tolerated, in prior standard deviations.
    centroids : array-like (m, d), optional
        Needed for measures other than ``rms``, which depends on the extents alone.
    counts : array-like (m,), optional
        Numbers of data points, as weights of the areas' mean squares; alike by default, and alike
        for measures other than ``rms``.
    kernel, measure, points
        See `advise_cells`.
    lengthscale : float, array (k,) or pair of arrays (values, weights), optional
        A prior, of which the trusted share is to be given.

    Returns
    -------
    TrustedLengthscales
        The shortest one, also by area.

    Raises
    ------
    InputError
        On shapes that do not fit, or too many areas for the grid points.
    """
    sides = as_sides(sides)
    _check(tolerance, measure)
    weight = np.ones(len(sides)) if counts is None else np.asarray(counts, dtype=float)
    if weight.shape != (len(sides),) or not (weight >= 0).all() or not weight.sum() > 0:
        raise reject(f"{len(sides)} counts that are not all zero", f"shape {weight.shape}",
                     "give the number of data points of each area")
    per_area = None
    if measure == "rms":
        kinds, back = np.unique(sides, axis=0, return_inverse=True)
        back = back.reshape(-1)
        share = np.bincount(back, weight, len(kinds)) / weight.sum()
        per_area = smallest_scale(lambda s: cell_rms(kinds, s, kernel), tolerance,
                                  kinds.max(1))[back]

        def error(scales: np.ndarray) -> np.ndarray:
            return np.sqrt([share @ cell_rms(kinds, s, kernel) ** 2 for s in scales])
    else:
        x, z, w = _table_points(sides, centroids, points)

        def error(scales: np.ndarray) -> np.ndarray:
            return np.array([_value(input_error_bound(x, z, w, kernel=kernel, lengthscale=s),
                                    measure) for s in scales])
    rounds = 40 if measure == "rms" else 12
    shortest = float(smallest_scale(error, tolerance, sides.max(keepdims=True)[0], rounds)[0])
    if lengthscale is None:
        return TrustedLengthscales(shortest, per_area, None)
    values, weights = as_draws(lengthscale)
    return TrustedLengthscales(shortest, per_area, float(weights[values >= shortest].sum()))


def coarsening(domain, side, tolerance: float, lengthscale, *, factors=(1, 2, 4, 8, 16, 32),
               kernel: str | Correlation = "matern32", measure: str = "rms",
               probability: float = 0.95, points: int = 1000) -> Coarsening:
    """How much coarser the cells of a map may become, for privacy say, before it is lost.

    Parameters
    ----------
    domain, tolerance, lengthscale, kernel, measure, probability, points
        See `advise_cells`.
    side : float or array (d,)
        Sides of the cells at present; each factor multiplies them. The domain is divided evenly,
        so that the sides told are rounded down, and never exceed the domain.
    factors : sequence of float
        Rising, from 1 on.

    Returns
    -------
    Coarsening
        Errors by factor.

    Raises
    ------
    InputError
        As `advise_cells`; for measures other than ``rms`` also if the finest cells are too many
        for the grid points.
    """
    box, scale = as_domain(domain), lower_quantile(lengthscale, probability)
    _check(tolerance, measure)
    steps = np.asarray(factors, dtype=float)
    require(steps.ndim == 1 and steps.size > 0 and bool((steps > 0).all())
            and bool((np.diff(steps) > 0).all()), "factors are not rising and positive; give "
            "numbers such as 1, 2, 4")
    extent = box[:, 1] - box[:, 0]
    present = np.broadcast_to(as_sides(np.ravel(side))[:, 0], extent.shape)
    counts = np.array([_counts(extent, factor * present) for factor in steps])
    sides = extent / counts
    if measure == "rms":
        errors = cell_rms(sides, scale, kernel)
    else:
        errors = np.array([_value(_grid_bound(box, c, scale, kernel, points), measure)
                           for c in counts])
    survives = errors <= tolerance
    last = int(np.argmin(survives)) if not survives.all() else len(steps)
    return Coarsening(steps, sides, counts.prod(1), errors, survives,
                      float(steps[last - 1]) if last else None, scale)


def _check(tolerance: float, measure: str) -> None:
    choose("measure", measure, MEASURES)
    require(np.ndim(tolerance) == 0 and np.isfinite(tolerance) and tolerance > 0,
            f"tolerance {tolerance} is not a positive number; give e.g. 0.3 standard deviations")


def _counts(extent: np.ndarray, side) -> np.ndarray:
    """Fewest equal cells per dimension that are no longer than a side."""
    return np.maximum(np.ceil(extent / side * (1 - 1e-12)), 1).astype(int)


def _value(bound: InputErrorBound, measure: str) -> float:
    return bound.certificate if measure == "certificate" else bound.direct_certificate


def _grid_bound(box, counts, scale: float, kernel, points: int) -> InputErrorBound:
    """Bound of a division, by a grid of points with the same number in every cell."""
    fewest = np.maximum(_PER_CELL, np.round((points / np.prod(counts)) ** (1 / len(box))))
    grid = counts * fewest.astype(int)
    require(np.prod(grid) <= 2 * points or (counts == 1).all(),
            f"{np.prod(counts)} cells are too many for {points} grid points; raise points, or use "
            'measure="rms"')
    x = box_midpoints(box, grid)
    return input_error_bound(x, box_midpoints(box, counts), box_cell(x, box, counts),
                             kernel=kernel, lengthscale=scale)


def _coarsest(at: Callable[[int], tuple[np.ndarray, float]],
              tolerance: float) -> tuple[np.ndarray, float]:
    """Counts and error at the fewest cells on the longest side: by doubling, then halving."""
    low, high = 0, 1
    while (found := at(high))[1] > tolerance:
        low, high = high, 2 * high
        require(high < 2**30, f"tolerance {tolerance} is below what can be computed; give a "
                "larger one")
    while high - low > 1:
        middle = (low + high) // 2
        tried = at(middle)
        low, high, found = (low, middle, tried) if tried[1] <= tolerance else (middle, high, found)
    return found


def _table_points(sides, centroids, points: int):
    """Grid points of every area, the centroids, and the assignment."""
    require(centroids is not None, 'measures other than "rms" need the centroids; give them too')
    z = as_points(centroids, "centroids")
    if len(sides) not in (1, len(z)) or sides.shape[1] != z.shape[1]:
        raise reject(f"sides of shape {z.shape}", f"shape {sides.shape}",
                     "give one row per centroid, or one for all")
    each = max(_PER_CELL, round((points / len(z)) ** (1 / z.shape[1])))
    unit = box_midpoints(np.array([[-0.5, 0.5]] * z.shape[1]), [each] * z.shape[1])
    require(len(unit) * len(z) <= max(2 * points, 27), f"{len(z)} areas are too many for {points} "
            'grid points; raise points, or use measure="rms"')
    x = z[:, None] + unit * np.broadcast_to(sides, z.shape)[:, None]
    return x.reshape(-1, z.shape[1]), z, np.repeat(np.arange(len(z)), len(unit))
