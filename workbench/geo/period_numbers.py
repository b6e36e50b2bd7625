"""Periods as texts and as numbers: years, decimal years of dates, or whatever numbers they are."""

from __future__ import annotations

import numpy as np
import pandas as pd
import xarray as xr

from workbench.bagging.tables import as_numbers
from workbench.checks import InputError, require

TIME = "time"
#: Dates without dashes, which are numbers, too.
_JOINED = {"%Y%m": r"(1[6-9]|2[01])\d\d(0[1-9]|1[0-2])",
           "%Y%m%d": r"(1[6-9]|2[01])\d\d(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])"}
#: A time of day with its zone, which is left out: periods are of the place that they are about.
_ZONE = r"(\d\d:\d\d(?::\d\d(?:\.\d+)?)?)\s*(?:Z|[+-]\d\d:?\d\d)$"
_DAY = 1 / 366          # of a year: what writes one period as two numbers is less


def as_text(period: object) -> str:
    """A period as tables write it: whole numbers without decimals, dates with dashes.

    Of a moment its hour, too, unless that is midnight; times are those of its own time zone.

    Examples
    --------
    >>> as_text(2021.0), as_text(pd.Timestamp("2021-07-01")), as_text(pd.Period("2021-07", "M"))
    ('2021', '2021-07-01', '2021-07')
    """
    if isinstance(period, float) and period.is_integer():
        return str(int(period))
    if isinstance(period, pd.Period) and "/" in str(period):        # from one day to another
        period = period.start_time
    if isinstance(period, pd.Timestamp):
        moment = period.tz_localize(None)
        return str(moment.date() if moment == moment.normalize() else moment)
    return str(period).strip()


def on_a_line(column: pd.Series, what: str) -> tuple[np.ndarray, str]:
    """Periods as numbers whose differences are times, and their unit.

    Parameters
    ----------
    column : pd.Series
        Numbers, dates, or texts of them; none missing.
    what : str
        What messages call them.

    Returns
    -------
    numbers : array
    unit : str
        "year", or "1" of other numbers.

    Raises
    ------
    InputError
        If they are neither numbers nor dates.
    """
    if isinstance(column.iloc[0], pd.Period) and column.iloc[0].freqstr[0] not in "YA":
        column = column.map(lambda period: period.start_time)
    text = column.map(as_text).astype(str)
    numbers = as_numbers(text if isinstance(column.iloc[0], pd.Period) else column)
    joined = next((form for form, written in _JOINED.items() if text.str.fullmatch(written).all()),
                  None)      # as numbers December and January would lie 89 apart
    if np.isnan(numbers).any() or joined:
        try:
            dates = pd.to_datetime(text.str.replace(_ZONE, r"\1", regex=True),
                                   format=joined or "ISO8601")
        except (ValueError, TypeError) as error:
            raise InputError(f"{what} are neither numbers nor dates (first: {column.iloc[0]!r}); "
                             "write years, or dates as 2023-07 or 2023-07-15") from error
        day = dates.dt.day_of_year - 1 + (dates - dates.dt.normalize()) / pd.Timedelta(days=1)
        return (dates.dt.year + day / 365.25).to_numpy(float), "year"
    return numbers, "year" if ((numbers > 1000) & (numbers < 3000)).all() else "1"


def time_of(ds: xr.Dataset, period: object) -> float:
    """The value of the covariate ``time`` at a period, which the dataset may not have.

    Parameters
    ----------
    ds : xr.Dataset
        Over time, from `workbench.bag_polygons` with ``time``.
    period : str or number
        Written as its periods are.

    Returns
    -------
    float

    Raises
    ------
    InputError
        If the dataset is not over time, or its periods are written otherwise.

    Examples
    --------
    >>> import xarray as xr
    >>> ds = xr.Dataset({"covariates": (("individual", "covariate"), [[2020.0], [2021.0]])}, {
    ...     "covariate": ["time"], "individual_period": ("individual", ["2020", "2021"])})
    >>> time_of(ds, "2021"), time_of(ds, 2023)
    (2021.0, 2023.0)
    """
    names = [str(name) for name in ds["covariate"].values]
    require(TIME in names and "individual_period" in ds.coords, "the model has not learnt over "
            "time, and is the same in every period; leave period out")
    periods, first = np.unique(ds["individual_period"].values.astype(str), return_index=True)
    times = ds["covariates"].sel(covariate=TIME).values[first]
    known = dict(zip(periods.tolist(), times.tolist(), strict=True))
    text = as_text(period)
    if text in known:
        return known[text]
    told = f"period {text!r} is not written as those of the data ({', '.join(list(known)[:3])})"
    try:
        numbers, _ = on_a_line(pd.Series([text, *known]), told)
    except InputError as error:
        raise InputError(f"{told}; write it alike") from error
    alike = bool(np.abs(numbers[1:] - times).max() < _DAY)
    require(alike, f"{told}; write it alike")
    return float(numbers[0])
