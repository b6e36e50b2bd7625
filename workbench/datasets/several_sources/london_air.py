"""The user's own hourly readings, as the London Air Quality Network and openair write them."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pandas as pd
import xarray as xr

from workbench.bagging.tables import read_table
from workbench.checks import choose, require
from workbench.datasets.several_sources.columns import readings_of
from workbench.datasets.several_sources.series import sources_from_series

#: Names under which the two pollutants go, without dots, spaces and capitals.
POLLUTANTS = {"pm10": ("pm10", "pm10particulate"), "pm25": ("pm25", "fine", "pm25particulate")}
LONG = ("Site", "Species", "ReadingDateTime", "Value", "Units")
_BRITISH = re.compile(r"\d{1,2}/\d{1,2}/\d{4}")


def sources_from_london_air(
    table: pd.DataFrame | str | Path, start: str, site: str | None = None, days: int = 13,
    hours: int = 2, gap: int = 0,
) -> xr.DataTree:
    """The experiment of Table 1 on the user's own readings, at RB7 or any other station.

    Parameters
    ----------
    table : DataFrame or path of a CSV or Parquet file
        See `read_london_air`.
    start : str
        First hour, GMT; the paper's window is ``"2018-06-15"``.
    site : str, optional
        Code of the station or its name, needed where the table has several.
    days, hours, gap : int
        See `workbench.datasets.several_sources.series.sources_from_series`.

    Returns
    -------
    xr.DataTree
        Sources "pm10" and "pm25", and the target.

    Raises
    ------
    InputError
        If the table cannot be understood or does not cover the window.

    Examples
    --------
    >>> import numpy as np, pandas as pd, workbench as wb
    >>> dates = pd.date_range("2020-01-01", periods=24 * 13, freq="h")
    >>> table = pd.DataFrame({"date": dates, "pm10": np.ones(312), "pm2.5": np.ones(312)})
    >>> wb.sources_from_london_air(table, "2020-01-01")["sources/pm25"].sizes["bag"]
    264
    """
    readings = read_london_air(table, site)
    return sources_from_series(
        readings, start, days, hours, gap, site=readings.attrs["site"],
        notes=[readings.attrs["note"]], dataset="london-air", source="the user's own readings")


def read_london_air(
    table: pd.DataFrame | str | Path, site: str | None = None,
) -> pd.DataFrame:
    """Hourly readings of one station, from the long or the wide format.

    Parameters
    ----------
    table : DataFrame or path of a CSV or Parquet file
        Long, as downloaded from the London Air Quality Network: columns ``Site`` (code),
        ``Species``, ``ReadingDateTime`` (day/month/year hour:minute, with seconds or without, or
        ISO), ``Value`` (empty where missing), ``Units`` and, if it is there, ``Provisional or
        Ratified``. Wide, as openair writes it: ``date`` (in one of these forms), one column per
        pollutant and, where there are several stations, ``code``, ``site`` or both.
    site : str, optional
        Code of the station or its name, whichever the table has, in capitals or not.

    Returns
    -------
    pandas.DataFrame
        ``date`` and one column per pollutant; ``attrs`` hold the site, and a note on provisional
        readings.

    Raises
    ------
    InputError
        If columns, the site or a pollutant are missing, an hour is there twice, units are not
        micrograms per cubic metre, or readings are not numbers, infinite, or flags such as -999.
    """
    frame = read_table(table)
    long = all(name in frame for name in LONG)
    require(long or "date" in frame, f"expected the columns {', '.join(LONG)} (London Air), or "
            f"date and one column per pollutant (openair), got {list(frame)}")
    frame, name = _of_site(frame, [c for c in ("Site", "code", "site") if c in frame], site)
    dates = frame["ReadingDateTime" if long else "date"]
    frame = frame.assign(date=_dates(dates))
    note = "readings carry no flag of ratification"
    if long:
        note, frame = _ratification(frame, note), _widened(frame)
    renamed = {column: wanted for wanted, known in POLLUTANTS.items() for column in frame
               if _plain(column) in known}
    for wanted in POLLUTANTS:
        found = [column for column, to in renamed.items() if to == wanted]
        require(len(found) == 1, f"expected one pollutant {wanted!r} (known as "
                f"{', '.join(POLLUTANTS[wanted])}), got {found} among {list(frame)}")
    out = frame[["date", *renamed]].rename(columns=renamed)
    out = out.assign(**{name: readings_of(out[name], repr(name)) for name in POLLUTANTS})
    out = out.sort_values("date", ignore_index=True)
    out.attrs = {"site": name, "note": note}
    return out


def _of_site(
    frame: pd.DataFrame, columns: list[str], site: str | None,
) -> tuple[pd.DataFrame, str]:
    """Rows of one station, named in any of the columns, and what the first of them calls it."""
    if not columns:
        return frame, site or "station"
    names = frame[columns].astype("string").apply(lambda column: column.str.strip().str.upper())
    codes = names[columns[0]]
    nameless = np.flatnonzero(codes.isna())
    require(nameless.size == 0, f"{nameless.size} rows have no {columns[0]!r}, the first row "
            f"{nameless[:1].tolist()}; name the station or drop them")
    if site is not None:
        named = sorted(set(pd.unique(names.to_numpy().ravel())) - {pd.NA})
        wanted = choose("site", str(site).strip().upper(), named)
        rows = (names == wanted).fillna(False).any(axis=1)
        frame, codes = frame[rows], codes[rows]
    known = sorted(codes.unique())
    require(len(known) == 1, f"the table has {len(known)} stations{f' {site!r}' if site else ''}, "
            f"{', '.join(known[:10])}; pass site=... with the code of one")
    return frame, known[0]


def _dates(dates: pd.Series) -> pd.Series:
    """Dates as strings in ISO form or datetimes; hours are checked by whoever uses them."""
    if pd.api.types.is_datetime64_any_dtype(dates):
        return dates
    text = dates.astype(str).str.strip()
    if not text.str.match(_BRITISH).any():
        return text
    read = pd.to_datetime(text, format="%d/%m/%Y %H:%M", errors="coerce").fillna(
        pd.to_datetime(text, format="%d/%m/%Y %H:%M:%S", errors="coerce"))
    require(not read.isna().any(), f"{int(read.isna().sum())} dates are not day/month/year "
            f"hour:minute or hour:minute:second, the first {text[read.isna()].iloc[:1].tolist()}")
    return read


def _ratification(frame: pd.DataFrame, otherwise: str) -> str:
    flag = next((c for c in frame if _plain(c) == "provisionalorratified"), None)
    if flag is None:
        return otherwise
    provisional = frame[flag].astype(str).str.upper().str.startswith("P") & frame["Value"].notna()
    return f"{int(provisional.sum())} of {int(frame['Value'].notna().sum())} readings are " \
           "provisional"


def _widened(frame: pd.DataFrame) -> pd.DataFrame:
    wanted = {name for known in POLLUTANTS.values() for name in known}
    frame = frame[[_plain(s) in wanted for s in frame["Species"]]]
    units = sorted(frame["Units"].dropna().astype(str).unique())
    wrong = [u for u in units if _plain(u.replace("µ", "u").replace("-", "")) not in (
        "ugm3", "microgramspercubicmetre")]
    require(not wrong, f"expected readings in micrograms per cubic metre (ug m-3), got {wrong}; "
            "convert them")
    twice = frame.duplicated(["date", "Species"])
    require(not twice.any(), f"{int(twice.sum())} readings are there twice (first: "
            f"{frame['date'][twice].iloc[:1].tolist()}); keep one of each hour and species")
    frame = frame.assign(Value=readings_of(frame["Value"], "'Value'"))
    return frame.pivot(index="date", columns="Species", values="Value").reset_index()


def _plain(name: object) -> str:
    return re.sub(r"[^a-z0-9]", "", str(name).lower())
