"""Centres of areas in a table: whether they can lie where their CRS says."""

from __future__ import annotations

import numpy as np
import xarray as xr

from workbench.checks import InputError, package
from workbench.geo.shapes import coordinate_units, usable_crs

_LONGITUDE, _LATITUDE = 360.0, 90.0
_DEGREES = ("lat", "latitude")


def place(ds: xr.Dataset, crs: str | None, y: str) -> xr.Dataset:
    """The dataset with its CRS and the units of its coordinates, if they can be true.

    Parameters
    ----------
    ds : xr.Dataset
        Summary with coordinates x and y.
    crs : str or None
        Their CRS, as pyproj reads it; None where nobody said.
    y : str
        Column that y comes from: one named lat or latitude is in degrees.

    Returns
    -------
    xr.Dataset
        With the attribute crs, and units of x and y.

    Raises
    ------
    InputError
        If the CRS is unknown, or degrees lie outside the globe.
    """
    degrees, unit = y.lower() in _DEGREES, "degree"
    if crs is not None:
        known = package("pyproj", extra="geo").CRS.from_user_input(usable_crs(crs, "crs"))
        degrees, unit = known.is_geographic, coordinate_units(known)
        ds = ds.assign_attrs(crs=known.to_string())
    if degrees:
        unit = "degree"
        _inside(ds, "latitudes", "y", _LATITUDE, crs)
        _inside(ds, "longitudes", "x", _LONGITUDE, crs)
    elif crs is None:
        return ds
    return ds.assign_coords({axis: ds[axis].assign_attrs(units=unit) for axis in ("x", "y")})


def _inside(ds: xr.Dataset, what: str, axis: str, most: float, crs: str | None) -> None:
    values = ds[axis].values
    beyond = np.flatnonzero(np.abs(values) > most)
    if beyond.size:
        other = "y" if axis == "x" else "x"
        swapped = " Are --x and --y swapped?" if (
            axis == "y" and np.abs(values).max() <= _LONGITUDE
            and np.abs(ds[other].values).max() <= _LATITUDE) else ""
        raise InputError(
            f"{beyond.size} of {values.size} {what} lie beyond {most:g} degrees, the first in row "
            f"{int(beyond[0])} ({values[beyond[0]]:g}); coordinates in metres need the CRS of "
            f"their projection, as --crs EPSG:32633{f', not {crs}' if crs else ''}.{swapped}")
