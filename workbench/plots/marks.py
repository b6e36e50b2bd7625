"""Marks to lay over a map: areas set apart, and lines along pixels such as those of rivers."""

from __future__ import annotations

import holoviews as hv
import numpy as np
import shapely
import xarray as xr
from numpy.typing import ArrayLike

from workbench.checks import require
from workbench.plots.maps import AXES
from workbench.plots.outlines import lines
from workbench.plots.theme import CATEGORIES
from workbench.schema import BAG, INDIVIDUAL

_STEPS = ((0, 1), (1, 0), (1, 1), (1, -1))  # half of a pixel's neighbours: each pair once


def marked_areas(ds: xr.Dataset, bags: ArrayLike, color: str = CATEGORIES[1]) -> hv.Overlay:
    """Outline some bags and put a cross in each, as Law et al. mark those not trained on.

    Neighbours among them share one outline.

    Parameters
    ----------
    ds : xr.Dataset
        Bagged dataset with bag_geometry.
    bags : array of bool
        Which bags, one truth value for each.
    color : str

    Returns
    -------
    hv.Overlay
        To be laid over a map of the same dataset: ``value_map(...) * marked_areas(...)``.

    Raises
    ------
    InputError
        If the bags have no shapes, or the truth values are of another length.
    """
    require("bag_geometry" in ds.coords, "the bags have no shapes to mark: no bag_geometry")
    shapes = ds["bag_geometry"].values[_chosen(bags, ds.sizes[BAG], "bags")]
    inside = shapely.get_coordinates(shapely.point_on_surface(shapes))
    line = lines(shapely.union_all(shapes)) if shapes.size else np.empty((0, 2))
    outline = hv.Path([line], list(AXES)).opts(color=color, line_width=1, tools=[])
    cross = hv.Points(inside, list(AXES)).opts(
        marker="x", color=color, size=6, line_width=1.6, tools=[]
    )
    return outline * cross


def pixel_lines(ds: xr.Dataset, pixels: ArrayLike, color: str = "black") -> hv.Path:
    """Draw lines through the centres of some pixels wherever two of them are neighbours.

    Parameters
    ----------
    ds : xr.Dataset
        Bagged dataset whose individuals have row, column, x and y.
    pixels : array of bool
        Which individuals, one truth value for each: ``river_distance == 0`` draws rivers.
    color : str

    Returns
    -------
    hv.Path
        To be laid over a map of the same dataset.

    Raises
    ------
    InputError
        If the individuals are not pixels, or the truth values are of another length.
    """
    missing = [n for n in ("row", "column", *AXES) if n not in ds.coords]
    require(not missing, f"individuals are not pixels of a map: no {' and '.join(missing)}")
    part = ds.isel({INDIVIDUAL: _chosen(pixels, ds.sizes[INDIVIDUAL], "pixels")})
    where = {
        (int(r), int(c)): (float(x), float(y))
        for r, c, x, y in zip(*(part[n].values for n in ("row", "column", *AXES)), strict=True)
    }
    pieces = [
        [where[r, c], where[r + down, c + right], (np.nan, np.nan)]
        for r, c in where
        for down, right in _STEPS
        if (r + down, c + right) in where
        # a corner is turned by its two sides, not by the diagonal as well
        and not (down and right and ((r + down, c) in where or (r, c + right) in where))
    ]
    line = np.array(pieces, dtype=float).reshape(-1, 2)
    return hv.Path([line], list(AXES)).opts(color=color, line_width=1.2, tools=[])


def _chosen(values: ArrayLike, size: int, what: str) -> np.ndarray:
    values = np.asarray(values)
    require(
        values.dtype == bool and values.shape == (size,),
        f"expected {size} truth values of {what}, got {values.dtype} of shape {values.shape}",
    )
    return values
