"""Rasters larger than memory, looked at in some of their blocks before a map is made of all."""

from __future__ import annotations

from itertools import product

import numpy as np
import xarray as xr

from workbench.checks import DataWarning, InputError, option, warn
from workbench.geo.marks import undeclared_mark
from workbench.geo.period_numbers import TIME
from workbench.pipeline.transfer import look_apart, look_beyond

_BLOCKS, _PIXELS = 12, 1 << 15      # at most; of each block
_ENOUGH = 1000      # known pixels of a sample that may speak for all
_RASTER = "the raster"


def looked_at(trained: xr.Dataset, rasters: xr.Dataset, weight: str | None, follows: list[str]
              ) -> str:
    """Look at blocks spread over rasters, and say what is wrong or unlike the training data.

    Parameters
    ----------
    trained : xr.Dataset
        What the model learnt from.
    rasters : xr.Dataset
        Of Dask arrays (y, x), with a variable for every covariate.
    weight : str, optional
        The variable that is a weight.
    follows : list of str
        The covariates that the map follows; others may be anything.

    Returns
    -------
    str
        Which share of the pixels extrapolates in covariates; empty if there are none.

    Raises
    ------
    InputError
        If a covariate lies wholly beyond what areas span, or weights are negative.

    Warns
    -----
    DataWarning
        Of rasters that are not used, and values that look like marks of missing pixels.
    ExtrapolationWarning
        Where covariates lie beyond what areas span, or the rasters beside all areas.
    """
    names = [str(name) for name in trained["covariate"].values]     # all have to be there
    others = [str(name) for name in rasters.data_vars if name not in (*names, weight)]
    # Of a fit by place alone, or by place and time, one raster says which pixels there are.
    if spare := others if {*names} - {TIME} or weight else others[1:]:
        warn(f"the model does not use {', '.join(spare)}; it learns from "
             f"{', '.join(names) or 'place alone'}", DataWarning)
    look_apart(trained, *(rasters[axis].values for axis in "xy"), _RASTER)
    used = [*names, *([weight] if weight else [])]
    if not used:
        return ""
    sample, whole = _sample(rasters[used])
    of = "pixels" if whole else "pixels of a sample"
    for name, values in zip(used, sample, strict=True):
        if name in (*follows, weight):
            _marks(name, values, of)
    if weight:
        _no_negative(weight, sample[-1], of)
    known = np.isfinite(sample[:len(names)]).all(0)
    if not follows or not known.any():
        return ""
    table = np.stack([values[known] for name, values in zip(names, sample, strict=False)
                      if name in follows], 1)
    share = look_beyond(trained.sel(covariate=follows), table, follows, _RASTER,
                        sure=whole or len(table) >= _ENOUGH)
    return (f"{share:.0%} of the {len(table):,} {of} lie beyond what the areas span in some "
            "covariate: the map extrapolates there")


def _sample(rasters: xr.Dataset) -> tuple[list[np.ndarray], bool]:
    """Pixels of each raster, of blocks spread evenly, and whether these are all there are."""
    ends = [np.cumsum((0, *rasters.chunksizes[axis])) for axis in ("y", "x")]
    blocks = list(product(*(list(zip(e[:-1], e[1:], strict=True)) for e in ends)))
    chosen = np.unique(np.linspace(0, len(blocks) - 1, _BLOCKS).astype(int))
    whole, parts = len(chosen) == len(blocks), []
    for (top, bottom), (left, right) in (blocks[k] for k in chosen):
        step = int(np.ceil(np.sqrt((bottom - top) * (right - left) / _PIXELS)))
        whole &= step == 1
        # Here, as files are opened here, too, whatever scheduler the map is made by.
        part = rasters.isel(y=slice(top, bottom, step), x=slice(left, right, step)).compute(
            scheduler="threads")
        parts.append([one.transpose("y", "x").values.ravel() for one in part.data_vars.values()])
    return [np.concatenate(one) for one in zip(*parts, strict=True)], whole


def _marks(name: str, values: np.ndarray, of: str) -> None:
    mark = undeclared_mark(values)
    if mark is not None:
        others = f"{mark.lowest:.6g} to {mark.highest:.6g}"
        warn(f"raster {name!r} has {mark.pixels:,} of {values.size:,} {of} equal to "
             f"{mark.told:.10g}, unlike all others ({others}), which looks like an undeclared mark "
             f"of missing pixels; mask them with {option('nodata', mark.told)}", DataWarning)


def _no_negative(name: str, values: np.ndarray, of: str) -> None:
    below = values[values < 0]
    if below.size:
        raise InputError(f"the {name} is negative in {below.size:,} of {values.size:,} {of} (least "
                         f"{below.min():g}); correct it, or mask a mark of missing pixels with "
                         + option("nodata", float(below.min())))
