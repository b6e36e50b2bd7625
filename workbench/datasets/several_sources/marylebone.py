"""PM10 and PM2.5 at London Marylebone Road, in place of the paper's station RB7."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pandas as pd
import xarray as xr

from workbench.datasets.downloads import locate
from workbench.datasets.several_sources.series import sources_from_series

FILE = "marylebone_hourly_1998_2005.csv.gz"
SHA256 = {FILE: "9c55775e18639da37f743e4812ebd2c1bc745bcea1825bb0cec499f65aab7ee0"}


def load(
    start: str = "2002-06-15",
    days: int = 13,
    hours: int = 2,
    gap: int = 0,
    directory: str | Path | None = None,
) -> xr.DataTree:
    """Marylebone Road (real): PM10 in means of hours, PM2.5 hourly with two days cut out.

    The paper's station RB7 in June 2018 stands here for one of the same network whose readings
    are public, hourly from 1998 to 2005. The paper trains from 15 June and cuts out two-day blocks
    from 18 to 27 June; of these thirteen days the year 2002 has the fewest missing readings of both
    pollutants, 4 of 624 (the other years: 22, 102, 68, 5 in 1998 to 2001, 101 and 36 in 2003 and
    2004; 2005 ends on 23 June). No result was looked at for that choice.

    Parameters
    ----------
    start : str
        First hour, UTC.
    days : int
        Length of the window; its last ten days are the five blocks.
    hours : int
        Hours of a mean of PM10; the paper has 2, 5, 10 and 24.
    gap : int
        Which block of PM2.5 is cut out, 0 to 4; the paper's errors are means over the five.
    directory : str or Path, optional
        Folder with the file or the one above it; ``WORKBENCH_DATA`` if not given. The file is
        ``mydata`` of the R package openair as CSV with columns date, pm10, pm25 and others.

    Returns
    -------
    xr.DataTree
        Sources "pm10" and "pm25", target the hours of PM2.5 in the gap; see
        `workbench.datasets.several_sources.series.sources_from_series`.

    Raises
    ------
    InputError
        If the file is missing or has other columns, or the window lies outside of it.

    References
    ----------
    Hamelijnck et al. 2019, section 6 and Table 1; data: ``mydata`` of Carslaw and Ropkins,
    openair; UK air quality data, Open Government Licence.
    """
    path = locate("marylebone", SHA256, directory) / FILE
    same = hashlib.sha256(path.read_bytes()).hexdigest() == SHA256[FILE]
    notes = ["Marylebone Road stands for the paper's station RB7, whose readings of 2018 are not "
             "part of this dataset."]
    if not same:
        notes.append(f"{FILE} has another sha256 than the file that the defaults were chosen on.")
    return sources_from_series(
        pd.read_csv(path), start, days, hours, gap, site="Marylebone Road", notes=notes,
        dataset="marylebone", source="openair mydata (UK Automatic Urban and Rural Network)",
        licence="Open Government Licence (data), GPL (openair)")
