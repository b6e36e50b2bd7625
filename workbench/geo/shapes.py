"""Outlines fit for bagging: finite, where their CRS says, valid, polygons only, each once."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from workbench.bagging.findings import refuse
from workbench.checks import InputError, option, package, require
from workbench.geo.treatments import Record

_FURTHEST = (361.0, 90.5)       # degrees: longitudes run to 180 or to 360; a margin for rounding
_TURN, _TURNED = 360.0, 720.0   # degrees: how far longitudes of one turn too many reach
POLYGONS = "the polygons"
_PLANE = 'LOCAL_CS["local",UNIT["metre",1]]'
CORRECT_CRS = ("correct it in the file (QGIS: Assign Projection; geopandas: set_crs('EPSG:...', "
               "allow_override=True); rasters: gdal_edit -a_srs EPSG:...)")


def usable_crs(crs: object, argument: str) -> object:
    """Return a CRS given by the user, if there is such a one.

    Parameters
    ----------
    crs : str
        Whatever pyproj understands.
    argument : str
        Name of the argument it came by.

    Returns
    -------
    object
        The CRS as given.

    Raises
    ------
    InputError
        If pyproj does not know it.
    """
    pyproj = package("pyproj", extra="geo")
    try:
        pyproj.CRS.from_user_input(crs)
    except pyproj.exceptions.CRSError as error:
        raise InputError(
            f"{option(argument, crs)} is not a known coordinate reference system; write it "
            f"as {option(argument, 'EPSG:4326')} (longitude and latitude) or another EPSG code"
        ) from error
    return crs


def without_crs(what: str, argument: str, where: str, bounds: np.ndarray, other: object) -> object:
    """Refuse input that states no CRS; a check goes on with the likeliest one.

    Parameters
    ----------
    what : str
        Whose it is missing, for the message.
    argument : str
        Name of the argument that states it.
    where : str
        The input's name.
    bounds : np.ndarray
        Least x, least y, greatest x, greatest y.
    other : object
        CRS of other input; None if not known.

    Returns
    -------
    object
        That of degrees where these can be, else the other one.

    Raises
    ------
    InputError
        Always, outside a check; in one if nothing is likely.
    """
    told, fix = f"{what} no CRS", (
        f"state it with {option(argument, 'EPSG:...')}, or, where coordinates are metres on a "
        f"plane that has no place on Earth, with {option(argument, _PLANE)}")
    refuse(told, fix, code="crs-missing", where=[where])
    if (np.abs(np.asarray(bounds)) <= np.tile(_FURTHEST, 2)).all():
        return "EPSG:4326"
    require(other is not None, f"{told}; {fix}")
    return other


def coordinate_units(crs: object) -> str:
    """Units of a CRS's coordinates as the schema writes them: "degree", "m" or "km".

    Parameters
    ----------
    crs : object
        Anything that pyproj understands.

    Returns
    -------
    str
        The unit's own name where it is another one.
    """
    pyproj = package("pyproj", extra="geo")
    unit = pyproj.CRS.from_user_input(crs).axis_info[0].unit_name
    return {"metre": "m", "meter": "m", "kilometre": "km", "kilometer": "km"}.get(unit, unit)


def on_earth(crs: object) -> bool:
    """Whether places in a CRS have longitudes and latitudes, which a plane of its own lacks.

    Parameters
    ----------
    crs : object
        Anything that pyproj understands.

    Returns
    -------
    bool
    """
    return package("pyproj", extra="geo").CRS.from_user_input(crs).geodetic_crs is not None


def check_degrees(what: str, crs: object, bounds: np.ndarray) -> None:
    """Refuse coordinates in degrees that lie outside the Earth, most often metres.

    Parameters
    ----------
    what : str
        Whose they are, for the message.
    crs : object
        Their CRS.
    bounds : np.ndarray
        Least x, least y, greatest x, greatest y.

    Raises
    ------
    InputError
        If the CRS is one of longitudes and latitudes and the bounds exceed 360 or 90 degrees: by
        a whole turn, or as metres do.
    """
    known = package("pyproj", extra="geo").CRS.from_user_input(crs)
    if not known.is_geographic or known.axis_info[0].unit_name != "degree":
        return
    if (np.abs(np.asarray(bounds)) > np.tile(_FURTHEST, 2)).any():
        left, bottom, right, top = (float(one) for one in bounds)
        if max(abs(bottom), abs(top)) <= _FURTHEST[1] and max(abs(left), abs(right)) <= _TURNED:
            turn = _TURN * np.floor((left + _TURN / 2) / _TURN)
            run = (f"the longitudes of {what}, in {named(crs)}, run from {left:.6g} to "
                   f"{right:.6g}")
            if turn == 0 or right - turn > _FURTHEST[0]:
                raise InputError(f"{run}, further than the globe goes around; write them from -180 "
                                 "to 180, or from 0 to 360, and cut there what reaches over")
            raise InputError(
                f"{run}, which are {left - turn:.6g} to {right - turn:.6g} after "
                f"{'a turn' if abs(turn) == _TURN else f'{abs(turn / _TURN):.0f} turns'} of 360 "
                "degrees; "
                f"{_turned_back(what, turn, (left - turn, top, right - turn, bottom))}")
        raise InputError(
            f"{what} in {named(crs)}, longitudes and latitudes in degrees, run over "
            f"{extent(bounds)}, which look like metres: the stated CRS is wrong; {CORRECT_CRS}"
        )


def _turned_back(what: str, turn: float, corners: tuple[float, float, float, float]) -> str:
    """How to write longitudes anew that lie a turn too far; corners are those of the result."""
    told = (f"take {turn:.0f} off" if turn > 0 else f"add {-turn:.0f} to")
    told += f" the longitudes of {what}"
    if what == POLYGONS:
        return (f"{told}: areas.assign(geometry=areas.translate({-turn:.0f})), or in QGIS "
                f"Translate by {-turn:.0f} along x")
    return (f"{told}: ds.assign_coords(lon=ds.lon {'-' if turn > 0 else '+'} {abs(turn):.0f}), or "
            f"gdal_translate -a_ullr {' '.join(f'{one:.10g}' for one in corners)} OLD.tif NEW.tif")


def extent(bounds: np.ndarray) -> str:
    """Bounds in words."""
    left, bottom, right, top = (f"{v:.6g}" for v in bounds)
    return f"x {left} to {right}, y {bottom} to {top}"


def named(crs: object) -> str:
    """A CRS by its code, or by its name where it has none."""
    known = package("pyproj", extra="geo").CRS.from_user_input(crs)
    return ":".join(known.to_authority() or ()) or known.name


def instead_of(kinds: Iterable[str]) -> str:
    """What to do with shapes that are all points, or all lines; empty for others.

    Parameters
    ----------
    kinds : iterable of str
        Types of geometries, such as "Point" and "3D MultiPoint".

    Returns
    -------
    str
        What follows "try to", without its full stop.
    """
    kinds = list(kinds)
    if kinds and all("Point" in kind for kind in kinds):
        return "give points as --points, in Python to workbench.bag_points"
    if kinds and all("Line" in kind for kind in kinds):
        return ("give polygons, as lines have no area; in QGIS, Polygonize makes areas of lines "
                "that are their borders")
    return ""


def repaired(areas, record: Record):
    """Valid polygons with an area, from whatever shapes a file holds.

    Parameters
    ----------
    areas : geopandas.GeoDataFrame
        With a CRS.
    record : Record
        Receives what was repaired, and collections of which only the polygons were kept.

    Returns
    -------
    geopandas.GeoDataFrame
        The same rows.

    Raises
    ------
    InputError
        If a row has no shape, a corner that is not a number, or no area.
    """
    shapely = package("shapely", extra="geo")
    absent = areas.geometry.isna() | areas.geometry.is_empty
    if absent.any():
        refuse(f"{int(absent.sum())} polygons are empty (first: row "
               f"{np.flatnonzero(absent)[:1].tolist()})", "remove these rows", code="shape-empty",
               where=_rows(areas, absent.to_numpy()), count=int(absent.sum()))
        areas = areas[~absent]
    corners, row = shapely.get_coordinates(areas.geometry.to_numpy(), return_index=True)
    broken = np.unique(row[~np.isfinite(corners).all(axis=1)])
    if broken.size:
        refuse(f"{broken.size} polygons have corners whose coordinates are missing or infinite "
               f"(first: row {broken[:1].tolist()})", "draw these polygons again or remove these "
               "rows", code="shape-broken", where=_rows(areas, broken), count=broken.size)
        areas = areas[~np.isin(np.arange(len(areas)), broken)]
    check_degrees(POLYGONS, areas.crs, areas.total_bounds)
    invalid = ~areas.geometry.is_valid
    if invalid.any():
        areas.geometry = areas.geometry.make_valid()
        record.note(f"{int(invalid.sum())} invalid polygons were repaired with make_valid",
                    code="shape-invalid", where=_rows(areas, invalid), count=int(invalid.sum()))
    shapes = areas.geometry.to_numpy()
    flat = shapely.area(shapes) <= 0
    if flat.any():
        refuse(f"{int(flat.sum())} geometries have no area (first: row "
               f"{np.flatnonzero(flat)[:1].tolist()})",
               flat.all() and instead_of(areas.geometry.geom_type) or "areas must be polygons",
               code="shape-flat", where=_rows(areas, flat), count=int(flat.sum()))
        areas, shapes = areas[~flat], shapes[~flat]
    mixed = np.flatnonzero(shapely.get_type_id(shapes) == shapely.GeometryType.GEOMETRYCOLLECTION)
    if mixed.size:
        found = [_polygons(shapes[i], shapely) for i in mixed]
        shapes = shapes.copy()
        shapes[mixed] = [shapely.union_all(polygons) for polygons, _ in found]
        areas.geometry = package("geopandas", extra="geo").GeoSeries(
            shapes, index=areas.index, crs=areas.crs)
        record.note(
            f"{mixed.size} collections of shapes (first: row {mixed[0]}) were reduced to their "
            f"polygons; {sum(left for _, left in found)} lines and points in them, which have no "
            "area, were left out", code="shape-mixed", where=_rows(areas, mixed), count=mixed.size)
    return areas


def _rows(areas, which: np.ndarray) -> list[str]:
    return [f"row {name}" for name in areas.index[which]]


def _polygons(shape: object, shapely) -> tuple[list, int]:
    """The polygons in a collection, however nested, and how many other parts it has."""
    polygons, others = [], 0
    for part in shapely.get_parts(shape):
        if part.geom_type == "GeometryCollection":
            inner, left = _polygons(part, shapely)
            polygons, others = polygons + inner, others + left
        elif part.geom_type in ("Polygon", "MultiPolygon"):
            polygons.append(part)
        else:
            others += 1
    return polygons, others
