"""Rasters opened without reading a pixel: chunked GeoTIFF, NetCDF and Zarr on one grid."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import xarray as xr

from workbench.bagging.findings import part
from workbench.bagging.warping import gdalwarp
from workbench.checks import choose, package, reading, require
from workbench.geo.axes import check_even, check_upright
from workbench.geo.bands import bands_of, open_tiff
from workbench.geo.netcdf import axis_names, netcdf_engine, within_valid, without_lost_bounds
from workbench.geo.rasters import ABSURD, same_grid
from workbench.geo.zarr_stores import is_zarr

SIDE = 1024         # pixels along the side of a block, where nothing else is asked for
_SUFFIXES = (".tif", ".tiff", ".vrt", ".nc", ".nc4", ".zarr")


def open_rasters(rasters: str | Path | Sequence[str | Path] | Mapping[str, str | Path], *,
                 chunks: int = SIDE, nodata: float | None = None) -> xr.Dataset:
    """Open rasters in blocks, of which none is read until it is computed.

    Parameters
    ----------
    rasters : path, sequence of paths, or mapping of name to path
        GeoTIFF, VRT, NetCDF or Zarr, all on one grid. Unnamed ones take the name of the variable,
        band or file stem.
    chunks : int
        Pixels along the side of a block.
    nodata : float, optional
        Mark of missing pixels that the files do not declare.

    Returns
    -------
    xr.Dataset
        A Dask array (y, x) for each raster, rows from north to south, NaN where missing.

    Raises
    ------
    InputError
        If a file is missing, cannot be read, has other dimensions or lies on another grid.

    Examples
    --------
    >>> import tempfile, pathlib, numpy as np, rioxarray, xarray as xr, workbench as wb
    >>> grid = xr.DataArray(np.zeros((40, 30)), dims=("y", "x"), coords={
    ...     "y": np.arange(40.0)[::-1], "x": np.arange(30.0)})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder) / "height.tif"
    ...     grid.rio.write_crs("EPSG:3035").rio.to_raster(file)
    ...     dict(wb.open_rasters(file, chunks=20).chunksizes)
    {'y': (20, 20), 'x': (20, 10)}
    """
    package("dask.array", extra="scale")
    package("rioxarray", extra="geo")
    require(chunks > 0, f"chunks are pixels along the side of a block, at least 1; got {chunks}")
    if isinstance(rasters, str | Path):
        rasters = [rasters]
    named = rasters.items() if isinstance(rasters, Mapping) else [(None, one) for one in rasters]
    found: dict[str, xr.DataArray] = {}
    for name, path in named:
        with part("raster", str(name or Path(path).name)):
            for own, band in _opened(Path(path), name, chunks):
                require(own not in found, f"two rasters are named {own!r}; pass a mapping of name "
                        "to file")
                found[own] = _clean(own, band, nodata)
    require(bool(found), "expected at least one raster, got none")
    first, grid = next(iter(found.items()))
    for name, band in found.items():
        require(same_grid(grid, band), f"raster {name!r} lies on another grid than {first!r}; "
                f"bring it to the same pixels first: {gdalwarp('-te ... -ts ...')}")
    # Coordinates that agree to a fraction of a pixel are those of the first.
    same = {axis: grid[axis] for axis in ("y", "x")}
    # One that is stored from south to north has its short blocks at the other end.
    ds = xr.Dataset({name: band.assign_coords(same) for name, band in found.items()}
                    ).unify_chunks()
    return ds.rio.write_crs(grid.rio.crs) if grid.rio.crs else ds


def upright(raster: xr.Dataset) -> xr.Dataset:
    """The raster with dimensions y and x, rows from north to south and columns from west to east.

    Parameters
    ----------
    raster : xr.Dataset
        With coordinates of both axes.

    Returns
    -------
    xr.Dataset

    Raises
    ------
    InputError
        If an axis is missing, or its coordinates are uneven.
    """
    raster = raster.rename({d: axis for d, axis in axis_names(raster).items() if d != axis})
    for axis, step in (("y", -1), ("x", 1)):
        require(axis in raster.dims and axis in raster.coords, f"the raster has no dimension "
                f"{axis} with coordinates; it has {', '.join(map(str, raster.dims))}")
        if raster.sizes[axis] == 1:
            continue
        check_even(", ".join(map(str, raster.data_vars)), raster[axis].values, axis)
        if step * float(raster[axis][1] - raster[axis][0]) < 0:
            raster = raster.isel({axis: slice(None, None, -1)})
    return raster


def even(ds: xr.Dataset, side: int = SIDE) -> xr.Dataset:
    """A dataset in blocks of one size, as Zarr wants them; unchunked axes get blocks of ``side``.

    Parameters
    ----------
    ds : xr.Dataset
        With dimensions y and x.
    side : int
        Pixels.
    """
    chunks = {}
    for axis in ("y", "x"):
        sizes = ds.chunksizes.get(axis)
        if not sizes:
            chunks[axis] = side
        elif any(one != sizes[0] for one in sizes[:-1]) or sizes[-1] > sizes[0]:
            chunks[axis] = max(sizes)
    return ds.chunk(chunks) if chunks else ds


def _opened(path: Path, name: str | None, chunks: int) -> list[tuple[str, xr.DataArray]]:
    require(path.exists(), f"there is no raster file {str(path)!r}; check the name and the folder "
                           "you run from")
    zarr = is_zarr(path)
    if not zarr:
        choose("type of a raster", path.suffix.lower(), _SUFFIXES)
    with reading(path, "a raster", "to download or write it again"):
        if zarr:
            package("zarr", extra="scale")
            bands = _variables(path, chunks, engine="zarr", consolidated=False)
        elif path.suffix.lower() in (".nc", ".nc4"):
            bands = _variables(path, chunks, engine=netcdf_engine(path))
        else:
            package("rioxarray", extra="geo")
            opened = open_tiff(path, chunks={"y": chunks, "x": chunks})
            check_upright(path.name, opened.rio.transform())
            bands = bands_of(opened, path.stem)
    require(name is None or len(bands) == 1, f"{path.name} has {len(bands)} bands "
            f"({', '.join(own for own, _ in bands)}), and one raster is wanted by the name "
            f"{name!r}: give the file without a name, if its bands have the right ones, or write "
            "that band to a file of its own")
    return [(name or own, band) for own, band in bands]


def _variables(path: Path, chunks: int, **reader) -> list[tuple[str, xr.DataArray]]:
    with xr.open_dataset(path, chunks=None, **reader) as ds:
        sides = dict.fromkeys(axis_names(ds), chunks)
        stored = any(one.encoding.get("preferred_chunks") for one in ds.data_vars.values())
    # Chunked as it is opened, so that tasks have the same names in every process; chunks that are
    # stored are read whole, and joined or cut to blocks afterwards.
    with without_lost_bounds():
        ds = xr.open_dataset(path, chunks={} if stored else sides, decode_coords="all", **reader)
    crs, ds = ds.rio.crs, within_valid(ds.chunk(sides))
    bands = [(str(name), band) for name, one in ds.data_vars.items() if len(axis_names(one)) == 2
             for _, band in bands_of(one, str(name))]
    return [(name, band.rio.write_crs(crs) if crs and band.rio.crs is None else band)
            for name, band in bands]


def _clean(name: str, band: xr.DataArray, nodata: float | None) -> xr.DataArray:
    ds = upright(band.drop_attrs().assign_attrs(
        {key: band.attrs[key] for key in ("units",) if key in band.attrs}).to_dataset(name=name))
    crs, band = band.rio.crs, ds[name]
    require(set(band.dims) == {"y", "x"}, f"raster {name!r} has dimensions {tuple(band.dims)}; "
            "expected y and x only: select one layer first")
    band = band.transpose("y", "x")
    attrs = band.attrs
    kept = abs(band) < ABSURD
    if nodata is not None:
        kept = kept & (band != nodata)
    band = band.where(kept).astype(float).assign_attrs(attrs)
    return band.rio.write_crs(crs) if crs else band
