"""Columns of a user's tables: dates as full hours, readings and places as numbers."""

from __future__ import annotations

import numpy as np
import pandas as pd
import xarray as xr

from workbench.bagging.tables import as_numbers, refuse_rows
from workbench.checks import InputError, require

#: What files write in place of a missing reading.
FLAGS = (-999.0, -9999.0)
_NOTHING = ("", "nan", "<na>", "none")


def hourly_dates(dates: object, what: str = "date") -> pd.Series:
    """Dates as UTC without a zone, all of them full hours.

    Parameters
    ----------
    dates : pandas.Series
        Datetimes or strings in ISO form; of others, such as 01/06/2018, it cannot be known what is
        the month.
    what : str
        Name for errors.

    Returns
    -------
    pd.Series
        Of type datetime64[ns].

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

    Returns
    -------
    pd.Timestamp
        The hour.

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

    Returns
    -------
    array (rows,)
        Readings.

    Raises
    ------
    InputError
        If a reading is text that is not a number, infinite, or one of the `FLAGS` that stand for a
        missing one in many files: which rows, and what to do.

    Notes
    -----
    Rows are those of the column's index, which `read_table` counts from zero.
    """
    text = column.astype(str).str.strip()
    values = as_numbers(column)
    odd = np.isnan(values) & column.notna().to_numpy() & ~text.str.lower().isin(_NOTHING)
    refuse_rows(odd, column, f"readings of {what} are not numbers", "leave missing ones empty")
    refuse_rows(np.isinf(values), column, f"readings of {what} are infinite",
                "correct them, or leave missing ones empty")
    refuse_rows(np.isin(values, FLAGS), column, f"readings of {what} are "
                f"{' or '.join(f'{f:g}' for f in FLAGS)}, which marks a missing one in many files",
                "blank them, with table.replace([-999, -9999], np.nan) or pd.read_csv(path, "
                "na_values=[-999, -9999])")
    return values


def _form(dates: pd.Series) -> str | None:
    plain = pd.api.types.is_datetime64_any_dtype(dates) or pd.api.types.is_numeric_dtype(dates)
    return None if plain else "ISO8601"


def note_missing(ds: xr.Dataset, known: pd.Series | np.ndarray, level: str, what: str, said: str
                 ) -> xr.Dataset:
    """A bagged dataset whose attributes say what its bags are and how many were left out.

    Parameters
    ----------
    ds : xr.Dataset
        Changed in place.
    known : array of bool
        Which readings there are.
    level : str
        What a bag is.
    what, said : str
        What was counted, and what is said of those that are not known, up to "left out".

    Returns
    -------
    xr.Dataset
        The same.
    """
    missing = int((~known).sum())
    ds.attrs |= {"level": level, f"{what}_missing": missing,
                 "treatments": f"{missing} of {len(known)} {what} {said} left out"}
    return ds
