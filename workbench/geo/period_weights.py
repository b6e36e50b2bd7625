"""Weights that change over time: a population raster for each period, on one grid."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import xarray as xr

from workbench import schema
from workbench.checks import InputError, require
from workbench.geo.areas import read_polygons
from workbench.geo.cell_columns import named_in
from workbench.geo.pixels import weight_raster
from workbench.geo.rasters import same_grid
from workbench.geo.treatments import CleaningOptions, Record
from workbench.geo.windows import extent_of


def changes(weight: object, hole: str) -> bool:
    """Whether a weight is a path with the period in it."""
    return isinstance(weight, str | Path) and hole in str(weight)


def weights_by_period(given: dict, periods: list[str], hole: str, options: CleaningOptions,
                      record: Record) -> dict[str, xr.DataArray]:
    """The weight raster of each period.

    Parameters
    ----------
    given : dict
        Arguments of `workbench.bag_polygons`; ``weight`` has the hole in its path.
    periods : list of str
        In order.
    hole : str
        What stands for the period in the path.
    options : CleaningOptions
        ``marks`` applies.
    record : Record
        Receives what was done.

    Returns
    -------
    dict of str to xr.DataArray
        (y, x) by period, zero where nobody is.

    Raises
    ------
    InputError
        If a file is missing or cannot be used, or they are on different grids.
    """
    require(given.get("population") is None, "a weight that changes over time cannot add up to one "
            "population of each area; leave out population")
    require(given["grid_of"] is None, "a weight that changes over time gives the pixels itself; "
            "leave out grid_of, or give weights on that covariate's pixels")
    # Where the polygons are, so that no more than their surroundings are read.
    near = extent_of(read_polygons(given["polygons"], Record(), crs=given["polygon_crs"],
                                   layer=given["layer"], nodata=given["nodata"],
                                   columns=named_in(given), marks=options.marks))
    found: dict[str, xr.DataArray] = {}
    for period in periods:
        path = str(given["weight"]).replace(hole, period)
        one = weight_raster(path, record, given["raster_crs"], given["nodata"], options.marks,
                            given["weight_variable"], near)
        first = next(iter(found.values()), one)
        if not same_grid(one, first):
            raise InputError(f"the weight of {period} is on another grid than that of {periods[0]} "
                             f"({one.shape} and {first.shape} pixels); write them on one grid")
        found[period] = one.fillna(0.0)
    record.note(f"the weight changes over time: {len(periods)} rasters, totals from "
                + " to ".join(f"{float(found[p].sum()):,.6g} ({p})"
                              for p in (periods[0], periods[-1])))
    return found


def mean_weight(weights: dict[str, xr.DataArray], name: str) -> xr.DataArray:
    """The mean over periods, missing where nobody ever was: whose pixels are the individuals."""
    layers = list(weights.values())
    total = np.sum([one.values for one in layers], axis=0)
    mean = layers[0].copy(data=np.where(total > 0, total / len(layers), np.nan)).rename(name)
    return mean.rio.write_crs(layers[0].rio.crs).rio.write_nodata(np.nan)


def weighed(ds: xr.Dataset, weights: dict[str, xr.DataArray], bags: np.ndarray,
            record: Record) -> xr.Dataset:
    """Individuals with the weight of their period; those without any are left out.

    Parameters
    ----------
    ds : xr.Dataset
        Individuals with row, column, coverage, ``individual_period``, and ``of``, the position of
        their bag.
    weights : dict of str to xr.DataArray
        From `weights_by_period`.
    bags : array of str
        Names of the bags.
    record : Record
        Receives how many were left out.

    Returns
    -------
    xr.Dataset
        With their weights.

    Raises
    ------
    InputError
        If an area has no weight at all in a period.
    """
    periods = list(weights)
    stack = np.stack([weights[period].values for period in periods])
    at = {period: k for k, period in enumerate(periods)}
    when = np.array([at[period] for period in ds["individual_period"].values])
    weight = stack[when, ds["row"].values, ds["column"].values] * ds["coverage"].values
    kept = weight > 0
    alone = np.setdiff1d(np.arange(bags.size), ds["of"].values[kept])
    require(alone.size == 0, f"{alone.size} areas have no weight in a period (first: "
            f"{bags[alone[:3]].tolist()}), so that nothing can be counted there; leave these rows "
            "out of the table, or correct the weight")
    if not kept.all():
        record.note(f"{int((~kept).sum())} pixels of periods in which they have no weight were "
                    "left out")
    told = dict(ds["weight"].attrs)
    return ds.assign(weight=(schema.INDIVIDUAL, weight, told)).isel(individual=kept)
