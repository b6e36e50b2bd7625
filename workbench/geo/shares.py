"""Sums of a raster's pixels over another grid's, by the share of each that lies in them.

Where both grids run along the same axes the share of a pixel is the product of its shares in a row
and in a column, so that sums are exact. GDAL's sums are not: in degrees it leaves out part of the
pixels at the borders of the others.
"""

from __future__ import annotations

import numpy as np
import xarray as xr
from scipy import sparse

from workbench.checks import package

_NEAR = 1e-4            # of a pixel, that borders of two grids lie apart that are the same


def same_axes(raster: xr.DataArray, grid: xr.DataArray) -> bool:
    """Whether coordinates of one grid are those of the other.

    Parameters
    ----------
    raster, grid : xr.DataArray
        With a CRS, their axes along its.

    Returns
    -------
    bool
        True in one CRS, or in two whose degrees are the same here, as those of EPSG:4326 and
        EPSG:4258 are.
    """
    if raster.rio.crs == grid.rio.crs:
        return True
    if not (raster.rio.crs.is_geographic and grid.rio.crs.is_geographic):
        return False
    west, south, east, north = raster.rio.bounds()
    x, y = [west, west, east, east], [south, north, south, north]
    moved = package("rasterio.warp", extra="geo").transform(raster.rio.crs, grid.rio.crs, x, y)
    return np.allclose(moved[:2], [x, y], rtol=0,
                       atol=_NEAR * np.abs(raster.rio.resolution()).min())


def shared_out(raster: xr.DataArray, grid: xr.DataArray) -> xr.DataArray:
    """Sums over the pixels of another grid in the same CRS: each pixel is shared by area.

    Parameters
    ----------
    raster : xr.DataArray
        (y, x), rows from north to south, NaN where missing.
    grid : xr.DataArray
        On whose pixels sums are wanted.

    Returns
    -------
    xr.DataArray
        (y, x) of the grid, NaN where no part of a pixel is known.
    """
    west, south, east, north = raster.rio.bounds()
    left, bottom, right, top = grid.rio.bounds()
    rows, columns = grid.shape
    down = _shares((north, south), raster.shape[0], (top, bottom), rows)
    across = _shares((west, east), raster.shape[1], (left, right), columns)
    known = np.isfinite(raster.values)
    sums = _both(down, np.where(known, raster.values, 0.0), across)
    there = _both(down, known.astype(float), across) > 0
    return xr.DataArray(
        np.where(there, sums, np.nan), dims=("y", "x"), name=raster.name, attrs=raster.attrs,
        coords={"y": grid["y"], "x": grid["x"]},
    ).rio.write_crs(grid.rio.crs).rio.write_transform(grid.rio.transform()).rio.write_nodata(np.nan)


def _both(down: sparse.csr_array, values: np.ndarray, across: sparse.csr_array) -> np.ndarray:
    return (across @ (down @ values).T).T


def _shares(ends: tuple[float, float], count: int, others: tuple[float, float], cells: int
            ) -> sparse.csr_array:
    """Share of each of ``count`` pixels between two ends in each of ``cells`` between others.

    Parameters
    ----------
    ends, others : (float, float)
        Outer borders of the first and of the last pixel.
    count, cells : int
        Numbers of pixels.

    Returns
    -------
    sparse array (cell, pixel)
    """
    # In cells from the first one's border; a sliver by rounding would be a part that is known.
    edges = (np.linspace(*ends, count + 1) - others[0]) / (others[1] - others[0]) * cells
    whole = np.round(edges)
    edges = np.where(np.abs(edges - whole) < _NEAR * min(1.0, edges[1] - edges[0]), whole, edges)
    borders = np.union1d(edges, np.arange(cells + 1.0))
    middle, length = (borders[1:] + borders[:-1]) / 2, np.diff(borders)
    inside = ((middle > edges[0]) & (middle < edges[-1]) & (middle > 0) & (middle < cells))
    middle, length = middle[inside], length[inside]
    pixel = np.searchsorted(edges, middle) - 1
    cell = np.floor(middle).astype(int)
    return sparse.csr_array((length / np.diff(edges)[pixel], (cell, pixel)), shape=(cells, count))
