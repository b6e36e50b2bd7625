"""Rasters on other grids: resampled by the rule that fits what they hold.

Sums for a population, means for a covariate on a finer grid, bilinear interpolation for one on a
coarser grid; shares of the pixel for classes.
"""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
import xarray as xr

from workbench.bagging.findings import refuse
from workbench.bagging.odd_covariates import class_coded
from workbench.checks import choose, option, package
from workbench.checks.figures import figure
from workbench.geo.globe import rasters_a_turn_apart
from workbench.geo.pixels import covers_none
from workbench.geo.rasters import same_grid
from workbench.geo.shares import same_axes, shared_out
from workbench.geo.treatments import CleaningOptions, Record

_SAME = 1e-3            # relative difference of pixel sizes that are the same
_APART = 1e-4           # of a pixel, that corners of rasters of the same pixels lie apart
_LOST = 1e-6            # share of a summed raster that may get lost without a word


def aligned(
    layers: dict[str, xr.DataArray], grid: xr.DataArray, options: CleaningOptions, record: Record,
    classes: Collection[str] = (),
) -> dict[str, xr.DataArray]:
    """Resample to the individuals' grid what is on another.

    Parameters
    ----------
    layers : dict of str to xr.DataArray
        Covariates by name.
    grid : xr.DataArray
        The weight raster.
    options : CleaningOptions
        ``align`` says how; under "auto" by the rule that fits.
    record : Record
        Receives what was done.
    classes : collection of str
        Layers that say with one and zero whether a pixel is of a class.

    Returns
    -------
    dict of str to xr.DataArray
        All on one grid.

    Raises
    ------
    InputError
        If a covariate is on another grid and no way of resampling is safe or was chosen.
    """
    resampling = package("rasterio.enums", extra="geo").Resampling
    for name, layer in layers.items():
        if same_grid(layer, grid):
            continue
        if (cut := _cut(layer, grid)) is not None:
            layers[name] = cut
            record.note(f"raster {name!r} was cut to the weight's extent; both have the same "
                        "pixels", code="grid-differs", where=[name], count=int(layer.size))
            continue
        way, why = options.align, ""
        if name in classes:
            finer = _ratio(layer, grid) > 1 + _SAME
            way, why = ("average", ", shares of classes") if finer else ("nearest", ", of classes")
        elif way == "auto":
            way, why = _safe(name, layer, grid)
        elif way == "error":
            _refuse(name, layer, grid, "")
            way = "nearest"             # a check goes on
        moved = layer.rio.reproject_match(grid, resampling=resampling[way], nodata=np.nan)
        layers[name] = moved.assign_attrs(units=layer.attrs.get("units", "1"))
        record.note(f"raster {name!r} was resampled ({way}{why}) to the weight's grid",
                    code="grid-differs", where=[name], count=int(layer.size))
    return layers


def summed(weight: xr.DataArray, grid: xr.DataArray, name: str, record: Record) -> xr.DataArray:
    """A population on another grid: each of its pixels is shared by area, so that none is lost.

    Parameters
    ----------
    weight : xr.DataArray
        Persons per pixel, NaN where there are none.
    grid : xr.DataArray
        On whose grid they are wanted.
    name : str
        Of the covariate that has this grid.
    record : Record
        Receives the totals before and after.

    Returns
    -------
    xr.DataArray
        (y, x), NaN where the weight is missing or ends.
    """
    if same_grid(weight, grid):
        return weight
    moved = (shared_out if same_axes(weight, grid) else _warped)(weight, grid)
    before, after = float(weight.sum()), float(moved.sum())
    lost = f", {1 - after / before:.2%} of it lie beyond" if before - after > _LOST * before else ""
    record.note(f"weight {weight.name!r} was summed from {weight.shape[0]} x {weight.shape[1]} "
                f"pixels to the {grid.shape[0]} x {grid.shape[1]} of {name!r}: {before:,.6g} in "
                f"all before, {after:,.6g} after{lost}")
    return moved


def _warped(weight: xr.DataArray, grid: xr.DataArray) -> xr.DataArray:
    """Sums over the pixels of a grid in another CRS, NaN where nothing is known."""
    resampling = package("rasterio.enums", extra="geo").Resampling
    known = weight.copy(data=np.isfinite(weight.values).astype(float))
    share = known.rio.write_nodata(None).rio.reproject_match(grid, resampling=resampling.average)
    moved = weight.fillna(0).rio.write_nodata(None).rio.reproject_match(
        grid, resampling=resampling.sum)
    return moved.where(share > 0).rename(weight.name).rio.write_nodata(np.nan)


def grid_named(name: str | None, layers: dict[str, xr.DataArray]) -> xr.DataArray | None:
    """The covariate whose pixels are to be the individuals; None if none was named."""
    return None if name is None else layers[choose("grid_of", name, layers)]


def _cut(layer: xr.DataArray, grid: xr.DataArray) -> xr.DataArray | None:
    """A layer's own pixels on a grid of the same pixels, NaN beyond them; None on another grid."""
    if layer.rio.crs != grid.rio.crs:
        return None
    left, bottom, right, top = grid.rio.bounds()
    pixel = np.divide((right - left, top - bottom), grid.shape[::-1])
    west, south, east, north = layer.rio.bounds()
    ends = np.array([(west - left, top - north), (east - left, top - south)]) / pixel
    starts, stops = np.round(ends).astype(int)
    # Both corners, as of `same_grid`: a small difference in pixel size adds up over the raster.
    if np.abs(ends - np.round(ends)).max() > _APART or (
            stops - starts != layer.shape[::-1]).any():
        return None
    low, high = np.maximum(starts, 0), np.minimum(stops, grid.shape[::-1])
    if (low >= high).any():
        return None
    values = np.full(grid.shape, np.nan)
    (left, top), (right, bottom) = low, high
    values[top:bottom, left:right] = layer.values[
        top - starts[1]:bottom - starts[1], left - starts[0]:right - starts[0]]
    return grid.copy(data=values).rename(layer.name).assign_attrs(layer.attrs)


def _ratio(layer: xr.DataArray, grid: xr.DataArray) -> float:
    """Side of the grid's pixels in those of the layer, the smaller of both directions."""
    if layer.rio.crs != grid.rio.crs:
        layer = layer.isel(x=slice(2), y=slice(2)) if layer.size < 4 else layer
        resolution = package("rasterio.warp", extra="geo").calculate_default_transform(
            layer.rio.crs, grid.rio.crs, layer.shape[1], layer.shape[0], *layer.rio.bounds())[0]
        return float(min(abs(np.array(grid.rio.resolution())) / abs(resolution.a)))
    return float(np.min(np.abs(np.divide(grid.rio.resolution(), layer.rio.resolution()))))


def _safe(name: str, layer: xr.DataArray, grid: xr.DataArray) -> tuple[str, str]:
    """How a covariate is resampled where nobody said, and why."""
    alike = layer.rio.crs == grid.rio.crs
    try:
        a, b = layer.rio.transform_bounds(grid.rio.crs), grid.rio.bounds()
    except Exception:       # whatever a place outside the domain of a projection makes PROJ raise
        a = (np.nan,) * 4
    if not np.isfinite(a).all():
        _refuse(name, layer, grid, f", and its extent cannot be told in {grid.rio.crs}")
        return "nearest", ""
    if not (a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]):
        w, s, e, n, west, south, east, north = (figure(end, 6) for end in (*a, *b))
        turn = alike and rasters_a_turn_apart(layer, grid)
        refuse(covers_none(name), turn or (
            f"it does not overlap the weight: x {w} to {e}, y {s} to {n}, the weight x {west} to "
            f"{east}, y {south} to {north}; remove the file, or replace it by one of the same "
            "place"), code="another-turn" if turn else "covers-none", where=[name],
            count=int(layer.size))
        return "nearest", ""
    if class_coded(layer.values[np.isfinite(layer.values)]):
        _refuse(name, layer, grid, ", and its whole numbers of few kinds look like codes of "
                f"classes ({option('classes', name)} takes it as such)")
        return "nearest", ""
    ratio, crs = _ratio(layer, grid), "" if alike else f" in {layer.rio.crs}"
    if ratio > 1 + _SAME:
        return "average", f", as its pixels{crs} are {ratio:.3g} times finer"
    return "bilinear", (f", as its pixels{crs} are {1 / ratio:.3g} times coarser"
                        if ratio < 1 - _SAME else f", as its pixels{crs} lie between the weight's")


def _refuse(name: str, layer: xr.DataArray, grid: xr.DataArray, more: str) -> None:
    refuse(f"raster {name!r} ({layer.shape[0]} x {layer.shape[1]}, {layer.rio.crs}) is not on the "
           f"grid of the weight ({grid.shape[0]} x {grid.shape[1]}, {grid.rio.crs}){more}",
           f"pass {option('align', 'nearest', 'bilinear', 'average', 'mode')} to resample it",
           code="grid-differs", where=[name], count=int(layer.size))
