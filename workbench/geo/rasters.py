"""Read rasters of any kind onto one grid: (y, x), north up, nodata as NaN, with a CRS."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
import xarray as xr

from workbench.checks import InputError, package, require
from workbench.geo.treatments import Record
from workbench.geo.windows import Extent, cropped

# No physical quantity is this large: such numbers are nodata marks, declared or not.
_ABSURD = 1e30
_USUAL_MARKS = (-999.0, -9999.0, -99999.0, -32767.0, -32768.0, -3.4e38)
_SUFFIXES = (".tif", ".tiff", ".nc", ".nc4", ".vrt")

RasterSource = xr.DataArray | xr.Dataset | str | Path


def read_rasters(
    sources: RasterSource | Sequence[RasterSource] | Mapping[str, RasterSource],
    record: Record,
    *,
    crs: str | None = None,
    nodata: float | None = None,
    within: Extent | None = None,
) -> dict[str, xr.DataArray]:
    """Read rasters by name.

    Parameters
    ----------
    sources : raster, sequence of rasters, or mapping of name to raster
        A raster is a DataArray, a Dataset (one raster per variable), or a path to a GeoTIFF or
        NetCDF file. Unnamed ones take the name of the variable, band or file stem.
    record : Record
        Receives what was done (masked pixels, flipped rows, assumed CRS).
    crs : str, optional
        The CRS of rasters that do not state one.
    nodata : float, optional
        A mark of missing pixels that the rasters do not declare.
    within : Extent, optional
        Where pixels are needed: of a large raster no more is read, see `workbench.geo.windows`.

    Returns
    -------
    dict of str to xr.DataArray
        Each (y, x), rows from north to south, float64, NaN where missing, with ``.rio.crs``.

    Raises
    ------
    InputError
        If a file is missing or of unknown type, two rasters share a name, a raster has more
        than two dimensions, is rotated, has no CRS, or holds what looks like undeclared marks.
    """
    package("rioxarray", extra="geo")

    def window(opened, name: str):
        return cropped(opened, within, crs, name, record)

    if isinstance(sources, Mapping) and not isinstance(sources, xr.Dataset):
        named = [(str(name), band) for name, source in sources.items()
                 for _, band in _single(str(name), _bands(source, window))]
    else:
        several = isinstance(sources, Sequence) and not isinstance(sources, str)
        named = [pair for source in (sources if several else [sources])
                 for pair in _bands(source, window)]
    require(bool(named), "expected at least one raster, got none")
    rasters: dict[str, xr.DataArray] = {}
    for name, band in named:
        if name in rasters:
            raise InputError(f"two rasters are named {name!r}; pass a mapping of name to raster")
        rasters[name] = _clean(name, band, record, crs, nodata)
    return rasters


def same_grid(a: xr.DataArray, b: xr.DataArray) -> bool:
    """Whether two rasters have the same CRS, shape and extent (to 1e-4 of a pixel)."""
    if a.shape != b.shape or a.rio.crs != b.rio.crs:
        return False
    pixel = np.abs(np.subtract(a.rio.bounds()[2:], a.rio.bounds()[:2])) / a.shape[::-1]
    # Both corners: a small difference in pixel size adds up over the raster.
    return np.allclose(a.rio.bounds(), b.rio.bounds(), rtol=0, atol=1e-4 * pixel.min())


def _single(name: str, bands: list) -> list:
    require(
        len(bands) == 1,
        f"raster {name!r} has {len(bands)} bands ({[b for b, _ in bands]}); pass one band a name",
    )
    return bands


def _bands(source: RasterSource, window: Callable) -> list[tuple[str, xr.DataArray]]:
    """Every two-dimensional band of a source with its name."""
    if isinstance(source, xr.DataArray):
        name = str(source.name) if source.name else "raster"
        return _split(window(source, name), name)
    if isinstance(source, xr.Dataset):
        source = window(source, ", ".join(map(str, source.data_vars)))
        spatial = [n for n, v in source.data_vars.items() if v.ndim >= 2]
        grid = source.rio.grid_mapping if source.rio.crs else None
        return [pair for n in spatial if n != grid
                for pair in _split(_with_crs_of(source[n], source), str(n))]
    path = Path(source)
    require(path.exists(), f"there is no raster file {str(path)!r}")
    require(path.suffix.lower() in _SUFFIXES,
            f"raster {path.name!r} has an unknown type; expected one of {', '.join(_SUFFIXES)}")
    if path.suffix.lower() in (".nc", ".nc4"):
        with xr.open_dataset(path, engine="h5netcdf", decode_coords="all") as opened:
            return _bands(window(opened, path.stem).load(), lambda whole, _: whole)
    rioxarray = package("rioxarray", extra="geo")
    with rioxarray.open_rasterio(path, masked=True) as opened:
        return _split(window(opened, path.stem).load(), path.stem)


def _with_crs_of(band: xr.DataArray, ds: xr.Dataset) -> xr.DataArray:
    return band if band.rio.crs or not ds.rio.crs else band.rio.write_crs(ds.rio.crs)


def _split(array: xr.DataArray, name: str) -> list[tuple[str, xr.DataArray]]:
    """Cut off dimensions of length one, and split bands."""
    array = array.squeeze([d for d in array.dims if array.sizes[d] == 1 and d != "band"])
    if "band" in array.dims:
        if array.sizes["band"] == 1:
            return [(name, array.isel(band=0, drop=True))]
        titles = array.attrs.get("long_name", ())
        titled = isinstance(titles, tuple | list) and len(titles) == array.sizes["band"]
        names = titles if titled else [f"{name}_{b}" for b in array["band"].values]
        return [(str(n), array.isel(band=i, drop=True)) for i, n in enumerate(names)]
    return [(name, array)]


def _clean(
    name: str, band: xr.DataArray, record: Record, crs: str | None, nodata: float | None
) -> xr.DataArray:
    renamed = {d: axis for d in map(str, band.dims)
               for axis, names in (("y", ("lat", "latitude", "northing")),
                                   ("x", ("lon", "longitude", "easting"))) if d.lower() in names}
    band = band.rename(renamed)
    require(
        set(band.dims) == {"y", "x"},
        f"raster {name!r} has dimensions {tuple(band.dims)}; expected y and x (or latitude and "
        "longitude) only: select one layer, e.g. raster.isel(time=0)",
    )
    band = band.transpose("y", "x")
    if band.rio.crs is None:
        if crs is None:
            raise InputError(f"raster {name!r} has no CRS; state it with raster_crs='EPSG:...'")
        band = band.rio.write_crs(crs)
        record.note(f"raster {name!r} has no CRS: {crs} as given was assumed")
    transform = band.rio.transform()
    require(
        transform.b == 0 and transform.d == 0,
        f"raster {name!r} is rotated (transform {tuple(transform)[:6]}); warp it to a north-up "
        "grid first, e.g. with gdalwarp",
    )
    for axis, step in (("y", -1), ("x", 1)):
        if axis in band.coords and band.sizes[axis] > 1 and step * np.diff(band[axis][:2])[0] < 0:
            band = band.isel({axis: slice(None, None, -1)})
    values = band.values.astype(float)
    values = _masked(name, values, band, record, nodata)
    attrs = {"units": band.attrs["units"]} if "units" in band.attrs else {}
    clean = xr.DataArray(
        values, dims=("y", "x"), coords={"y": band["y"], "x": band["x"]}, name=name, attrs=attrs
    )
    return clean.rio.write_crs(band.rio.crs).rio.write_nodata(np.nan)


def _masked(
    name: str, values: np.ndarray, band: xr.DataArray, record: Record, nodata: float | None
) -> np.ndarray:
    """Replace every mark of a missing pixel by NaN."""
    declared = band.rio.nodata if band.rio.nodata is not None else band.rio.encoded_nodata
    marks = [m for m in (declared, nodata) if m is not None and np.isfinite(m)]
    absent = int(np.isnan(values).sum())
    # Marks are stored in the raster's own precision: compare in float32 as well.
    marked = np.zeros(values.shape, bool)
    for mark in marks:
        marked |= (values == mark) | (values.astype(np.float32) == np.float32(mark))
    absurd = np.abs(values) >= _ABSURD
    undeclared = int((absurd & ~marked).sum())
    if undeclared:
        record.note(f"raster {name!r}: {undeclared} pixels beyond 1e30 in size were masked")
    masked = absent + int(marked.sum())
    if masked:
        reason = f" (nodata {', '.join(f'{m:g}' for m in marks)})" if marks else ""
        record.note(f"raster {name!r}: {masked} of {values.size} pixels were masked{reason}")
    values = np.where(marked | absurd, np.nan, values)
    finite = values[np.isfinite(values)]
    require(finite.size > 0, f"raster {name!r} has no valid pixel")
    lowest = finite.min()
    rest = finite[finite > lowest]
    # A lone spike at a usual mark, farther below the rest than the rest is wide.
    if lowest in _USUAL_MARKS and rest.size and rest.min() - lowest > np.ptp(rest):
        raise InputError(
            f"raster {name!r} has {int((finite == lowest).sum())} pixels equal to {lowest:g}, "
            f"which looks like an undeclared nodata mark; pass nodata={lowest:g} to mask them"
        )
    return values
