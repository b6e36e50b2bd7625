"""Tables of points: CSV and Parquet with coordinates in columns, or files of point features."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pandas as pd

from workbench.bagging.tables import read_table
from workbench.checks import choose, option, package, reading, reject, require
from workbench.geo.attributes import texts
from workbench.geo.csv_grids import DEGREES, axis_column
from workbench.geo.treatments import Record
from workbench.geo.wording import amount

_LONLAT = "EPSG:4326"
_FEATURES = (".gpkg", ".shp", ".geojson", ".json", ".gdb", ".fgb", ".zip", ".kml")
_X, _Y = "x of the point", "y of the point"


def points_table(points: object, x: str | None, y: str | None, crs: str | None,
                 encoding: str | None, layer: str | None, text: Iterable[str] = ()
                 ) -> tuple[pd.DataFrame, str, str, str | None, str]:
    """A table with a row for each point, and where its coordinates are.

    Parameters
    ----------
    points : pandas.DataFrame, geopandas.GeoDataFrame, str or Path
        As of `workbench.bag_points`.
    x, y : str, optional
        Columns of the coordinates, of a table without geometries.
    crs : str, optional
        CRS that was given.
    encoding : str, optional
        Of a CSV file.
    layer : str, optional
        Layer of a file of features that has several.
    text : iterable of str
        Columns of a CSV file that are read as text, as ids with leading zeros are.

    Returns
    -------
    pd.DataFrame
        Rows numbered from zero.
    x, y : str
        Columns of the coordinates.
    crs : str or None
        As given, else as the file or the names of the columns say.
    name : str
        For messages.

    Raises
    ------
    InputError
        If there are no coordinates, or features are no points.
    """
    name = Path(points).name if isinstance(points, str | Path) else "the table of points"
    path = Path(points) if isinstance(points, str | Path) else None
    if path is not None and path.suffix.lower() in _FEATURES:
        points = _features(path, layer)
    elif layer is not None:
        raise reject("a layer of a file of features", f"{option('layer', layer)} with {name}",
                     "leave it out")
    if hasattr(points, "geometry") and hasattr(points, "crs"):
        return _of_features(points, x, y, crs, name)
    frame = read_table(points, text=text, encoding=encoding)
    x, y = (given or axis_column(frame, axis, name) for axis, given in (("x", x), ("y", y)))
    return frame, x, y, crs or (_LONLAT if {x.lower(), y.lower()} <= set(DEGREES) else None), name


def names_of(frame: pd.DataFrame, id: str | None, axes: list[str], name: str, record: Record
             ) -> np.ndarray:
    """Names of the points of a table: by a column, or the numbers of their rows.

    Parameters
    ----------
    frame : pd.DataFrame
        Rows numbered from zero.
    id : str, optional
        The column.
    axes : list of str
        Columns of the coordinates.
    name : str
        For messages.
    record : Record
        Receives how many places have several rows.

    Returns
    -------
    array of str

    Raises
    ------
    InputError
        If names repeat, as those of sites that were visited several times do.
    """
    if again := int(frame.duplicated(axes).sum()):
        record.note(f"{again} rows of {name} are at a place that another row has, too: each is a "
                    "point of its own")
    if id is None:
        return frame.index.to_numpy(dtype=str)
    names = texts(frame[id], f"id in column {id!r}", frame.index)
    twice = pd.unique(names[pd.Series(names).duplicated()])
    several = amount(twice.size, "id", "has", f"in column {id!r} of {name}")
    require(twice.size == 0, f"{several} several rows (first: {twice[:3].tolist()}), as sites "
            "that were visited several times do. A map of points is of one time: keep one visit of "
            f"each, add its visits up, or leave out {option('id')}, and each row is a point of "
            "its own")
    return names


def _features(path: Path, layer: str | None):
    require(path.exists(), f"there is no file of points {str(path)!r}; check the name and the "
                           "folder you run from")
    pyogrio, geopandas = package("pyogrio", extra="geo"), package("geopandas", extra="geo")
    with reading(path, "points", "to open it in QGIS and export it again as GeoPackage"):
        layers = {str(name): kind for name, kind in pyogrio.list_layers(path)}
    of_points = [one for one, kind in layers.items() if kind is None or "Point" in kind]
    if layer is not None:
        choose("layer", layer, layers)
    require(layer is not None or len(of_points) < 2, f"{path.name} has {len(of_points)} layers of "
            f"points: {', '.join(of_points)}; pass {option('layer', *of_points[:1])}, or another")
    with reading(path, "points", "to open it in QGIS and export it again as GeoPackage"):
        return geopandas.read_file(path, layer=layer or next(iter(of_points or layers)))


def _of_features(points, x: str | None, y: str | None, crs: str | None, name: str):
    require(x is None and y is None, f"the points of {name} have coordinates of their own; leave "
            f"out {option('x')} and {option('y')}")
    shapely, crs_of = package("shapely", extra="geo"), package("pyproj", extra="geo").CRS
    single = points.geometry.geom_type == "MultiPoint"
    if single.any() and (shapely.get_num_geometries(points.geometry[single]) == 1).all():
        points = points.explode(ignore_index=True)      # of one point each, as some programs write
    kinds = sorted(set(points.geometry.geom_type.dropna()))
    require("MultiPoint" not in kinds, f"{name} holds several points in one row; split them into "
            "single points (in QGIS: Multipart to singleparts)")
    require(kinds == ["Point"], f"{name} holds {', '.join(kinds) or 'no shapes'}, not points; "
            f"areas go into {option('polygons')}")
    empty = points.geometry.isna() | points.geometry.is_empty
    require(not empty.any(), f"{int(empty.sum())} points of {name} have no coordinates (first: row "
            f"{np.flatnonzero(empty)[:1].tolist()}); remove them")
    frame = pd.DataFrame(points.drop(columns=points.geometry.name)).reset_index(drop=True)
    frame = frame.assign(**{_X: points.geometry.x.to_numpy(), _Y: points.geometry.y.to_numpy()})
    own = None if points.crs is None else points.crs.to_string()
    require(not (own and crs) or points.crs.equals(crs_of.from_user_input(crs)), f"{name} says its "
            f"points are in {own}, and {option('points_crs', str(crs))} says otherwise; leave "
            "one of them out")
    return frame, _X, _Y, own or crs, name
