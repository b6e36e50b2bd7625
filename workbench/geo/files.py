"""Write datasets and maps as NetCDF, GeoTIFF or GeoPackage, and read NetCDF back."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import xarray as xr

from workbench import schema
from workbench.checks import InputError, choose, package, reject, require
from workbench.geo.maps import to_raster
from workbench.geo.netcdf import open_netcdf
from workbench.geo.outlines import packed, unpacked

LAYERS = ("individual", "bag")
_RASTER = ("rasters go into workbench.bag_polygons as covariates or weight; "
           "rioxarray.open_rasterio opens one alone")
_POLYGONS = ("polygons go into workbench.bag_polygons or bag_children; "
             "geopandas.read_file opens them alone")
_ELSEWHERE = {
    ".tif": _RASTER, ".tiff": _RASTER, ".vrt": _RASTER, ".asc": _RASTER, ".gpkg": _POLYGONS,
    ".shp": _POLYGONS, ".geojson": _POLYGONS, ".json": _POLYGONS,
    ".csv": "workbench.bagging.from_table takes the table that pandas.read_csv reads",
}


def write(ds: xr.Dataset, path: str | Path, layer: str | None = None) -> Path:
    """Write a dataset in the format that the file's suffix names.

    Parameters
    ----------
    ds : xr.Dataset
        A bagged dataset, or a map made from one (same coordinates).
    path : str or Path
        ``.nc``: everything, geometries as WKB, so that `read` gives the same back; ``.tif``: a
        band for every number known at the individuals, which must be pixels; ``.gpkg``: polygons
        with a column for every number.
    layer : {"individual", "bag"}, optional
        Which polygons go into a GeoPackage: individuals if they have geometries, else bags.

    Returns
    -------
    Path
        The file written.

    Raises
    ------
    InputError
        If the suffix is unknown, or the dataset lacks what the format needs.
    """
    path = Path(path)
    writers = {".nc": _netcdf, ".tif": _geotiff, ".tiff": _geotiff, ".gpkg": _geopackage}
    choose("file type", path.suffix.lower(), writers)
    require(path.parent.is_dir(), f"there is no directory {str(path.parent)!r} to write to")
    if path.suffix.lower() == ".gpkg":
        _geopackage(ds, path, layer)
    else:
        require(layer is None, "layer chooses the polygons of a .gpkg file only")
        writers[path.suffix.lower()](ds, path)
    return path


def check_format(ds: xr.Dataset, path: str | Path) -> None:
    """Refuse a file type that cannot hold a dataset, before anything is computed for it.

    Raises
    ------
    InputError
        For a raster of individuals that are no pixels, or polygons of data without geometries.
    """
    suffix = Path(path).suffix.lower()
    if suffix in (".tif", ".tiff"):
        require("row" in ds.coords and "grid_transform" in ds.attrs,
                "these individuals are no pixels of a raster; write .gpkg or .nc instead of .tif")
    if suffix == ".gpkg":
        require(any(f"{d}_geometry" in ds.coords for d in LAYERS),
                "the dataset has no geometries to write; write .tif for a raster, anything as .nc")


def _tags(ds: xr.Dataset) -> dict[str, str]:
    """Attributes as text, so that every format carries the provenance."""
    return {str(name): str(value) for name, value in ds.attrs.items()}


def read(path: str | Path) -> xr.Dataset:
    """Read a dataset written as NetCDF, with its geometries.

    Parameters
    ----------
    path : str or Path
        A ``.nc`` file from `write`.

    Returns
    -------
    xr.Dataset
        The dataset, in memory.

    Raises
    ------
    InputError
        If there is no such file or it is no NetCDF file; for rasters and polygons the message
        says what reads them.
    """
    path = Path(path)
    require(path.is_file(), f"there is no file {str(path)!r}")
    suffix = path.suffix.lower()
    if suffix in _ELSEWHERE:
        raise reject("a dataset stored as .nc", f"a {suffix} file, {str(path)!r}",
                     _ELSEWHERE[suffix])
    choose("file type", suffix, (".nc",))
    return unpacked(open_netcdf(path, coordinates=True))


def _netcdf(ds: xr.Dataset, path: Path) -> None:
    ds = packed(ds.copy())
    ds.attrs = {k: "" if v is None else v for k, v in ds.attrs.items()}
    ds.to_netcdf(path, engine="h5netcdf")


def _geotiff(ds: xr.Dataset, path: Path) -> None:
    rasterio = package("rasterio", extra="geo")
    columns = _columns(ds, schema.INDIVIDUAL)
    columns.pop("membership", None)
    require(bool(columns), "the dataset has no numbers at the individuals to write as bands")
    totals = {n for n in columns if n in ("weight", "individual_value") or n.endswith("_count")}
    bands = {name: to_raster(ds, values, "sum" if name in totals else "average")
             for name, values in columns.items()}
    first = next(iter(bands.values()))
    with rasterio.open(
        path, "w", driver="GTiff", height=first.shape[0], width=first.shape[1],
        count=len(bands), dtype="float64", crs=first.rio.crs, transform=first.rio.transform(),
        nodata=np.nan, compress="deflate",
    ) as file:
        file.update_tags(**_tags(ds))
        for index, (name, band) in enumerate(bands.items(), start=1):
            file.write(band.values, index)
            file.set_band_description(index, name)


def _geopackage(ds: xr.Dataset, path: Path, layer: str | None) -> None:
    geopandas = package("geopandas", extra="geo")
    available = [d for d in LAYERS if f"{d}_geometry" in ds.coords]
    if not available:
        raise InputError("the dataset has no geometries to write; write a raster's map as .tif, "
                         "anything as .nc")
    chosen = choose("layer", layer or available[0], available)
    table = _columns(ds, chosen)
    labels = {str(n): c.values for n, c in ds.coords.items()
              if c.dims == (chosen,) and c.dtype.kind in "UTOS" and n not in schema.GEOMETRY}
    frame = geopandas.GeoDataFrame(
        labels | table, geometry=ds[f"{chosen}_geometry"].values, crs=ds.attrs.get("crs") or None
    )
    if path.exists():
        path.unlink()  # or the layers of a former file would stay
    frame.to_file(path, layer=chosen, engine="pyogrio", layer_metadata=_tags(ds))


def _columns(ds: xr.Dataset, dim: str) -> dict[str, np.ndarray]:
    """Every number along ``dim``, a column for each entry of a second dimension."""
    columns: dict[str, np.ndarray] = {}
    for name, variable in ds.data_vars.items():
        if dim not in variable.dims or variable.dtype.kind not in "iufb":
            continue
        if variable.ndim == 1:
            columns[str(name)] = variable.values
        elif variable.ndim == 2:
            other = next(d for d in variable.dims if d != dim)
            labels = ds[other].values if other in ds.coords else np.arange(ds.sizes[other])
            for position, label in enumerate(labels):
                text = f"{label:g}" if isinstance(label, float | np.floating) else str(label)
                column = text if name == "covariates" else f"{name}_{text}"
                columns[column] = variable.isel({other: position}).values
    return columns
