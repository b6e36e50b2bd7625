"""Smaller fields for a notebook, and what the models of a field are compared with."""

from __future__ import annotations

import numpy as np
import xarray as xr

from workbench.bagging import unmatch
from workbench.evaluation import bilinear_lapse, subset
from workbench.geo import to_raster


def thinned(ds: xr.Dataset, value: str, step: int, unit: str) -> xr.Dataset:
    """The fields of a bagged dataset as rasters, in pixels ``step`` times as wide.

    Parameters
    ----------
    ds : xr.Dataset
        On a grid, with ``truth``.
    value : str
        What the truth is called in the result.
    step : int
        Pixels averaged over in each direction.
    unit : str
        Of the coordinates.

    Returns
    -------
    xr.Dataset
        The covariates and the truth by name, (y, x).

    Examples
    --------
    >>> import workbench as wb
    >>> ds = wb.load("simulated-climate", size=16, block=4)
    >>> dict(thinned(ds, "t", 2, "degree").sizes) == {"y": 8, "x": 16}
    True
    """
    fields = {name: ds["covariates"].sel(covariate=name) for name in ds["covariate"].values}
    rasters = {name: to_raster(ds, field.values)
               for name, field in {**fields, value: ds["truth"]}.items()}
    grid = xr.Dataset(rasters).drop_vars("spatial_ref").coarsen(x=step, y=step).mean()
    grid[value].attrs |= ds["truth"].attrs
    for name, units in zip(ds["covariate"].values, ds["covariate_units"].values, strict=True):
        grid[name].attrs["units"] = units
    for axis in "xy":
        grid[axis].attrs["units"] = unit
    return grid


def interpolated(ds: xr.Dataset, slope: float | None = None, *, share: float = 0.5,
                 seed: int = 2) -> np.ndarray:
    """The targets of a split interpolated between blocks, corrected for altitude.

    Parameters
    ----------
    ds : xr.Dataset
        A field in blocks, each with its value.
    slope : float, optional
        Of the value on altitude; by default it is fitted, 0 leaves altitude out.
    share, seed : float, int
        Of the split, as of `workbench.unmatch`.

    Returns
    -------
    array (N,)
        At the pixels, in units of the value.
    """
    targets = unmatch(ds, share, seed)[1]
    there = np.isin(ds["bag"].values, targets["target"].values)
    return bilinear_lapse(ds, np.where(there, ds["value"].values, np.nan), slope=slope)


def own_values(ds: xr.Dataset, *, share: float = 0.5, seed: int = 2) -> xr.Dataset:
    """The bags of a split as if their own values were known, which nobody has in this task.

    Parameters
    ----------
    ds : xr.Dataset
        A field in blocks, each with its value.
    share, seed : float, int
        Of the split, as of `workbench.unmatch`.

    Examples
    --------
    >>> import workbench as wb
    >>> ds = wb.load("simulated-climate", size=16, block=4)
    >>> own_values(ds).sizes["bag"], ds.sizes["bag"]
    (16, 32)
    """
    there = np.isin(ds["bag"].values, unmatch(ds, share, seed)[0]["bag"].values)
    return subset(ds, np.flatnonzero(there))
