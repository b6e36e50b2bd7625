"""Which variables of a NetCDF file or Dataset are rasters, and opening the file."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import xarray as xr

from workbench.checks import InputError, option, reading, require
from workbench.geo.treatments import Record

AXES = {"y": ("y", "lat", "latitude", "northing"), "x": ("x", "lon", "longitude", "easting")}
_STANDARD = {
    "y": ("latitude", "projection_y_coordinate", "grid_latitude"),
    "x": ("longitude", "projection_x_coordinate", "grid_longitude"),
}
_NORTH = ("degrees_north", "degree_north", "degrees_N", "degree_N", "degreesN", "degreeN")
_EAST = ("degrees_east", "degree_east", "degrees_E", "degree_E", "degreesE", "degreeE")
_DEGREES = (*_NORTH, *_EAST)
_NO_NUMBERS = "no numbers"
DEGREES_CRS = "EPSG:4326"       # longitude and latitude of a file that names no ellipsoid
_CLASSIC = (b"CDF\x01", b"CDF\x02")


def netcdf_engine(path: Path) -> str:
    """The engine by which xarray reads a NetCDF file: "scipy" if it is classic, else "h5netcdf"."""
    with path.open("rb") as file:
        return "scipy" if file.read(4) in _CLASSIC else "h5netcdf"


#: Attribute of a variable that says beyond what its numbers were masked.
INVALID = "masked_beyond"
_SINGLE = 1e-6          # of rounding in single precision


def open_netcdf(path: Path, coordinates: bool | str = "all",
                window: Callable[[xr.Dataset], xr.Dataset] | None = None) -> xr.Dataset:
    """Read a NetCDF file of either kind: classic (version 3) or on HDF5 (version 4).

    Parameters
    ----------
    path : Path
        The file.
    coordinates : bool or str
        What becomes coordinates, ``decode_coords`` of `xarray.open_dataset`; by default grid
        mappings and bounds too.
    window : callable, optional
        Takes the part that is wanted, before anything is in memory.

    Returns
    -------
    xr.Dataset
        In memory.

    Raises
    ------
    InputError
        If it is neither or broken.
    """
    remedy = "to download or write it again; ncdump -h shows whether NetCDF can read it"
    with reading(path, "NetCDF", remedy), without_lost_bounds():
        with xr.open_dataset(path, engine=netcdf_engine(path), decode_coords=coordinates) as opened:
            return within_valid((opened if window is None else window(opened)).load())


@contextmanager
def without_lost_bounds() -> Iterator[None]:
    """Without xarray's warning of bounds and grid mappings that a file names and does not have.

    Nothing here uses bounds; where a grid mapping is lost there is no CRS, which is asked for.
    """
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", r"Variable\(s\) referenced in .* not in variables",
                                UserWarning)
        yield


def within_valid(ds: xr.Dataset) -> xr.Dataset:
    """Variables without the numbers that the file itself calls invalid, which xarray keeps.

    Parameters
    ----------
    ds : xr.Dataset
        As opened; ``valid_range``, ``valid_min`` and ``valid_max`` are of packed numbers where
        they are whole and the variable is packed (CF conventions).

    Returns
    -------
    xr.Dataset
        NaN beyond, and the attribute `INVALID` of such variables says beyond what.
    """
    found = {}
    for name, one in ds.data_vars.items():
        low, high = _valid(one)
        if one.dtype.kind not in "iuf" or not low < high:
            continue                    # of bytes that are read without a sign ends are turned
        slack = _SINGLE * max(abs(end) for end in (low, high) if np.isfinite(end))
        kept = one.where((one >= low - slack) & (one <= high + slack))
        kept.encoding = one.encoding
        found[name] = kept.assign_attrs({INVALID: f"valid range, {low:g} to {high:g}"})
    return ds.assign(found) if found else ds


def _valid(one: xr.DataArray) -> tuple[float, float]:
    """Ends of the valid range in units of the numbers as they are read; NaN where there is none."""
    both = np.ravel(one.attrs.get("valid_range", ()))
    sides = [np.ravel(one.attrs.get(key, none)) for key, none in
             (("valid_min", -np.inf), ("valid_max", np.inf))]
    ends = both if both.size == 2 else np.concatenate(sides)
    if ends.size != 2 or ends.dtype.kind not in "iuf" or np.isinf(ends).all():
        return np.nan, np.nan
    whole = all(np.isinf(end) or end == np.round(end) for end in ends) and all(
        np.asarray(one.attrs[key]).dtype.kind in "iu" for key in
        ("valid_range", "valid_min", "valid_max") if key in one.attrs)
    low, high = map(float, ends)
    if whole and {"scale_factor", "add_offset"} & {*one.encoding}:
        scale = float(np.ravel(one.encoding.get("scale_factor", 1.0))[0])
        start = float(np.ravel(one.encoding.get("add_offset", 0.0))[0])
        low, high = sorted((low * scale + start, high * scale + start))
    return low, high


def rasters_in(
    ds: xr.Dataset, source: str, record: Record, wanted: Sequence[str] = (),
    argument: str = "variable",
) -> list[str]:
    """Names of the variables that are rasters; what else there is, and why, is recorded.

    Variables that name a grid mapping say on which two dimensions the grid lies; without any,
    these are dimensions of y and x by name or by the attributes of their coordinates. Other
    variables on them are taken too, but for longitudes, latitudes and bounds of cells.

    Parameters
    ----------
    ds : xr.Dataset
        The variables.
    source : str
        Where they come from, for messages.
    record : Record
        Receives what was taken and left out.
    wanted : sequence of str
        Variables to take instead, where the Dataset has any of them.
    argument : str
        Name of the argument that has them, for messages.

    Returns
    -------
    list of str
        At least one.

    Raises
    ------
    InputError
        If there is no raster.
    """
    present = [name for name in wanted if name in ds.data_vars]
    dates = [name for name in present if ds[name].dtype.kind not in "iufb"]
    require(not dates, f"{source}: variables {dates} hold no numbers; give others")
    if present:
        record.note(f"{source}: took {', '.join(present)}, as asked for")
        return present
    bounds = {str(v.attrs.get("bounds", v.encoding.get("bounds"))) for v in ds.variables.values()}
    mapped = [v.dims[-2:] for v in ds.data_vars.values() if v.ndim >= 2 and _mapping(v)]
    mapped = [dims for dims in mapped if set(dims) <= set(ds.dims)]
    taken, left = [], {}
    for key, array in ds.data_vars.items():
        name = str(key)
        reason = _reason_against(name, array, bounds, mapped)
        if reason:
            left[name] = reason
        else:
            taken.append(name)
    told = ", ".join(f"{name} ({reason})" for name, reason in left.items())
    if not taken:
        meant = [name for name, reason in left.items() if reason != _NO_NUMBERS]
        raise InputError(
            f"{source} holds no raster over y and x; its variables: {told or 'none'}" +
            (f"; pass {option(argument, meant[0])} if one of them is meant" if meant else ""))
    rest = f"; left out: {told}" if told else ""
    record.note(f"{source}: took {', '.join(taken)}{rest}")
    return taken


def axis_names(array: xr.DataArray | xr.Dataset) -> dict[str, str]:
    """Which dimensions are y and x, by their name or by the attributes of their coordinate.

    Parameters
    ----------
    array : xr.DataArray or xr.Dataset
        Anything with dimensions.

    Returns
    -------
    dict of str to str
        "y" and "x" by the dimension's name, as far as they are found.
    """
    found = {}
    for dim in map(str, array.dims):
        axis = _axis(array, dim)
        if axis and axis not in found.values():
            found[dim] = axis
    return found


def in_degrees(array: xr.DataArray | xr.Dataset) -> bool:
    """Whether coordinates are longitudes and latitudes by their own word, as files of climate say.

    Parameters
    ----------
    array : xr.DataArray or xr.Dataset
        With coordinates of y and x, or without.

    Returns
    -------
    bool
        By units such as degrees_north, or a standard name in degrees. Names of dimensions tell
        nothing: ``lat`` may be a row.

    References
    ----------
    CF Metadata Conventions 1.11, sections 4.1 and 4.2.
    """
    said = {}
    for dim, axis in axis_names(array).items():
        attrs = array[dim].attrs if dim in array.coords else {}
        unit, north = attrs.get("units"), axis == "y"
        named = attrs.get("standard_name") == ("latitude" if north else "longitude")
        said[axis] = unit in (_NORTH if north else _EAST) or named and unit in ("degree", "degrees")
    return len(said) == 2 and all(said.values())


def _axis(array: xr.DataArray | xr.Dataset, dim: str) -> str | None:
    for axis, names in AXES.items():
        if dim.lower() in names:
            return axis
    attrs = array[dim].attrs if dim in array.coords else {}
    for axis, names in _STANDARD.items():
        if attrs.get("standard_name") in names or str(attrs.get("axis", "")).lower() == axis:
            return axis
    return None


def _mapping(array: xr.DataArray) -> bool:
    return "grid_mapping" in array.attrs or "grid_mapping" in array.encoding


def _reason_against(name: str, array: xr.DataArray, bounds: set[str], mapped: list[tuple]
                    ) -> str | None:
    """Why a variable is no raster; None if it is one."""
    if array.ndim < 2:
        return "one-dimensional" if array.ndim else "a single value"
    if name in bounds or name.endswith(("_bnds", "_bounds")):
        return "bounds of cells"
    if array.dtype.kind not in "iufb":
        return _NO_NUMBERS
    described = {array.attrs.get("standard_name"), array.attrs.get("units")}
    if described & {"longitude", "latitude", *_DEGREES}:
        return "a coordinate"
    if name.lower() in ("lat2d", "lon2d", "xlat", "xlong", "nav_lat", "nav_lon"):
        return "a coordinate"
    on_mapped = any(set(dims) <= set(array.dims) for dims in mapped)
    if not on_mapped and (mapped or set(axis_names(array).values()) != {"y", "x"}):
        return f"dimensions {', '.join(map(str, array.dims))}"
    return None
