"""A GeoPackage of a map: the areas with all that is known of them, and the pixels as polygons.

Layers: ``individual``, the individuals' own polygons, if they have any, with the name of the area
of each (``bag``); ``bag``, the areas; and
``pixels``, one square for every pixel of a raster with individuals, if they are few enough. Tables
without geometries, such as scores, come last. The first layer is the one that most programs open.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import xarray as xr

from workbench import schema
from workbench.checks import ApproximationWarning, choose, package, require, warn
from workbench.geo.maps import to_raster, way_of
from workbench.outputs import replacing

PIXELS = "pixels"
MOST_PIXELS = 250_000           # about 150 MB; programs draw more of them too slowly to be of use
_RESERVED = {"fid", "geom", "geometry"}     # names that GeoPackages use themselves


def check_layers(ds: xr.Dataset) -> None:
    """Refuse a dataset without any geometry; say before a fit if its pixels are too many.

    Parameters
    ----------
    ds : xr.Dataset
        What is to be written.

    Raises
    ------
    InputError
        If there is neither a geometry nor a raster small enough.
    """
    cells = cells_of(ds)
    few = cells is not None and cells.size <= MOST_PIXELS
    drawn = any(name in ds.coords for name in schema.GEOMETRY)
    require(few or drawn, "the dataset has no geometries to write; write .tif for a raster, "
                          "anything as .nc")
    if cells is not None and not few:
        warn(f"the .gpkg will hold the areas, not the fine map: {cells.size:,} pixels are "
             f"more than {MOST_PIXELS:,} polygons; write .tif or .nc for the fine map",
             ApproximationWarning)


def write_layers(ds: xr.Dataset, path: Path, layer: str | None = None, areas=None,
                 tables: Mapping[str, object] | None = None) -> None:
    """Write the layers of a dataset as a GeoPackage, whole or not at all.

    Parameters
    ----------
    ds : xr.Dataset
        A bagged dataset, or a map made from one.
    path : Path
        File to write.
    layer : {"individual", "bag", "pixels"}, optional
        The only layer to write; default: all that there are.
    areas : pd.DataFrame, optional
        Columns of the bags' own, indexed by the bags' names; a column of ours that shares a name
        with one of them is called ``map_...``.
    tables : mapping of name to pd.DataFrame, optional
        Tables without geometries.

    Raises
    ------
    InputError
        If there is no geometry, or no such layer.
    OSError
        If the file does not read back.
    """
    pyogrio = package("pyogrio", extra="geo")
    available = [f"{name}" for name in ("individual", "bag") if f"{name}_geometry" in ds.coords]
    cells = cells_of(ds)
    if cells is not None and cells.size <= MOST_PIXELS:
        available.append(PIXELS)
    require(bool(available), "the dataset has no geometries to write; write a raster's map as "
                             ".tif, anything as .nc")
    chosen = available if layer is None else [choose("layer", layer, available)]
    with replacing(path) as half:
        counts = {}
        for name in chosen:
            frame = frame_of(ds, name, areas)
            frame.to_file(half, layer=name, engine="pyogrio", driver="GPKG",
                          mode="a" if counts else "w", layer_metadata=tags(ds))
            counts[name] = len(frame)
        for name, table in (tables or {}).items():
            pyogrio.write_dataframe(table, half, layer=name, driver="GPKG", append=True)
            counts[name] = len(table)
        _read_back(half, counts)


def frame_of(ds: xr.Dataset, layer: str, areas=None):
    """One layer as a GeoDataFrame.

    Parameters
    ----------
    ds : xr.Dataset
        A bagged dataset, or a map made from one.
    layer : {"individual", "bag", "pixels"}
        Which.
    areas : pd.DataFrame, optional
        Further columns of the bags, see `write_layers`.
    """
    if layer == "bag":
        return _bags(ds, areas)
    return _individuals(ds) if layer == "individual" else _pixels(ds)


def columns_of(ds: xr.Dataset, dim: str) -> dict[str, np.ndarray]:
    """Every number along ``dim``, a column for each entry of the other dimensions.

    Parameters
    ----------
    ds : xr.Dataset
        Any dataset.
    dim : str
        Dimension of the rows.

    Returns
    -------
    dict of str to array (row,)
        Columns by name.
    """
    columns: dict[str, np.ndarray] = {}
    for name, variable in ds.data_vars.items():
        if dim not in variable.dims or variable.dtype.kind not in "iufb" or (
                "sample" in variable.dims):      # joint draws mean nothing column by column
            continue
        others = [d for d in variable.dims if d != dim]
        labels = [ds[d].values if d in ds.coords else np.arange(ds.sizes[d]) for d in others]
        for place in np.ndindex(*(ds.sizes[d] for d in others)):
            texts = [_text(known[i]) for known, i in zip(labels, place, strict=True)]
            column = "_".join(texts if name == "covariates" else [str(name), *texts])
            columns[column] = variable.isel(dict(zip(others, place, strict=True))).values
    return columns


def tags(ds: xr.Dataset) -> dict[str, str]:
    """Attributes as text, so that every format carries the provenance."""
    return {str(name): str(value) for name, value in ds.attrs.items()}


def _text(label: object) -> str:
    return f"{label:g}" if isinstance(label, float | np.floating) else str(label)


def labels_of(ds: xr.Dataset, dim: str) -> dict[str, np.ndarray]:
    """Texts along a dimension, by the name of their coordinate."""
    return {str(n): c.values for n, c in ds.coords.items()
            if c.dims == (dim,) and c.dtype.kind in "UTOS" and n not in schema.GEOMETRY}


def areas_of(ds: xr.Dataset) -> dict[str, np.ndarray]:
    """The name of each individual's area, as a column; none where areas are not known."""
    if "membership" not in ds or schema.BAG not in ds.coords:
        return {}
    return {schema.BAG: ds[schema.BAG].values[ds["membership"].values]}


def _frame(ds: xr.Dataset, columns: dict, geometry):
    geopandas = package("geopandas", extra="geo")
    return geopandas.GeoDataFrame(columns, geometry=geometry, crs=ds.attrs.get("crs") or None)


def _individuals(ds: xr.Dataset):
    columns = labels_of(ds, schema.INDIVIDUAL) | areas_of(ds) | columns_of(ds, schema.INDIVIDUAL)
    if schema.BAG in columns:
        columns.pop("membership", None)
    return _frame(ds, columns, ds["individual_geometry"].values)


def _bags(ds: xr.Dataset, areas):
    ours = labels_of(ds, schema.BAG) | columns_of(ds, schema.BAG)
    if areas is None:
        return _frame(ds, ours, ds["bag_geometry"].values)
    theirs = areas.reindex(ds[schema.BAG].values.astype(str))
    columns = {}
    for name, column in theirs.items():     # pairs: a name may be that of several columns
        own = str(name)
        while own.lower() in _RESERVED | {taken.lower() for taken in columns}:
            own = f"{own}_own"
        plain = column.dtype != object or column.dropna().map(lambda v: isinstance(v, str)).all()
        # Lists and the like, as GeoJSON has them, go as text.
        columns[own] = (column if plain else column.map(str, na_action="ignore")).to_numpy()
    for name, values in ours.items():
        free = name
        while free.lower() in _RESERVED | {taken.lower() for taken in columns}:
            free = f"map_{free}"        # an earlier map's columns may be there, too
        columns[free] = values
    return _frame(ds, columns, ds["bag_geometry"].values)


def cells_of(ds: xr.Dataset) -> np.ndarray | None:
    """Positions of the grid's pixels that hold individuals; None if these are no pixels."""
    known = "row" in ds.coords and "column" in ds.coords and "grid_transform" in ds.attrs
    if not known or "individual_geometry" in ds.coords:
        return None
    columns = int(ds.attrs["grid_shape"][1])
    return np.unique(ds["row"].values * columns + ds["column"].values)


def _pixels(ds: xr.Dataset):
    shapely = package("shapely", extra="geo")
    cells = cells_of(ds)
    row, column = np.divmod(cells, int(ds.attrs["grid_shape"][1]))
    found = columns_of(ds, schema.INDIVIDUAL)
    found.pop("membership", None)
    columns = {name: to_raster(ds, values, way_of(name)).values.ravel()[cells]
               for name, values in found.items()}
    a, b, c, d, e, f = (float(v) for v in ds.attrs["grid_transform"])
    right = column[:, None] + np.array([0, 1, 1, 0, 0])
    down = row[:, None] + np.array([0, 0, 1, 1, 0])
    rings = np.stack([a * right + b * down + c, d * right + e * down + f], axis=-1)
    return _frame(ds, {"row": row, "column": column} | columns, shapely.polygons(rings))


def _read_back(path: Path, counts: dict[str, int]) -> None:
    """Raise unless the file is a sound database with all rows of all layers."""
    with contextlib.closing(sqlite3.connect(path)) as database:
        sound = database.execute("PRAGMA quick_check").fetchone()[0]
        found = {name: database.execute(f'SELECT count(*) FROM "{name}"').fetchone()[0]
                 for name in counts}
    if sound != "ok" or found != counts:
        raise OSError(f"what was written does not read back: {sound}, rows {found} of {counts}")
