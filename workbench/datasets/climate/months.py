"""Months of CF time axes in the calendars of climate models, of 360, 365 or real days a year."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd

from workbench.checks import choose, require

_REAL = ("standard", "gregorian", "proleptic_gregorian")
_CALENDARS = (*_REAL, "360_day", "noleap", "365_day")
_DAYS = np.array([31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31])


def months(values: np.ndarray, units: str, calendar: str = "standard") -> list[str]:
    """Year and month, ``"1950-03"``, of times in "days since" a date.

    Parameters
    ----------
    values : array (n,)
        Days, at any time of the month.
    units : str
        ``"days since 1950-01-01"``, with or without a time of day.
    calendar : str
        standard, gregorian, proleptic_gregorian, 360_day, noleap or 365_day.

    Returns
    -------
    list of str
        One for each time.

    Raises
    ------
    InputError
        If the units or the calendar are others.
    """
    found = re.match(r"days since (\d{1,4})-(\d{1,2})-(\d{1,2})", str(units))
    require(found is not None, f"expected times in 'days since YYYY-MM-DD', got {units!r}")
    choose("calendar", calendar, _CALENDARS)
    year, month, day = (int(part) for part in found.groups())
    days = np.floor(np.asarray(values, dtype=float)).astype(int)
    if calendar in _REAL:
        start = pd.Timestamp(year=year, month=month, day=day)
        return [(start + pd.Timedelta(days=int(d))).strftime("%Y-%m") for d in days]
    if calendar == "360_day":
        count = year * 360 + (month - 1) * 30 + day - 1 + days
        return [f"{c // 360:04d}-{c % 360 // 30 + 1:02d}" for c in count]
    ends = np.cumsum(_DAYS)
    count = year * 365 + int(_DAYS[:month - 1].sum()) + day - 1 + days
    return [f"{c // 365:04d}-{int(np.searchsorted(ends, c % 365, side='right')) + 1:02d}"
            for c in count]
