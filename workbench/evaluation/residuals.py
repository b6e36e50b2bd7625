"""Whether what a model leaves of the areas' totals still depends on place.

References
----------
Moran 1950; Dunn and Smyth 1996 (randomised quantile residuals); Cressie 1993, section 2.4.
"""

from __future__ import annotations

import numpy as np
import xarray as xr
from scipy.sparse import coo_array, csr_array
from scipy.spatial import cKDTree
from scipy.spatial.distance import pdist
from scipy.special import ndtri

from workbench.checks import package, require
from workbench.evaluation.calibration import pit
from workbench.schema import BAG, INDIVIDUAL

FEWEST = 8          # areas, below which permutations of them say nothing
_NEAREST = 6        # neighbours of areas without outlines
_ALIKE = 0.05       # p-value below which a pattern is reported
_SLACK = 1e-3       # gap between neighbours, as a share of an area's width: simplified borders


def quantile_residuals(observed: np.ndarray, draws: np.ndarray, seed: int = 0) -> np.ndarray:
    """Randomised quantile residuals: standard normal where draws and observations agree.

    Parameters
    ----------
    observed : array (n,)
    draws : array (sample, n)
        From the predictive distribution of each.
    seed : int
        Of ties, which are broken at random.

    Returns
    -------
    array (n,)
    """
    return ndtri(pit(observed, draws, seed))


def spatial_check(ds: xr.Dataset, residuals: np.ndarray, *, permutations: int = 999,
                  bins: int = 10, seed: int = 0) -> xr.Dataset:
    """Moran's I and the variogram of areas' residuals, against random permutations of them.

    Neighbours are areas that touch (within a thousandth of their width), or without outlines the
    six nearest; an area that touches none is a neighbour of the nearest one.

    Parameters
    ----------
    ds : xr.Dataset
        Bagged dataset that says where its areas are: outlines, centres, or coordinates of
        individuals.
    residuals : array (bag,)
        Of any model.
    permutations : int
        Of the residuals over the areas.
    bins : int
        Distances of the variogram, each with as many pairs, up to half the longest.
    seed : int
        Of the permutations.

    Returns
    -------
    xr.Dataset
        ``residual`` (bag) and ``neighbours``, the mean of those of its neighbours, whose regression
        on the residuals has slope I; ``semivariance``, with ``lower`` and ``upper`` (90 % of
        permutations) and ``pairs`` (distance). Attributes: ``moran_i``, ``moran_expected``,
        ``moran_p`` (two-sided), ``permutations``, ``islands`` (areas that touch none), ``verdict``.

    Raises
    ------
    InputError
        Of fewer than eight areas, residuals that are not finite, or areas that are nowhere.

    Examples
    --------
    >>> import numpy as np
    >>> import workbench as wb
    >>> from workbench.evaluation import spatial_check
    >>> ds = wb.load("simulated-country", pixels=300, districts=24, regions=4, provinces=2)
    >>> smooth = ds["bag_y"].values - ds["bag_y"].values.mean()
    >>> bool(spatial_check(ds, smooth).attrs["moran_p"] < 0.05)
    True
    """
    esda = package("esda", extra="geo")
    z = np.asarray(residuals, dtype=float)
    count = ds.sizes[BAG]
    require(z.shape == (count,) and bool(np.isfinite(z).all()), f"expected one finite residual for "
            f"each of {count} areas, got shape {z.shape} with {int((~np.isfinite(z)).sum())} that "
            "are not finite")
    require(count >= FEWEST, f"a spatial check needs at least {FEWEST} areas, got {count}")
    require(bool(np.ptp(z) > 0), "all residuals are equal, so that none is like its neighbours")
    require(permutations >= 19, f"permutations must be at least 19, got {permutations}")
    centres = centres_of(ds)
    graph, islands = neighbours(ds, centres)
    weights = package("libpysal.weights", extra="geo").WSP(graph).to_W(silence_warnings=True)
    found = esda.Moran(z, weights, permutations=0)
    shuffled = np.random.default_rng(seed).permuted(np.tile(z, (permutations, 1)), axis=1)
    drawn = _moran(graph, shuffled)
    far = np.abs(drawn - found.EI) >= abs(found.I - found.EI) * (1 - 1e-12)
    p = (1 + int(far.sum())) / (permutations + 1)
    tested = {"moran_i": float(found.I), "moran_p": p, "permutations": permutations}
    maps = _variogram(centres, z, shuffled, bins).assign(
        residual=(BAG, z, {"units": "1", "long_name": "residual of the area", **tested}),
        neighbours=(BAG, graph @ z / graph.sum(1), {
            "units": "1", "long_name": "mean residual of the area's neighbours"}))
    if "x" in ds:
        maps["distance"].attrs["units"] = str(ds["x"].attrs.get("units", ""))
    return maps.assign_coords({BAG: ds[BAG]}).assign_attrs(
        moran_i=float(found.I), moran_expected=float(found.EI), moran_p=p,
        permutations=permutations, islands=islands,
        verdict=_told(float(found.I), float(found.EI), p, permutations, islands))


def centres_of(ds: xr.Dataset) -> np.ndarray:
    """Centres of areas (bag, 2): their own, else of outlines, else the mean of individuals.

    Degrees of longitude are shortened to those of latitude.
    """
    if {"bag_x", "bag_y"} <= set(ds.variables):
        centres = np.stack([ds["bag_x"].values, ds["bag_y"].values], 1)
    elif "bag_geometry" in ds.coords:
        shapely = package("shapely", extra="geo")
        centres = shapely.get_coordinates(shapely.centroid(ds["bag_geometry"].values))
    else:
        require("x" in ds and ds["x"].dims == (INDIVIDUAL,), "nothing says where the areas are: "
                "the dataset has no outlines, centres or coordinates x and y")
        members, weight = ds["membership"].values, ds["weight"].values
        total = np.bincount(members, weight)
        centres = np.stack([np.bincount(members, weight * ds[c].values) / total for c in "xy"], 1)
    units = str(ds["x"].attrs.get("units", "")) if "x" in ds else ""
    if units.startswith("degree"):
        centres = centres * [np.cos(np.deg2rad(centres[:, 1].mean())), 1.0]
    return centres


def neighbours(ds: xr.Dataset, centres: np.ndarray) -> tuple[csr_array, int]:
    """Symmetric graph of areas (bag, bag) without any that has no neighbour, and how many had none.

    Parameters
    ----------
    ds : xr.Dataset
        Bagged dataset.
    centres : array (bag, 2)
        From `centres_of`.
    """
    count = len(centres)
    if "bag_geometry" in ds.coords:
        shapely = package("shapely", extra="geo")
        shapes = ds["bag_geometry"].values
        slack = _SLACK * np.sqrt(np.mean(shapely.area(shapes)))
        left, right = shapely.STRtree(shapes).query(shapes, "dwithin", distance=slack)
    else:
        nearest = min(_NEAREST + 1, count)
        right = cKDTree(centres).query(centres, nearest)[1].ravel()
        left = np.repeat(np.arange(count), nearest)
    apart = left != right
    left, right = left[apart], right[apart]
    alone = np.flatnonzero(np.bincount(np.concatenate([left, right]), minlength=count) == 0)
    if alone.size:
        order = cKDTree(centres).query(centres[alone], 2)[1]
        nearest = np.where(order[:, 0] == alone, order[:, 1], order[:, 0])
        left, right = np.concatenate([left, alone]), np.concatenate([right, nearest])
    graph = csr_array(coo_array((np.ones(left.size), (left, right)), shape=(count, count)))
    return csr_array(((graph + graph.T) > 0).astype(float)), int(alone.size)


def _moran(graph: csr_array, values: np.ndarray) -> np.ndarray:
    """Moran's I of rows (r, bag), rows of the graph adding up to one as esda has them."""
    standard = graph.multiply(1 / graph.sum(1)[:, None]).tocsr()
    centred = values - values.mean(1, keepdims=True)
    return ((standard @ centred.T).T * centred).sum(1) / (centred**2).sum(1)


def _variogram(centres: np.ndarray, z: np.ndarray, shuffled: np.ndarray, bins: int) -> xr.Dataset:
    distance = pdist(centres)
    near = distance <= distance.max() / 2
    edges = np.quantile(distance[near], np.linspace(0, 1, bins + 1))
    place = np.clip(np.searchsorted(edges, distance[near], "right") - 1, 0, bins - 1)
    first, second = (side[near] for side in np.triu_indices(len(z), 1))
    pairs = np.bincount(place, minlength=bins)
    some = pairs > 0

    def gamma(values: np.ndarray) -> np.ndarray:
        half = 0.5 * (values[first] - values[second]) ** 2
        return np.bincount(place, half, bins)[some] / pairs[some]

    ends = np.quantile([gamma(row) for row in shuffled], [0.05, 0.95], axis=0)
    middle = np.bincount(place, distance[near], bins)[some] / pairs[some]
    said = {"units": "1", "long_name": "semivariance of residuals"}
    return xr.Dataset(
        {"semivariance": ("distance", gamma(z), said), "lower": ("distance", ends[0]),
         "upper": ("distance", ends[1]), "pairs": ("distance", pairs[some])},
        coords={"distance": middle})


def _told(moran: float, expected: float, p: float, permutations: int, islands: int) -> str:
    said = (f"residuals of areas: Moran's I {moran:.2f} ({expected:.2f} expected without any "
            f"pattern), p {p:.2g} by {permutations} permutations")
    if islands:
        said += f"; {islands} areas touch no other and go with the nearest"
    if p >= _ALIKE:
        return f"{said}: no sign of a pattern that the model leaves"
    if moran > expected:
        return (f"{said}: residuals of neighbours are alike, so that the model leaves a pattern in "
                "space; add a term of the coordinates, such as matern32(coordinates), or a "
                "covariate that explains it")
    return (f"{said}: residuals of neighbours are opposite, as where a map is too smooth or counts "
            "are booked across borders")
