"""What a file that somebody sends may hold: numbers and shapes of its own, no way to other files.

GDAL and HDF5 go by what a file says, not by its name, and there are formats whose content names
other files, or programs, that are then read. Files are therefore looked at before they are opened.
"""

from __future__ import annotations

import json
import re
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from workbench.checks import InputError, require
from workbench.ui.disaggregate import labels
from workbench.ui.disaggregate.columns import totals_first
from workbench.ui.disaggregate.surveys import surveys_in
from workbench.ui.disaggregate.zips import parts_of

if TYPE_CHECKING:
    from geopandas import GeoDataFrame, GeoSeries

_COARSE = 300           # pixels along a map for which outlines are simplified
_POINTS = {"Point", "MultiPoint"}
_INSIDE = {"Polygon", "MultiPolygon", "GeometryCollection"}     # shapes that may have an inside
_DRIVERS = {".gpkg": "GPKG", ".geojson": "GeoJSON", ".json": "GeoJSON", ".shp": "ESRI Shapefile",
            ".zip": "ESRI Shapefile"}
_STARTS = {
    ".tif": (b"II*\0", b"MM\0*", b"II+\0", b"MM\0+"), ".gpkg": (b"SQLite format 3\0",),
    ".nc": (b"\x89HDF\r\n\x1a\n", b"CDF\x01", b"CDF\x02", b"CDF\x05"), ".zip": (b"PK\x03\x04",),
    ".shp": (b"\0\0\x27\x0a",), ".shx": (b"\0\0\x27\x0a",),
}
_STARTS[".tiff"] = _STARTS[".tif"]
_PROGRAM = b"gdal_streamed_alg"         # marks JSON that has GDAL run commands


def check_content(path: Path) -> None:
    """Refuse a file that is not what its suffix says, or that would lead to other files.

    Parameters
    ----------
    path : Path

    Raises
    ------
    InputError
        With the name of the file.
    """
    suffix, content = path.suffix.lower(), path.read_bytes()
    _check_start(path.name, suffix, content)
    if suffix in (".json", ".geojson"):
        _check_geojson(path.name, content)
    elif suffix == ".zip":
        _check_zip(path)
    elif suffix in (".tif", ".tiff"):
        import rasterio

        with rasterio.open(path, driver="GTiff"):
            pass
    elif suffix == ".nc" and content.startswith(b"\x89HDF"):
        _check_hdf(path)


def check_driver(path: Path) -> None:
    """Refuse areas that GDAL reads as another format than the suffix says; after `check_content`.

    Parameters
    ----------
    path : Path
    """
    import pyogrio

    expected = _DRIVERS.get(path.suffix.lower())
    if expected is not None:
        driver = pyogrio.read_info(path)["driver"]
        require(driver == expected, f"{path.name} cannot be read: it is a file of {driver}, not "
                f"{expected} as its name says; export it again as GeoPackage")


def bare(text: str, folder: Path) -> str:
    """A text without the folder of this machine that files lie in.

    Parameters
    ----------
    text : str
    folder : Path
    """
    return text.replace(f"{folder}/", "").replace(str(folder), "the folder")


def unreadable(path: Path, error: Exception, what: str = "") -> InputError:
    """That a reader gave up on a file: its last reason, without the reader's own program.

    Parameters
    ----------
    path : Path
    error : Exception
        Of the reader.
    what : str
        What the file was to be read as.

    Examples
    --------
    >>> print(unreadable(Path("a.shp"), OSError("read(x) failed: short; too short")))
    a.shp cannot be read (too short): it may be damaged or cut off; export or copy it again
    """
    why = re.split(r" failed: |; ", bare(str(error), path.parent))[-1].strip(" .")[:200]
    return InputError(f"{path.name} cannot be read{what}{f' ({why})' if why else ''}: it may be "
                      "damaged or cut off; export or copy it again")


def read_areas(path: Path) -> GeoDataFrame:
    """The areas in a file, or why there are none; after `check_content`.

    Parameters
    ----------
    path : Path
    """
    import geopandas

    try:
        frame = geopandas.read_file(path)
    except Exception as error:      # whatever a broken file makes the readers raise
        raise unreadable(path, error, " as areas") from error
    require(len(frame) > 0, f"{path.name} has no areas in it; export it again with all its rows")
    require(isinstance(frame, geopandas.GeoDataFrame) and bool(frame.geometry.notna().any()),
            f"{path.name} is a table without shapes; join its columns to polygons, e.g. in QGIS, "
            "and drop these")
    kinds = set(frame.geometry.geom_type.dropna())
    if kinds & _INSIDE:
        return frame            # what else there is beside areas, the check says
    if kinds <= _POINTS:
        named = [str(one) for one in frame.select_dtypes("number")]
        value = next(iter(totals_first(named)), "COLUMN")
        raise InputError(labels.points_alone(path.name, [], value,
                                             surveys_in(frame).get(value, "")))
    raise InputError(labels.no_areas(path.name, sorted(kinds)))


def broken(rasters: Mapping[str, Path]) -> str:
    """What is said of rasters that are cut off before something else is; empty if none is.

    The header says whether a file is a raster, and only its last pixels whether it is whole.

    Parameters
    ----------
    rasters : Mapping of str to Path
    """
    import rasterio
    from rasterio.windows import Window

    said = []
    for path in rasters.values():
        if path.suffix not in (".tif", ".tiff"):
            continue            # others are read when they are opened
        try:
            with rasterio.open(path, driver="GTiff") as file:
                file.read(window=Window(file.width - 1, file.height - 1, 1, 1))
        except Exception as error:      # whatever a broken file makes the readers raise
            said.append(f"{unreadable(path, error.__cause__ or error)}. Besides, ")
    return "".join(said)


def coarse(shapes: GeoSeries) -> GeoSeries:
    """Shapes simplified to a small map; those with corners that are no numbers are left out.

    Parameters
    ----------
    shapes : GeoSeries
    """
    import shapely

    points, row = shapely.get_coordinates(shapes.values, return_index=True)
    finite = shapes.copy()
    finite.iloc[np.unique(row[~np.isfinite(points).all(axis=1)])] = None
    west, south, east, north = finite.total_bounds
    return finite.simplify(max(east - west, north - south) / _COARSE)


def unpacked_size(path: Path) -> int:
    """Bytes that a file has when it is read, by what its header says; after `check_content`.

    Parameters
    ----------
    path : Path
    """
    if path.suffix == ".zip":
        with zipfile.ZipFile(path) as archive:
            return sum(info.file_size for info in archive.infolist())
    if path.suffix in (".tif", ".tiff"):
        import rasterio

        with rasterio.open(path, driver="GTiff") as raster:
            return raster.width * raster.height * sum(
                np.dtype(kind).itemsize for kind in raster.dtypes)
    if path.suffix == ".nc":
        import xarray as xr

        from workbench.geo.netcdf import netcdf_engine

        with xr.open_dataset(path, engine=netcdf_engine(path), decode_cf=False) as ds:
            return ds.nbytes
    return path.stat().st_size


def _check_start(name: str, suffix: str, content: bytes) -> None:
    starts = _STARTS.get(suffix)
    xml = content.lstrip(b"\xef\xbb\xbf \t\r\n\0").startswith(b"<") and suffix != ".xml"
    require(not xml, f"{name} cannot be read: its content is XML, which its name does not say")
    require(starts is None or content.startswith(starts),
            f"{name} cannot be read: its content is not that of a {suffix} file; export it again")


def _check_geojson(name: str, content: bytes) -> None:
    try:
        found = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{name} cannot be read, it is not valid JSON ({error}); export it again"
                         ) from None
    kind = found.get("type") if isinstance(found, dict) else None
    require(kind == "FeatureCollection" and _PROGRAM not in content,
            f"{name} is not GeoJSON with a FeatureCollection; export it again, as GeoPackage or "
            "GeoJSON")


def _check_zip(path: Path) -> None:
    with zipfile.ZipFile(path) as archive:
        for name in parts_of(path):
            with archive.open(name) as part:
                _check_start(f"{name} in {path.name}", Path(name).suffix.lower(), part.read(512))


def _check_hdf(path: Path) -> None:
    import h5py

    seen = set()

    def look(group: h5py.Group) -> None:
        for name in group:
            link = group.get(name, getlink=True)
            require(not isinstance(link, h5py.ExternalLink), _elsewhere(path, name))
            if not isinstance(link, h5py.HardLink):
                continue
            found = group[name]
            if isinstance(found, h5py.Dataset):
                require(not found.external and not found.is_virtual, _elsewhere(path, name))
            elif isinstance(found, h5py.Group):
                address = h5py.h5o.get_info(found.id).addr
                if address not in seen:
                    seen.add(address)
                    look(found)

    with h5py.File(path, "r") as file:
        look(file)


def _elsewhere(path: Path, name: str) -> str:
    return (f"{path.name} takes {name!r} from another file; write it again with its numbers in it, "
            "e.g. with nccopy")


def check_parts(areas: list[Path], parts: list[Path]) -> None:
    """Refuse a shapefile that lacks its parts, and parts without their shapefile.

    Parameters
    ----------
    areas, parts : list of Path
        Files of areas, and files that belong to a shapefile.
    """
    shape = next((path for path in areas if path.suffix == ".shp"), None)
    for part in parts:
        require(shape is not None and part.stem.lower() == shape.stem.lower(),
                f"{part.name} is part of a shapefile; drop it together with {part.stem}.shp")
    if shape is not None:
        require({".shx", ".dbf"} <= {part.suffix.lower() for part in parts},
                f"{shape.name} lacks its other parts: zip the shapefile with its .dbf, .shx and "
                ".prj, or drop them together")
