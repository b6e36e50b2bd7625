"""Two pollutants at one station: one in means of hours, the other hourly but for a gap."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import xarray as xr

from workbench.bagging import bag_along
from workbench.bagging.tables import read_table, require_columns
from workbench.checks import require, whole
from workbench.datasets.several_sources.columns import (
    full_hour,
    hourly_dates,
    note_missing,
    readings_of,
)
from workbench.datasets.several_sources.tree import make_tree, observations, singletons

GAPS, GAP_HOURS = 5, 48
UNITS = "ug/m3"


def sources_from_series(
    table: pd.DataFrame | str | Path,
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
    table : DataFrame or path of a CSV or Parquet file
        Columns ``date`` (full hours; UTC where it has no zone), ``coarse`` and ``fine``, in ug/m3;
        missing readings are NaN or absent rows, no flags such as -999.
    start : str or datetime
        First hour of the window.
    days : int
        Length of the window, at least ten.
    hours : int
        Hours of an average; the paper has 2, 5, 10 and 24.
    gap : int
        Which block is cut out, 0 to 4.
    coarse, fine : str
        Columns, two different ones; also the names of the sources and of their tasks.
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
        If columns are missing or the same, dates repeat, are not full hours or do not cover the
        window, readings are not numbers, infinite or flags, days, hours or gap are not integers
        in range, or nothing is left of a part.

    References
    ----------
    Hamelijnck et al. 2019, section 6 (inter-task multi-resolution) and Table 1.

    Examples
    --------
    >>> import numpy as np, pandas as pd, workbench as wb
    >>> dates = pd.date_range("2020-01-01", periods=24 * 13, freq="h")
    >>> table = pd.DataFrame({"date": dates, "pm10": np.ones(312), "pm25": np.ones(312)})
    >>> tree = wb.sources_from_series(table, "2020-01-01", hours=6)
    >>> tree["sources/pm10"].sizes["bag"], tree["target"].sizes["bag"]
    (52, 48)
    """
    days = whole("days", days)
    require(days >= GAPS * GAP_HOURS // 24, f"the window must have at least "
            f"{GAPS * GAP_HOURS // 24} days, for five blocks of two; got {days}")
    hours, gap = whole("hours", hours, 1, 24 * days), whole("gap", gap, 0, GAPS - 1)
    require(coarse != fine, f"coarse and fine must be two columns, got {coarse!r} for both")
    taken = sorted({"date", "datetime", "time"} & {coarse, fine})
    require(not taken, f"{', '.join(taken)} cannot be a pollutant: it is what readings are "
            "ordered by; rename the column")
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
        settings={"start": f"{origin:%Y-%m-%d %H:%M}", "days": days, "hours": hours, "gap": gap},
        notes=["Gaps have 48 hours; the released code cuts 49, for its ends are inclusive.",
               "The released code swaps the two pollutants; here it is as the paper says.", *notes],
        **attrs)


def _window(
    table: pd.DataFrame | str | Path, start: pd.Timestamp, days: int, names: tuple[str, str],
) -> pd.DataFrame:
    """One row for every hour of the window, NaN where there is no reading."""
    table = read_table(table)
    require_columns(table, ("date", *names))
    require(len(table) > 0, "the table has no rows")
    dates = hourly_dates(table["date"])
    twice = dates[dates.duplicated()]
    require(twice.empty, f"{twice.size} dates repeat (first: {twice.iloc[:1].tolist()}); keep one "
            "row per hour, of one station")
    wanted = pd.date_range(start, periods=24 * days, freq="h", unit="ns")
    require(dates.min() <= wanted[0] and wanted[-1] <= dates.max(),
            f"the window from {wanted[0]} to {wanted[-1]} is not covered by the readings, from "
            f"{dates.min()} to {dates.max()}; choose another start or fewer days")
    inside = (dates >= wanted[0]) & (dates <= wanted[-1])
    readings = pd.DataFrame(
        {name: readings_of(table.loc[inside, name], repr(name)) for name in names},
        index=dates[inside].to_numpy()).reindex(wanted)
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
    return note_missing(ds, known, "hour", "hours", f"{where} have no reading and are")


def _points(readings: pd.DataFrame, name: str) -> xr.Dataset:
    return observations(readings, {"time": "h"}, name, long_name=name, units=UNITS, task=name,
                        labels=["datetime"])
