"""Data files inside installed packages, found without importing these."""

from __future__ import annotations

import importlib.util
from functools import lru_cache
from pathlib import Path

import h5py
import numpy as np
import xarray as xr
from scipy import ndimage

_VALUES_PER_DEGREE = 12     # Altitude.h5: 5 arc minutes
_SEA = 255                  # its mark of "no altitude", which as a number would be 6,690 m


def packaged_file(package: str, *parts: str, extra: str = "data") -> Path:
    """Path of a data file that comes inside a package of an extra.

    Parameters
    ----------
    package : str
        Name of the package.
    *parts : str
        Path inside it.
    extra : str
        The extra that brings the package.

    Returns
    -------
    Path
        The file.

    Raises
    ------
    ImportError
        If the package is not installed, or has no such file.
    """
    found = importlib.util.find_spec(package)
    folders = found.submodule_search_locations or () if found else ()
    for folder in folders:
        path = Path(folder).joinpath(*parts)
        if path.is_file():
            return path
    raise ImportError(f"this needs {'/'.join(parts)} of the package {package}: "
                      f"pip install 'aggregate-workbench[{extra}]'")


def altitude_on(north: np.ndarray, east: np.ndarray, degrees: float = 0.5) -> xr.DataArray:
    """Altitude of the land and sea surface on a grid of longitudes and latitudes, in metres.

    The table of pvlib has bytes at 5 arc minutes; they are averaged over squares of ``degrees``,
    the size of the pixels wanted, then interpolated linearly to their centres.

    Parameters
    ----------
    north, east : array (rows,), (columns,)
        Latitudes and longitudes in degrees; longitudes in any turn of the globe.
    degrees : float
        Side of the squares averaged over.

    Returns
    -------
    xr.DataArray (lat, lon)
        Metres, in steps of 28 m before averaging; 0 where the table has none, at sea.

    Raises
    ------
    ImportError
        If pvlib is not installed.
    """
    table = _altitude()
    width = max(1, round(degrees * _VALUES_PER_DEGREE))
    smooth = ndimage.uniform_filter(table, width, mode=("nearest", "wrap"))
    # Entry (0, 0) is the north-western square of 5 minutes; its centre is half a square inside.
    row = (90 - np.asarray(north, dtype=float)) * _VALUES_PER_DEGREE - 0.5
    column = (np.asarray(east, dtype=float) + 180) * _VALUES_PER_DEGREE - 0.5
    # An even width centres its mean half a square to the north-west of the entry.
    shift = 0.5 * (width % 2 == 0)
    at = np.meshgrid(np.clip(row + shift, 0, table.shape[0] - 1),
                     (column + shift) % table.shape[1], indexing="ij")
    values = ndimage.map_coordinates(smooth, at, order=1, mode="grid-wrap")
    return xr.DataArray(values, dims=("lat", "lon"), coords={"lat": north, "lon": east},
                        attrs={"long_name": "altitude", "units": "m"})


@lru_cache(maxsize=1)
def _altitude() -> np.ndarray:
    with h5py.File(packaged_file("pvlib", "data", "Altitude.h5")) as file:
        stored = file["Altitude"][:]
    return np.where(stored == _SEA, 0.0, 28.0 * stored - 450)
