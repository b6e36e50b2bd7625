"""A Zarr store of a map as a GeoTIFF, window by window."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import xarray as xr

from workbench.checks import package
from workbench.geo.layers import tags

_TILE = 512     # pixels along the side of a GeoTIFF's own blocks


def write_tiff(store: Path, path: Path, names: list[str],
               windows: list[tuple[int, int, int, int]]) -> Path:
    """Write every number of a store as a band, and read it back.

    Parameters
    ----------
    store : Path
        A Zarr store of variables that end in (y, x).
    path : Path
        ``.tif``; ``.cog.tif`` for a cloud-optimised GeoTIFF, which is made of a plain one.
    names : list of str
        Variables, in the order of the bands; a store does not keep it.
    windows : list of (first row, end, first column, end)
        The parts that are in memory at a time.

    Returns
    -------
    Path
        The file.

    Raises
    ------
    OSError
        If it does not read back the same.
    """
    rasterio, shutil = package("rasterio", extra="geo"), package("rasterio.shutil", extra="geo")
    cloud = path.stem.lower().endswith(".cog")
    plain = path.with_name(f"{path.stem}.plain.tif") if cloud else path
    with xr.open_zarr(store, chunks=None, consolidated=False, decode_coords="all") as maps:
        bands = list(_bands(maps[names]))
        profile = {
            "driver": "GTiff", "height": maps.sizes["y"], "width": maps.sizes["x"],
            "count": len(bands), "dtype": "float64", "nodata": np.nan, "crs": maps.rio.crs,
            "transform": maps.rio.transform(), "tiled": True, "blockxsize": _TILE,
            "blockysize": _TILE, "interleave": "band", "compress": "deflate",
            "bigtiff": "if_safer"}
        with rasterio.open(plain, "w", **profile) as file:
            file.update_tags(**tags(maps))
            for index, (name, band) in enumerate(bands, start=1):
                file.set_band_description(index, name)
                file.set_band_unit(index, str(band.attrs.get("units", "")))
                for window in windows:
                    file.write(_part(band, window), index, window=_window(window))
        if cloud:
            shutil.copy(plain, path, driver="COG", compress="deflate", bigtiff="if_safer",
                        overview_resampling="average")
            plain.unlink()
        # GDAL reports no error if the disk is full.
        with rasterio.open(path) as file:
            for index, (name, band) in enumerate(bands, start=1):
                for window in windows:
                    if not np.array_equal(file.read(index, window=_window(window)),
                                          _part(band, window), equal_nan=True):
                        raise OSError(f"band {name} of {path.name} does not read back the same")
    return path


def _bands(maps: xr.Dataset) -> Iterator[tuple[str, xr.DataArray]]:
    for name, one in maps.data_vars.items():
        if one.ndim == 2:
            yield str(name), one
            continue
        for k, level in enumerate(one[one.dims[0]].values):
            yield f"{name}_{level:g}", one[k]


def _part(band: xr.DataArray, window: tuple[int, int, int, int]) -> np.ndarray:
    top, bottom, left, right = window
    return band[top:bottom, left:right].values.astype(float)


def _window(window: tuple[int, int, int, int]):
    top, bottom, left, right = window
    return (top, bottom), (left, right)
