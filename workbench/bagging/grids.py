"""The grid of gridded fields: trimmed to whole blocks, north up, equally spaced."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import xarray as xr

from workbench.bagging.tables import LONLAT
from workbench.checks import InputError, package, require

_NORTH = ("lat", "latitude", "grid_latitude", "y", "projection_y_coordinate", "north", "northing")
_EAST = ("lon", "longitude", "grid_longitude", "x", "projection_x_coordinate", "east", "easting")
_MAPPING = {"crs_wkt", "spatial_ref", "grid_mapping_name"}  # attributes of what says a CRS
UNEVEN = 0.1   # of a pixel: Gaussian latitudes pass, grids that need another map do not


@dataclass(frozen=True)
class Grid:
    """The trimmed grid, rows from north to south, columns from west to east."""

    fields: xr.Dataset          # dims (north, east)
    names: tuple[str, str]      # of the two dimensions, north first
    block: int
    units: str

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns of pixels."""
        return tuple(self.fields.sizes[n] for n in self.names)

    @property
    def blocks(self) -> tuple[int, int]:
        """Rows and columns of blocks."""
        return tuple(n // self.block for n in self.shape)

    def axis(self, i: int) -> np.ndarray:
        """Coordinates of the pixels along a dimension."""
        return np.asarray(self.fields[self.names[i]].values, dtype=float)

    def centres(self, i: int) -> np.ndarray:
        """Coordinates of the blocks along a dimension."""
        return self.axis(i).reshape(-1, self.block).mean(1)

    def step(self, i: int) -> float:
        """Side of a pixel along a dimension, negative southwards."""
        along = self.axis(i)
        return float((along[-1] - along[0]) / (along.size - 1))

    def flat(self, name: str) -> np.ndarray:
        """A field, pixel by pixel."""
        return np.asarray(self.fields[name].transpose(*self.names).values, dtype=float).ravel()


def trimmed(fields: xr.Dataset, block: int, dims: tuple[str, str] | None
            ) -> tuple[Grid, list[str]]:
    """Cut fields to whole blocks.

    Parameters
    ----------
    fields : xr.Dataset
        Fields on one grid.
    block : int
        Side of a block in pixels.
    dims : (str, str), optional
        Dimensions that run north and east.

    Returns
    -------
    grid : Grid
        The grid with the fields.
    done : list of str
        What was cut.

    Raises
    ------
    InputError
        If the grid is not regular or smaller than a block.
    """
    for name, field in fields.data_vars.items():
        require(field.ndim == 2 and set(field.dims) == set(fields.sizes),
                f"field {name!r} has dimensions {field.dims}; every field must have the same two: "
                "choose a time or a level with isel, and interpolate it to the grid of the others")
    north, east = dims or _directions(fields)
    bare = [n for n in (north, east) if n not in fields.coords]
    require(not bare, f"dimensions {bare} have no coordinates; assign degrees or projected ones")
    units = {axis_unit(fields, n) for n in (north, east)}
    if all(u.startswith("degree") for u in units):
        units = {"degree"}
    require(len(units) == 1, f"both coordinates must have one unit, got {sorted(units)}")
    sizes = {n: fields.sizes[n] // block * block for n in (north, east)}
    require(all(sizes.values()), f"a grid of {fields.sizes[north]} x {fields.sizes[east]} holds no "
            f"block of {block} x {block} pixels; choose a smaller block")
    before = [fields.sizes[n] for n in (north, east)]
    after = list(sizes.values())
    done = [] if before == after else [
        f"{before[0]} x {before[1]} pixels were trimmed to {after[0]} x {after[1]}, the last "
        f"{before[0] - after[0]} of {north!r} and {before[1] - after[1]} of {east!r} as stored, to "
        f"fill blocks of {block} x {block}"]
    fields = fields.isel({n: slice(size) for n, size in sizes.items()})
    fields = fields.sortby(north, ascending=False).sortby(east)
    for name in (north, east):
        along = np.asarray(fields[name].values, dtype=float)
        even = np.linspace(along[0], along[-1], along.size)
        step = np.ptp(along) / max(along.size - 1, 1)
        require(along.size > 1 and step > 0 and np.abs(along - even).max() <= UNEVEN * step,
                f"coordinate {name!r} is not equally spaced; interpolate the fields to a regular "
                "grid first")
    return Grid(fields, (str(north), str(east)), block, units.pop()), done


def _directions(fields: xr.Dataset) -> tuple[str, str]:
    found = []      # by axis attribute or by name
    for letter, usual in (("Y", _NORTH), ("X", _EAST)):
        hits = [str(n) for n in fields.sizes if str(n).lower() in usual
                or (n in fields.coords and fields[n].attrs.get("axis") == letter)]
        require(len(hits) == 1, f"cannot tell which of {[str(n) for n in fields.sizes]} runs "
                f"{'north' if letter == 'Y' else 'east'}; pass dims=(north, east)")
        found += hits
    return found[0], found[1]


def axis_unit(fields: xr.Dataset, name: str) -> str:
    """Unit of a coordinate of fields: its own, else that of the CRS that they state, else "1".

    Parameters
    ----------
    fields : xr.Dataset
        As read from NetCDF, or from a GeoTIFF by rioxarray, which gives a CRS and no units.
    name : str
    """
    if said := str(fields[name].attrs.get("units", "")):
        return said
    stated = next((one.attrs["crs_wkt"] for one in fields.coords.values()
                   if "crs_wkt" in one.attrs), None)
    if stated is None:
        return "1"
    unit = package("pyproj", extra="geo").CRS.from_wkt(stated).axis_info[0].unit_name
    return {"metre": "m", "kilometre": "km"}.get(unit, unit)


def crs_of(fields: xr.Dataset, names: Sequence[str]) -> str | None:
    """The CRS that fields state, by their attribute ``crs`` or as rioxarray reads it; else None.

    Parameters
    ----------
    fields : xr.Dataset
        Perhaps with a variable that says it, such as ``spatial_ref``.
    names : sequence of str
        Of the fields that count.

    Raises
    ------
    InputError
        If they state several.
    """
    if said := fields.attrs.get("crs"):
        return str(said)
    package("rioxarray", extra="geo")
    # A file that was opened without decode_coords="all" has it among the fields.
    told = [n for n, one in fields.data_vars.items() if _MAPPING & set(one.attrs)]
    fields = fields.set_coords(told)
    broken = tuple(package(name, extra="geo").CRSError
                   for name in ("rasterio.errors", "pyproj.exceptions"))
    try:
        found = sorted({fields[n].rio.crs.to_string() for n in names if fields[n].rio.crs})
    except broken as error:
        raise InputError(f"the CRS that the fields state cannot be read ({error}); write it anew "
                         "with .rio.write_crs, or remove it") from error
    require(len(found) < 2, f"the fields are in several CRS, {found}; reproject them to one of "
            "these with .rio.reproject_match")
    return found[0] if found else None


def in_x_and_y(fields: xr.Dataset) -> xr.Dataset:
    """Fields whose longitudes and latitudes are called x and y.

    Parameters
    ----------
    fields : xr.Dataset
        With coordinates called so, or lon and lat, or longitude and latitude.

    Returns
    -------
    xr.Dataset
        The same.

    Raises
    ------
    InputError
        If several of them are the same axis.
    """
    for axis in ("x", "y"):
        names = [n for n in map(str, fields.variables) if n == axis or
                 LONLAT.get(n) == axis and n in fields.coords]
        # Without the others the pixels stay where their own dimension has them.
        kept = next((n for n in names if n in fields.dims), (names or [axis])[0])
        require(len(names) < 2, f"the fields have {' and '.join(map(repr, names))}, which are all "
                f"taken for {axis}; keep one of them, such as by fields.drop_vars("
                f"{[n for n in names if n != kept]})")
    return fields.rename({old: new for old, new in LONLAT.items() if old in fields.coords})
