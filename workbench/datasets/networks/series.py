"""Two pollutants at one station: one in means of hours, the other hourly but for a gap."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
import xarray as xr

from workbench.bagging import bag_along
from workbench.checks import InputError, require
from workbench.datasets.networks.tree import make_tree, observations, singletons

GAPS, GAP_HOURS = 5, 48
UNITS = "ug/m3"


def sources_from_series(
    table: pd.DataFrame,
    start: object,
    days: int = 13,
    hours: int = 2,
    gap: int = 0,
    *,
    coarse: str = "pm10",
    fine: str = "pm25",
    site: str = "station",
    notes: Sequence[str] = (),
    **attrs: object,
) -> xr.DataTree:
    """Make the two sources of an experiment with several tasks out of hourly readings.

    The last ten days of the window are five blocks of two days. One of them is cut out of ``fine``
    and is the target; ``coarse`` is averaged over consecutive windows of ``hours`` hours, counted
    from the start. Windows that lack an hour are left out, as are missing hours of ``fine``;
    ``treatments`` of each source say how many.

    Parameters
    ----------
    table : pandas.DataFrame
        Columns ``date`` (full hours; UTC where it has no zone), ``coarse`` and ``fine``, in ug/m3;
        missing readings are NaN or absent rows.
    start : str or datetime
        First hour of the window.
    days : int
        Length of the window, at least ten.
    hours : int
        Hours of an average; the paper has 2, 5, 10 and 24.
    gap : int
        Which block is cut out, 0 to 4.
    coarse, fine : str
        Columns; also the names of the sources and of their tasks.
    site : str
        Name for titles.
    notes : sequence of str
        Added to the tree's notes.
    **attrs
        Attributes of the tree.

    Returns
    -------
    xr.DataTree
        Sources ``coarse`` (individuals are hours, bags are averages) and ``fine`` (singletons);
        ``target``: the hours of ``fine`` in the gap. The covariate ``time`` counts hours (h) from
        the start; ``datetime`` is a coordinate of the individuals. There is no ``truth``.

    Raises
    ------
    InputError
        If columns are missing, dates repeat, are not full hours or do not cover the window, or
        nothing is left of a part.

    References
    ----------
    Hamelijnck et al. 2019, section 6 (inter-task multi-resolution) and Table 1.
    """
    require(days >= GAPS * GAP_HOURS // 24, f"the window must have at least "
            f"{GAPS * GAP_HOURS // 24} days, for five blocks of two; got {days}")
    require(1 <= hours <= 24 * days, f"hours must be from 1 to {24 * days}, got {hours}")
    require(gap in range(GAPS), f"gap must be 0 to {GAPS - 1}, got {gap}")
    origin = full_hour(start, "start")
    readings = _window(table, origin, days, (coarse, fine))
    first = 24 * days - (GAPS - gap) * GAP_HOURS
    inside = (readings["time"] >= first) & (readings["time"] < first + GAP_HOURS)
    sources = {coarse: _averages(readings, coarse, hours),
               fine: _hourly(readings[~inside], fine, "outside the gap")}
    begin = readings["datetime"].iloc[first]
    return make_tree(
        sources, _hourly(readings[inside], fine, "in the gap"),
        title=f"{site}, {coarse} in means of {hours} h, {fine} hourly but for two days from "
              f"{begin:%Y-%m-%d}",
        settings={"start": f"{origin:%Y-%m-%d %H:%M}", "days": int(days),
                  "hours": int(hours), "gap": int(gap)},
        notes=["Gaps have 48 hours; the released code cuts 49, for its ends are inclusive.",
               "The released code swaps the two pollutants; here it is as the paper says.", *notes],
        **attrs)


def hourly_dates(dates: object, what: str = "date") -> pd.Series:
    """Dates as UTC without a zone, all of them full hours.

    Parameters
    ----------
    dates : pandas.Series
        Datetimes or strings in ISO form.
    what : str
        Name for errors.

    Raises
    ------
    InputError
        If they cannot be read, or are not full hours.
    """
    try:
        read = pd.to_datetime(pd.Series(dates), utc=True).dt.tz_localize(None)
    except (ValueError, TypeError) as error:
        raise InputError(f"column {what!r} must hold dates such as 2002-06-15 13:00 ({error})"
                         ) from error
    bad = read.isna() | (read != read.dt.floor("h"))
    require(not bad.any(), f"column {what!r} must hold full hours, but {int(bad.sum())} rows do "
            f"not, the first with {pd.Series(dates)[bad].iloc[:1].tolist()}; average them first")
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
        read = pd.to_datetime(when, utc=True).tz_localize(None).as_unit("ns")
    except (ValueError, TypeError, AttributeError) as error:
        raise InputError(f"{what} must be a date such as '2002-06-15', got {when!r}") from error
    require(read == read.floor("h"), f"{what} must be a full hour, got {when!r}")
    return read


def hours_since(dates: pd.Series, start: pd.Timestamp) -> np.ndarray:
    """Hours from the start, (rows,)."""
    return ((dates - start) / pd.Timedelta(hours=1)).to_numpy(float)


def _window(
    table: pd.DataFrame, start: pd.Timestamp, days: int, names: tuple[str, str],
) -> pd.DataFrame:
    """One row for every hour of the window, NaN where there is no reading."""
    absent = [c for c in ("date", *names) if c not in table]
    require(not absent, f"the table lacks columns {absent}; it has {list(table)}")
    dates = hourly_dates(table["date"])
    twice = dates[dates.duplicated()]
    require(twice.empty, f"{twice.size} dates repeat (first: {twice.iloc[:1].tolist()}); keep one "
            "row per hour, of one station")
    wanted = pd.date_range(start, periods=24 * days, freq="h", unit="ns")
    require(dates.min() <= wanted[0] and wanted[-1] <= dates.max(),
            f"the window from {wanted[0]} to {wanted[-1]} is not covered by the readings, from "
            f"{dates.min()} to {dates.max()}; choose another start or fewer days")
    readings = table[list(names)].set_axis(dates.to_numpy()).reindex(wanted).astype(float)
    endless = np.isinf(readings.to_numpy())
    require(not endless.any(), f"{int(endless.sum())} readings are infinite; mend them")
    return readings.rename_axis("datetime").reset_index().assign(
        time=np.arange(24.0 * days))


def _averages(readings: pd.DataFrame, name: str, hours: int) -> xr.Dataset:
    """Means over consecutive windows that lack no hour."""
    known = readings[name].notna()
    window = readings["time"].astype(int) // hours
    # A window cut short by the end of the stretch lacks hours, too.
    whole = known.groupby(window).transform("sum") == hours
    count = int(whole.sum()) // hours
    require(count > 0, f"no window of {hours} h has all hours of {name!r}; choose another start or "
            "fewer hours")
    ds = bag_along(_points(readings[whole], name), "time", sizes=np.full(count, hours),
                   descending=False)
    starts = readings["datetime"][whole].iloc[::hours].to_numpy()
    ds = ds.assign_coords(bag_datetime=("bag", starts))
    total, missing = -(-len(readings) // hours), int((~known).sum())
    ds.attrs |= {
        "level": f"means of {hours} h", "hours_missing": missing, "bags_left_out": total - count,
        "treatments": f"{missing} of {len(readings)} hours have no reading; {total - count} of "
                      f"{total} windows of {hours} h lack an hour and are left out"}
    return ds


def _hourly(readings: pd.DataFrame, name: str, where: str) -> xr.Dataset:
    known = readings[name].notna()
    require(bool(known.any()), f"there are no readings of {name!r} {where}; choose another start "
            "or gap")
    chosen = readings[known]
    ds = singletons(_points(chosen, name), [f"{d:%Y-%m-%dT%H}" for d in chosen["datetime"]])
    missing = int((~known).sum())
    ds.attrs |= {"level": "hour", "hours_missing": missing,
                 "treatments": f"{missing} of {len(readings)} hours {where} have no reading and "
                               "are left out"}
    return ds


def _points(readings: pd.DataFrame, name: str) -> xr.Dataset:
    return observations(readings, {"time": "h"}, name, long_name=name, units=UNITS, task=name,
                        labels=["datetime"])
