"""Prior root mean square error within box-shaped areas, by their sides alone."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy as np

from workbench.checks import reject, require
from workbench.granularity.correlations import Correlation, correlation

_NODES = {1: 48, 2: 16, 3: 10}        # of a quarter of a box and the like, per dimension


def cell_rms(sides, lengthscale, kernel: str | Correlation = "matern32") -> np.ndarray:
    """Root mean square of f(x) - f(centre) for x uniform in a box, in prior standard deviations.

    From 0 (a point) to √2 (a value says nothing about that at the centre); the mean correlation
    with the value at the centre is 1 - rms²/2: 0.3 is a mean correlation of 0.955.

    Parameters
    ----------
    sides : array-like (..., d), d at most three
        Sides of the boxes, in the unit of the lengthscale.
    lengthscale : float or array (...)
        One, or one per box.
    kernel : str or callable
        See `correlations.correlation`.

    Returns
    -------
    array (...)
        By Gauss-Legendre quadrature, to five digits while a side is below ten lengthscales.

    Raises
    ------
    InputError
        On another number of dimensions, or sides or lengthscales that are not positive.
    """
    sides = np.asarray(sides, dtype=float)
    if sides.ndim == 0 or sides.shape[-1] not in _NODES:
        raise reject("sides of shape (..., d), d from one to three", f"shape {sides.shape}",
                     "give one side per dimension")
    for name, values in (("sides", sides), ("lengthscale", np.asarray(lengthscale, dtype=float))):
        require(bool((values > 0).all()), f"{name} must be positive numbers, got {values!r:.80}")
    nodes, weights = _quadrature(sides.shape[-1])
    scaled = sides / np.asarray(lengthscale, dtype=float)[..., None]
    squares = (scaled / 2) ** 2 @ (nodes**2).T
    return np.sqrt(np.maximum(2 - 2 * correlation(kernel)(np.sqrt(squares)) @ weights, 0))


def as_sides(sides) -> np.ndarray:
    """Sides of areas as (m, d): a number is a row of one, a vector (m,) is m intervals.

    Parameters
    ----------
    sides : float, array (m,) or (m, d)
        As given.

    Returns
    -------
    array (m, d)
        Positive.

    Raises
    ------
    InputError
        On another shape, more than three dimensions, or a side that is not positive.
    """
    array = np.asarray(sides, dtype=float)
    array = array.reshape(-1, 1) if array.ndim < 2 else array
    if array.ndim != 2 or not array.size or array.shape[1] > 3:
        raise reject("sides of shape (m, d), d up to three", f"shape {np.shape(sides)}",
                     "give one row per area")
    bad = np.flatnonzero(~(np.isfinite(array) & (array > 0)).all(1))
    require(not bad.size, f"sides: row {bad[:1]} has an entry that is not positive; give the "
            "extent of each area")
    return array


def smallest_scale(error: Callable[[np.ndarray], np.ndarray], tolerance: float,
                   start: np.ndarray, rounds: int = 40) -> np.ndarray:
    """Smallest lengthscales whose error, which falls with them, is within the tolerance.

    Parameters
    ----------
    error : callable
        Errors at an array of lengthscales, of the shape of ``start``.
    tolerance : float
    start : array
        Some lengthscale per entry, to begin from.
    rounds : int
        Halvings of the logarithmic bracket.

    Returns
    -------
    array
        0 where any lengthscale will do (down to 1e-9 of the start), infinity where none does.
    """
    low, high = np.array(start, dtype=float), np.array(start, dtype=float)
    for _ in range(30):                     # towards a bracket: low fails, high is enough
        short, enough = error(high) > tolerance, error(low) <= tolerance
        if not (short.any() or enough.any()):
            break
        high, low = np.where(short, 2 * high, high), np.where(enough, low / 2, low)
    none, always = error(high) > tolerance, error(low) <= tolerance
    for _ in range(rounds):
        middle = np.sqrt(low * high)
        good = error(middle) <= tolerance
        low, high = np.where(good, low, middle), np.where(good, middle, high)
    return np.where(none, np.inf, np.where(always, 0.0, high))


@lru_cache
def _quadrature(dimension: int) -> tuple[np.ndarray, np.ndarray]:
    """Nodes (q, d) on the unit box and weights (q,): a box's positive orthant."""
    points, weights = np.polynomial.legendre.leggauss(_NODES[dimension])
    axes, parts = [(points + 1) / 2] * dimension, [weights / 2] * dimension
    nodes = np.stack(np.meshgrid(*axes, indexing="ij"), -1).reshape(-1, dimension)
    return nodes, np.stack(np.meshgrid(*parts, indexing="ij"), -1).reshape(-1, dimension).prod(1)
