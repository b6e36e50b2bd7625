"""Maps as tables: CSV with its metadata beside it, and GeoParquet with units in its schema.

References
----------
W3C 2015, Metadata Vocabulary for Tabular Data (``FILE.csv-metadata.json``); OGC GeoParquet 1.1.
"""

from __future__ import annotations

import io
import json
from pathlib import Path

import numpy as np
import xarray as xr

from workbench import schema
from workbench.checks import ApproximationWarning, choose, package, require, warn
from workbench.geo.layers import (
    MOST_PIXELS,
    PIXELS,
    areas_of,
    cells_of,
    columns_of,
    frame_of,
    labels_of,
    tags,
)
from workbench.outputs import write_bytes

_POINTS = ("x", "y")


def write_csv(ds: xr.Dataset, path: Path, layer: str | None = None) -> None:
    """Write a table of individuals or of areas, with units and provenance in a file beside it.

    Parameters
    ----------
    ds : xr.Dataset
        A bagged dataset, or a map made from one.
    path : Path
        File to write; ``PATH-metadata.json`` says of every column what it is and in which units.
    layer : {"individual", "bag"}, optional
        Rows; default: individuals, if there are numbers of them.

    Raises
    ------
    InputError
        If there are no such rows.
    """
    import pandas as pd

    known = _rows(ds)
    require(bool(known), "there are no numbers of individuals or areas to write as a table")
    dim = known[0] if layer is None else choose("layer", layer, known)
    columns = _columns(ds, dim)
    table = pd.DataFrame(columns)
    write_bytes(path, table.to_csv(index=False))
    about = {
        "@context": "http://www.w3.org/ns/csvw", "url": path.name,
        "tableSchema": {"columns": [
            {"name": name, "titles": name, **_said(ds, name)} for name in columns]},
        "notes": tags(ds),
    }
    write_bytes(metadata_of(path), json.dumps(about, indent=1, ensure_ascii=False) + "\n")


def metadata_of(path: Path) -> Path:
    """Where the metadata of a CSV file are."""
    return path.with_name(f"{path.name}-metadata.json")


def write_parquet(ds: xr.Dataset, path: Path, layer: str | None = None) -> None:
    """Write polygons with a column for every number, as GeoParquet.

    Parameters
    ----------
    ds : xr.Dataset
        A bagged dataset, or a map made from one.
    path : Path
        File to write; units are metadata of its columns, attributes those of its schema.
    layer : {"individual", "pixels", "bag", "points"}, optional
        Rows; default: the first of these that there is. ``points`` are individuals at their
        coordinates.

    Raises
    ------
    InputError
        If nothing says where anything is.

    Warns
    -----
    ApproximationWarning
        If there are so many pixels that their centres are written instead of squares.
    """
    package("pyarrow", extra="geo")
    from pyarrow import parquet

    known = parquet_layers(ds)
    require(bool(known), "nothing says where these individuals are; write .csv or .nc")
    if layer is None and known[0] == "points" and cells_of(ds) is not None:
        warn(f"the .parquet holds the centres of pixels: {cells_of(ds).size:,} are more than "
             f"{MOST_PIXELS:,} polygons", ApproximationWarning)
    chosen = known[0] if layer is None else choose("layer", layer, known)
    frame = _points(ds) if chosen == "points" else frame_of(ds, chosen)
    made = io.BytesIO()
    frame.to_parquet(made, index=False)
    table = parquet.read_table(made)
    for position, field in enumerate(table.schema):
        about = _said(ds, field.name)
        if about:
            own = {"units": about.get("schema:unitText", ""),
                   "long_name": about.get("dc:description", "")}
            table = table.cast(table.schema.set(position, field.with_metadata(own)))
    known = {**(table.schema.metadata or {}), b"workbench": json.dumps(tags(ds)).encode()}
    out = io.BytesIO()
    parquet.write_table(table.replace_schema_metadata(known), out, compression="zstd")
    write_bytes(path, out.getbuffer())


def parquet_layers(ds: xr.Dataset) -> list[str]:
    """Layers that a GeoParquet file of a dataset can hold, the default first."""
    found = ["individual"] if "individual_geometry" in ds.coords else []
    cells = cells_of(ds)
    if cells is not None and cells.size <= MOST_PIXELS:
        found.append(PIXELS)
    if set(_POINTS) <= set(ds.variables) and ds[_POINTS[0]].dims == (schema.INDIVIDUAL,):
        found.append("points")
    return found + (["bag"] if "bag_geometry" in ds.coords else [])


def units_of(ds: xr.Dataset, column: str) -> str:
    """Units of a column, "" where they are not known."""
    return _said(ds, column).get("schema:unitText", "")


def _rows(ds: xr.Dataset) -> list[str]:
    dims = (schema.INDIVIDUAL, schema.BAG)
    return [dim for dim in dims if dim in ds.dims and columns_of(ds, dim)]


def _columns(ds: xr.Dataset, dim: str) -> dict[str, np.ndarray]:
    """Names, places and numbers along a dimension."""
    columns = labels_of(ds, dim)
    if dim in ds.coords:
        columns = {dim: ds[dim].values} | columns
    if dim == schema.INDIVIDUAL:
        columns |= areas_of(ds)
    places = [str(n) for n, c in ds.coords.items()
              if c.dims == (dim,) and c.dtype.kind in "iuf" and n != dim]
    columns |= {name: ds[name].values for name in places}
    found = columns_of(ds, dim)
    found.pop("membership", None)
    return columns | found


def _points(ds: xr.Dataset):
    geopandas = package("geopandas", extra="geo")
    shapely = package("shapely", extra="geo")
    x, y = (ds[name].values for name in _POINTS)
    return geopandas.GeoDataFrame(_columns(ds, schema.INDIVIDUAL), geometry=shapely.points(x, y),
                                  crs=ds.attrs.get("crs") or None)


def _said(ds: xr.Dataset, column: str) -> dict[str, str]:
    """Units and meaning of a column, which is a variable or one entry of it."""
    owners = [str(name) for name in ds.variables
              if column == name or column.startswith(f"{name}_")]
    if not owners:
        return {}
    attrs = ds[max(owners, key=len)].attrs
    pairs = {"schema:unitText": attrs.get("units"), "dc:description": attrs.get("long_name")}
    return {name: str(value) for name, value in pairs.items() if value}
