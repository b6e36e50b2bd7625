"""Splits of the bags: which are held out together, and the dataset of some bags alone."""

from __future__ import annotations

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike
from scipy.optimize import linear_sum_assignment
from sklearn.cluster import KMeans
from sklearn.model_selection import GroupKFold

from workbench.bagging.assemble import located, with_centres
from workbench.checks import choose, require
from workbench.schema import BAG, INDIVIDUAL

SCHEMES = ("random", "blocks", "stratified")


def subset(ds: xr.Dataset, bags: ArrayLike) -> xr.Dataset:
    """Bagged dataset of some bags alone, in the order given, with the membership renumbered.

    Parameters
    ----------
    ds : xr.Dataset
        Bagged dataset.
    bags : array of int or bool
        Positions of the bags to keep, or one truth value per bag.

    Returns
    -------
    xr.Dataset
        Bagged dataset of these bags and their individuals.

    Raises
    ------
    InputError
        On positions that repeat, lie outside the dataset, or are none at all.

    Examples
    --------
    >>> import workbench as wb
    >>> ds = wb.load("simulated-country", pixels=300, districts=12, regions=4, provinces=2)
    >>> wb.subset(ds, [3, 0])["bag"].values.tolist()
    ['D04', 'D01']
    """
    bags, count = np.asarray(bags), ds.sizes[BAG]
    if bags.dtype == bool:
        require(bags.shape == (count,), f"expected {count} truth values, got {bags.shape}")
        bags = np.flatnonzero(bags)
    require(bags.ndim == 1 and bags.size > 0, "choose at least one bag")
    require(np.issubdtype(bags.dtype, np.integer), f"bag positions are integers, got {bags.dtype}")
    require(
        bags.min() >= 0 and bags.max() < count and np.unique(bags).size == bags.size,
        f"bag positions must be unique and between 0 and {count - 1}",
    )
    renumbered = np.full(count, -1, dtype=np.int64)
    renumbered[bags] = np.arange(bags.size)
    membership = renumbered[ds["membership"].values]
    kept = np.flatnonzero(membership >= 0)
    kept = kept[np.argsort(membership[kept], kind="stable")]
    part = ds.isel({BAG: bags, INDIVIDUAL: kept})
    part["membership"] = (INDIVIDUAL, membership[kept], ds["membership"].attrs)
    return part


def folds(ds: xr.Dataset, k: int = 10, scheme: str = "random", seed: int = 0) -> xr.DataArray:
    """Number of the fold in which each bag is held out.

    Parameters
    ----------
    ds : xr.Dataset
        Bagged dataset.
    k : int
        Number of folds.
    scheme : str
        ``"random"``; ``"blocks"``: k compact blocks of nearly equal size on the map (k-means on
        their centres), which asks for prediction far from data; ``"stratified"``: bags sorted by
        rate and dealt round, so that every fold spans the rates; or the name of a label
        coordinate of the bags ("province"), whose labels are never split.
    seed : int

    Returns
    -------
    xr.DataArray (bag,) of int, 0 to k - 1

    References
    ----------
    Law et al. 2018, section 4.3 splits by the stratified scheme.
    """
    labels = [str(n) for n in ds.coords if ds[n].dims == (BAG,) and n not in (BAG, "bag_geometry")]
    choose("scheme", scheme, (*SCHEMES, *labels))
    count = ds.sizes[BAG]
    require(count > 1, "the dataset has one bag, so that nothing would be left to learn from; give "
            "one of several bags")
    require(2 <= k <= count, f"expected 2 to {count} folds (one per bag at most), got {k}")
    rng = np.random.default_rng(seed)
    if scheme == "random":
        fold = rng.permutation(np.arange(count) % k)
    elif scheme == "stratified":
        fold = _stratified(ds, k, rng)
    elif scheme == "blocks":
        fold = _blocks(ds, k, seed)
    else:
        fold = _labelled(ds, k, scheme, seed)
    return xr.DataArray(
        fold,
        dims=BAG,
        name="fold",
        attrs={"long_name": "fold in which the bag is held out", "scheme": scheme, "seed": seed},
    ).assign_coords({BAG: ds[BAG]})


def _stratified(ds: xr.Dataset, k: int, rng: np.random.Generator) -> np.ndarray:
    rate = ds["value"].values
    if ds["value"].attrs.get("aggregation", "sum") == "sum":
        rate = rate / np.bincount(ds["membership"].values, weights=ds["weight"].values)
    elif "trials" in ds:
        rate = rate / np.maximum(ds["trials"].values, 1)
    fold = np.empty(rate.size, dtype=int)
    ordered = np.argsort(rate, kind="stable")
    for start in range(0, rate.size, k):  # each run of k neighbours in rate goes to k folds
        run = ordered[start : start + k]
        fold[run] = rng.permutation(k)[: run.size]
    return fold


def _blocks(ds: xr.Dataset, k: int, seed: int) -> np.ndarray:
    require(located(ds), "spatial blocks need x and y, of bags or of individuals; this dataset has "
                         "no map, try scheme='random'")
    ds = with_centres(ds)
    x, y = (np.asarray(ds[name].values, dtype=float) for name in ("bag_x", "bag_y"))
    if str(ds["bag_x"].attrs.get("units", "")).startswith("degree"):
        x = x * np.cos(np.deg2rad(y.mean()))
    points = np.column_stack([x, y])
    blocks = KMeans(k, n_init=10, random_state=seed).fit(points)
    # k-means blocks differ in size by an order of magnitude; all get as many places as the others
    # (one more for the largest), and the bags take the places at the least squared distance
    size = np.full(k, len(points) // k)
    size[np.argsort(-np.bincount(blocks.labels_, minlength=k))[: len(points) % k]] += 1
    place = np.repeat(np.arange(k), size)
    distance = ((points[:, None] - blocks.cluster_centers_) ** 2).sum(-1)
    return place[linear_sum_assignment(distance[:, place])[1]]


def _labelled(ds: xr.Dataset, k: int, name: str, seed: int) -> np.ndarray:
    absent = np.flatnonzero(ds[name].isnull().values)
    require(absent.size == 0, f"{absent.size} of {ds[name].size} bags have no {name!r} (first: "
            f"{ds[BAG].values[absent[:3]].tolist()}); give those left over a label of their own")
    labels = ds[name].values.astype(str)
    distinct = np.unique(labels).size
    require(
        distinct >= k, f"{name!r} has {distinct} labels, too few for {k} folds; lower the folds"
    )
    fold = np.empty(labels.size, dtype=int)
    splits = GroupKFold(k, shuffle=True, random_state=seed).split(labels, groups=labels)
    for number, (_, held_out) in enumerate(splits):
        fold[held_out] = number
    return fold
