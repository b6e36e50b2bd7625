"""Tables of stations and of satellite cells as sources: the user's own city."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pandas as pd
import xarray as xr

from workbench.bagging.tables import LONLAT, numbers_of, read_table, require_columns
from workbench.checks import reject, require, whole
from workbench.datasets.several_sources.city_bags import (
    regular_places,
    satellite_bags,
    station_bags,
)
from workbench.datasets.several_sources.columns import full_hour, hourly_dates, readings_of
from workbench.datasets.several_sources.tree import make_tree

Table = pd.DataFrame | str | Path


def sources_from_tables(
    stations: Table,
    satellite: Table,
    until: object,
    covariates: Mapping[str, str] | None = None,
    places: Table | None = None,
    *,
    points: int = 10,
    place_units: str | None = None,
    title: str = "stations and satellite",
) -> xr.DataTree:
    """Make the sources of one quantity at stations and in satellite cells out of tables.

    Stations train until ``until`` and are to be predicted from then on; the satellite trains over
    the whole time.

    Parameters
    ----------
    stations : DataFrame or path of a CSV or Parquet file
        Columns ``station``, ``time`` (full hours, UTC), ``x``, ``y`` (or ``lon``, ``lat``),
        ``value`` (ug/m3, empty where missing; no flags such as -999), and the covariates.
    satellite : DataFrame or path
        Columns ``x``, ``y`` (or ``lon``, ``lat``; centre of a square cell), ``size`` (its side in
        the same unit, positive), ``time``, ``value``.
    until : str or datetime
        End of the stations' training time, exclusive.
    covariates : mapping of str to str, optional
        Features of places and their units.
    places : DataFrame or path, optional
        Columns ``x``, ``y`` (or ``lon``, ``lat``) and the covariates: what is known at points
        inside the cells. Without covariates a regular grid of ``points`` x ``points`` does.
    points : int
        Points of the grid along a side of a cell.
    place_units : str, optional
        Unit of x, y and size; if not given, degree of ``lon`` and ``lat`` (also ``longitude`` and
        ``latitude``), else km.
    title : str
        For the attributes.

    Returns
    -------
    xr.DataTree
        Sources "stations" (singletons with ``station`` and ``datetime``) and "satellite" (a bag
        per cell and hour), target the stations from ``until`` on. Covariates: ``time`` in h since
        the first reading, then those given. Readings without value are left out; ``treatments``
        say how many.

    Raises
    ------
    InputError
        If columns are missing, in degrees in one table and not in another, not numbers or not
        finite, a reading is infinite, a flag or there twice, a station has no name, a cell no
        positive size, covariates are not a mapping, points not an integer, places are needed, a
        cell holds none, or a part has no readings.

    References
    ----------
    Hamelijnck et al. 2019, section 6 (intra-task multi-resolution) and C.2.

    Examples
    --------
    >>> import pandas as pd, workbench as wb
    >>> hours = pd.date_range("2020-01-01", periods=4, freq="h")
    >>> stations = pd.DataFrame({"station": "A", "time": hours, "x": 0.5, "y": 0.5, "value": 20.0})
    >>> cells = pd.DataFrame({"x": 1.0, "y": 1.0, "size": 2.0, "time": hours, "value": 15.0})
    >>> tree = wb.sources_from_tables(stations, cells, "2020-01-01 02:00", points=3)
    >>> tree["sources/satellite"].sizes["individual"]
    36
    """
    if not isinstance(covariates or {}, Mapping):
        raise reject("covariates a mapping from columns to their units", repr(covariates),
                     "write covariates={'road_length': 'm', 'canyon_ratio': '1'}")
    units, points = dict(covariates or {}), whole("points", points, 1)
    taken = sorted({"time", "x", "y", "value", "station", "size"} & set(units))
    require(not taken, f"{', '.join(taken)} cannot be covariates: time, x and y are inputs already")
    given = {"stations": stations, "satellite": satellite} | (
        {} if places is None else {"places": places})
    found = {what: _placed(read_table(table), what) for what, table in given.items()}
    place_units = _unit({what: degrees for what, (_, degrees) in found.items()}, place_units)
    stations, satellite = found["stations"][0], found["satellite"][0]
    ground = read_readings(stations, ("station", "x", "y", *units), "stations")
    above = read_readings(satellite, ("x", "y", "size"), "satellite")
    start = min(ground["time"].min(), above["time"].min())
    if places is None:
        require(not units, f"covariates {', '.join(units)} are not known inside the cells; give "
                "places=..., a table of points with x, y and these columns")
        points_in = regular_places(above, points)
    else:
        points_in = numbers_of(found["places"][0], ("x", "y", *units), "places")
    end = full_hour(until, "until")
    early, late = (ground[part] for part in (ground["time"] < end, ground["time"] >= end))
    return make_tree(
        {"stations": station_bags(early, units, start, f"before {end}", place_units),
         "satellite": satellite_bags(above, points_in, units, start, place_units)},
        station_bags(late, units, start, f"from {end} on", place_units),
        title=title, settings={"until": f"{end}", "points": points},
        dataset="tables", source="the user's own tables")


def _placed(frame: pd.DataFrame, what: str) -> tuple[pd.DataFrame, bool]:
    """The table with columns x and y, and whether these were called lon and lat."""
    if {"x", "y"} & set(frame.columns):
        return frame, False
    names = {column: LONLAT[str(column).lower()] for column in frame.columns
             if str(column).lower() in LONLAT}
    require(len(set(names.values())) == len(names), f"{what} have several columns of one "
            f"coordinate, {', '.join(map(str, names))}; keep one longitude and one latitude")
    return frame.rename(columns=names), bool(names)


def _unit(degrees: Mapping[str, bool], given: str | None) -> str:
    """The unit of places, of tables that are in degrees or not."""
    of, others = ([what for what, one in degrees.items() if one is kind] for kind in (True, False))
    require(not (of and others), f"{', '.join(of)} have lon and lat, {', '.join(others)} x and y; "
            "give all in the same coordinates")
    require(not of or given is None or given.startswith("degree"), f"lon and lat are in degrees, "
            f"got place_units={given!r}; leave it out, or project them and call them x and y")
    return "degree" if of else given or "km"


def read_readings(table: Table, columns: tuple[str, ...], what: str) -> pd.DataFrame:
    """A table of readings with ``time`` as dates and its other columns as numbers.

    Parameters
    ----------
    table : DataFrame or path
        ``time``, ``value`` (may be missing) and ``columns``; a column ``station`` is text.
    columns : tuple of str
        Columns that must be whole.
    what : str
        Name for errors.

    Returns
    -------
    pd.DataFrame
        One row per reading.

    Raises
    ------
    InputError
        If a column is missing or unusable, a station has no name, a cell no positive size, or a
        reading is there twice.
    """
    frame = read_table(table)
    require_columns(frame, (*columns, "time", "value"), f"the table of {what}")
    frame = numbers_of(frame, (c for c in columns if c != "station"), what)
    if "station" in columns:
        _require_rows(frame["station"].notna() & (frame["station"].astype(str).str.strip() != ""),
                      f"{what} lack the name of a station", "name them or drop these rows")
    if "size" in columns:
        _require_rows(frame["size"] > 0, f"{what} have a size that is not positive",
                      "give the length of a cell's side")
    frame["time"] = hourly_dates(frame["time"], "time").to_numpy()
    frame["value"] = readings_of(frame["value"], what)
    key = ["station", "time"] if "station" in columns else ["x", "y", "time"]
    twice = frame.duplicated(key)
    require(not twice.any(), f"{int(twice.sum())} readings of {what} are there twice, the first "
            f"{frame.loc[twice, key].iloc[:1].astype(str).values.tolist()}; keep one of each")
    return frame


def _require_rows(good: pd.Series, what: str, remedy: str) -> None:
    bad = np.flatnonzero(~good.to_numpy())
    require(bad.size == 0, f"{bad.size} rows of {what}, the first row {bad[:1].tolist()}; {remedy}")
