"""Pixels of zero weight inside areas: they are no individuals, and yet no gap in a map.

A map holds individuals alone. Whether an area's pixel is missing because nobody lives there, or
because its weight or a covariate is unknown, is seen at bagging only, and kept in two attributes.
"""

from __future__ import annotations

import numpy as np
import xarray as xr

from workbench.checks import package
from workbench.geo.coverage import ROUNDING, coverage_fractions

INSIDE, EMPTY = "area_pixels", "zero_weight_pixels"


def extents(weight: np.ndarray, area: np.ndarray, cell: np.ndarray, coverage: np.ndarray,
            areas: int) -> np.ndarray:
    """Extent of each area on the raster, and of its pixels of zero weight.

    Parameters
    ----------
    weight : array
        Of each cell, NaN where unknown.
    area, cell, coverage : arrays
        From `workbench.geo.coverage.coverage_fractions`.
    areas : int
        Number of areas.

    Returns
    -------
    array (2, area)
        In pixels.
    """
    empty = weight.ravel()[cell] == 0
    return np.stack([np.bincount(area, each, areas) for each in (coverage, coverage * empty)])


def record_of(sizes: np.ndarray, kept: np.ndarray) -> dict[str, float]:
    """What a bagged dataset says of its areas' pixels.

    Parameters
    ----------
    sizes : array (2, area)
        From `extents`.
    kept : bool array (area,)
        Areas of the dataset.

    Returns
    -------
    dict of str to float
        Attributes: area_pixels, the extent of all areas on the raster, and zero_weight_pixels.
    """
    return dict(zip((INSIDE, EMPTY), sizes[:, kept].sum(axis=1).tolist(), strict=True))


def gaps(ds: xr.Dataset, grid: xr.DataArray, individuals: float) -> float:
    """How much of a dataset's areas is neither individuals nor pixels of zero weight.

    Parameters
    ----------
    ds : xr.Dataset
        Bagged dataset or map of pixels, with outlines of its areas.
    grid : xr.DataArray
        Its raster.
    individuals : float
        Extent of all individuals, in pixels.

    Returns
    -------
    float
        In pixels. Infinite where nobody knows: the dataset was bagged before this was recorded, or
        its areas are not those that the record is of.
    """
    if not {INSIDE, EMPTY} <= set(ds.attrs):
        return np.inf
    outlines = package("geopandas", extra="geo").GeoDataFrame(
        geometry=ds["bag_geometry"].values, crs=grid.rio.crs)
    inside, recorded = coverage_fractions(outlines, grid)[2].sum(), float(ds.attrs[INSIDE])
    if abs(inside - recorded) > ROUNDING * recorded:
        return np.inf
    return max(float(inside) - individuals - float(ds.attrs[EMPTY]), 0.0)
