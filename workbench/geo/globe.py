"""Shapes on a globe: edges over the antimeridian, longitudes of another turn, and the poles."""

from __future__ import annotations

from functools import partial

import numpy as np
import xarray as xr

from workbench.bagging.findings import WARNING, refuse
from workbench.geo.grids import called
from workbench.geo.treatments import Record

TURN, _HALF, _ROUNDING = 360.0, 180.0, 1e-6         # degrees
# What writes longitudes anew, of NetCDF in Python: gdalwarp tears rasters that it does not know.
TO_180 = "ds.assign_coords(lon=(ds.lon + 180) % 360 - 180).sortby('lon')"
TO_360 = "ds.assign_coords(lon=ds.lon % 360).sortby('lon')"
_RASTER = f"{TO_180} or gdalwarp -t_srs EPSG:4326 --config CENTER_LONG 0"
_LONGEST = 1.0          # degree: edges are straight on a map, so long ones are cut before another


def check_turns(areas, grid: xr.DataArray, record: Record) -> None:
    """Refuse areas that the raster has at other longitudes, and report edges across a whole map.

    Parameters
    ----------
    areas : geopandas.GeoDataFrame
        In the CRS of the grid.
    grid : xr.DataArray
        The weight raster.
    record : Record
        Receives the report.

    Raises
    ------
    InputError
        If longitudes of some areas lie outside the raster's, but inside them one turn further.
    """
    if not areas.crs.is_geographic:
        return
    left, _, right, _ = grid.rio.bounds()
    slack = 0.01 * abs(float(grid.rio.resolution()[0]))         # rounding
    west, east = areas.geometry.bounds[["minx", "maxx"]].to_numpy().T
    turned = (((west < left - slack) & (west + TURN < right - slack))
              | ((east > right + slack) & (east - TURN > left + slack)))
    if turned.any():
        names = areas.index[turned]
        refuse(f"{len(names)} areas (first: {names[:3].tolist()}) reach beyond the longitudes of "
               f"{called(grid)[0]}, {left:.6g} to {right:.6g}, which has these places one turn "
               "further",
               "write both from -180 to 180, with 360 taken off longitudes above 180: rasters by "
               f"{_RASTER}, areas, cut at 180, by ogr2ogr -wrapdateline; of cells of a raster that "
               "lie across the border leave out that row of longitudes, such as by "
               "raster.isel(lon=slice(1, None))",
               code="another-turn", where=names, count=len(names))
    note_wide(areas, "areas", "are taken to reach around it",
              "they take pixels of all longitudes between", record)


def to_180(longitudes: np.ndarray) -> np.ndarray:
    """Longitudes from -180 to 180."""
    return (longitudes + _HALF) % TURN - _HALF


def a_turn_apart(areas, grid: xr.DataArray) -> str:
    """What to do where areas meet a raster only after a turn of 360 degrees; empty if never.

    Parameters
    ----------
    areas : geopandas.GeoDataFrame
        In the CRS of the grid, none of which touches it.
    grid : xr.DataArray
        A raster.

    Returns
    -------
    str
    """
    if not areas.crs.is_geographic:
        return ""
    left, bottom, right, top = grid.rio.bounds()
    west, south, east, north = areas.geometry.bounds.to_numpy().T
    across = (south < top) & (north > bottom)
    if (across & (west - TURN < right) & (east - TURN > left)).any():
        return ("The polygons' longitudes run from 0 to 360, the raster's from -180 to 180: take "
                "360 off those above 180, such as areas.assign(geometry=areas.translate(-360)), or "
                "of cells of a raster "
                f"{TO_180}")
    if (across & (west + TURN < right) & (east + TURN > left)).any():
        return ("The raster's longitudes run from 0 to 360, the polygons' from -180 to 180: take "
                f"360 off the raster's above 180, by {_RASTER}")
    return ""


def rasters_a_turn_apart(layer: xr.DataArray, grid: xr.DataArray) -> str:
    """What to do where two rasters meet only after a turn of 360 degrees; empty if never.

    Parameters
    ----------
    layer, grid : xr.DataArray
        Of one CRS, a covariate and the weight, which do not meet.

    Returns
    -------
    str
    """
    if not grid.rio.crs.is_geographic:
        return ""
    (west, south, east, north), (left, low, right, top) = layer.rio.bounds(), grid.rio.bounds()
    across = south < top and north > low
    if across and west - TURN < right and east - TURN > left:
        return ("its longitudes run from 0 to 360, the weight's from -180 to 180: take 360 off "
                f"those above 180, by {_RASTER}")
    if across and west + TURN < right and east + TURN > left:
        return ("the weight's longitudes run from 0 to 360, its own from -180 to 180: take 360 off "
                f"the weight's above 180, by {_RASTER}")
    return ""


def note_wide(areas, what: str, told: str, effect: str, record: Record) -> None:
    """Report edges across a whole map, which mostly are of shapes over the antimeridian.

    Parameters
    ----------
    areas : geopandas.GeoDataFrame
        With a CRS.
    what, told, effect : str
        What they are, what is done with them, and what comes of it.
    record : Record
        Receives the report.
    """
    if not areas.crs.is_geographic:
        return
    wide = np.array([_crosses(shape) for shape in areas.geometry])
    if wide.any():
        names = areas.index[wide]
        record.note(
            f"look at this: {len(names)} {what} (first: {names[:3].tolist()}) with an edge over "
            f"more than half the globe {told}. If they lie on both sides of 180 degrees, cut them "
            "there with ogr2ogr -wrapdateline",
            severity=WARNING, code="antimeridian", where=names, count=len(names), effect=effect)


def centroids(areas) -> tuple[np.ndarray, np.ndarray]:
    """Centroids x and y (area,), of shapes on both sides of the antimeridian where they lie.

    Longitudes of one side are turned once around the globe where the shape is then less than half
    a turn wide, so that no edge is torn. Those of a cap around a pole are not.

    Parameters
    ----------
    areas : geopandas.GeoDataFrame
        With a CRS.

    Returns
    -------
    x, y : array (area,)
        In the CRS of the areas, longitudes up to 180 or up to 360 as those of the areas are.
    """
    import shapely

    shapes = areas.geometry.to_numpy().copy()
    if not areas.crs.is_geographic:
        x, y = shapely.get_coordinates(shapely.centroid(shapes)).T
        return x, y
    west, _, east, _ = areas.geometry.bounds.to_numpy().T
    for row in np.flatnonzero(east - west > _HALF):
        turned = shapely.transform(shapes[row], partial(_turned, (west[row] + east[row]) / 2))
        if turned.bounds[2] - turned.bounds[0] < _HALF and not _around(_steps(shapes[row])).any():
            shapes[row] = turned
    x, y = shapely.get_coordinates(shapely.centroid(shapes)).T
    last = TURN if east.max() > _HALF + _ROUNDING else _HALF
    return np.where(x > last, x - TURN, x), y


def _turned(middle: float, corners: np.ndarray) -> np.ndarray:
    """Corners (corner, 2) of which those west of the middle are one turn further east."""
    return corners + np.column_stack([TURN * (corners[:, 0] < middle), np.zeros(len(corners))])


def projected(areas, crs: object):
    """Areas in another CRS; long edges in degrees are cut first, as they become curves.

    Parameters
    ----------
    areas : geopandas.GeoDataFrame
        With a CRS.
    crs : object
        The other.

    Returns
    -------
    geopandas.GeoDataFrame
        Valid, also around a pole.
    """
    import shapely

    if not areas.crs.is_geographic:
        return areas.to_crs(crs)
    west, south, east, north = areas.geometry.bounds.to_numpy().T
    long = np.maximum(east - west, north - south) > _LONGEST
    if not long.any():
        return areas.to_crs(crs)
    shapes = areas.geometry.values.copy()
    shapes[long] = shapely.segmentize(np.asarray(shapes[long]), _LONGEST)
    moved = areas.set_geometry(shapes, crs=areas.crs).to_crs(crs)
    return moved.set_geometry(moved.geometry.make_valid())


def _crosses(shape) -> bool:
    """Whether two corners that follow each other lie more than half a turn apart, less a whole."""
    if shape.bounds[2] - shape.bounds[0] <= _HALF:
        return False
    steps = _steps(shape)
    return bool(((steps > _HALF) & ~_around(steps)).any())


def _steps(shape) -> np.ndarray:
    """By how many degrees of longitude corners that follow each other differ."""
    import shapely

    at, ring = shapely.get_coordinates(shapely.get_rings(shape), return_index=True)
    return np.abs(np.diff(at[:, 0]))[np.diff(ring) == 0]


def _around(steps: np.ndarray) -> np.ndarray:
    """Which of them are a whole turn, as of a cap of all longitudes."""
    return steps >= TURN - 1e-9
