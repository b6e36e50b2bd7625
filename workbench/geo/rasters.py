"""Read rasters of any kind onto one grid: (y, x), north up, nodata as NaN, with a CRS."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
import xarray as xr

from workbench.bagging.cells import cells_of
from workbench.bagging.findings import part, refuse
from workbench.checks import InputError, option, package, reading, require
from workbench.geo.axes import laid_out
from workbench.geo.bands import SCALED, bands_of, open_tiff, packing
from workbench.geo.csv_grids import read_csv_grid
from workbench.geo.marks import undeclared_mark
from workbench.geo.netcdf import (
    DEGREES_CRS,
    INVALID,
    axis_names,
    in_degrees,
    open_netcdf,
    rasters_in,
)
from workbench.geo.shapes import check_degrees, usable_crs, without_crs
from workbench.geo.treatments import Record
from workbench.geo.windows import Extent, cropped
from workbench.geo.zarr_stores import is_zarr, open_zarr

# No physical quantity is this large: such numbers are nodata marks, declared or not.
ABSURD = 1e30
_SUFFIXES = (".tif", ".tiff", ".nc", ".nc4", ".vrt", ".zarr", ".csv", ".parquet")
_TABLES = (".csv", ".parquet")
_VECTORS = (".shp", ".gpkg", ".geojson", ".json", ".gdb", ".kml")

RasterSource = xr.DataArray | xr.Dataset | str | Path
Nodata = float | Sequence[float] | None


def read_rasters(
    sources: RasterSource | Sequence[RasterSource] | Mapping[str, RasterSource],
    record: Record,
    *,
    crs: str | None = None,
    nodata: Nodata = None,
    marks: str = "error",
    variable: str | Sequence[str] | None = None,
    argument: str = "variable",
    within: Extent | None = None,
    crs_argument: str = "raster_crs",
) -> dict[str, xr.DataArray]:
    """Read rasters by name.

    Parameters
    ----------
    sources : raster, sequence of rasters, or mapping of name to raster
        A raster is a DataArray, a Dataset (one raster per variable), or a path to a GeoTIFF, VRT,
        NetCDF or Zarr, or to a table of pixels (`workbench.geo.csv_grids`). Unnamed ones take the
        name of the variable, band or file stem.
    record : Record
        Receives what was done (variables taken, masked pixels, assumed CRS).
    crs : str, optional
        The CRS of rasters that do not state one.
    nodata : float or sequence of float, optional
        Marks of missing pixels that the rasters do not declare.
    marks : {"error", "mask", "keep"}
        What to do with pixels that look like undeclared marks.
    variable : str or sequence of str, optional
        Variables to take from Datasets and NetCDF files; all that are rasters if not given.
    argument : str
        Name of the argument that ``variable`` came by, for messages.
    within : Extent, optional
        Where pixels are needed: of a large raster no more is read, see `workbench.geo.windows`.
    crs_argument : str
        Name of the argument that ``crs`` came by, for messages.

    Returns
    -------
    dict of str to xr.DataArray
        Each (y, x), rows from north to south, float64, NaN where missing, with ``.rio.crs``.

    Raises
    ------
    InputError
        If a file is missing, of unknown type or cannot be read, holds no raster or not the
        variables asked for, two rasters share a name, a raster has more than two dimensions, is
        rotated, has no CRS, or holds what looks like undeclared marks.
    """
    package("rioxarray", extra="geo")

    def window(opened, name: str):
        return cropped(opened, within, crs, name, record)

    wanted = [variable] if isinstance(variable, str) else list(variable or [])
    if isinstance(sources, Mapping) and not isinstance(sources, xr.Dataset):
        named = []
        for name, source in sources.items():
            with part("raster", name):
                found = _single(str(name), _bands(source, record, wanted, window))
                named += [(str(name), band) for _, band in found]
    else:
        several = isinstance(sources, Sequence) and not isinstance(sources, str)
        named = []
        for source in sources if several else [sources]:
            with part("raster", _called(source)):
                named += _bands(source, record, wanted, window)
    require(bool(named), "expected at least one raster, got none")
    absent = set(wanted) - {band.attrs.get("_variable") for _, band in named}
    require(not absent, f"no raster has the variables {sorted(absent)} of "
                        f"{option(argument, tuple(wanted))}; those read are "
                        f"{[name for name, _ in named]}")
    rasters: dict[str, xr.DataArray] = {}
    for name, band in named:
        with part("raster", name):
            if name in rasters:
                raise InputError(f"two rasters are named {name!r}; pass a mapping of name to "
                                 "raster")
            rasters[name] = _clean(name, band, record, crs, nodata, marks, within, crs_argument)
    return rasters


def _called(source: RasterSource) -> str:
    """A raster's name for messages, before it is opened."""
    return Path(source).name if isinstance(source, str | Path) else str(getattr(source, "name", ""))


def same_grid(a: xr.DataArray, b: xr.DataArray) -> bool:
    """Whether two rasters have the same CRS, shape and extent (to 1e-4 of a pixel).

    Parameters
    ----------
    a, b : xr.DataArray
        Rasters with a CRS.

    Returns
    -------
    bool
        True if pixels coincide.
    """
    if a.shape != b.shape or a.rio.crs != b.rio.crs:
        return False
    pixel = np.abs(np.subtract(a.rio.bounds()[2:], a.rio.bounds()[:2])) / a.shape[::-1]
    # Both corners: a small difference in pixel size adds up over the raster.
    return np.allclose(a.rio.bounds(), b.rio.bounds(), rtol=0, atol=1e-4 * pixel.min())


def _single(name: str, bands: list) -> list:
    if len(bands) != 1:
        raise InputError(
            f"raster {name!r} has {len(bands)} bands ({[b for b, _ in bands]}); pass one band a "
            f"name, or choose one with {option('variable')}")
    return bands


def _bands(
    source: RasterSource, record: Record, wanted: Sequence[str], window: Callable,
    told: str = "a Dataset",
) -> list[tuple[str, xr.DataArray]]:
    """Every two-dimensional band of a source with its name."""
    if isinstance(source, xr.DataArray):
        name = str(source.name) if source.name else "raster"
        return bands_of(window(source, name), name)
    if isinstance(source, xr.Dataset):
        source = window(source, ", ".join(map(str, source.data_vars)))
        names = rasters_in(source, told, record, wanted)
        return [(name, band.assign_attrs(_variable=n)) for n in names
                for name, band in bands_of(_with_crs_of(source[n], source), n)]
    require(isinstance(source, str | Path), f"expected a raster, got {type(source).__name__}; give "
            "an xr.DataArray with x, y and a CRS (.rio.write_crs('EPSG:...')), or a path")
    path = Path(source)
    require(path.exists(), f"there is no raster file {str(path)!r}; check the name and the folder "
                           "you run from")
    suffix = path.suffix.lower()
    if suffix in _VECTORS:
        raise InputError(f"cannot read {str(path)!r} as a raster: this is the name of polygons, "
                         f"which go into {option('polygons')}; try a .tif or .nc file")
    zarr = is_zarr(path)
    require(zarr or not path.is_dir(), f"{str(path)!r} is a directory; name a raster in it")
    require(zarr or suffix in _SUFFIXES,
            f"raster {path.name!r} has an unknown type; expected one of {', '.join(_SUFFIXES)}")
    if suffix in _TABLES:
        return _bands(read_csv_grid(path), record, wanted, window, path.name)
    if zarr or suffix in (".nc", ".nc4"):
        def part(opened: xr.Dataset) -> xr.Dataset:     # of the variables asked for alone
            present = [name for name in wanted if name in opened.data_vars]
            return window(opened[present] if present else opened, path.stem)

        opened = open_zarr(path, part) if zarr else open_netcdf(path, window=part)
        return _bands(opened, record, wanted, lambda whole, _: whole, path.name)
    with reading(path, "a raster", "to download or write it again; gdalinfo -stats shows whether "
                                   "GDAL can read all of it"):
        with open_tiff(path) as opened:
            return bands_of(window(opened, path.stem).load(), path.stem)


def _with_crs_of(band: xr.DataArray, ds: xr.Dataset) -> xr.DataArray:
    return band if band.rio.crs or not ds.rio.crs else band.rio.write_crs(ds.rio.crs)


def _clean(
    name: str, band: xr.DataArray, record: Record, crs: str | None, nodata: Nodata, marks: str,
    within: Extent | None = None, argument: str = "raster_crs",
) -> xr.DataArray:
    if packed := packing(band.attrs):
        raise InputError(f"raster {name!r} holds packed numbers: its attributes state a {packed}; "
                         "open it with rioxarray.open_rasterio(..., mask_and_scale=True) or "
                         "xarray.open_dataset, or give the file")
    degrees = band.rio.crs is None and crs is None and in_degrees(band)
    band = band.rename({d: axis for d, axis in axis_names(band).items() if d != axis})
    require(
        set(band.dims) == {"y", "x"},
        f"raster {name!r} has dimensions {tuple(band.dims)}; expected y and x (or latitude and "
        "longitude) only: select one layer, e.g. raster.isel(time=0), or other variables with "
        f"{option('variable')}",
    )
    band = laid_out(name, band.transpose("y", "x"))
    if degrees:
        band = band.rio.write_crs(DEGREES_CRS)
        record.note(f"raster {name!r}: coordinates in degrees_north and degrees_east and no CRS "
                    f"were taken as {DEGREES_CRS}", code="crs-missing", where=[name])
    if band.rio.crs is None:
        if crs is None:
            crs = without_crs(f"raster {name!r} has", argument, name,
                              np.array(band.rio.bounds()), within and within.crs)
        band = band.rio.write_crs(usable_crs(crs, argument))
        record.note(f"raster {name!r} has no CRS: {crs} as given was assumed", code="crs-missing",
                    where=[name])
    check_degrees(f"raster {name!r}", band.rio.crs, np.array(band.rio.bounds()))
    values = _masked(name, band.values.astype(float), band, record, nodata, marks)
    attrs = {"units": band.attrs["units"]} if "units" in band.attrs else {}
    clean = xr.DataArray(
        values, dims=("y", "x"), coords={"y": band["y"], "x": band["x"]}, name=name, attrs=attrs
    ).rio.write_crs(band.rio.crs).rio.write_nodata(np.nan)
    # Elsewhere coordinates tell: a transform of their own may be that of a grid before.
    return clean.rio.write_transform(band.rio.transform()) if 1 in band.shape else clean


def _masked(
    name: str, values: np.ndarray, band: xr.DataArray, record: Record, nodata: Nodata, marks: str
) -> np.ndarray:
    """Replace every mark of a missing pixel by NaN."""
    given = tuple(nodata) if isinstance(nodata, Sequence) else (nodata,)
    given = tuple(float(m) for m in given if m is not None and np.isfinite(m))
    declared = band.rio.nodata if band.rio.nodata is not None else band.rio.encoded_nodata
    if stated := band.attrs.get(SCALED):
        declared = None                 # of the numbers as they are stored, and masked already
        record.note(f"raster {name!r}: stored numbers were unpacked by the file's {stated}",
                    where=[name])
    if valid := band.attrs.get(INVALID):
        record.note(f"raster {name!r}: numbers beyond the file's {valid}, are missing",
                    where=[name])
    known = [m for m in (declared, *given) if m is not None and np.isfinite(m)]
    absent = int(np.isnan(values).sum())
    # Marks are stored in the raster's own precision: compare in float32 as well.
    marked = np.zeros(values.shape, bool)
    for mark in known:
        marked |= (values == mark) | (values.astype(np.float32) == np.float32(mark))
    absurd = np.abs(values) >= ABSURD
    undeclared = int((absurd & ~marked).sum())
    if undeclared:
        record.note(f"raster {name!r}: {undeclared} pixels beyond 1e30 in size were masked",
                    code="nodata", where=[name], count=undeclared,
                    cells=cells_of(band, absurd & ~marked))
    masked = absent + int(marked.sum())
    if masked:
        reason = f" (nodata {', '.join(f'{m:g}' for m in known)})" if known else ""
        record.note(f"raster {name!r}: {masked} of {values.size} pixels were masked{reason}",
                    code="nodata", where=[name], count=masked)
    values = np.where(marked | absurd, np.nan, values)
    require(bool(np.isfinite(values).any()), f"raster {name!r} has no valid pixel")
    while (mark := undeclared_mark(values)) is not None:
        value = mark.told
        told = f"{value:.10g}"
        where = "below" if mark.value < mark.lowest else "above"
        found = (f"raster {name!r} has {mark.pixels} pixels equal to {told}, far {where} all "
                 f"others ({mark.lowest:.6g} to {mark.highest:.6g})")
        about = {"code": "nodata-mark", "where": [name], "count": mark.pixels,
                 "cells": cells_of(band, values == mark.value)}
        if marks == "error":
            both = (*given, value) if given else value
            refuse(f"{found}, which looks like an undeclared nodata mark",
                   f"pass {option('nodata', both)} to mask them, or {option('marks', 'keep')} if "
                   "they are real", **about)
        elif marks == "keep":
            record.note(f"{found}: kept as real values", **about)
            break
        else:
            record.note(f"{found}: masked as a nodata mark", **about)
        values = np.where(values == mark.value, np.nan, values)
    return values
