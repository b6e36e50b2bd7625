"""Summaries from tables with one row per area."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
import xarray as xr

from workbench import schema
from workbench.bagging.degrees import NARROW, ratio_at
from workbench.bagging.summaries import as_summary
from workbench.bagging.tables import numbers_of, read_table, require_columns, separated
from workbench.checks import DataWarning, choose, require, warn

_LONGITUDES, _LATITUDES = {"lon", "long", "lng", "longitude"}, {"lat", "latitude"}


def from_summaries(
    table: object, statistic: str, count: str, *, x: str | None = None, y: str | None = None,
    covariates: Sequence[str] = (), variance: str | None = None, name: str | None = None,
    is_a: str = "mean", kind: str = "continuous", units: Mapping[str, str] | None = None,
    encoding: str | None = None,
) -> xr.Dataset:
    """Turn a table with one row per area into a summary.

    Parameters
    ----------
    table : DataFrame, str or Path
        The table, or a CSV or Parquet file.
    statistic, count : str
        Columns with each area's statistic and the number of observations behind it.
    x, y : str, optional
        Columns with the centre's coordinates; both or neither.
    covariates : sequence of str
        Columns with further inputs.
    variance : str, optional
        Column with the variance of the observations inside each area, with divisor n, the count:
        the mean of (observation - mean)², 0 of one observation. Programs mostly divide by n - 1
        (pandas' ``var()``, R's ``var``, Excel's VAR.S): multiply such a variance by (n - 1) / n,
        ``table["s2"] * (table["n"] - 1) / table["n"]``. Missing ones of one observation are taken
        for 0.
    name : str, optional
        Column that names the areas.
    is_a : {"mean", "median", "proportion"}
        What the statistic is.
    kind : {"count", "continuous"}
        What single observations are.
    units : mapping, optional
        Units of any column.
    encoding : str, optional
        Of a CSV file that is not UTF-8, such as latin-1.

    Returns
    -------
    xr.Dataset
        One individual per area, as `summarise` returns it.

    Raises
    ------
    InputError
        If a column is missing, a value is not finite, a count is below one, two areas have one
        centre, or a proportion is not between 0 and 1.

    Warns
    -----
    DataWarning
        If variances of single observations are missing, as they are with another divisor, or are
        given of what is no mean; if centres are longitudes and latitudes far from the equator.

    Examples
    --------
    >>> import pandas as pd, workbench as wb
    >>> table = pd.DataFrame({"mean": [1.0, 2.0], "n": [10, 30], "x": [0.0, 5.0], "y": [1.0, 1.0]})
    >>> wb.from_summaries(table, "mean", "n", x="x", y="y")["weight"].values.tolist()
    [10.0, 30.0]
    """
    frame = read_table(table, encoding=encoding)
    choose("is_a", is_a, schema.STATISTICS)
    choose("kind", kind, schema.KINDS)
    require((x is None) == (y is None), "give both x and y, or neither")
    inputs = [*covariates, *(c for c in (x, y) if c)]
    require(bool(inputs), "a summary needs a centre: name the columns x and y, or covariates")
    used = [statistic, count, *inputs, *(c for c in (variance, name) if c)]
    require_columns(frame, used, more=separated(table))
    require(len(frame) > 0, "the table has no rows")
    frame = numbers_of(frame, [c for c in used if c not in (name, variance)])
    few = frame[frame[count] < 1]
    require(few.empty, f"{len(few)} areas have a count below one, the first in row "
            f"{_first(few)} ({float(few[count].iloc[0]) if len(few) else 0:g}); a statistic needs "
            "at least one observation: drop these rows")
    twice = frame[frame.duplicated(inputs, keep=False)]
    require(twice.empty, f"{len(twice)} areas share their centre with another, the first in row "
            f"{_first(twice)}; combine such rows (counts add up, means are weighted by them) or "
            "tell them apart by a covariate")
    if is_a == "proportion":
        odd = frame[(frame[statistic] < 0) | (frame[statistic] > 1)]
        require(odd.empty, f"{len(odd)} proportions are not between 0 and 1, the first in row "
                f"{_first(odd)}; divide percentages by 100")
    if variance and is_a != "mean":
        warn(f"column {variance!r} is not used: variances of observations say how certain a mean "
             f"is, not a {is_a}; leave it out", DataWarning)
        variance = None
    if variance:
        frame = _with_variances(frame, variance, count)
    if x and y:
        _say_degrees(frame, x, y)
    unit = dict(units or {})
    individuals = xr.Dataset(
        {"covariates": ((schema.INDIVIDUAL, schema.COVARIATE),
                        frame[list(covariates)].to_numpy(float)),
         "weight": (schema.INDIVIDUAL, frame[count].to_numpy(float),
                    {"units": unit.get(count, "1"), "long_name": "observations"})},
        coords={"individual": np.arange(len(frame)), "covariate": list(covariates),
                "covariate_units": (schema.COVARIATE, [unit.get(c, "1") for c in covariates])})
    for axis, column in (("x", x), ("y", y)):
        if column:
            about = {"units": unit.get(column, "1")}
            individuals = individuals.assign_coords(
                {axis: (schema.INDIVIDUAL, frame[column].to_numpy(float), about)})
    names = frame[name] if name else np.arange(len(frame))
    return as_summary(
        individuals, frame[statistic].to_numpy(float), np.asarray(names),
        frame[variance].to_numpy(float) if variance else None,
        {"long_name": statistic, "units": unit.get(statistic, "1"), "aggregation": "mean",
         "kind": kind, "statistic": is_a})


def _with_variances(frame: pd.DataFrame, variance: str, count: str) -> pd.DataFrame:
    """The table with variances as numbers; of one observation there is none about its own mean."""
    missing, single = frame[variance].isna(), frame[count] == 1
    unknown = frame[missing & ~single]
    require(unknown.empty, f"{len(unknown)} areas of more than one observation have no variance in "
            f"column {variance!r}, the first in row {_first(unknown)}; fill it, or leave out these "
            "rows or the whole column")
    if missing.any():
        warn(f"{int(missing.sum())} areas of one observation have no variance (the first in row "
             f"{_first(frame[missing])}): it is undefined where the divisor is the count less one, "
             f"and taken for 0, as the divisor has to be the count. Multiply {variance!r} by "
             "(count - 1) / count if its divisor is the count less one", DataWarning)
        frame = frame.assign(**{variance: frame[variance].mask(missing, 0.0)})
    return numbers_of(frame, [variance])


def _say_degrees(frame: pd.DataFrame, x: str, y: str) -> None:
    """Warn of longitudes that are much shorter than latitudes, where the columns say what it is."""
    if str(x).lower() not in _LONGITUDES or str(y).lower() not in _LATITUDES:
        return
    latitude = frame[y].to_numpy(float)
    ratio = ratio_at(latitude)
    if (np.abs(latitude) > 90).any() or ratio >= NARROW:
        return
    warn(f"distances are taken in degrees of {x!r} and {y!r}, of which one of longitude is "
         f"{111.3 * ratio:.0f} km here, one of latitude 111 km: give a projection's metres, as "
         "geopandas.GeoSeries.from_xy(lon, lat, crs='EPSG:4326').to_crs(EPSG code) has them, or "
         "take a kernel with a lengthscale for each, ard-...", DataWarning)


def _first(rows) -> object:
    return rows.index[0] if len(rows) else None
