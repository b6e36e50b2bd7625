"""Write datasets and maps as NetCDF, GeoTIFF, GeoPackage, GeoParquet or CSV; read NetCDF back."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import xarray as xr

from workbench import schema
from workbench.checks import choose, package, reject, require
from workbench.geo.block_files import BLOCK_FORMATS
from workbench.geo.layers import check_layers, columns_of, tags, write_layers
from workbench.geo.maps import one_period, to_raster, way_of
from workbench.geo.netcdf import open_netcdf
from workbench.geo.outlines import packed, unpacked
from workbench.geo.tables import parquet_layers, units_of, write_csv, write_parquet
from workbench.outputs import write_bytes

_RASTER = ("rasters go into workbench.bag_polygons as covariates or weight; "
           "rioxarray.open_rasterio opens one alone")
_POLYGONS = ("polygons go into workbench.bag_polygons or bag_children; "
             "geopandas.read_file opens them alone")
_ELSEWHERE = {
    ".tif": _RASTER, ".tiff": _RASTER, ".vrt": _RASTER, ".asc": _RASTER, ".gpkg": _POLYGONS,
    ".shp": _POLYGONS, ".geojson": _POLYGONS, ".json": _POLYGONS,
    ".csv": "workbench.bagging.from_table takes the table that pandas.read_csv reads",
}


def write(ds: xr.Dataset, path: str | Path, layer: str | None = None, *, areas=None,
          tables: Mapping[str, object] | None = None) -> Path:
    """Write a dataset in the format that the file's suffix names, whole or not at all.

    The file takes its name when it is complete and reads back; an older one stays until then.

    Parameters
    ----------
    ds : xr.Dataset
        A bagged dataset, or a map made from one (same coordinates).
    path : str or Path
        ``.nc``: everything, geometries as WKB, so that `read` gives the same back; ``.tif``: a
        band for every number known at the individuals, which must be pixels; ``.cog.tif``: the
        same as a cloud-optimised GeoTIFF, in tiles with overviews; ``.gpkg``: layers of polygons
        with a column for every number, see `workbench.geo.layers`; ``.parquet``: one of these
        layers as GeoParquet; ``.csv``: a table of individuals or areas, with units in
        ``FILE.csv-metadata.json`` beside it. Draws are in ``.nc`` alone. Capitals in the suffix
        make no difference.
    layer : {"individual", "bag", "pixels", "points"}, optional
        The one layer to write into a GeoPackage, GeoParquet file or table; default: all that there
        are, or the finest.
    areas : pd.DataFrame, optional
        Further columns of the bags for a GeoPackage, indexed by their names.
    tables : mapping of name to pd.DataFrame, optional
        Further tables for a GeoPackage.

    Returns
    -------
    Path
        The file written.

    Raises
    ------
    InputError
        If the suffix is unknown, or the dataset lacks what the format needs.

    Examples
    --------
    >>> import workbench as wb
    >>> ds = wb.load("simulated-country", pixels=300, districts=12, regions=4, provinces=2)
    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     wb.write(ds, pathlib.Path(folder) / "country.gpkg").name
    'country.gpkg'
    """
    path = Path(path)
    suffix = path.suffix.lower()
    writers = {".nc": _netcdf, ".tif": _geotiff, ".tiff": _geotiff, ".gpkg": write_layers,
               ".parquet": write_parquet, ".csv": write_csv}
    choose("file type", suffix, writers)
    require(path.parent.is_dir(), f"there is no directory {str(path.parent)!r} to write to")
    if suffix == ".gpkg":
        write_layers(ds, path, layer, areas, tables)
    elif suffix in (".parquet", ".csv"):
        writers[suffix](ds, path, layer)
    else:
        require(layer is None, "layer chooses the rows of a .gpkg, .parquet or .csv file only")
        writers[suffix](ds, path)
    return path


def check_format(ds: xr.Dataset, path: str | Path) -> None:
    """Refuse a file type that cannot hold a dataset, before anything is computed for it.

    Parameters
    ----------
    ds : xr.Dataset
        What is to be written.
    path : path
        The file, whose suffix says its type.

    Warns
    -----
    UserWarning
        If a GeoPackage will hold the areas but not the pixels, which are too many for polygons.

    Raises
    ------
    InputError
        For a raster of individuals that are not pixels, or polygons of data without geometries.
    """
    suffix = Path(path).suffix.lower()
    if ds.chunks:
        choose("format of a map in blocks", suffix, BLOCK_FORMATS)
        return
    if suffix != ".nc":
        one_period(ds)
    if suffix in (".tif", ".tiff"):
        require("row" in ds.coords and "grid_transform" in ds.attrs,
                "these individuals are not pixels of a raster; write .gpkg or .nc instead of .tif")
    if suffix == ".gpkg":
        check_layers(ds)
    if suffix == ".parquet":
        require(bool(parquet_layers(ds)), "nothing says where these individuals are; write .csv or "
                ".nc instead of .parquet")


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

    Examples
    --------
    >>> import workbench as wb
    >>> ds = wb.load("swiss-roll", n_bags=20)
    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     wb.read(wb.write(ds, pathlib.Path(folder) / "roll.nc")).sizes["bag"]
    20
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
    # In memory, for HDF5 crashes the interpreter at its end if a disk was full.
    write_bytes(path, ds.to_netcdf(engine="h5netcdf"))


def _geotiff(ds: xr.Dataset, path: Path) -> None:
    rasterio = package("rasterio", extra="geo")
    columns = columns_of(ds, schema.INDIVIDUAL)
    columns.pop("membership", None)
    require(bool(columns), "the dataset has no numbers at the individuals to write as bands")
    bands = {name: to_raster(ds, values, way_of(name)) for name, values in columns.items()}
    first = next(iter(bands.values()))
    cloud = path.stem.lower().endswith(".cog")
    # In memory, for GDAL reports no error if the disk is full.
    with rasterio.MemoryFile() as memory:
        with memory.open(
            driver="COG" if cloud else "GTiff", height=first.shape[0], width=first.shape[1],
            count=len(bands), dtype="float64", crs=first.rio.crs, transform=first.rio.transform(),
            nodata=np.nan, compress="deflate", bigtiff="if_safer",
            **({"overview_resampling": "average"} if cloud else {}),
        ) as file:
            file.update_tags(**tags(ds))
            for index, (name, band) in enumerate(bands.items(), start=1):
                file.write(band.values, index)
                file.set_band_description(index, name)
                file.set_band_unit(index, units_of(ds, name))
        write_bytes(path, memory.getbuffer())
