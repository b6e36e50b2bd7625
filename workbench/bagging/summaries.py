"""Summaries: one centre, statistic and count per area, all that privacy may leave of the data.

A summary is itself a bagged dataset: each area holds one individual, at the area's centre, whose
weight is the number of observations behind the area's value.
"""

from __future__ import annotations

import numpy as np
import xarray as xr

from workbench import schema
from workbench.bagging.assemble import assemble, bag_values
from workbench.bagging.individuals import rebag
from workbench.checks import choose, package, require, warn

LOCATIONS = ("mean", "geometry")


def summarise(ds: xr.Dataset, statistic: str = "mean", location: str = "mean") -> xr.Dataset:
    """Reduce every area of a bagged dataset to its centre, one statistic and a count.

    Parameters
    ----------
    ds : xr.Dataset
        Bagged dataset. With ``individual_value`` any statistic can be taken; with totals or means
        of areas alone only the mean, per unit of weight, which is what the count then counts.
    statistic : {"mean", "median", "proportion"}
        Of the individual values of each area; proportion is of values that are 0 or 1.
    location : {"mean", "geometry"}
        Where the centre is: at the weighted mean of the individuals (the population's centre, where
        weights are population), or at the centroid of ``bag_geometry`` (of a grid: the cell's
        centre). Covariates are averaged by weight.

    Returns
    -------
    xr.Dataset
        One individual per bag, ``weight`` the count; ``sample_variance`` (divisor: the count) where
        individual values are known and each counts once.

    Raises
    ------
    InputError
        If the statistic needs individual values that are not there, or weights that are one.

    References
    ----------
    Shikuri 2025, sections 4 and 6.

    Examples
    --------
    >>> import workbench as wb
    >>> ds = wb.load("simulated-country", pixels=300, districts=12, regions=4, provinces=2)
    >>> wb.summarise(ds).sizes["individual"] == ds.sizes["bag"]
    True
    """
    schema.check(ds)
    choose("statistic", statistic, schema.STATISTICS)
    choose("location", location, LOCATIONS)
    require("trials" not in ds, "positives out of trials are a summary already; use them as they "
            "are")
    value, spread = _statistic(ds, statistic)
    weight, members, bags = ds["weight"].values, ds["membership"].values, ds.sizes[schema.BAG]

    def centre(values: np.ndarray) -> np.ndarray:
        return bag_values(values, weight, members, bags, "mean")

    table = np.stack([centre(column) for column in ds["covariates"].values.T], 1) if (
        ds.sizes["covariate"]) else np.zeros((bags, 0))
    places = {axis: (schema.INDIVIDUAL, centre(ds[axis].values), dict(ds[axis].attrs))
              for axis in ("x", "y") if axis in ds}
    if location == "geometry":
        places = _centroids(ds, places)
    individuals = xr.Dataset(
        {"covariates": ((schema.INDIVIDUAL, schema.COVARIATE), table),
         "weight": (schema.INDIVIDUAL, np.bincount(members, weight, bags), dict(
             ds["weight"].attrs) | {"long_name": "observations"})},
        coords={"individual": np.arange(bags), "covariate": ds["covariate"],
                **{n: ds[n] for n in ("covariate_units",) if n in ds.coords}, **places})
    return as_summary(individuals, value, ds["bag"].values, spread, {
        **ds["value"].attrs, "aggregation": "mean", "statistic": statistic}, ds,
        {name: ds[name].values for name in ds.coords
         if ds[name].dims == (schema.BAG,) and name not in ("bag", "bag_x", "bag_y")})


def as_singleton_bags(ds: xr.Dataset) -> xr.Dataset:
    """The complete data: every individual a bag of its own, with its own value.

    Parameters
    ----------
    ds : xr.Dataset
        Bagged dataset with ``individual_value``.

    Returns
    -------
    xr.Dataset
        Bagged dataset with as many bags as individuals.

    Raises
    ------
    InputError
        If individual values are not known.

    Examples
    --------
    >>> import workbench as wb
    >>> ds = wb.load("swiss-roll", n_bags=20, mean_size=10, size_std=4)
    >>> wb.as_singleton_bags(ds).sizes["bag"] == ds.sizes["individual"]
    True
    """
    n = ds.sizes[schema.INDIVIDUAL]
    out = rebag(ds, np.arange(n), [str(i) for i in range(n)])
    return out.assign_attrs({**ds.attrs, "level": "individual"})


def separate(ds: xr.Dataset) -> xr.Dataset:
    """Deprecated name of `as_singleton_bags`."""
    warn("separate is now called as_singleton_bags; the old name will be removed",
         DeprecationWarning)
    return as_singleton_bags(ds)


def move_to_centres(ds: xr.Dataset, location: str = "mean") -> xr.Dataset:
    """Move every individual to its bag's centre, as the paper's summarised VI takes complete data.

    Parameters
    ----------
    ds : xr.Dataset
        Bagged dataset.
    location : {"mean", "geometry"}
        See `summarise`.

    Returns
    -------
    xr.Dataset
        The same individuals, all of a bag at one place.

    References
    ----------
    Shikuri 2025, section 6, baselines.

    Examples
    --------
    >>> import workbench as wb
    >>> ds = wb.load("simulated-country", pixels=300, districts=12, regions=4, provinces=2)
    >>> moved = wb.move_to_centres(ds)
    >>> len(set(moved["x"].values)) <= ds.sizes["bag"]
    True
    """
    if "value" in ds:
        statistic, whole = schema.statistic(ds), ds
    else:                               # places to predict at: where they are is all that is asked
        statistic, whole = "mean", ds.assign(value=(
            schema.BAG, np.zeros(ds.sizes[schema.BAG]),
            {"kind": "continuous", "aggregation": "mean"}))
    centres = summarise(whole.drop_vars(["individual_value", "trials", "sample_variance"],
                                        errors="ignore"), statistic, location)
    members = ds["membership"].values
    out = ds.assign(covariates=(ds["covariates"].dims, centres["covariates"].values[members],
                                ds["covariates"].attrs))
    return out.assign_coords({axis: (schema.INDIVIDUAL, centres[axis].values[members],
                                     ds[axis].attrs) for axis in ("x", "y") if axis in ds})


def _statistic(ds: xr.Dataset, statistic: str) -> tuple[np.ndarray, np.ndarray | None]:
    """Statistic of every bag, and the variance of the observations behind it where known."""
    weight, members, bags = ds["weight"].values, ds["membership"].values, ds.sizes[schema.BAG]
    sums = schema.aggregation(ds) == "sum"
    if "individual_value" not in ds:
        known = schema.statistic(ds)
        require(statistic == known, f"the areas' values are their {known}; a {statistic} needs the "
                f"individual values, which this dataset does not have: use statistic={known!r}")
        value = ds["value"].values
        spread = ds["sample_variance"].values if "sample_variance" in ds and not sums else None
        return (value / np.bincount(members, weight, bags) if sums else value), spread
    values, once = ds["individual_value"].values, bool((weight == 1).all())
    if statistic == "median":
        import pandas as pd

        require(once, "a median counts each observation once, but these have weights")
        return pd.Series(values).groupby(members).median().to_numpy(), None
    if statistic == "proportion":
        require(once and bool(np.isin(values, (0, 1)).all()), "a proportion is of observations "
                "that are 0 or 1, each counted once")
    if sums and not once:       # a total over its exposure: no single observations behind it
        return bag_values(values, weight, members, bags, "sum") / np.bincount(
            members, weight, bags), None
    mean = bag_values(values, weight, members, bags, "mean")
    spread = bag_values((values - mean[members])**2, weight, members, bags, "mean")
    return mean, spread if once else None


def _centroids(ds: xr.Dataset, places: dict) -> dict:
    shapely = package("shapely", extra="geo")
    require("bag_geometry" in ds.coords and bool(places), "location='geometry' needs polygons "
            "(bag_geometry) and coordinates x and y; use location='mean'")
    centroid = shapely.centroid(ds["bag_geometry"].values)
    found = {"x": shapely.get_x(centroid), "y": shapely.get_y(centroid)}
    return {axis: (dims, found[axis], attrs) for axis, (dims, _, attrs) in places.items()}


def as_summary(individuals, value, bags, spread, attrs, ds=None, coords=None) -> xr.Dataset:
    """A summary from one individual per area.

    Parameters
    ----------
    individuals : xr.Dataset
        Covariates, weights (counts) and coordinates of the centres.
    value : array (bag,)
        Statistic of each area.
    bags : array (bag,)
        Labels of the areas.
    spread : array (bag,), optional
        Variance of the observations in each area.
    attrs : dict
        Attributes of the value.
    ds : xr.Dataset, optional
        What was summarised, for the attributes.
    coords : dict, optional
        Coordinates of the areas.

    Returns
    -------
    xr.Dataset
        A checked bagged dataset.
    """
    out = assemble(individuals, np.arange(len(value)), value, bags, value_attrs=attrs,
                   bag_coords=coords)
    if spread is not None:
        out["sample_variance"] = (schema.BAG, spread, {
            "long_name": "variance of the observations (divisor: their number)"})
    out.attrs |= {} if ds is None else ds.attrs
    return schema.check(out)
