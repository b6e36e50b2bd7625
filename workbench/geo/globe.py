"""Shapes on a globe: edges over the antimeridian, longitudes of another turn, and the poles."""

from __future__ import annotations

import numpy as np
import xarray as xr

from workbench.bagging.findings import WARNING, refuse
from workbench.geo.treatments import Record

_TURN = 360.0           # degrees
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
    turned = (((west < left - slack) & (west + _TURN < right - slack))
              | ((east > right + slack) & (east - _TURN > left + slack)))
    if turned.any():
        names = areas.index[turned]
        refuse(f"{len(names)} areas (first: {names[:3].tolist()}) reach beyond the longitudes of "
               f"the weight raster, {left:.6g} to {right:.6g}, which has these places one turn "
               "further",
               "write both from -180 to 180 with areas cut at 180: gdalwarp -t_srs EPSG:4326 "
               "--config CENTER_LONG 0, ogr2ogr -wrapdateline", code="another-turn",
               where=names, count=len(names))
    wide = np.array([_crosses(shape) for shape in areas.geometry])
    if wide.any():
        names = areas.index[wide]
        record.note(
            f"look at this: {len(names)} areas (first: {names[:3].tolist()}) with an edge over "
            "more than half the globe are taken to reach around it. If they lie on both sides of "
            "180 degrees, cut them there with ogr2ogr -wrapdateline",
            severity=WARNING, code="antimeridian", where=names, count=len(names),
            effect="they take pixels of all longitudes between")


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
    import shapely

    if shape.bounds[2] - shape.bounds[0] <= _TURN / 2:
        return False
    at, ring = shapely.get_coordinates(shapely.get_rings(shape), return_index=True)
    step = np.abs(np.diff(at[:, 0]))[np.diff(ring) == 0]
    return bool(((step > _TURN / 2) & (step < _TURN - 1e-9)).any())
