"""Open files of polygons: which layer, and what is wrong with a file that gives none."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from workbench.checks import InputError, choose, option, package, reading, require, unreadable
from workbench.geo.shapes import instead_of
from workbench.geo.treatments import Record

_POLYGONAL = ("Polygon", "Surface", "Unknown", "Geometry")


def open_polygons(path: str | Path, record: Record, layer: str | None = None):
    """Read the layer of polygons in a file, or in a directory such as a FileGDB.

    Parameters
    ----------
    path : str or Path
        Shapefile (zipped or not), GeoPackage, GeoJSON, FileGDB: whatever GDAL reads.
    record : Record
        Receives the layer taken, where there are several.
    layer : str, optional
        Which layer; the only one with polygons if not given.

    Returns
    -------
    geopandas.GeoDataFrame
        The rows of the layer.

    Raises
    ------
    InputError
        If there is no such file or it cannot be read, if it has no layer of polygons or several
        and none was named.
    """
    path = Path(path)
    require(path.exists(), f"there is no polygon file {str(path)!r}; check the name and the "
                           "folder you run from")
    pyogrio = package("pyogrio", extra="geo")
    geopandas = package("geopandas", extra="geo")
    remedy = _remedy(path)
    with reading(path, "polygons", remedy):
        layers = {str(name): kind for name, kind in pyogrio.list_layers(path)}
    if path.suffix.lower() == ".shp" and _lacks(path, ".dbf"):
        raise unreadable(path, "polygons", "its columns are missing", remedy)
    if not layers:
        raise unreadable(path, "polygons", "it has no layers", remedy)
    chosen = _choose(path, layers, layer)
    if layer is None and len(layers) > 1:
        record.note(f"layer {chosen!r} of {path.name} was taken, the only one with polygons of "
                    f"{len(layers)} ({_listed(layers)})")
    with reading(path, "polygons", remedy):
        if path.suffix.lower() == ".gpkg" and path.is_file():
            found = path.stat()
            areas = _read_once(path.resolve(), chosen, found.st_mtime_ns, found.st_ino,
                               found.st_size).copy()
        else:
            areas = geopandas.read_file(path, layer=chosen)
    if not isinstance(areas, geopandas.GeoDataFrame):
        raise unreadable(path, "polygons", "its rows have no shapes", remedy)
    return areas


@lru_cache(maxsize=1)
def _read_once(path: Path, layer: str, *version: int):
    """The last file read: it is asked for its outlines, and once more for its own columns."""
    return package("geopandas", extra="geo").read_file(path, layer=layer)


def _choose(path: Path, layers: dict[str, str | None], layer: str | None) -> str:
    if layer is not None:
        chosen = choose("layer", layer, layers)
        if layers[chosen] is None:
            raise unreadable(path, "polygons", f"layer {chosen!r} is a table without shapes",
                             f"another layer: {_listed(layers)}")
        return chosen
    polygonal = [n for n, kind in layers.items() if kind and any(p in kind for p in _POLYGONAL)]
    if not polygonal:
        other = instead_of(kind or "" for kind in layers.values())
        raise unreadable(path, "polygons", f"it holds no polygons ({_listed(layers)})",
                         f"to {other}" if other else _remedy(path))
    if len(polygonal) > 1:
        raise InputError(
            f"{str(path)!r} has {len(polygonal)} layers of polygons: {', '.join(polygonal)}; pass "
            f"{option('layer', polygonal[0])}, or another of them"
        )
    return polygonal[0]


def _listed(layers: dict[str, str | None]) -> str:
    return ", ".join(f"{name}: {kind or 'table without shapes'}" for name, kind in layers.items())


def _remedy(path: Path) -> str:
    suffix = path.suffix.lower()
    if path.is_dir():
        return "naming a file inside this directory"
    if suffix in (".csv", ".txt", ".tsv", ".xlsx", ".parquet"):
        return ("a file of polygons (.shp, .gpkg, .geojson): join the columns of this table to "
                "one by their id, e.g. with geopandas.GeoDataFrame.merge")
    if suffix == ".shp":
        missing = [s for s in (".shx", ".dbf") if _lacks(path, s)]
        lacks = f" (not there: {', '.join(path.stem + s for s in missing)})" if missing else ""
        return ("to copy the shapefile again with all its parts, .shp, .shx, .dbf and .prj, in "
                f"one folder{lacks}")
    return "to open it in QGIS or with ogrinfo, and export it again as GeoPackage"


def _lacks(path: Path, suffix: str) -> bool:
    """Whether a part of a shapefile is not there, in small or large letters."""
    return not any(path.with_suffix(s).exists() for s in (suffix, suffix.upper()))
