"""Longitudes of places on both sides of a seam, where nearest neighbours look far apart."""

from __future__ import annotations

import numpy as np
import xarray as xr

from workbench.bagging.findings import WARNING, Finding
from workbench.bagging.warping import reprojected
from workbench.checks import package

_TURN = 360.0           # degrees
_HALF = 180.0


def over_a_seam(ds: xr.Dataset) -> list[Finding]:
    """Places in degrees that are nearer to each other around the globe than their longitudes are.

    Models take longitudes for numbers: 179 and -179 are then 358 degrees apart, not 2. That is so
    where longitudes have a gap of more than half a turn between them.

    Parameters
    ----------
    ds : xr.Dataset
        Bagged dataset.

    Returns
    -------
    list of Finding
        At most one, a warning.
    """
    if "x" not in ds.coords or np.ptp(ds["x"].values) <= _HALF:
        return []
    seen = np.unique(ds["x"].values)
    widest = int(np.argmax(np.diff(seen)))
    west, east = float(seen[widest]), float(seen[widest + 1])
    if east - west <= _HALF or not _in_degrees(ds):
        return []
    turn = ("add 360 to the negative longitudes" if west < 0
            else f"subtract 360 from the longitudes from {east:.4g} on")
    span = float(seen[-1] - seen[0])
    middle = ((west + east + _TURN) / 2 + _HALF) % _TURN - _HALF
    place = (f"'+proj=laea +lat_0={round(float(ds['y'].values.mean()))} +lon_0={round(middle)} "
             "+datum=WGS84 +units=m'")
    return [Finding(
        "antimeridian", f"longitudes reach from {seen[0]:.4g} to {west:.4g} and from {east:.4g} to "
        f"{seen[-1]:.4g} degrees: both ends are taken to be {span:.4g} degrees apart, and are "
        f"{_TURN - span:.3g} apart around the globe",
        f"{turn}, or use a projection of the place: {reprojected(ds, place)}",
        where=("x",), severity=WARNING,
        effect="neighbours over this line teach the map nothing about each other")]


def _in_degrees(ds: xr.Dataset) -> bool:
    x = ds["x"].values
    if x.min() < -_HALF or x.max() > _TURN:
        return False
    crs = str(ds.attrs.get("crs", ""))
    if not crs:
        return str(ds["x"].attrs.get("units", "")).startswith("degree")
    try:
        pyproj = package("pyproj", extra="geo")
    except ImportError:
        return False            # nobody can tell without it, and a fit does not need to know
    try:
        return pyproj.CRS.from_user_input(crs).is_geographic
    except pyproj.exceptions.CRSError:
        return False            # a name of the user's own
