"""Readings of stations and of satellite cells as bags."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd
import xarray as xr

from workbench import schema
from workbench.bagging import assemble
from workbench.checks import require
from workbench.datasets.several_sources.columns import hours_since, note_missing
from workbench.datasets.several_sources.series import UNITS
from workbench.datasets.several_sources.tree import TASK, observations, singletons


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

    Returns
    -------
    xr.Dataset
        Bags of one reading each.
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

    Returns
    -------
    xr.Dataset
        Bagged dataset of means.

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
    return note_missing(ds, known, "cell and hour", "readings", "of cells are missing and")


def regular_places(cells: pd.DataFrame, points: int) -> pd.DataFrame:
    """Centres of ``points`` x ``points`` equal squares in every different cell.

    Parameters
    ----------
    cells : DataFrame
        Columns x, y, size.
    points : int
        Squares along a side, one or more.

    Returns
    -------
    pd.DataFrame
        Columns x and y.
    """
    different = cells[["x", "y", "size"]].drop_duplicates().to_numpy(float)
    steps = (np.arange(points) + 0.5) / points - 0.5
    north, east = (a.ravel() for a in np.meshgrid(steps, steps, indexing="ij"))
    x = different[:, :1] + different[:, 2:] * east
    y = different[:, 1:2] + different[:, 2:] * north
    return pd.DataFrame({"x": x.ravel(), "y": y.ravel()})
