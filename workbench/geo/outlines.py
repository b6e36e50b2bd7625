"""Outlines in NetCDF files: well-known binary, end to end, however many corners one has.

NetCDF has no variable-length text that is compact: fixed-width text takes the longest outline for
each. So the bytes of all outlines are one variable, and a second says where each ends.
"""

from __future__ import annotations

import numpy as np
import xarray as xr

from workbench import schema
from workbench.checks import package, require

_BYTES, _ENDS = "_wkb", "_wkb_end"


def packed(ds: xr.Dataset) -> xr.Dataset:
    """A dataset whose geometries are bytes, fit for NetCDF.

    Parameters
    ----------
    ds : xr.Dataset
        With coordinates of `workbench.schema.GEOMETRY` that hold shapely geometries, or without.

    Returns
    -------
    xr.Dataset
        Each geometry ``g`` gives ``g_wkb`` (bytes, of dimension ``g_byte``) and ``g_wkb_end``
        (where the bytes of each outline end); the rest is the same.
    """
    for name in schema.GEOMETRY:
        if name in ds.coords:
            shapely = package("shapely", extra="geo")
            parts = shapely.to_wkb(ds[name].values)
            ends = np.cumsum([len(part) for part in parts], dtype=np.int64)
            joined = np.frombuffer(b"".join(parts), dtype=np.uint8)
            (dim,) = ds[name].dims
            about = {"encoding": "WKB", "long_name": f"outlines of the dimension {dim}, end to end"}
            ds = ds.drop_vars(name).assign({
                f"{name}{_BYTES}": (f"{name}_byte", joined, about),
                f"{name}{_ENDS}": (dim, ends, {
                    "long_name": f"where the bytes of each outline end in {name}{_BYTES}"})})
    return ds


def unpacked(ds: xr.Dataset) -> xr.Dataset:
    """The dataset that `packed` was given, also from files that hold outlines as text (WKT).

    Parameters
    ----------
    ds : xr.Dataset
        As read from a file.

    Returns
    -------
    xr.Dataset
        With shapely geometries as coordinates.

    Raises
    ------
    InputError
        If the bytes are not as many as the ends say.
    """
    for name in schema.GEOMETRY:
        if f"{name}{_BYTES}" in ds:
            joined, ends = ds[f"{name}{_BYTES}"].values, ds[f"{name}{_ENDS}"].values
            require(ends.size == 0 or int(ends[-1]) == joined.size,
                    f"{name} is damaged: {joined.size} bytes where {ends[-1:].tolist()} are "
                    "expected; write the file again")
            dims = ds[f"{name}{_ENDS}"].dims
            starts = np.concatenate([[0], ends])[:-1].astype(np.int64)
            parts = [joined[a:b].tobytes() for a, b in zip(starts, ends, strict=True)]
            ds = ds.drop_vars([f"{name}{_BYTES}", f"{name}{_ENDS}"])
            ds = _with(ds, name, dims, "from_wkb", parts)
        elif name in ds.coords:
            ds = _with(ds, name, ds[name].dims, "from_wkt", ds[name].values.astype(str))
    return ds


def _with(ds: xr.Dataset, name: str, dims: tuple, reader: str, stored: object) -> xr.Dataset:
    shapely = package("shapely", extra="geo")
    shapes = np.empty(len(stored), dtype=object)
    shapes[:] = getattr(shapely, reader)(stored)
    return ds.assign_coords({name: (dims, shapes)})
