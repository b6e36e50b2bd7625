"""Pixels fit to be individuals: on one grid, with a positive weight and every covariate."""

from __future__ import annotations

import numpy as np
import xarray as xr
from scipy.ndimage import distance_transform_edt

from workbench.bagging.cells import cells_of
from workbench.bagging.findings import WARNING, refuse
from workbench.checks import NothingLeft, option, require
from workbench.checks.figures import figure
from workbench.geo.rasters import Nodata, read_rasters
from workbench.geo.treatments import FEW, CleaningOptions, Record, must_stop
from workbench.geo.windows import Extent


def weight_raster(
    weight: object, record: Record, crs: str | None, nodata: Nodata, marks: str = "error",
    variable: str | None = None, within: Extent | None = None,
) -> xr.DataArray:
    """Read the one raster of weights, whose grid is that of the individuals.

    Parameters
    ----------
    weight : raster
        As in `workbench.geo.rasters.read_rasters`.
    record : Record
        Receives what was done.
    crs : str or None
        The CRS, if the raster does not state one.
    nodata : float, sequence of float or None
        Marks of missing pixels that are not declared.
    marks : {"error", "mask", "keep"}
        What to do with pixels that look like such marks.
    variable : str, optional
        Which variable of a NetCDF file or Dataset.
    within : Extent, optional
        Where pixels are needed.

    Returns
    -------
    xr.DataArray
        (y, x), none negative, NaN where there is no weight.

    Raises
    ------
    InputError
        If there are several rasters or a weight is negative.
    """
    rasters = read_rasters(weight, record, crs=crs, nodata=nodata, marks=marks,
                           variable=variable, argument="weight_variable", within=within)
    require(len(rasters) == 1, f"expected one weight raster, got {list(rasters)}; pass one of "
                               f"them, or name it with {option('weight_variable')}")
    grid = next(iter(rasters.values()))
    negative = grid.values < 0
    if negative.any():
        refuse(
            f"the weight raster {grid.name!r} has {int(negative.sum())} negative pixels (lowest "
            f"{np.nanmin(grid.values):g})", "a weight is a population: correct it, or pass "
            f"{option('nodata', float(np.nanmin(grid.values)))} if these mark missing pixels",
            code="weight-negative", where=[grid.name], count=int(negative.sum()),
            cells=cells_of(grid, negative))
        grid = grid.copy(data=np.where(negative, np.nan, grid.values))
    return grid


def weighted(
    grid: xr.DataArray, area: np.ndarray, cell: np.ndarray, coverage: np.ndarray,
    options: CleaningOptions, record: Record,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Keep the individuals that have a positive weight.

    Parameters
    ----------
    grid : xr.DataArray
        Weight of each cell.
    area, cell, coverage : np.ndarray
        Candidates, from `workbench.geo.coverage.coverage_fractions`.
    options : CleaningOptions
        ``zero_weight`` says what to do with weights of zero.
    record : Record
        Receives what was done.

    Returns
    -------
    tuple of np.ndarray
        Area, cell and coverage of those kept.

    Raises
    ------
    InputError
        If weights are zero and that was not allowed.
    """
    found = grid.values.ravel()[cell]
    unknown = _pixels(cell[np.isnan(found)])
    if unknown:
        record.note(f"{unknown} covered pixels without a weight are not individuals",
                    code="weight-missing", where=["weight"], count=unknown,
                    fix="fill the weight raster where people live",
                    cells=cells_of(grid, cell[np.isnan(found)]))
    zero = int((found == 0).sum())
    if zero:
        pixels = _pixels(cell[found == 0])
        about = {"code": "weight-zero", "where": ["weight"], "count": pixels,
                 "cells": cells_of(grid, cell[found == 0])}
        if options.zero_weight == "error":
            refuse(f"{pixels} covered pixels have zero weight", f"pass "
                   f"{option('zero_weight', 'drop')} to leave them out, for nothing can be counted "
                   "there", **about)
        else:
            record.note(f"{zero} individuals of zero weight were dropped",
                        **about | {"count": zero})
    kept = found > 0
    return area[kept], cell[kept], coverage[kept]


def pixel_covariates(
    layers: dict[str, xr.DataArray], cell: np.ndarray, weight: np.ndarray,
    options: CleaningOptions, record: Record, what: str = "areas",
) -> tuple[np.ndarray, np.ndarray]:
    """Return the covariate matrix and which of its rows are to be kept.

    Parameters
    ----------
    layers : dict of str to xr.DataArray
        Covariates on the grid of the individuals. A check takes out those that cover nothing, so
        that what it finds further is not found of them.
    cell, weight : np.ndarray
        Cell and weight of each individual.
    options : CleaningOptions
        ``missing`` says what to do where a covariate has no value.
    record : Record
        Receives what was done.
    what : str
        What the individuals are of, in messages.

    Returns
    -------
    matrix : np.ndarray
        (individual, covariate), of the covariates that are left in ``layers``.
    kept : np.ndarray
        False for individuals to be dropped.

    Raises
    ------
    InputError
        If values are missing and no treatment was chosen, or a covariate has none at all.
    """
    for name in [name for name, layer in layers.items() if _covers_none(layer, cell, options)]:
        gone = layers.pop(name)
        beside = (f", or pass {option('missing', 'nearest')} to take the nearest value there is"
                  if np.isfinite(gone.values).any() else "")
        refuse(covers_none(name, what), "remove the file, or replace it by one of the same place"
               + beside,
               code="covers-none", where=[name], count=_pixels(cell))
    matrix = np.empty((len(cell), len(layers)))
    for d, layer in enumerate(layers.values()):
        matrix[:, d] = layer.values.ravel()[cell]
    gaps = np.isnan(matrix)
    if not gaps.any():
        return matrix, np.ones(len(matrix), bool)
    counts = {n: _pixels(cell[gap]) for n, gap in zip(layers, gaps.T, strict=True) if gap.any()}
    incomplete = gaps.any(axis=1)
    pixels = _pixels(cell[incomplete])
    share = float(weight[incomplete].sum() / weight.sum())
    lost = f"weight {figure(weight[incomplete].sum())} ({share:.2%})"
    each = ", ".join(f"{count:,} of {name!r}" for name, count in counts.items())
    grid = next(iter(layers.values()))
    about = {"code": "covariate-missing", "where": counts, "count": pixels,
             "cells": cells_of(grid, cell[incomplete])}
    stop = must_stop(options.missing, share)
    if stop:
        refuse(f"covariates are missing at {pixels} weighted pixels ({each}; "
               f"{lost})", f"pass {option('missing', 'nearest')} to take the nearest valid pixel, "
               f"or {option('missing', 'drop')} to leave these pixels out", **about)
    if options.missing == "drop":
        if incomplete.all():
            raise NothingLeft(f"covariates are missing everywhere ({each}), so that nothing is "
                              "left; give rasters that reach there, or pass "
                              f"{option('missing', 'nearest')} to take the nearest valid pixel")
        record.note(f"{int(incomplete.sum())} individuals lacking covariates ({each}) were "
                    f"dropped, with {lost}", **about | {"count": int(incomplete.sum())},
                    severity=WARNING if share > FEW else "note")
        return matrix, ~incomplete
    for d, (name, layer) in enumerate(layers.items()):
        if gaps[:, d].any():
            nearest = distance_transform_edt(
                np.isnan(layer.values), return_distances=False, return_indices=True
            )
            matrix[:, d] = layer.values[tuple(nearest)].ravel()[cell]
            if not stop:
                record.note(f"covariate {name!r}: {counts[name]} gaps were filled from the "
                            "nearest valid pixel", code="covariate-missing", where=[name],
                            count=counts[name], cells=cells_of(grid, cell[gaps[:, d]]),
                            fix=f"pass {option('missing', 'drop')} to leave these pixels out")
    return matrix, np.ones(len(matrix), bool)


def covers_none(name: str, what: str = "areas") -> str:
    """That a raster has no value at any individual, which no neighbour's can stand for.

    Parameters
    ----------
    name, what : str
        Of the raster, and what the individuals are of.
    """
    return f"raster {name!r} covers none of the {what}"


def _covers_none(layer: xr.DataArray, cell: np.ndarray, options: CleaningOptions) -> bool:
    found = np.isfinite(layer.values)
    beside = options.missing == "nearest" and found.any()       # somebody asked for these
    return len(cell) > 0 and not beside and not found.ravel()[cell].any()


def _pixels(cell: np.ndarray) -> int:
    """How many pixels individuals lie in: one that areas share is several of them."""
    return len(np.unique(cell))
