"""Tables of stations and of satellite cells as sources: the user's own city."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pandas as pd
import xarray as xr

from workbench import schema
from workbench.bagging import assemble
from workbench.bagging.summaries import read_table
from workbench.checks import reject, require, whole
from workbench.datasets.networks.columns import (
    full_hour,
    hourly_dates,
    hours_since,
    numbers_of,
    readings_of,
    require_columns,
)
from workbench.datasets.networks.series import UNITS
from workbench.datasets.networks.tree import TASK, make_tree, observations, singletons

Table = pd.DataFrame | str | Path


def sources_from_tables(
    stations: Table,
    satellite: Table,
    until: object,
    covariates: Mapping[str, str] | None = None,
    places: Table | None = None,
    *,
    points: int = 10,
    place_units: str = "km",
    title: str = "stations and satellite",
) -> xr.DataTree:
    """Make the sources of one quantity at stations and in satellite cells out of tables.

    Stations train until ``until`` and are to be predicted from then on; the satellite trains over
    the whole time.

    Parameters
    ----------
    stations : DataFrame or path of a CSV or Parquet file
        Columns ``station``, ``time`` (full hours, UTC), ``x``, ``y``, ``value`` (ug/m3, empty where
        missing; no flags such as -999), and the covariates.
    satellite : DataFrame or path
        Columns ``x``, ``y`` (centre of a square cell), ``size`` (its side, positive), ``time``,
        ``value``.
    until : str or datetime
        End of the stations' training time, exclusive.
    covariates : mapping of str to str, optional
        Features of places and their units.
    places : DataFrame or path, optional
        Columns ``x``, ``y`` and the covariates: what is known at points inside the cells. Without
        covariates a regular grid of ``points`` x ``points`` does.
    points : int
        Points of the grid along a side of a cell.
    place_units : str
        Unit of x, y and size.
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
        If columns are missing, not numbers or not finite, a reading is infinite, a flag or there
        twice, a station has no name, a cell no positive size, covariates are no mapping, points no
        whole number, places are needed, a cell holds none, or a part has no readings.

    References
    ----------
    Hamelijnck et al. 2019, section 6 (intra-task multi-resolution) and C.2.
    """
    if not isinstance(covariates or {}, Mapping):
        raise reject("covariates a mapping from columns to their units", repr(covariates),
                     "write covariates={'road_length': 'm', 'canyon_ratio': '1'}")
    units, points = dict(covariates or {}), whole("points", points, 1)
    taken = sorted({"time", "x", "y", "value", "station", "size"} & set(units))
    require(not taken, f"{', '.join(taken)} cannot be covariates: time, x and y are inputs already")
    ground = read_readings(stations, ("station", "x", "y", *units), "stations")
    above = read_readings(satellite, ("x", "y", "size"), "satellite")
    start = min(ground["time"].min(), above["time"].min())
    if places is None:
        require(not units, f"covariates {', '.join(units)} are not known inside the cells; give "
                "places=..., a table of points with x, y and these columns")
        points_in = regular_places(above, points)
    else:
        points_in = numbers_of(read_table(places), ("x", "y", *units), "places")
    end = full_hour(until, "until")
    early, late = (ground[part] for part in (ground["time"] < end, ground["time"] >= end))
    return make_tree(
        {"stations": station_bags(early, units, start, f"before {end}", place_units),
         "satellite": satellite_bags(above, points_in, units, start, place_units)},
        station_bags(late, units, start, f"from {end} on", place_units),
        title=title, settings={"until": f"{end}", "points": points},
        dataset="tables", source="the user's own tables")


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


def station_bags(
    readings: pd.DataFrame, units: Mapping[str, str], start: pd.Timestamp, when: str,
    place_units: str = "km", truth: str | None = None,
) -> xr.Dataset:
    """Readings of stations as singletons.

    Parameters
    ----------
    readings : DataFrame
        From `read_readings`, with columns station, time, x, y, value and the covariates; further
        columns ``kind`` and ``truth`` are used if there.
    units : mapping of str to str
        Covariates and their units.
    start : Timestamp
        Where the covariate ``time`` is zero.
    when : str
        Stretch of time, for what is said of missing readings.
    place_units : str
        Unit of x and y.
    truth : str, optional
        Column with the noise-free value.
    """
    known = np.isfinite(readings["value"].to_numpy(float))
    require(bool(known.any()), f"the stations have no readings {when}")
    table = readings[known].assign(datetime=lambda t: t["time"], station=lambda t: t[
        "station"].astype(str).to_numpy(dtype=str))
    table["time"] = hours_since(table["datetime"], start)
    labels = ["station", "datetime", *(c for c in ("kind",) if c in table)]
    points = observations(
        table, {"time": "h", **units}, "value", long_name="NO2", units=UNITS, task="no2", x="x",
        y="y", place_units=place_units, labels=labels, truth=truth)
    for name in labels:                         # fixed-width text, which files keep as it is
        if name != "datetime":
            points[name] = points[name].astype(str)
    ds = singletons(points, [f"{s} {d:%Y-%m-%dT%H}" for s, d in zip(
        table["station"], table["datetime"], strict=True)])
    missing = int((~known).sum())
    ds.attrs |= {"level": "station", "readings_missing": missing,
                 "treatments": f"{missing} of {len(readings)} hourly readings {when} are missing "
                               "and left out"}
    return ds


def satellite_bags(
    readings: pd.DataFrame, places: pd.DataFrame, units: Mapping[str, str], start: pd.Timestamp,
    place_units: str = "km",
) -> xr.Dataset:
    """Readings of cells as bags of the places inside them, one bag per cell and hour.

    Parameters
    ----------
    readings : DataFrame
        From `read_readings`, with columns x, y, size, time, value.
    places : DataFrame
        x, y and the covariates; a cell holds its western and southern edge, not the others.
    units, start, place_units
        See `station_bags`.

    Raises
    ------
    InputError
        If a cell holds no place.
    """
    known = np.isfinite(readings["value"].to_numpy(float))
    require(bool(known.any()), "the satellite has no readings")
    table = readings[known].reset_index(drop=True)
    number, cells = pd.factorize(pd.MultiIndex.from_frame(table[["x", "y", "size"]]))
    at = places[["x", "y"]].to_numpy(float)
    # Rounding of an edge must not put a place into two cells, or none.
    inside = [np.flatnonzero(((at - (x, y)) / size >= -0.5 - 1e-9).all(1)
                             & ((at - (x, y)) / size < 0.5 - 1e-9).all(1)) for x, y, size in cells]
    empty = [cell for cell, found in zip(cells, inside, strict=True) if found.size == 0]
    require(not empty, f"{len(empty)} cells hold no place, the first (x, y, size) "
            f"{[tuple(float(v) for v in cell) for cell in empty[:1]]}; give places inside every "
            "cell, in the units of the cells")
    chosen = [inside[n] for n in number]
    membership = np.repeat(np.arange(len(table)), [len(c) for c in chosen])
    rows = np.concatenate(chosen)
    dates = table["time"].to_numpy("datetime64[ns]")
    time = hours_since(table["time"], start)
    individual, distance = schema.INDIVIDUAL, {"units": place_units}
    points = xr.Dataset(
        {"covariates": ((individual, schema.COVARIATE), np.column_stack(
            [time[membership], *(places[c].to_numpy(float)[rows] for c in units)])),
         "weight": (individual, np.ones(rows.size))},
        coords={"individual": np.arange(rows.size), "covariate": ["time", *units],
                "covariate_units": (schema.COVARIATE, ["h", *units.values()]),
                "x": (individual, at[rows, 0], distance), "y": (individual, at[rows, 1], distance),
                "datetime": (individual, dates[membership]), "place": (individual, rows)})
    ds = assemble(
        points, membership, table["value"].to_numpy(float),
        np.array([f"cell {n} {pd.Timestamp(d):%Y-%m-%dT%H}"
                  for n, d in zip(number, dates, strict=True)]),
        bag_coords={"cell": number, "cell_x": table["x"].to_numpy(float),
                    "cell_y": table["y"].to_numpy(float),
                    "cell_size": table["size"].to_numpy(float),
                    "bag_datetime": dates},
        value_attrs={"long_name": "NO2", "units": UNITS, TASK: "no2", "aggregation": "mean",
                     "kind": "continuous"})
    missing = int((~known).sum())
    ds.attrs |= {"level": "cell and hour", "readings_missing": missing,
                 "treatments": f"{missing} of {len(readings)} readings of cells are missing and "
                               "left out"}
    return ds


def regular_places(cells: pd.DataFrame, points: int) -> pd.DataFrame:
    """Centres of ``points`` x ``points`` equal squares in every different cell.

    Parameters
    ----------
    cells : DataFrame
        Columns x, y, size.
    points : int
        Squares along a side, one or more.
    """
    different = cells[["x", "y", "size"]].drop_duplicates().to_numpy(float)
    steps = (np.arange(points) + 0.5) / points - 0.5
    north, east = (a.ravel() for a in np.meshgrid(steps, steps, indexing="ij"))
    x = different[:, :1] + different[:, 2:] * east
    y = different[:, 1:2] + different[:, 2:] * north
    return pd.DataFrame({"x": x.ravel(), "y": y.ravel()})


def _require_rows(good: pd.Series, what: str, remedy: str) -> None:
    bad = np.flatnonzero(~good.to_numpy())
    require(bad.size == 0, f"{bad.size} rows of {what}, the first row {bad[:1].tolist()}; {remedy}")
