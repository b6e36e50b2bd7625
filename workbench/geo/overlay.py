"""Which share of each individual lies inside each of some new polygons."""

from __future__ import annotations

import numpy as np
import xarray as xr
from scipy.sparse import csr_array

from workbench.checks import option, package, require
from workbench.geo.areas import read_polygons
from workbench.geo.attributes import require_column, texts
from workbench.geo.coverage import ROUNDING, coverage_fractions
from workbench.geo.maps import to_raster
from workbench.geo.treatments import Record
from workbench.geo.zero_weight import gaps

_COLLECTION = 7     # shapely's type id of geometries of several kinds


def zones_of(ds: xr.Dataset, polygons: object, id: str | None = None, crs: str | None = None,
             layer: str | None = None):
    """Polygons in the CRS of a dataset, indexed by name.

    Parameters
    ----------
    ds : xr.Dataset
        Bagged dataset or map, with its CRS.
    polygons : geopandas.GeoDataFrame, str or Path
        The new areas.
    id : str, optional
        Column with their names; the index if not given.
    crs, layer : str, optional
        CRS of polygons that state none; layer of a file that has several.

    Returns
    -------
    geopandas.GeoDataFrame

    Raises
    ------
    InputError
        If the polygons cannot be read, names repeat, or the dataset has no CRS.
    """
    zones = read_polygons(polygons, Record(), crs=crs, layer=layer)
    require(bool(ds.attrs.get("crs")), "the map has no CRS, so that polygons cannot be laid over "
            "it; make it from polygons or rasters that have one")
    if id is not None:
        require_column(zones, id, "id")
        zones = zones.set_index(texts(zones[id], f"id in column {id!r}", zones.index))
    require(zones.index.nlevels == 1, f"the zones have an index of {zones.index.nlevels} levels; "
            f"name a column by {option('id', 'COLUMN')} after reset_index()")
    zones.index = zones.index.map(str)
    twice = zones.index[zones.index.duplicated()].unique().tolist()
    require(not twice, f"polygons must have different names, but these repeat: {twice[:5]}; give "
            "another id, or dissolve them first")
    return zones.to_crs(ds.attrs["crs"])


def shares_in(ds: xr.Dataset, zones) -> tuple[csr_array, np.ndarray]:
    """Share of each individual inside each zone, and how much of each zone individuals cover.

    A pixel that a border of areas cuts is an individual in each area: zones are cut by the areas
    first, so that a share is of the individual's own part of the pixel. Without outlines of areas
    the parts of a pixel are taken to be mixed evenly.

    Parameters
    ----------
    ds : xr.Dataset
        Bagged dataset or map, of pixels or of individuals with polygons.
    zones : geopandas.GeoDataFrame
        In the CRS of the dataset.

    Returns
    -------
    shares : scipy.sparse.csr_array (zones, individuals)
        From 0 to 1.
    covered : array (zones,)
        Share of each zone's area. Pixels of zero weight inside areas, which are no individuals, are
        covered, too, if the dataset's record tells them from pixels of unknown weight or
        covariates; where there are both, it is the least that can be covered.

    Raises
    ------
    InputError
        If individuals are neither pixels nor polygons.
    """
    if "individual_geometry" in ds.coords:
        return _of_polygons(ds, zones)
    require({"row", "column"} <= set(ds.coords) and "grid_transform" in ds.attrs,
            "these individuals are neither pixels nor polygons, so that new polygons cannot be "
            "laid over them; fit.sample(ds, by=labels) adds up draws by a label of each")
    require(float(ds.attrs["grid_transform"][4]) < 0, "the rows of the map's grid run northwards; "
            "new polygons need a grid whose first row is the northernmost")
    return _of_pixels(ds, zones)


def _of_pixels(ds: xr.Dataset, zones) -> tuple[csr_array, np.ndarray]:
    import pandas as pd

    grid = to_raster(ds, ds["weight"], "sum")
    bagged = "bag_geometry" in ds.coords and "membership" in ds
    zone, bag, pieces = _cut(zones.geometry.to_numpy(), ds["bag_geometry"].values) if bagged else (
        np.arange(len(zones)), np.zeros(len(zones), dtype=int), zones.geometry.to_numpy())
    require(len(pieces) > 0, "the polygons lie outside of all areas of the map; check their CRS")
    frame = package("geopandas", extra="geo").GeoDataFrame(geometry=pieces, crs=zones.crs)
    piece, cell, inside = coverage_fractions(frame, grid)
    members = ds["membership"].values if bagged else np.zeros(ds.sizes["individual"], dtype=int)
    own = ds["row"].values * grid.shape[1] + ds["column"].values
    part = ds["coverage"].values if "coverage" in ds.coords else np.ones(own.size)
    people = pd.DataFrame({"bag": members, "cell": own, "individual": np.arange(own.size),
                           "part": part})
    people["part"] = people.groupby(["bag", "cell"])["part"].transform("sum")
    found = pd.DataFrame({"zone": zone[piece], "bag": bag[piece], "cell": cell,
                          "inside": inside}).merge(people, on=["bag", "cell"])
    size = abs(float(ds.attrs["grid_transform"][0]) * float(ds.attrs["grid_transform"][4]))
    once = found.drop_duplicates(["zone", "bag", "cell"])
    # In the plane of the CRS, as pixels are, also where that is degrees: it is a share.
    whole = package("shapely", extra="geo").area(zones.geometry.to_numpy())
    covered = size * np.bincount(once["zone"], once["inside"], len(zones)) / whole
    outlined = size * np.bincount(zone[piece], inside, len(zones)) / whole
    if bagged and (outlined - covered > ROUNDING).any():
        covered = np.maximum(covered, outlined - size * gaps(ds, grid, float(part.sum())) / whole)
    shares = (found["inside"] / found["part"]).clip(upper=1)    # single precision, and even mixing
    return csr_array((shares, (found["zone"], found["individual"])),
                     shape=(len(zones), own.size)), covered


def _of_polygons(ds: xr.Dataset, zones) -> tuple[csr_array, np.ndarray]:
    shapely = package("shapely", extra="geo")
    shapes, outlines = ds["individual_geometry"].values, zones.geometry.to_numpy()
    zone, own, pieces = _cut(outlines, shapes)
    require(len(pieces) > 0, "the polygons lie outside of all individuals of the map; check their "
            "CRS")
    area = shapely.area(pieces)
    covered = np.bincount(zone, area, len(outlines)) / shapely.area(outlines)
    return csr_array((area / shapely.area(shapes)[own], (zone, own)),
                     shape=(len(outlines), len(shapes))), covered


def _cut(zones: np.ndarray, areas: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Positions of zone and area of each non-empty intersection, and the intersections."""
    shapely = package("shapely", extra="geo")
    tree = shapely.STRtree(areas)
    zone, area = tree.query(zones, predicate="intersects")
    pieces = shapely.intersection(zones[zone], areas[area])
    for mixed in np.flatnonzero(shapely.get_type_id(pieces) == _COLLECTION):
        parts = shapely.get_parts(pieces[mixed])        # borders that touch leave lines and points
        pieces[mixed] = shapely.union_all(parts[shapely.get_dimensions(parts) == 2])
    some = shapely.area(pieces) > 0
    return zone[some], area[some], pieces[some]
