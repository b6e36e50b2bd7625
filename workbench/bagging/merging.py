"""Merge bags into larger ones: by a label, or into a number of contiguous areas."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import xarray as xr

from workbench import schema
from workbench.bagging.assemble import assemble
from workbench.bagging.contiguous import contiguous_groups
from workbench.bagging.recurring import remembered
from workbench.checks import InputError, choose, package, reject, require


def merge(ds: xr.Dataset, by: str) -> xr.Dataset:
    """Merge the bags that share a label, such as all districts of a province.

    Counts add up; with aggregation "mean" the values are averaged by the weight of the bags. Of
    positives out of trials both add up, and each individual then counts by the trials of its area.
    Individuals, their truth and their coordinates stay as they are; mediators are averaged by
    weight.

    Parameters
    ----------
    ds : xr.Dataset
        A bagged dataset.
    by : str
        A label coordinate of the bags, or of the individuals if it is constant in each bag.

    Returns
    -------
    xr.Dataset
        One bag per label, in order of the labels.

    Raises
    ------
    InputError
        If ``by`` is no name, there is no such label, or bags cross its borders.

    Examples
    --------
    >>> import workbench as wb
    >>> ds = wb.load("simulated-country", pixels=300, districts=12, regions=4, provinces=2)
    >>> wb.merge(ds, "region").sizes["bag"]
    4
    """
    schema.check(ds)
    if not isinstance(by, str):
        raise reject("by the name of a label of the bags", type(by).__name__,
                     "give labels a name first: wb.merge(ds.assign_coords(region=('bag', labels)), "
                     "'region')")
    labels = _bag_labels(ds, by)
    bags, groups = np.unique(labels, return_inverse=True)
    merged = _merge(ds, groups, bags, {by: bags, "bag_name": bags})
    merged.attrs["level"] = by
    return merged


def merge_to(ds: xr.Dataset, areas: int, seed: int | None = None) -> xr.Dataset:
    """Merge neighbouring bags into a given number of contiguous areas.

    Bags of areas over time are merged within their periods, see `contiguous_groups`. Ward
    clustering of the bag centres along the graph of neighbours, so that areas are compact
    and of about equal extent. Neighbours are bags whose geometries touch, else the six nearest.

    Parameters
    ----------
    ds : xr.Dataset
        A bagged dataset with x and y.
    areas : int
        How many bags to end with, at most the present number.
    seed : int, optional
        Another grouping for every seed (centres are moved by a tenth of their typical
        distance); without a seed the grouping is determined by the data alone.

    Returns
    -------
    xr.Dataset
        Bags labelled "area 1", "area 2", ... from north to south.

    Raises
    ------
    InputError
        If there are no coordinates, or the number of areas is not between 1 and the bags.

    Examples
    --------
    >>> import workbench as wb
    >>> ds = wb.load("simulated-country", pixels=300, districts=12, regions=4, provinces=2)
    >>> wb.merge_to(ds, 5)["bag"].values.tolist()[:2]
    ['area 1', 'area 2']
    """
    schema.check(ds)
    groups = contiguous_groups(ds, areas, seed)
    width = len(str(areas))
    names = np.array([f"area {a:0{width}d}" for a in range(1, areas + 1)])
    merged = _merge(ds, groups, names, {"bag_name": names})
    merged.attrs["level"] = f"{areas} merged areas"
    return merged


def _merge(
    ds: xr.Dataset, groups: np.ndarray, bags: Sequence[str], coords: dict[str, np.ndarray]
) -> xr.Dataset:
    """Merge bags by their position ``groups`` among the new ``bags``."""
    if "trials" in ds:
        return _merged_survey(ds, groups, bags, coords)
    require(schema.statistic(ds) != "median", "medians of areas are not enough to know the median "
            "of their union; summarise the united areas' individuals instead")
    membership = ds["membership"].values
    weight = np.bincount(membership, weights=ds["weight"].values, minlength=groups.size)
    mean = schema.aggregation(ds) == "mean"
    # A mean of means is weighted by the bags' shares of weight; a total is a plain sum.
    share = weight / np.bincount(groups, weights=weight)[groups] if mean else np.ones(groups.size)
    value = np.bincount(groups, weights=share * ds["value"].values)
    noise = None
    if "noise_variance" in ds:
        noise = np.bincount(groups, weights=share**2 * ds["noise_variance"].values)
    spread = None
    if "sample_variance" in ds and mean:        # within the areas and between their means
        inside = ds["sample_variance"].values + (ds["value"].values - value[groups])**2
        spread = np.bincount(groups, weights=share * inside)
    individuals, lifted = remembered(ds), _lifted(ds, groups, len(bags))
    former = str(ds.attrs.get("level", ""))
    if former.isidentifier() and (former not in ds.coords or schema.BAG in ds[former].dims):
        # Individuals remember the bag they came from, so that maps can still be drawn by it.
        labels = ds[former if former in ds.coords else schema.BAG].values[membership]
        individuals = individuals.drop_vars(former, errors="ignore").assign_coords(
            {former: (schema.INDIVIDUAL, labels)}
        )
        lifted.pop(former, None)
    merged = assemble(
        individuals, groups[membership], value, bags, bag_coords=lifted | coords,
        value_attrs=ds["value"].attrs, noise_variance=noise,
    )
    if "mediators" in ds:       # what a bag is known by: the mean of its parts, by weight
        merged = merged.assign(mediators=_mean_mediators(ds, groups, weight))
    if spread is None:
        return merged
    return merged.assign(sample_variance=(schema.BAG, spread, ds["sample_variance"].attrs))


def _mean_mediators(ds: xr.Dataset, groups: np.ndarray, weight: np.ndarray) -> xr.DataArray:
    share = weight / np.bincount(groups, weights=weight)[groups]
    columns = ds["mediators"].transpose(schema.BAG, schema.MEDIATOR)
    means = [np.bincount(groups, weights=share * column) for column in columns.values.T]
    own = {name: c for name, c in columns.coords.items() if c.dims == (schema.MEDIATOR,)}
    return xr.DataArray(np.stack(means, 1), own, columns.dims, attrs=columns.attrs)


def _merged_survey(
    ds: xr.Dataset, groups: np.ndarray, bags: Sequence[str], coords: dict[str, np.ndarray]
) -> xr.Dataset:
    """Merge positives and trials; an individual then counts by the trials of its own area.

    The share of positives in a united area is the mean of its areas' by trials, not by people.
    """
    trials, membership = ds["trials"].values.astype(float), ds["membership"].values
    weight = np.bincount(membership, weights=ds["weight"].values)
    tested = np.bincount(groups, weights=trials)
    none = (trials == 0) & (tested[groups] > 0)
    require(not none.any(), f"in {int(none.sum())} areas nobody was tested (first: "
            f"{ds[schema.BAG].values[none][:3].tolist()}), so that a survey of a united area says "
            "nothing of them; leave them out before merging, in Python with "
            "wb.subset(ds, ds['trials'].values > 0), or merge otherwise")
    people = np.bincount(groups, weights=weight)[groups]
    factor = np.where(trials > 0, trials / np.maximum(tested, 1)[groups] * people / weight, 1)
    weights = ds["weight"].copy(data=ds["weight"].values * factor[membership])
    merged = _merge(ds.drop_vars("trials").assign(
        weight=weights, value=ds["value"].assign_attrs(aggregation="sum")), groups, bags, coords)
    merged = merged.assign(trials=(schema.BAG, tested, ds["trials"].attrs),
                           value=merged["value"].assign_attrs(aggregation="mean"))
    if not np.allclose(factor, 1):
        told = ("united areas were tested in other proportions than their people: weights within "
                "them were changed in proportion to the trials of each area")
        before = ds.attrs.get("treatments", "none")
        merged.attrs["treatments"] = told if before == "none" else f"{before}\n{told}"
    return schema.check(merged)


def _lifted(ds: xr.Dataset, groups: np.ndarray, count: int) -> dict[str, np.ndarray]:
    """Geometries united, and the labels on which all bags of a group agree."""
    members = [np.flatnonzero(groups == g) for g in range(count)]
    kept = {}
    if "bag_geometry" in ds.coords:
        shapely = package("shapely", extra="geo")
        shapes = ds["bag_geometry"].values
        united = np.empty(count, dtype=object)
        united[:] = [shapely.union_all(shapes[m]) for m in members]
        kept["bag_geometry"] = united
    for name, coord in ds.coords.items():
        if coord.dims != (schema.BAG,) or name in (schema.BAG, "bag_geometry", "bag_x", "bag_y"):
            continue
        values = coord.values
        if all((values[m] == values[m[0]]).all() for m in members):
            kept[str(name)] = values[[m[0] for m in members]]
    return kept


def _bag_labels(ds: xr.Dataset, by: str) -> np.ndarray:
    usable = [str(n) for n, c in ds.coords.items()
              if c.dims in ((schema.BAG,), (schema.INDIVIDUAL,)) and c.dtype.kind in "OUSTi"
              and n not in (*schema.GEOMETRY, schema.INDIVIDUAL)]
    choose("by", by, usable)
    dim, labels = ds[by].dims[0], ds[by].values
    absent = np.flatnonzero(ds[by].isnull().values)
    require(absent.size == 0, f"{absent.size} of {labels.size} {dim}s have no {by!r} (first: "
            f"{ds[dim].values[absent[:3]].tolist()}); give those left over a label of their own")
    if ds[by].dims == (schema.BAG,):
        return labels.astype(str)
    membership = ds["membership"].values
    first = np.searchsorted(membership, np.arange(ds.sizes[schema.BAG]))
    crossing = np.unique(membership[labels != labels[first][membership]])
    if crossing.size:
        raise InputError(
            f"{crossing.size} bags hold individuals of several {by!r} (first: "
            f"{ds[schema.BAG].values[crossing[:3]].tolist()}), so they cannot be merged by it"
        )
    return labels[first].astype(str)
