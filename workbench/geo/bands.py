"""Bands of what GDAL reads, with the scales and offsets that files state."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import xarray as xr

from workbench.checks import package
from workbench.geo.netcdf import axis_names

#: Attribute of an array whose file states a scale or an offset: which, in words.
SCALED = "unpacked_by"
_PACKING = {"scale_factor": ("scale", 1), "scales": ("scales", 1), "add_offset": ("offset", 0),
            "offsets": ("offsets", 0)}


def open_tiff(path: Path, **how: object) -> xr.DataArray:
    """What GDAL reads, NaN where it is masked, with the scale and offset that the file states.

    Parameters
    ----------
    path : Path
        GeoTIFF, VRT and the like.
    **how
        Of ``rioxarray.open_rasterio``.

    Returns
    -------
    xr.DataArray
        With the attribute ``SCALED`` where the file states one.
    """
    rioxarray = package("rioxarray", extra="geo")
    with warnings.catch_warnings():         # each band has its own then, which is applied
        warnings.filterwarnings("ignore", message="(Scales|Offsets) differ across bands")
        opened = rioxarray.open_rasterio(path, mask_and_scale=True, **how)
    stated = packing(opened.encoding)
    return opened.assign_attrs({SCALED: stated}) if stated else opened


def packing(stated: Mapping[str, object]) -> str:
    """Scale and offset in words, as attributes or an encoding state them; empty of 1 and 0.

    Parameters
    ----------
    stated : mapping
        ``attrs`` of packed numbers, or ``encoding`` of unpacked ones.
    """
    return " and ".join(
        f"{word} {np.array2string(np.asarray(stated[key]), separator=', ')}"
        for key, (word, plain) in _PACKING.items()
        if key in stated and not np.all(np.asarray(stated[key]) == plain))


def bands_of(array: xr.DataArray, name: str) -> list[tuple[str, xr.DataArray]]:
    """Bands of an array by name, without dimensions of length one that are neither y nor x.

    Parameters
    ----------
    array : xr.DataArray
        With y and x, and ``band`` if there are several.
    name : str
        Of one that has no titles of its own.

    Returns
    -------
    list of (str, xr.DataArray)
    """
    array = array.squeeze([d for d in array.dims if array.sizes[d] == 1
                           and d not in {"band", *axis_names(array)}])
    if "band" in array.dims:
        if array.sizes["band"] == 1:
            return [(name, array.isel(band=0, drop=True))]
        titles = array.attrs.get("long_name", ())
        titled = isinstance(titles, tuple | list) and len(titles) == array.sizes["band"]
        names = titles if titled else [f"{name}_{b}" for b in array["band"].values]
        units = array.attrs.get("units")
        each = isinstance(units, tuple | list) and len(units) == array.sizes["band"]
        return [(str(n), array.isel(band=i, drop=True).assign_attrs(
            {"units": units[i]} if each else {})) for i, n in enumerate(names)]
    return [(name, array)]
