"""Maps of rasters larger than memory: the blocks that `workbench predict --rasters` computes."""

from __future__ import annotations

from pathlib import Path

import xarray as xr

from workbench import geo
from workbench.checks import InputError, require
from workbench.labelled.large_maps import with_period
from workbench.pipeline.base import existing
from workbench.pipeline.raster_sample import looked_at
from workbench.pipeline.spec import PredictSpec

WEIGHT = "weight"


def rasters_of(spec: PredictSpec) -> xr.Dataset:
    """The rasters of a Spec, opened and not read.

    Parameters
    ----------
    spec : PredictSpec
        With ``rasters``.

    Returns
    -------
    xr.Dataset
        Of Dask arrays; ``weight`` among them if the Spec has one.

    Raises
    ------
    InputError
        If a file is missing or cannot be used, or two have one name.
    """
    files: dict[str, Path] = {}
    for text in (*spec.rasters, *([f"{WEIGHT}={spec.weight}"] if spec.weight else [])):
        name, given, path = text.rpartition("=")
        if given and not name:
            raise InputError(f"{text!r} has no name before the equals sign; write NAME=FILE")
        name = name or Path(path).stem
        require(name not in files, f"two rasters are named {name!r}; write NAME=FILE")
        files[name] = existing("raster", path, directory=True)
    return geo.open_rasters(files, chunks=spec.chunks, nodata=spec.nodata)


def in_blocks(fit, spec: PredictSpec) -> xr.Dataset:
    """The lazy map of a Spec's rasters.

    Parameters
    ----------
    fit : Fit
        A stored one.
    spec : PredictSpec
        With ``rasters``.

    Returns
    -------
    xr.Dataset
        As of `Fit.map_over`, with the attribute ``extrapolates``.

    Raises
    ------
    InputError
        If the fit is of several sources, or the rasters cannot be used: as of `looked_at`.
    """
    require(hasattr(fit, "map_over"), f"{fit.model.name} learns from several sources, and has no "
            "one set of covariates that rasters could be; give a bagged .nc with --at")
    rasters = with_period(fit.data, rasters_of(spec), spec.period)
    weight = WEIGHT if spec.weight else None
    maps = fit.map_over(rasters, spec.quantiles, spec.threshold, weight=weight)
    return maps.assign_attrs(extrapolates=looked_at(fit.data, rasters, weight,
                                                     fit.covariates_used))
