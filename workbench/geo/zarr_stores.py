"""Zarr stores as files: a directory or a .zip, of format 2 or 3, by xarray or by GDAL."""

from __future__ import annotations

import importlib.util
import zipfile
from collections.abc import Callable
from pathlib import Path

import xarray as xr

from workbench.checks import reading, require

SUFFIX = ".zarr"
_MARKS = ("zarr.json", ".zgroup", ".zmetadata")     # at the root of a store


def is_zarr(path: Path) -> bool:
    """Whether a path is a Zarr store: by its name, or by what a directory or .zip holds."""
    if path.suffix.lower() == SUFFIX:
        return True
    if path.is_dir():
        return any((path / mark).is_file() for mark in _MARKS)
    return path.suffix.lower() == ".zip" and path.is_file() and _root(path) is not None


def open_zarr(path: Path, window: Callable[[xr.Dataset], xr.Dataset] | None = None) -> xr.Dataset:
    """Read a Zarr store.

    Parameters
    ----------
    path : Path
        The directory, or a .zip of it.
    window : callable, optional
        Takes the part that is wanted, before anything is in memory.

    Returns
    -------
    xr.Dataset
        In memory.

    Raises
    ------
    InputError
        If the package zarr is not installed, or this is no Zarr store, or a broken one.
    """
    require(importlib.util.find_spec("zarr") is not None, f"{path.name} is a Zarr store, which "
            "needs the package zarr; pip install 'aggregate-workbench[zarr]', or write it as "
            "NetCDF")
    from zarr.storage import LocalStore, ZipStore

    with reading(path, "Zarr", "to write it again, or as NetCDF"):
        if path.is_dir():
            store, group = LocalStore(path, read_only=True), None
        else:
            store, group = ZipStore(path, mode="r"), _root(path) or None
        # What GDAL writes is not consolidated, and files at hand need no such index.
        with xr.open_zarr(store, group=group, decode_coords="all", chunks=None,
                          consolidated=False) as opened:
            return _with_crs((opened if window is None else window(opened)).load())


def _root(path: Path) -> str | None:
    """Folder of a .zip in which the store is: none deeper than the first; None if there is none."""
    try:
        with zipfile.ZipFile(path) as content:
            names = content.namelist()
    except zipfile.BadZipFile:
        return None
    found = [name.rpartition("/")[0] for name in names if name.rpartition("/")[2] in _MARKS]
    return min(found, key=len) if found and "/" not in min(found, key=len) else None


def _with_crs(ds: xr.Dataset) -> xr.Dataset:
    """The CRS as GDAL stores it, in an attribute of every array."""
    for array in ds.data_vars.values():
        said = array.attrs.get("_CRS")
        if isinstance(said, dict) and said.get("wkt") and array.rio.crs is None:
            return ds.rio.write_crs(said["wkt"])
    return ds
