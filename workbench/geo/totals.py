"""Values of areas: columns of their own, or of a table that is joined to them by id."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import xarray as xr

from workbench import schema
from workbench.bagging.tables import read_table, require_columns
from workbench.checks import InputError, option, require
from workbench.geo.areas import value_column
from workbench.geo.attributes import numeric_column, require_column
from workbench.geo.ids import plain, refuse_two_ways
from workbench.geo.treatments import CleaningOptions, Record

_AGAIN = ("they can be mapped from the others: give all polygons as those of another region, "
          "--at-polygons, in Python fit.to_dataset(workbench.polygon_places(...))")


def joined(areas, totals: object, join: str | None, encoding: str | None,
           options: CleaningOptions, record: Record):
    """Areas with the columns of a table, row by row of equal id.

    Parameters
    ----------
    areas : geopandas.GeoDataFrame
        Indexed by id, as text.
    totals : DataFrame, str or Path
        One row per area; a CSV or Parquet file.
    join : str
        Column of the table with the areas' ids.
    encoding : str, optional
        Of a CSV file that is not UTF-8.
    options : CleaningOptions
        ``missing_value`` says what to do with areas without a row, ``empty`` with rows without an
        area.
    record : Record
        Receives what was joined, and what was left out.

    Returns
    -------
    geopandas.GeoDataFrame
        All areas. A column that both have is the table's.

    Raises
    ------
    InputError
        If ids are missing or repeat, are written in two ways, or have no partner.
    """
    frame, name = table_with_ids(totals, join, encoding)
    ids = frame[join]
    refuse_repeated(ids, name)
    key = areas.index
    if key.str.endswith(".0").all():        # whole numbers that a file holds as fractions
        key = key.str.removesuffix(".0")
    partners(ids, key, name, options, record)
    columns = frame.set_index(join).reindex(key).set_axis(areas.index)
    found = int(key.isin(ids).sum())
    both = [c for c in columns if c in areas.columns and c != areas.geometry.name]
    if both:
        record.note(f"columns {', '.join(map(str, both))} were taken from {name}, not from the "
                    "polygons")
    require(areas.geometry.name not in columns, f"{name} has a column "
            f"{areas.geometry.name!r}, which is that of the outlines; rename it")
    record.note(f"{found} of {len(areas)} areas were joined to {name} by {join!r}")
    return areas.drop(columns=both).join(columns)


def table_with_ids(totals: object, join: str | None, encoding: str | None):
    """A table whose column of ids is text as it was written, with leading zeros, and its name.

    Parameters
    ----------
    totals, join, encoding
        As of `joined`.

    Returns
    -------
    DataFrame
        No id is missing.
    str
        Name for messages.
    """
    require(join is not None, "name the column of the table that has the areas' ids: "
            + option("join", "COLUMN"))
    name = table_name(totals)
    frame = read_table(totals, text=[join], encoding=encoding)
    require_columns(frame, [join], name)
    absent = frame[join].isna()
    require(not absent.any(), f"{int(absent.sum())} rows of {name} have no id in column {join!r} "
            f"(first: row {np.flatnonzero(absent)[:1].tolist()}); fill or remove them")
    return frame.assign(**{join: frame[join].map(plain)}), name


def table_name(totals: object) -> str:
    """What messages call a table of totals."""
    return Path(totals).name if isinstance(totals, str | Path) else "the table of totals"


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
        Naming the table, and the columns that there are.
    """
    if totals is None:
        require_column(areas, name, role)
    others = ", ".join(str(c) for c in areas.columns if c != areas.geometry.name)
    require(name in areas or name != join, f"column {name!r} of {table_name(totals)} holds the ids "
            f"by which it is joined, and cannot be the {role}, too; choose one of {others}")
    require(name in areas, f"neither {table_name(totals)} nor the polygons have a column {name!r} "
            f"for the {role}; they have {others}")


def refuse_repeated(ids, name: str) -> None:
    """Refuse ids that have several rows in a table of this name."""
    twice = ids[ids.duplicated()].unique()
    require(len(twice) == 0, f"{len(twice)} ids have several rows in {name} (first: "
            f"{list(twice[:3])}); add them up, one row per area")


def partners(ids, areas, name: str, options: CleaningOptions, record: Record) -> None:
    """Refuse ids of a table without an area, and areas without a row, unless that is allowed.

    Parameters
    ----------
    ids : Series of str
        Of the table.
    areas : Index of str
        Of the areas.
    name : str
        Of the table.
    options, record
        As of `joined`.

    Raises
    ------
    InputError
        With the first ids on either side that have no partner.
    """
    rowless = [a for a in areas if a not in set(ids)]
    homeless = [i for i in dict.fromkeys(ids) if i not in set(areas)]
    if rowless and homeless:
        refuse_two_ways(homeless, rowless, f"in {name}", "of the polygons", f"table[{ids.name!r}]")
        require(len(rowless) < len(areas), f"no id of {name} is that of an area: it has "
                f"{homeless[:3]}, the polygons {rowless[:3]}; choose another column with "
                f"{option('join')}, or of the polygons with {option('id')}")
    if homeless and options.empty == "error":
        raise InputError(f"{len(homeless)} ids of {name} belong to no area (first: "
                         f"{homeless[:3]}){_as_well(rowless)}; correct them, or pass "
                         f"{option('empty', 'drop')} to leave these rows out")
    if homeless:
        record.note(f"{len(homeless)} ids of {name} belong to no area, their rows were left out: "
                    f"{', '.join(homeless[:10])}")
    if rowless and options.missing_value == "error":
        raise InputError(f"{len(rowless)} areas have no row in {name} (first: {rowless[:3]}); add "
                         f"them, or pass {option('missing_value', 'drop')} to leave these areas "
                         "out")


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
                    f"{areas[untested][0]!r}): they are mapped from the others")


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


def _as_well(rowless: list[str]) -> str:
    return f", and {len(rowless)} areas have no row (first: {rowless[:3]})" if rowless else ""


def index_by(id: str | None, join: str | None) -> str | None:
    """Column of the polygons' ids: ``id``, else where a table is joined its column's name."""
    return join if id is None else id
