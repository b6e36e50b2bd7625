"""Lazy maps of rasters larger than memory: a fit asked block by block, by Dask."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import xarray as xr

from workbench.checks import InputError, option, package, require
from workbench.labelled.maps import warn_of_thresholds
from workbench.labelled.places import same_crs
from workbench.labelled.predictive import DISTRIBUTIONS
from workbench.labelled.raster_blocks import Asked, Shared, block, example, fingerprint

if TYPE_CHECKING:
    from workbench.labelled.fit import Fit


def lazy_map(fit: Fit, raster: xr.Dataset | xr.DataArray, quantiles: Sequence[float],
             threshold: float | Sequence[float] | None, weight: str | None,
             chunks: int | Mapping[str, int] | None, period: str | float | None = None
             ) -> xr.Dataset:
    """The map of a raster in blocks, see `Fit.map_over`.

    Parameters
    ----------
    fit : Fit
        Of one source, without mediators.
    raster, quantiles, threshold, weight, chunks, period
        As of `Fit.map_over`.

    Returns
    -------
    xr.Dataset
        Of Dask arrays.

    Raises
    ------
    InputError
        If the raster lacks a covariate, has it in other units, or is in another CRS.
    """
    dask, array = package("dask", extra="scale"), package("dask.array", extra="scale")
    package("rioxarray", extra="geo")
    from workbench.geo.lazy_rasters import even, upright

    raster = with_period(fit.data, upright(_by_name(raster)), period)
    asked = _asked(fit, raster, quantiles, threshold)
    _check_crs(fit, raster)
    named = [*asked.covariates, *([weight] if weight else [])]
    require(weight is None or weight in raster, f"the raster has no weight {weight!r}; it has "
            f"{', '.join(map(str, raster.data_vars))}")
    # Of a fit by place alone any variable says which pixels there are.
    grid = raster[named or [name for name in raster.data_vars][:1]]
    if chunks is not None:
        grid = grid.chunk({"y": chunks, "x": chunks} if isinstance(chunks, int) else dict(chunks))
    grid = even(grid)
    known = example(fit, asked)
    sizes = {name: 1 if one.ndim == 1 else len(one) for name, one in known.items()}
    shipped = dask.delayed(Shared(fit), name=f"fit-{fingerprint(fit)}", traverse=False)
    axes = [array.from_array(grid[axis].values.astype(float), chunks=grid.chunksizes[axis])
            for axis in ("y", "x")]
    layers = [grid[name].transpose("y", "x").data for name in asked.covariates]
    stack = array.blockwise(
        block, "kyx", axes[0], "y", axes[1], "x",
        *(part for layer in layers for part in (layer, "yx")),
        new_axes={"k": sum(sizes.values())}, dtype=float, meta=np.empty((0, 0, 0)),
        fit=shipped, asked=asked, count=sum(sizes.values()))
    maps, start = {}, 0
    for name, one in known.items():
        values = stack[start] if one.ndim == 1 else stack[start:start + sizes[name]]
        maps[name] = (*one.dims[:-1], "y", "x"), values, one.attrs
        start += sizes[name]
    levels = {str(dim): one[dim].values for one in known.values() for dim in one.dims[:-1]}
    out = xr.Dataset(maps, {**levels, "y": grid["y"], "x": grid["x"]})
    if weight is not None and fit.sums:
        out["expected_count"] = (out["mean"] * grid[weight]).assign_attrs(
            units=fit.value_units, long_name="expected value", distribution=DISTRIBUTIONS[False])
    crs = raster.rio.crs
    said = {**fit.provenance(), "distribution": DISTRIBUTIONS[False]}
    return (out.rio.write_crs(crs) if crs else out).assign_attrs(said)


def with_period(trained: xr.Dataset, raster: xr.Dataset, period: str | float | None) -> xr.Dataset:
    """A raster with the variable ``time`` at one period, where a model learnt over time.

    Parameters
    ----------
    trained : xr.Dataset
        What the model learnt from.
    raster : xr.Dataset
        Of variables (y, x).
    period : str or number, optional
        As of `Fit.map_over`.

    Returns
    -------
    xr.Dataset
        As it is if no period is given and none is needed.

    Raises
    ------
    InputError
        If a period is needed and not given, or given and not needed.
    """
    from workbench.geo.period_numbers import TIME, time_of

    if period is None:
        if "individual_period" in trained.coords and TIME not in raster:
            last = str(trained["individual_period"].values[-1])
            raise InputError("the model learns over time: say which period to map with "
                             + option("period", last))
        return raster
    at = time_of(trained, period)
    require(TIME not in raster, f"the raster has a variable {TIME!r}, and a period is given, too; "
            "leave one out")
    require(bool(raster.data_vars), "the raster has no variable that says which pixels there are")
    first = next(iter(raster.data_vars.values()))
    return raster.assign({TIME: first.where(first.isnull(), at).drop_attrs()})


def _by_name(raster: xr.Dataset | xr.DataArray) -> xr.Dataset:
    if isinstance(raster, xr.Dataset):
        return raster
    from workbench.geo.netcdf import axis_names

    others = [str(d) for d in raster.dims if d not in axis_names(raster)]
    require(len(others) < 2, f"the raster has dimensions {', '.join(map(str, raster.dims))}; "
            "expected y, x and one that names the covariates")
    if others:
        return raster.to_dataset(dim=others[0])
    require(raster.name is not None, "the raster has no name; call it as the covariate is called, "
            "with raster.rename(NAME)")
    return raster.to_dataset()


def _asked(fit: Fit, raster: xr.Dataset, quantiles: Sequence[float], threshold) -> Asked:
    trained = fit.data
    require("mediators" not in trained, f"{fit.model.name} needs mediators of every bag, which "
            "pixels of a raster have none of; use to_dataset")
    names = tuple(str(name) for name in trained["covariate"].values)
    missing = [name for name in names if name not in raster]
    require(not missing, f"the model learns from covariates {', '.join(names)}; the raster lacks "
            f"{', '.join(missing)} and has {', '.join(map(str, raster.data_vars)) or 'none'}: "
            "rename its variables")
    if "covariate_units" in trained.coords:
        for name, unit in zip(names, trained["covariate_units"].values.astype(str), strict=True):
            unlike = str(raster[name].attrs.get("units", ""))
            require(unit in ("", "1", unlike) or unlike in ("", "1"), f"covariate {name!r} is in "
                    f"{unlike!r} in the raster, and in {unit!r} where the model learns; convert it")
    warn_of_thresholds(fit, threshold)
    levels = tuple(float(q) for q in np.atleast_1d(np.asarray(quantiles, dtype=float)))
    limits = threshold if threshold is None or np.isscalar(threshold) else tuple(
        float(t) for t in threshold)
    return Asked(names, levels, limits)


def _check_crs(fit: Fit, raster: xr.Dataset) -> None:
    ours, theirs = fit.data.attrs.get("crs"), raster.rio.crs
    theirs = theirs and theirs.to_string()
    require(same_crs(ours, theirs), f"the raster has the CRS {theirs}, the data of the model "
            f"{ours}; reproject the raster, for the model knows places by it")
