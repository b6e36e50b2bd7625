"""Points, assignments and boxes: checks, and the regular grids of the adviser."""

from __future__ import annotations

import numpy as np

from workbench.checks import reject, require


def as_points(points, name: str) -> np.ndarray:
    """Points as a float array (n, d); a vector is n points on a line.

    Parameters
    ----------
    points : array-like (n, d) or (n,)
        As given.
    name : str
        For messages.

    Returns
    -------
    array (n, d)
        Finite.

    Raises
    ------
    InputError
        If there are none, they have another shape, or a coordinate is not finite.
    """
    array = np.asarray(points, dtype=float)
    if array.ndim == 1:
        array = array[:, None]
    if array.ndim != 2 or 0 in array.shape:
        raise reject(f"{name} of shape (n, d)", f"shape {np.shape(points)}",
                     "give one row per point")
    bad = np.flatnonzero(~np.isfinite(array).all(1))
    require(not bad.size, f"{name}: row {bad[:1]} has a coordinate that is not finite; "
            "leave it out or fill it in")
    return array


def as_assignment(assignment, points: int, centroids: int) -> np.ndarray:
    """The centroid's row of every point, checked to be integers (n,) from 0 to m - 1.

    Raises
    ------
    InputError
        On another length, fractions, or a row that no centroid has (they count from zero).
    """
    array = np.asarray(assignment)
    if array.shape != (points,):
        raise reject(f"one assignment per point, ({points},)", f"shape {array.shape}",
                     "give the row of each point's centroid")
    require(np.issubdtype(array.dtype, np.integer),
            f"assignment has type {array.dtype}; give integers, the rows of the centroids")
    bad = np.flatnonzero((array < 0) | (array >= centroids))
    require(not bad.size, f"assignment {array[bad[:1]]} of point {bad[:1]} is not a row of the "
            f"{centroids} centroids; rows count from 0 to {centroids - 1}")
    return array


def as_domain(domain) -> np.ndarray:
    """The sides' ends of a box, (d, 2), d up to three; one (low, high) is an interval.

    Raises
    ------
    InputError
        On another shape, more than three dimensions, or a side without length.
    """
    array = np.atleast_2d(np.asarray(domain, dtype=float))
    if array.ndim != 2 or array.shape[1] != 2 or len(array) > 3:
        raise reject("a domain of one to three (low, high)", f"shape {np.shape(domain)}",
                     "give [(low, high), ...], one pair per dimension")
    require(bool(np.isfinite(array).all() and (array[:, 0] < array[:, 1]).all()),
            f"domain {array.tolist()} has a side without length; give (low, high) with low < high")
    return array


def nearest(points, centroids) -> np.ndarray:
    """Row of the nearest centroid of each point, (n,): the first one where several are.

    Parameters
    ----------
    points, centroids : array-like (n, d) and (m, d)
        In one unit.

    Returns
    -------
    int array (n,)
        Rows of the centroids.
    """
    from scipy.spatial.distance import cdist  # here: it would double the time of the import

    return cdist(as_points(points, "points"), as_points(centroids, "centroids")).argmin(1)


def box_midpoints(domain: np.ndarray, counts) -> np.ndarray:
    """Midpoints (k, d) of the equal cells of a box, the last dimension fastest."""
    axes = [low + (high - low) * (np.arange(k) + 0.5) / k
            for (low, high), k in zip(domain, counts, strict=True)]
    return np.stack(np.meshgrid(*axes, indexing="ij"), -1).reshape(-1, len(domain))


def box_cell(points: np.ndarray, domain: np.ndarray, counts) -> np.ndarray:
    """Row of `box_midpoints` of the cell that each point of the box lies in, (n,)."""
    counts = np.asarray(counts)
    inside = (points - domain[:, 0]) / (domain[:, 1] - domain[:, 0])
    index = np.clip(np.floor(inside * counts).astype(int), 0, counts - 1)
    return np.ravel_multi_index(tuple(index.T), tuple(counts))
