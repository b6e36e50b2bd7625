"""Columns of a user's tables: dates as full hours, readings and places as numbers."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pandas as pd

from workbench.checks import InputError, require

#: What files write in place of a missing reading.
FLAGS = (-999.0, -9999.0)
_NOTHING = ("", "nan", "<na>", "none")


def require_columns(frame: pd.DataFrame, columns: Iterable[str], what: str = "the table") -> None:
    """Refuse a table that lacks a column.

    Raises
    ------
    InputError
        Which are missing, and which there are.
    """
    absent = [c for c in columns if c not in frame]
    require(not absent, f"{what} lacks columns {absent}; it has {list(frame)}")


def hourly_dates(dates: object, what: str = "date") -> pd.Series:
    """Dates as UTC without a zone, all of them full hours.

    Parameters
    ----------
    dates : pandas.Series
        Datetimes or strings in ISO form; of others, such as 01/06/2018, it cannot be known what is
        the month.
    what : str
        Name for errors.

    Raises
    ------
    InputError
        If they cannot be read, or are not full hours.
    """
    dates = pd.Series(dates)
    try:
        read = pd.to_datetime(dates, utc=True, format=_form(dates)).dt.tz_localize(None)
    except (ValueError, TypeError) as error:
        raise InputError(f"column {what!r} must hold dates such as 2002-06-15 13:00 ({error})"
                         ) from error
    bad = read.isna() | (read != read.dt.floor("h"))
    require(not bad.any(), f"column {what!r} must hold full hours, but {int(bad.sum())} rows do "
            f"not, the first with {dates[bad].iloc[:1].tolist()}; average them first")
    return read.astype("datetime64[ns]")


def full_hour(when: object, what: str) -> pd.Timestamp:
    """A full hour as UTC without a zone.

    Parameters
    ----------
    when : str or datetime
        In ISO form; UTC where it has no zone.
    what : str
        Name for errors.

    Raises
    ------
    InputError
        If it cannot be read or is not a full hour.
    """
    try:
        read = pd.to_datetime(when, utc=True, format="ISO8601" if isinstance(when, str) else None
                              ).tz_localize(None).as_unit("ns")
    except (ValueError, TypeError, AttributeError) as error:
        raise InputError(f"{what} must be a date such as '2002-06-15', got {when!r}") from error
    require(read == read.floor("h"), f"{what} must be a full hour, got {when!r}")
    return read


def hours_since(dates: pd.Series, start: pd.Timestamp) -> np.ndarray:
    """Hours from the start, (rows,)."""
    return ((dates - start) / pd.Timedelta(hours=1)).to_numpy(float)


def readings_of(column: pd.Series, what: str) -> np.ndarray:
    """Readings as numbers, NaN where there is none, (rows,).

    Parameters
    ----------
    column : pandas.Series
        Numbers, or text that is one; empty where a reading is missing.
    what : str
        Name for errors, such as "'pm10'".

    Raises
    ------
    InputError
        If a reading is text that is no number, infinite, or one of the `FLAGS` that stand for a
        missing one in many files: which rows, and what to do.

    Notes
    -----
    Rows are those of the column's index, which `read_table` counts from zero.
    """
    text = column.astype(str).str.strip()
    values = _as_numbers(column)
    _refuse(np.isnan(values) & column.notna().to_numpy() & ~text.str.lower().isin(_NOTHING), column,
            f"readings of {what} are no numbers", "leave missing ones empty")
    _refuse(np.isinf(values), column, f"readings of {what} are infinite",
            "correct them, or leave missing ones empty")
    _refuse(np.isin(values, FLAGS), column, f"readings of {what} are "
            f"{' or '.join(f'{f:g}' for f in FLAGS)}, which marks a missing one in many files",
            "blank them, with table.replace([-999, -9999], np.nan) or pd.read_csv(path, "
            "na_values=[-999, -9999])")
    return values


def numbers_of(frame: pd.DataFrame, columns: Iterable[str], what: str) -> pd.DataFrame:
    """A copy of a table with these columns as finite numbers.

    Parameters
    ----------
    frame : DataFrame
        The table.
    columns : iterable of str
        Columns without missing values.
    what : str
        Name for errors, such as "places".

    Raises
    ------
    InputError
        If a column is missing, or holds what is no number or not finite: which rows.
    """
    columns = list(columns)
    require_columns(frame, columns, f"the table of {what}")
    found = {column: _as_numbers(frame[column]) for column in columns}
    for column, values in found.items():
        _refuse(np.isnan(values) & frame[column].notna().to_numpy(), frame[column],
                f"values of column {column!r} of {what}, which must hold numbers, are none",
                "correct or drop these rows")
        bad = ~np.isfinite(values)
        require(not bad.any(), f"column {column!r} of {what} has {int(bad.sum())} values that are "
                f"missing or not finite, the first in row {np.flatnonzero(bad)[:1].tolist()}; drop "
                "or fill these rows")
    return frame.assign(**found)


def _as_numbers(column: pd.Series) -> np.ndarray:
    """NaN for what is no number."""
    if pd.api.types.is_datetime64_any_dtype(column):        # else a count of nanoseconds
        return np.full(len(column), np.nan)
    return pd.to_numeric(column, errors="coerce").to_numpy(float, na_value=np.nan)


def _form(dates: pd.Series) -> str | None:
    plain = pd.api.types.is_datetime64_any_dtype(dates) or pd.api.types.is_numeric_dtype(dates)
    return None if plain else "ISO8601"


def _refuse(bad: np.ndarray, column: pd.Series, what: str, remedy: str) -> None:
    rows = np.flatnonzero(bad)
    require(rows.size == 0, f"{rows.size} {what}: {column.iloc[rows[:3]].tolist()} in rows "
            f"{', '.join(map(str, column.index[rows[:3]]))}{', ...' if rows.size > 3 else ''}; "
            f"{remedy}")
