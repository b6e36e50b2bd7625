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
_DAY = 1 / 366          # of a year: what writes one period as two numbers is less


def as_text(period: object) -> str:
    """A period as tables write it: whole numbers without decimals, dates with dashes."""
    if isinstance(period, float) and period.is_integer():
        return str(int(period))
    return str(period.date()) if isinstance(period, pd.Timestamp) else str(period).strip()


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
    numbers, text = as_numbers(column), column.map(as_text).astype(str)
    joined = next((form for form, written in _JOINED.items() if text.str.fullmatch(written).all()),
                  None)      # as numbers December and January would lie 89 apart
    if np.isnan(numbers).any() or joined:
        try:
            dates = pd.to_datetime(text if joined else column.astype(str),
                                   format=joined or "ISO8601")
        except (ValueError, TypeError) as error:
            raise InputError(f"{what} are neither numbers nor dates (first: {column.iloc[0]!r}); "
                             "write years, or dates as 2023-07 or 2023-07-15") from error
        return (dates.dt.year + (dates.dt.day_of_year - 1) / 365.25).to_numpy(float), "year"
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
