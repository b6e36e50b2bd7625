"""Build a bagged dataset from per-individual arrays, in whatever order they come."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import xarray as xr

from workbench import schema
from workbench.checks import require


def assemble(
    individuals: xr.Dataset,
    membership: np.ndarray,
    value: np.ndarray,
    bags: np.ndarray,
    *,
    bag_coords: Mapping[str, np.ndarray] | None = None,
    value_attrs: Mapping[str, str] | None = None,
    noise_variance: np.ndarray | None = None,
) -> xr.Dataset:
    """Sort individuals by bag and return a checked bagged dataset.

    Parameters
    ----------
    individuals : xr.Dataset
        Variables over the individual: covariates (individual, covariate), weight, and any of
        truth, individual_value, x, y and other coordinates. Membership and bags, if present,
        are replaced.
    membership : np.ndarray
        Position of each individual's bag in ``bags``, in any order.
    value : np.ndarray
        One value per bag.
    bags : np.ndarray
        One label per bag; they become strings.
    bag_coords : mapping, optional
        Further coordinates of the bags, such as names, provinces or geometries.
    value_attrs : mapping, optional
        long_name, units, aggregation ("sum" or "mean") and kind ("count" or "continuous").
    noise_variance : np.ndarray, optional
        Known variance of each value.

    Returns
    -------
    xr.Dataset
        A dataset that satisfies `workbench.schema.check`.

    Raises
    ------
    InputError
        If labels repeat, a bag has no individuals, or a value or weight is unusable.
    """
    bags = np.array([str(label) for label in np.asarray(bags)])
    labels, counts = np.unique(bags, return_counts=True)
    repeated = labels[counts > 1]
    require(repeated.size == 0, f"bag labels must be unique; {repeated[:5].tolist()} repeat")
    individuals = _individuals_only(individuals)
    order = np.argsort(membership, kind="stable")
    ds = individuals.isel(individual=order)
    ds["membership"] = (schema.INDIVIDUAL, np.asarray(membership, dtype=np.int64)[order])
    ds["value"] = (schema.BAG, np.asarray(value, dtype=float), dict(value_attrs or {}))
    if noise_variance is not None:
        ds["noise_variance"] = (schema.BAG, np.asarray(noise_variance, dtype=float))
    ds = ds.assign_coords(bag=(schema.BAG, bags))
    for name, values in (bag_coords or {}).items():
        ds = ds.assign_coords({name: (schema.BAG, np.asarray(values))})
    return schema.check(_centred(ds))


def bag_values(
    individual_value: np.ndarray,
    weight: np.ndarray,
    membership: np.ndarray,
    bags: int,
    aggregation: str,
) -> np.ndarray:
    """Sum, or average by weight, the known individual values of each bag.

    Parameters
    ----------
    individual_value, weight : np.ndarray
        One entry per individual.
    membership : np.ndarray
        Position of each individual's bag.
    bags : int
        Number of bags.
    aggregation : {"sum", "mean"}
        ``sum_i v_i``, or ``sum_i w_i v_i / sum_i w_i``.

    Returns
    -------
    np.ndarray
        One value per bag.
    """
    if aggregation == "sum":
        return np.bincount(membership, weights=individual_value, minlength=bags)
    total = np.bincount(membership, weights=weight, minlength=bags)
    return np.bincount(membership, weights=weight * individual_value, minlength=bags) / total


def _individuals_only(ds: xr.Dataset) -> xr.Dataset:
    """Drop what belongs to a former bagging."""
    former = [name for name, v in ds.variables.items() if schema.BAG in v.dims]
    return ds.drop_vars([*former, *({"membership"} & set(ds.variables))])


def with_centres(ds: xr.Dataset) -> xr.Dataset:
    """The dataset with coordinates of its bags: their own, else weighted means of individuals'."""
    return ds if {"bag_x", "bag_y"} <= set(ds.variables) else _centred(ds)


def located(ds: xr.Dataset) -> bool:
    """Whether bags have coordinates, or individuals that `with_centres` can find them by."""
    there = set(ds.variables)
    return {"bag_x", "bag_y"} <= there or {"x", "y"} <= there


def _centred(ds: xr.Dataset) -> xr.Dataset:
    for axis in ("x", "y"):
        if axis in ds:
            centre = bag_values(
                ds[axis].values, ds["weight"].values, ds["membership"].values,
                ds.sizes[schema.BAG], "mean",
            )
            ds = ds.assign_coords({f"bag_{axis}": (schema.BAG, centre, dict(ds[axis].attrs))})
    return ds
