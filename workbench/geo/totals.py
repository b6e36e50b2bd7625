"""Values of areas, of columns of their own or of a joined table, and positives out of trials."""

from __future__ import annotations

import numpy as np
import xarray as xr

from workbench import schema
from workbench.checks import InputError, option, require
from workbench.geo.areas import value_column
from workbench.geo.attributes import NOT_JOINED, numeric_column, require_column
from workbench.geo.joining import table_name
from workbench.geo.treatments import CleaningOptions, Record

_AGAIN = ("they can be mapped from the others: give all polygons as those of another region, "
          "--at-polygons, in Python fit.to_dataset(workbench.polygon_places(...))")


def require_joined(areas, name: str, role: str, totals: object, join: str | None = None) -> None:
    """Refuse a column that neither a table nor the polygons it was joined to have.

    Parameters
    ----------
    areas : geopandas.GeoDataFrame
        From `joined`, or polygons alone.
    name, role : str
        The column, and what it is for.
    totals : DataFrame, str, Path or None
        The table; without one the message is of the polygons alone.
    join : str, optional
        Its column of ids, which is no column of the areas any more.

    Raises
    ------
    InputError
        Naming the table, and the columns that there are; of a table that could not be joined in a
        check, why not.
    """
    require(NOT_JOINED not in areas.attrs, areas.attrs.get(NOT_JOINED, ""))
    if totals is None:
        require_column(areas, name, role)
    others = ", ".join(str(c) for c in areas.columns if c != areas.geometry.name)
    require(name in areas or name != join, f"column {name!r} of {table_name(totals)} holds the ids "
            f"by which it is joined, and cannot be the {role}, too; choose one of {others}")
    require(name in areas, f"neither {table_name(totals)} nor the polygons have a column {name!r} "
            f"for the {role}; they have {others}")


def positives(areas, value: str, trials: str | None, kind: str, options: CleaningOptions,
              record: Record, totals: object = None,
              join: str | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Values of areas, and which are kept; checked against their trials, where they have any.

    Parameters
    ----------
    areas : geopandas.GeoDataFrame
        Indexed by id.
    value : str
        Column of the values.
    trials : str, optional
        Column of the numbers of trials; the values are then positives among them.
    kind, options, record
        As of `workbench.geo.areas.usable_values`.
    totals : DataFrame, str or Path, optional
        The table that was joined to the areas, where one was.
    join : str, optional
        Its column of ids.

    Returns
    -------
    values : array (area,)
    kept : bool array (area,)
        False for areas to be dropped.

    Raises
    ------
    InputError
        If a number of trials is missing, negative or not whole, or below the positives.
    """
    require_joined(areas, value, "value", totals, join)
    values, kept = value_column(areas, value, kind, options, record, again=_AGAIN)
    if trials is None:
        return values, kept
    require_joined(areas, trials, "trials", totals, join)
    numbers = numeric_column(areas, trials, "trials")
    survey_errors(values, numbers, kept, areas.index.to_numpy(), kind, (value, trials), record)
    return values, kept


def survey_errors(values: np.ndarray, numbers: np.ndarray, kept: np.ndarray, areas: np.ndarray,
                  kind: str, names: tuple[str, str], record: Record) -> None:
    """Refuse positives out of trials that cannot be.

    Parameters
    ----------
    values, numbers : array (area,)
        Positives, and trials.
    kept : bool array (area,)
        Areas that matter.
    areas : array (area,)
        Their ids.
    kind : str
        Must be "count".
    names : (str, str)
        Columns of values and of trials.
    record : Record
        Receives in how many areas nobody was tested.

    Raises
    ------
    InputError
        As of `positives`.
    """
    value, trials = names
    require(kind == "count", "positives out of trials are counts; leave out "
            + option("kind", "continuous"))
    known = kept & np.isfinite(numbers)
    _refuse(areas, kept & ~np.isfinite(numbers), "areas have no number of trials",
            f"fill column {trials!r}, with zero where nobody was tested")
    share = known & (values != np.round(values))
    if share.any() and (values[known] <= 1).all():
        raise InputError(f"column {value!r} holds shares (as {values[share][0]:g}), but positives "
                         f"are counted among the trials; multiply them by {trials!r}")
    _refuse(areas, known & ((numbers < 0) | (numbers != np.round(numbers))),
            "numbers of trials are negative or not whole", "give how many were tested in each area")
    _refuse(areas, known & (values > numbers), "areas have more positives than trials",
            f"{value!r} must hold positives, {trials!r} all that were tested")
    untested = known & (numbers == 0)
    if untested.any():
        record.note(f"in {int(untested.sum())} areas nobody was tested (first: "
                    f"{str(areas[untested][0])!r}): they are mapped from the others")


def with_trials(ds: xr.Dataset, areas, trials: str) -> xr.Dataset:
    """A bagged dataset of positives with their numbers of trials.

    Parameters
    ----------
    ds : xr.Dataset
        Whose bags are the areas, in their order.
    areas : geopandas.GeoDataFrame
        Checked by `positives`.
    trials : str
        Column.

    Returns
    -------
    xr.Dataset
        With ``trials`` (bag); a value without other units is in positives.
    """
    ds = ds.assign(trials=(schema.BAG, areas[trials].to_numpy(dtype=float),
                           {"long_name": trials, "units": "trials"}))
    if ds["value"].attrs.get("units") == "cases":
        ds["value"].attrs["units"] = "positives"
    return schema.check(ds)


def _refuse(areas: np.ndarray, bad: np.ndarray, what: str, remedy: str) -> None:
    require(not bad.any(), f"{int(bad.sum())} {what} (first: "
            f"{areas[bad][:3].tolist()}); {remedy}")


def index_by(id: str | None, join: str | None) -> str | None:
    """Column of the polygons' ids: ``id``, else where a table is joined its column's name."""
    return join if id is None else id
