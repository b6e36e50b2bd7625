"""The part of a large raster that areas need, so that no more of it is read.

A raster of a whole continent may be a thousand times what a few areas cover; its window is cut out
before any pixel is in memory. Small rasters are read whole, as what lies around the areas is then
reported exactly.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

import numpy as np
import xarray as xr

from workbench.checks import package
from workbench.geo.netcdf import DEGREES_CRS, axis_names, in_degrees
from workbench.geo.treatments import Record

LARGE = 4_000_000       # pixels from which a raster is cut
_WORTH = 0.5            # share of its pixels that the window may have at most
_MARGIN = 64            # pixels around it, for gaps that are filled and grids that are resampled


_ALWAYS: ContextVar[bool] = ContextVar("always", default=False)      # whatever the raster's size


@contextmanager
def windows_alone() -> Iterator[None]:
    """Inside, rasters of any size are cut to what areas need: they are bagged part by part."""
    token = _ALWAYS.set(True)
    try:
        yield
    finally:
        _ALWAYS.reset(token)


@dataclass(frozen=True)
class Extent:
    """A rectangle in some CRS.

    Parameters
    ----------
    bounds : tuple of float
        West, south, east, north.
    crs : object
        The CRS of the bounds.
    """

    bounds: tuple[float, float, float, float]
    crs: object


def extent_of(areas) -> Extent:
    """The extent of polygons (a GeoDataFrame with a CRS)."""
    return Extent(tuple(float(b) for b in areas.total_bounds), areas.crs)


def cropped(raster: xr.DataArray | xr.Dataset, within: Extent | None, crs: object, name: str,
            record: Record) -> xr.DataArray | xr.Dataset:
    """The window of a raster around an extent, without reading a pixel.

    Parameters
    ----------
    raster : xr.DataArray or xr.Dataset
        As it was opened, not loaded; coordinates of its axes tell where it lies.
    within : Extent or None
        What is needed; everything if None.
    crs : object
        The CRS of rasters that do not state one.
    name : str
        For the record.
    record : Record
        Receives how much was left out.

    Returns
    -------
    xr.DataArray or xr.Dataset
        The window with a margin of 64 pixels; the raster itself where it is small, the window is
        most of it, they do not meet, or nobody can tell.
    """
    found = {axis: name for name, axis in axis_names(raster).items() if name in raster.coords}
    own = raster.rio.crs or crs or (DEGREES_CRS if in_degrees(raster) else None)
    if within is None or own is None or set(found) != {"x", "y"}:
        return raster
    axes = found["x"], found["y"]
    before = raster.sizes[axes[0]] * raster.sizes[axes[1]]
    if before < LARGE and not _ALWAYS.get():
        return raster
    warp, crs_of = package("rasterio.warp", extra="geo"), package("rasterio.crs", extra="geo")
    west, south, east, north = warp.transform_bounds(
        crs_of.CRS.from_user_input(within.crs), crs_of.CRS.from_user_input(own), *within.bounds,
        densify_pts=101)
    parts = [_reached(raster[axis].values, low, high)
             for axis, low, high in zip(axes, (west, south), (east, north), strict=True)]
    if any(part is None for part in parts):
        return raster
    columns, rows = parts
    after = (columns.stop - columns.start) * (rows.stop - rows.start)
    if after > _WORTH * before:
        return raster
    record.note(f"raster {name!r}: {after:,} of {before:,} pixels were read, around the areas; "
                "statements on weight outside all areas hold for this window")
    return raster.isel({axes[0]: columns, axes[1]: rows})


def _reached(centres: np.ndarray, low: float, high: float) -> slice | None:
    """Positions of pixels between two coordinates, with a margin; None if there are none."""
    if centres.ndim != 1 or centres.size < 2 or not np.isfinite([low, high]).all():
        return None
    half = abs(float(centres[1] - centres[0])) / 2
    inside = np.flatnonzero((centres >= low - half) & (centres <= high + half))
    if not inside.size:
        return None
    return slice(max(0, int(inside[0]) - _MARGIN), min(centres.size, int(inside[-1]) + 1 + _MARGIN))
