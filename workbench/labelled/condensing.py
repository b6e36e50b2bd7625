"""Bagged datasets of fewer individuals: each a cluster of similar ones."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch
import xarray as xr
from torch import Tensor

from workbench import schema
from workbench.bagging.recurring import OF_INDIVIDUALS
from workbench.checks import require
from workbench.checks.values import whole
from workbench.gp.data.bags import Bags
from workbench.gp.data.compression import compress
from workbench.labelled.source import to_bags

MOST = 40           # clusters of a bag


def condense(ds: xr.Dataset, most: int = MOST) -> xr.Dataset:
    """At most so many individuals in each bag: each a cluster of similar ones.

    Individuals of a bag are split along the covariate or coordinate of largest spread, the cluster
    with most spread first. A cluster has the summed weight of its members and their weighted mean
    of everything else, so that totals of bags stay what they are. Models learn from it as from any
    dataset; how much of the variance that individuals have of their own a cluster averages out is
    kept as ``concentration``. Detail inside a cluster is lost: its rate is taken at its mean, so
    that what counts is that it is small beside the lengthscales.

    Maps are made elsewhere, with `Fit.map_over` or `Fit.at`. At the clusters themselves the map is
    that of one of their members, and joint draws are of the means of their members.

    Parameters
    ----------
    ds : xr.Dataset
        Bagged dataset.
    most : int
        Most clusters of a bag.

    Returns
    -------
    xr.Dataset
        Bagged dataset with the same bags and values, and the variable ``concentration``: the sum of
        the squared shares of weight of a cluster's members. Of what individuals have besides,
        ``x``, ``y``, ``truth`` and ``individual_value`` are kept; the attribute ``condensed`` names
        what was left out.

    Raises
    ------
    InputError
        If ``ds`` is no bagged dataset, ``most`` is no number of clusters, or individuals have
        neither covariates nor coordinates.

    Examples
    --------
    >>> import workbench as wb
    >>> ds = wb.load("simulated-country", pixels=2000, districts=20, regions=4, provinces=2)
    >>> few = wb.condense(ds, most=10)
    >>> few.sizes["individual"], few.sizes["bag"]
    (200, 20)
    >>> bool(abs(few["weight"].sum() / ds["weight"].sum() - 1) < 1e-12)
    True
    """
    schema.check(ds)
    bags = to_bags(ds)
    spread = bags.x.std(0) if len(bags.x) > 1 and bags.x.shape[1] else torch.ones(bags.x.shape[1])
    return condensed(ds, bags, spread, whole("most", most, 1))


def condensed(ds: xr.Dataset, bags: Bags, spread: Tensor, most: int) -> xr.Dataset:
    """A dataset in clusters, of inputs in units of a spread (D,); the rest as of `condense`."""
    require(bags.x.shape[1] > 0, "the data have neither covariates nor coordinates: nothing tells "
            "individuals of one area apart, and the flat model, wb.Constant(), needs no clusters")
    found = compress(replace(bags, x=bags.x / torch.where(spread > 0, spread, 1.0)), most)
    of, weight = found.of.numpy(), found.bags.weight.numpy()
    share = ds["weight"].values / weight[of]

    def added(values: np.ndarray) -> np.ndarray:
        return np.bincount(of, values, minlength=len(weight))

    covariates = ds["covariates"].transpose(schema.INDIVIDUAL, schema.COVARIATE)
    concentration = found.concentration(bags.weight, bags.concentration).numpy()
    made = {
        "covariates": (covariates.dims, np.reshape(
            [added(share * column) for column in covariates.values.T],
            (covariates.shape[1], len(weight))).T),
        "weight": (schema.INDIVIDUAL, weight, ds["weight"].attrs),
        "concentration": (schema.INDIVIDUAL, np.minimum(concentration, 1.0))}
    if "truth" in ds:
        made["truth"] = schema.INDIVIDUAL, added(share * ds["truth"].values), ds["truth"].attrs
    if "individual_value" in ds:
        known, mean = ds["individual_value"], schema.aggregation(ds) == "mean"
        made["individual_value"] = (
            schema.INDIVIDUAL, added(known.values * (share if mean else 1.0)), known.attrs)
    places = {axis: (schema.INDIVIDUAL, added(share * ds[axis].values), ds[axis].attrs)
              for axis in ("x", "y") if axis in ds}
    of_individuals = [name for name, one in ds.variables.items() if schema.INDIVIDUAL in one.dims]
    out = ds.drop_vars(of_individuals).assign(made).assign_coords(
        individual=np.arange(len(weight)), **places)
    if OF_INDIVIDUALS in ds.coords:         # a cluster has individuals of one area
        label = np.empty(len(weight), dtype=ds[OF_INDIVIDUALS].dtype)
        label[of] = ds[OF_INDIVIDUALS].values
        out = out.assign_coords({OF_INDIVIDUALS: (schema.INDIVIDUAL, label)})
    out["membership"] = schema.INDIVIDUAL, found.bags.membership.numpy()
    lost = sorted({*of_individuals} - {*out.variables})
    out.attrs = {name: value for name, value in ds.attrs.items() if not name.startswith("grid_")}
    out.attrs["condensed"] = told(ds.sizes[schema.INDIVIDUAL], len(weight), lost)
    return schema.check(out)


def told(individuals: int, clusters: int, lost: list[str]) -> str:
    """What was condensed, and what of individuals was left out."""
    without = f", without {', '.join(lost)}" if lost else ""
    return f"{individuals:,} individuals in {clusters:,} clusters{without}"
