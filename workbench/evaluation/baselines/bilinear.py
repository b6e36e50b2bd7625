"""The baseline of practitioners: bilinear interpolation of blocks and a lapse rate."""

from __future__ import annotations

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike
from scipy.interpolate import LinearNDInterpolator, NearestNDInterpolator
from scipy.ndimage import map_coordinates

from workbench.bagging import bag_values
from workbench.bagging.assemble import with_centres
from workbench.checks import choose, require
from workbench.schema import BAG, COVARIATE, INDIVIDUAL, aggregation


def bilinear_lapse(
    ds: xr.Dataset,
    values: ArrayLike | None = None,
    covariate: str | None = None,
    slope: float | None = None,
    degree: int = 2,
) -> xr.DataArray:
    r"""Coarse values at the fine pixels: interpolated between blocks, corrected for altitude.

    :math:`\hat f(x) = I[z_j - b\,\bar a_j](x) + b\,a(x)` with block means :math:`\bar a_j` of
    altitude, :math:`I` the interpolation and :math:`b` from the least-squares fit of the values by
    altitude and a polynomial in position. It sees covariates of the blocks whose values it sees:
    where models are given unmatched bags, it is given more than they are.

    Parameters
    ----------
    ds : xr.Dataset
        Bagged dataset with values that are means, and coordinates.
    values : array (bag,), optional
        Values to use instead of ``ds["value"]``; NaN marks blocks without one.
    covariate : str, optional
        The covariate that temperature lapses with; ``altitude``, ``orography`` or ``Elevation`` if
        the dataset has one of these.
    slope : float, optional
        A known lapse rate, units of the values per unit of the covariate; fitted if not given.
    degree : int
        Of the polynomial in position in that fit, 0 to 3.

    Returns
    -------
    xr.DataArray (individual,)
        In units of the values; attributes ``slope``, ``slope_units``, ``blocks`` and
        ``interpolation``: "bilinear" where every block of the grid has a value, else "linear" on
        the triangles between blocks. Outside the outermost centres the nearest edge holds.

    Raises
    ------
    InputError
        If values are sums, coordinates or the covariate are missing, or there are fewer values
        than the fit has unknowns.
    """
    require(aggregation(ds) == "mean", "bilinear_lapse interpolates means; these values are sums")
    require("x" in ds, "bilinear_lapse needs coordinates x and y")
    ds = with_centres(ds)
    require(0 <= degree <= 3, f"degree must be from 0 to 3, got {degree}")
    z = ds["value"].values if values is None else np.asarray(values, dtype=float)
    require(z.shape == (ds.sizes[BAG],), f"expected one value for each of {ds.sizes[BAG]} bags, "
            f"got shape {z.shape}")
    names = [str(n) for n in ds[COVARIATE].values]
    if covariate is None:
        usual = [n for n in names if n.lower() in ("altitude", "orography", "elevation")]
        require(len(usual) == 1, f"cannot tell which of {names} is the altitude; pass covariate=")
        covariate = usual[0]
    column = names.index(choose("covariate", covariate, names))
    fine = ds["covariates"].values[:, column].astype(float)
    coarse = bag_values(fine, ds["weight"].values, ds["membership"].values, ds.sizes[BAG], "mean")
    known = np.isfinite(z)
    if slope is None:
        slope = _slope(z[known], coarse[known], ds["bag_x"].values[known],
                       ds["bag_y"].values[known], degree)
    level, way = _interpolated(ds, np.where(known, z - slope * coarse, np.nan))
    units = str(ds["value"].attrs.get("units", "1"))
    per = str(ds["covariate_units"].values[column]) if "covariate_units" in ds else "1"
    return xr.DataArray(
        level + slope * fine, dims=INDIVIDUAL, name="bilinear_lapse",
        attrs={"long_name": "bilinear interpolation and lapse rate", "units": units,
               "slope": float(slope), "slope_units": f"{units} per {per}",
               "covariate": covariate, "blocks": int(known.sum()), "interpolation": way},
    ).assign_coords({INDIVIDUAL: ds[INDIVIDUAL]})


def _slope(z: np.ndarray, altitude: np.ndarray, x: np.ndarray, y: np.ndarray, degree: int) -> float:
    """Coefficient of altitude beside a polynomial in position, by least squares."""
    u, v = ((along - along.mean()) / (np.ptp(along) or 1.0) for along in (x, y)) if z.size else (
        x, y)
    smooth = [u**i * v**j for i in range(degree + 1) for j in range(degree + 1 - i)]
    require(z.size > len(smooth) + 1, f"{z.size} values are too few for a lapse rate and a "
            f"polynomial of {len(smooth)} terms; pass slope= or a lower degree")
    spread = float(altitude.std())
    if spread == 0:         # no block lies higher than another: nothing to learn a slope from
        return 0.0
    design = np.stack([*smooth, (altitude - altitude.mean()) / spread], 1)
    return float(np.linalg.lstsq(design, z, rcond=None)[0][-1] / spread)


def _interpolated(ds: xr.Dataset, level: np.ndarray) -> tuple[np.ndarray, str]:
    """Values of blocks at the pixels, and how they came there."""
    known = np.isfinite(level)
    require(bool(known.any()), "no block has a value")
    bx, by = ds["bag_x"].values, ds["bag_y"].values
    x, y = ds["x"].values, ds["y"].values
    if known.all() and "block_row" in ds.coords and "block_shape" in ds.attrs:
        rows, columns = (int(n) for n in ds.attrs["block_shape"])
        if known.size == rows * columns:
            row, column = ds["block_row"].values, ds["block_column"].values
            grid, east, north = np.empty((rows, columns)), np.empty(columns), np.empty(rows)
            grid[row, column], east[column], north[row] = level, bx, by
            at = [np.interp(-y, -north, np.arange(rows)), np.interp(x, east, np.arange(columns))]
            return map_coordinates(grid, at, order=1, mode="nearest"), "bilinear"
    places, level = np.stack([bx, by], 1)[known], level[known]
    wanted = np.stack([x, y], 1)
    nearest = NearestNDInterpolator(places, level)(wanted)
    if np.linalg.matrix_rank(places - places.mean(0)) < 2:
        return nearest, "nearest"       # blocks on one line span no triangle
    linear = LinearNDInterpolator(places, level)(wanted)
    return np.where(np.isfinite(linear), linear, nearest), "linear"
