"""Contiguous groups of bags: neighbours that go together, of areas over time in each period."""

from __future__ import annotations

import numpy as np
import xarray as xr

from workbench import schema
from workbench.bagging.assemble import with_centres
from workbench.checks import package, require


def contiguous_groups(ds: xr.Dataset, areas: int, seed: int | None = None) -> np.ndarray:
    """The groups that `merge_to` would merge: the number of the group of each bag, north to south.

    Areas over time (`workbench.bag_polygons` with ``time``) are grouped within each period, which
    has its share of the groups, numbered one period after the other.

    Parameters
    ----------
    ds : xr.Dataset
        A bagged dataset with x and y.
    areas : int
        How many groups.
    seed : int, optional
        As of `merge_to`.

    Returns
    -------
    np.ndarray of int (bag,)
        From 0 to areas - 1.

    Raises
    ------
    InputError
        If there are no coordinates, or the number of areas is not between 1 and the bags, or less
        than there are periods.
    """
    ds = with_centres(ds)
    require("bag_x" in ds.variables, "merge_to needs coordinates: this dataset has no x, y; "
                                  "use bag_along or merge by a label")
    bags = ds.sizes[schema.BAG]
    require(1 <= areas <= bags, f"areas must lie between 1 and {bags} (the bags there are), "
                                f"got {areas}")
    periods = periods_of(ds)
    if periods is None:
        return _grouped(ds, areas, seed)
    names, of, sizes = np.unique(periods, return_inverse=True, return_counts=True)
    require(areas >= names.size, f"areas are merged within their periods, of which there are "
            f"{names.size}, got {areas}; give at least one area for each period")
    groups, before, apart = np.empty(bags, dtype=int), 0, ds.drop_dims(schema.INDIVIDUAL)
    for number, count in enumerate(_shared(areas, sizes)):
        mine = np.flatnonzero(of == number)
        groups[mine] = before + _grouped(apart.isel(bag=mine), count, seed)
        before += count
    return groups


def periods_of(ds: xr.Dataset) -> np.ndarray | None:
    """The period of each bag.

    Parameters
    ----------
    ds : xr.Dataset
        A bagged dataset.

    Returns
    -------
    np.ndarray of str (bag,) or None
        None of data that are not over time.

    Examples
    --------
    >>> import workbench as wb
    >>> periods_of(wb.load("swiss-roll", n_bags=12)) is None
    True
    """
    over_time = {"individual_period", "period"} <= set(map(str, ds.coords))
    return ds["period"].values.astype(str) if over_time else None


def _shared(total: int, sizes: np.ndarray) -> np.ndarray:
    """Shares of a total in proportion to sizes: whole, one or more, and no more than the size."""
    shares = np.maximum(1, total * sizes // sizes.sum())
    while shares.sum() != total:
        step = 1 if shares.sum() < total else -1
        free = (shares < sizes) if step > 0 else (shares > 1)
        lack = np.where(free, step * (total * sizes / sizes.sum() - shares), -np.inf)
        shares[np.argmax(lack)] += step
    return shares


def _grouped(ds: xr.Dataset, areas: int, seed: int | None) -> np.ndarray:
    centres = np.column_stack([ds["bag_x"].values, ds["bag_y"].values])
    alone = np.arange(len(centres)) if areas == len(centres) else None
    groups = np.zeros(len(centres), dtype=int) if areas == 1 else (
        alone if alone is not None else _contiguous(ds, centres, areas, seed))
    north = [-centres[groups == g, 1].mean() for g in range(areas)]
    return np.argsort(np.argsort(north, kind="stable"), kind="stable")[groups]


def _contiguous(ds: xr.Dataset, centres: np.ndarray, areas: int, seed: int | None) -> np.ndarray:
    cluster = package("sklearn.cluster", extra="geo")
    if seed is not None:
        spacing = np.sqrt(np.prod(np.ptp(centres, axis=0)) / len(centres))
        centres = centres + np.random.default_rng(seed).normal(0, 0.1 * spacing, centres.shape)
    model = cluster.AgglomerativeClustering(
        n_clusters=areas, linkage="ward", connectivity=_neighbours(ds, centres)
    )
    return model.fit_predict(centres)


def _neighbours(ds: xr.Dataset, centres: np.ndarray):
    """Symmetric graph of bags that touch, made connected by the shortest bridges."""
    from scipy.sparse import coo_array, csr_array
    from scipy.sparse.csgraph import connected_components
    from scipy.spatial import cKDTree

    count = len(centres)
    if "bag_geometry" in ds.coords:
        shapely = package("shapely", extra="geo")
        shapes = ds["bag_geometry"].values
        # Simplified borders may leave slits, so shapes that nearly touch are neighbours too.
        slack = 1e-3 * np.sqrt(np.mean(shapely.area(shapes)))
        left, right = shapely.STRtree(shapes).query(shapes, "dwithin", distance=slack)
    else:
        nearest = min(7, count)
        right = cKDTree(centres).query(centres, nearest)[1].ravel()
        left = np.repeat(np.arange(count), nearest)
    graph = csr_array(coo_array((np.ones(left.size), (left, right)), shape=(count, count)))
    graph = graph + graph.T
    while True:
        parts, label = connected_components(graph, directed=False)
        if parts == 1:
            return (graph > 0).astype(int)
        island = label == np.bincount(label).argmin()
        here, there = np.flatnonzero(island), np.flatnonzero(~island)
        distance, nearest = cKDTree(centres[there]).query(centres[here])
        i = distance.argmin()
        bridge = coo_array(([1.0], ([here[i]], [there[nearest[i]]])), shape=(count, count))
        graph = graph + bridge + bridge.T
