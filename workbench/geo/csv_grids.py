"""Rasters in tables: a row for each pixel, with the coordinates of its centre."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import xarray as xr

from workbench.bagging.tables import as_numbers, read_table
from workbench.checks import InputError, package, require
from workbench.geo.netcdf import AXES

DEGREES = ("lon", "longitude", "lat", "latitude")
_OFF = 0.01             # of a pixel, by which centres may lie off the grid
_SPARSE = 100           # cells for each row, from which a grid is none


def read_csv_grid(path: str | Path) -> xr.Dataset:
    """The grids in a table of pixels.

    Parameters
    ----------
    path : str or Path
        CSV or Parquet. Columns x and y (or lon and lat, easting and northing) are the centres of
        the pixels, all other columns of numbers are rasters. Pixels without a row are missing.

    Returns
    -------
    xr.Dataset
        Dimensions y (north first) and x; in degrees of longitude and latitude the CRS is EPSG:4326.

    Raises
    ------
    InputError
        If there are no such columns, a pixel has two rows, or the centres are on no regular grid.
    """
    frame, name = read_table(path, encoding=_encoding(Path(path))), Path(path).name
    x, y = (axis_column(frame, axis, name) for axis in ("x", "y"))
    steps = {axis: _axis(frame[column], column, name)
             for axis, column in (("x", x), ("y", y))}
    (column, columns, west, east), (row, rows, south, north) = steps["x"], steps["y"]
    require(rows * columns <= _SPARSE * len(frame), f"the {len(frame)} rows of {name} would be a "
            f"grid of {rows} x {columns} pixels, most of them empty: these are scattered points, "
            "no raster")
    cell = (rows - 1 - row) * columns + column
    twice = pd.Series(cell).duplicated().to_numpy()
    require(not twice.any(), f"{int(twice.sum())} rows of {name} are of a pixel that has another "
            f"row (first: row {np.flatnonzero(twice)[:1].tolist()}); keep one for each pixel")
    grids = {}
    for other in frame.columns:
        values = as_numbers(frame[other])
        if other in (x, y) or np.isnan(values).all():
            continue
        flat = np.full(rows * columns, np.nan)
        flat[cell] = values
        grids[str(other)] = (("y", "x"), flat.reshape(rows, columns))
    require(bool(grids), f"{name} has no column of numbers beside {x!r} and {y!r}")
    package("rioxarray", extra="geo")
    ds = xr.Dataset(grids, coords={"y": np.linspace(north, south, rows),
                                   "x": np.linspace(west, east, columns)})
    return ds.rio.write_crs("EPSG:4326") if {x.lower(), y.lower()} <= set(DEGREES) else ds


def axis_column(frame: pd.DataFrame, axis: str, name: str) -> str:
    """The column of a table that holds x or y by its name.

    Parameters
    ----------
    frame : DataFrame
        The table.
    axis : {"x", "y"}
        Which.
    name : str
        Of the table, for messages.

    Returns
    -------
    str

    Raises
    ------
    InputError
        If there is none, or several.
    """
    found = [str(c) for c in frame.columns if str(c).strip().lower() in AXES[axis]]
    require(len(found) == 1, f"{name} has {'no' if not found else 'several'} columns for {axis} "
            f"({', '.join(found) or 'one of ' + ', '.join(AXES[axis])}); it has "
            f"{', '.join(map(str, frame.columns))}: name one of them {axis}")
    return found[0]


def _encoding(path: Path) -> str | None:
    """Latin-1 for a table that is not UTF-8: only names of columns are text there."""
    if path.suffix.lower() != ".csv":
        return None
    try:
        path.read_bytes().decode("utf-8")
    except UnicodeDecodeError:
        return "latin-1"
    return None


def _axis(column: pd.Series, name: str, table: str) -> tuple[np.ndarray, int, float, float]:
    """Position of each row along an axis, the number of positions, and both ends."""
    values = as_numbers(column)
    require(bool(np.isfinite(values).all()), f"column {name!r} of {table} has "
            f"{int((~np.isfinite(values)).sum())} entries that are no numbers; correct them")
    places = np.unique(values)
    require(places.size > 1, f"column {name!r} of {table} has one value only: a grid has two or "
            "more rows and columns")
    gaps = np.diff(places)
    step = float(np.median(gaps[gaps > _OFF * gaps.max()]))
    step = float((places[-1] - places[0]) / np.round((places[-1] - places[0]) / step))
    position = (values - places[0]) / step
    off = np.abs(position - np.round(position)) > _OFF
    if off.any():
        raise InputError(
            f"column {name!r} of {table} is on no regular grid: {int(off.sum())} rows lie off "
            f"steps of {step:.6g} (first: row {np.flatnonzero(off)[0]} with "
            f"{values[off][0]:.10g}); these are scattered points, or a grid in another CRS: write "
            "it in its own")
    return (np.round(position).astype(np.int64), int(np.round(position).max()) + 1,
            float(places[0]), float(places[-1]))
