"""Summaries: one centre, statistic and count per area, all that privacy may leave of the data.

A summary is itself a bagged dataset: each area holds one individual, at the area's centre, whose
weight is the number of observations behind the area's value.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import xarray as xr

from workbench import schema
from workbench.bagging.assemble import assemble, bag_values
from workbench.bagging.individuals import rebag
from workbench.bagging.separators import separated, separator
from workbench.checks import InputError, choose, package, reading, reject, require

LOCATIONS = ("mean", "geometry")
_SUFFIXES = (".csv", ".parquet")


def summarise(ds: xr.Dataset, statistic: str = "mean", location: str = "mean") -> xr.Dataset:
    """Reduce every area of a bagged dataset to its centre, one statistic and a count.

    Parameters
    ----------
    ds : xr.Dataset
        Bagged dataset. With ``individual_value`` any statistic can be taken; with totals or means
        of areas alone only the mean, per unit of weight, which is what the count then counts.
    statistic : {"mean", "median", "proportion"}
        Of the individual values of each area; proportion is of values that are 0 or 1.
    location : {"mean", "geometry"}
        Where the centre is: at the weighted mean of the individuals (the population's centre, where
        weights are population), or at the centroid of ``bag_geometry`` (of a grid: the cell's
        centre). Covariates are averaged by weight.

    Returns
    -------
    xr.Dataset
        One individual per bag, ``weight`` the count; ``sample_variance`` (divisor: the count) where
        individual values are known and each counts once.

    Raises
    ------
    InputError
        If the statistic needs individual values that are not there, or weights that are one.

    References
    ----------
    Shikuri 2025, sections 4 and 6.
    """
    schema.check(ds)
    choose("statistic", statistic, schema.STATISTICS)
    choose("location", location, LOCATIONS)
    require("trials" not in ds, "positives out of trials are a summary already; use them as they "
            "are")
    value, spread = _statistic(ds, statistic)
    weight, members, bags = ds["weight"].values, ds["membership"].values, ds.sizes[schema.BAG]

    def centre(values: np.ndarray) -> np.ndarray:
        return bag_values(values, weight, members, bags, "mean")

    table = np.stack([centre(column) for column in ds["covariates"].values.T], 1) if (
        ds.sizes["covariate"]) else np.zeros((bags, 0))
    places = {axis: (schema.INDIVIDUAL, centre(ds[axis].values), dict(ds[axis].attrs))
              for axis in ("x", "y") if axis in ds}
    if location == "geometry":
        places = _centroids(ds, places)
    individuals = xr.Dataset(
        {"covariates": ((schema.INDIVIDUAL, schema.COVARIATE), table),
         "weight": (schema.INDIVIDUAL, np.bincount(members, weight, bags), dict(
             ds["weight"].attrs) | {"long_name": "observations"})},
        coords={"individual": np.arange(bags), "covariate": ds["covariate"],
                **{n: ds[n] for n in ("covariate_units",) if n in ds.coords}, **places})
    return _assembled(individuals, value, ds["bag"].values, spread, {
        **ds["value"].attrs, "aggregation": "mean", "statistic": statistic}, ds,
        {name: ds[name].values for name in ds.coords
         if ds[name].dims == (schema.BAG,) and name not in ("bag", "bag_x", "bag_y")})


def separate(ds: xr.Dataset) -> xr.Dataset:
    """The complete data: every individual a bag of its own, with its own value.

    Parameters
    ----------
    ds : xr.Dataset
        Bagged dataset with ``individual_value``.

    Raises
    ------
    InputError
        If individual values are not known.
    """
    n = ds.sizes[schema.INDIVIDUAL]
    out = rebag(ds, np.arange(n), [str(i) for i in range(n)])
    return out.assign_attrs({**ds.attrs, "level": "individual"})


def move_to_centres(ds: xr.Dataset, location: str = "mean") -> xr.Dataset:
    """Move every individual to its bag's centre, as the paper's summarised VI takes complete data.

    Parameters
    ----------
    ds : xr.Dataset
        Bagged dataset.
    location : {"mean", "geometry"}
        See `summarise`.

    References
    ----------
    Shikuri 2025, section 6, baselines.
    """
    centres = summarise(ds.drop_vars(["individual_value", "trials", "sample_variance"],
                                     errors="ignore"), schema.statistic(ds), location)
    members = ds["membership"].values
    out = ds.assign(covariates=(ds["covariates"].dims, centres["covariates"].values[members],
                                ds["covariates"].attrs))
    return out.assign_coords({axis: (schema.INDIVIDUAL, centres[axis].values[members],
                                     ds[axis].attrs) for axis in ("x", "y") if axis in ds})


def from_summaries(
    table: object, statistic: str, count: str, *, x: str | None = None, y: str | None = None,
    covariates: Sequence[str] = (), variance: str | None = None, name: str | None = None,
    is_a: str = "mean", kind: str = "continuous", units: Mapping[str, str] | None = None,
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
        Column with the variance of the observations inside each area; its divisor is the count.
    name : str, optional
        Column that names the areas.
    is_a : {"mean", "median", "proportion"}
        What the statistic is.
    kind : {"count", "continuous"}
        What single observations are.
    units : mapping, optional
        Units of any column.

    Raises
    ------
    InputError
        If a column is missing, a value is not finite, a count is below one, two areas have one
        centre, or a proportion is not between 0 and 1.
    """
    frame = read_table(table)
    choose("is_a", is_a, schema.STATISTICS)
    choose("kind", kind, schema.KINDS)
    require((x is None) == (y is None), "give both x and y, or neither")
    inputs = [*covariates, *(c for c in (x, y) if c)]
    require(bool(inputs), "a summary needs a centre: name the columns x and y, or covariates")
    used = [statistic, count, *inputs, *(c for c in (variance, name) if c)]
    missing = [column for column in used if column not in frame]
    require(not missing, f"the table lacks columns {missing}; it has {list(frame)}"
            f"{separated(table)}")
    require(len(frame) > 0, "the table has no rows")
    frame = _numbers(frame, [c for c in used if c != name])
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
    return _assembled(
        individuals, frame[statistic].to_numpy(float), np.asarray(names),
        frame[variance].to_numpy(float) if variance else None,
        {"long_name": statistic, "units": unit.get(statistic, "1"), "aggregation": "mean",
         "kind": kind, "statistic": is_a})


def _statistic(ds: xr.Dataset, statistic: str) -> tuple[np.ndarray, np.ndarray | None]:
    """Statistic of every bag, and the variance of the observations behind it where known."""
    weight, members, bags = ds["weight"].values, ds["membership"].values, ds.sizes[schema.BAG]
    sums = schema.aggregation(ds) == "sum"
    if "individual_value" not in ds:
        known = schema.statistic(ds)
        require(statistic == known, f"the areas' values are their {known}; a {statistic} needs the "
                f"individual values, which this dataset does not have: use statistic={known!r}")
        value = ds["value"].values
        spread = ds["sample_variance"].values if "sample_variance" in ds and not sums else None
        return (value / np.bincount(members, weight, bags) if sums else value), spread
    values, once = ds["individual_value"].values, bool((weight == 1).all())
    if statistic == "median":
        import pandas as pd

        require(once, "a median counts each observation once, but these have weights")
        return pd.Series(values).groupby(members).median().to_numpy(), None
    if statistic == "proportion":
        require(once and bool(np.isin(values, (0, 1)).all()), "a proportion is of observations "
                "that are 0 or 1, each counted once")
    if sums and not once:       # a total over its exposure: no single observations behind it
        return bag_values(values, weight, members, bags, "sum") / np.bincount(
            members, weight, bags), None
    mean = bag_values(values, weight, members, bags, "mean")
    spread = bag_values((values - mean[members])**2, weight, members, bags, "mean")
    return mean, spread if once else None


def _centroids(ds: xr.Dataset, places: dict) -> dict:
    shapely = package("shapely", extra="geo")
    require("bag_geometry" in ds.coords and bool(places), "location='geometry' needs polygons "
            "(bag_geometry) and coordinates x and y; use location='mean'")
    centroid = shapely.centroid(ds["bag_geometry"].values)
    found = {"x": shapely.get_x(centroid), "y": shapely.get_y(centroid)}
    return {axis: (dims, found[axis], attrs) for axis, (dims, _, attrs) in places.items()}


def _assembled(individuals, value, bags, spread, attrs, ds=None, coords=None) -> xr.Dataset:
    out = assemble(individuals, np.arange(len(value)), value, bags, value_attrs=attrs,
                   bag_coords=coords)
    if spread is not None:
        out["sample_variance"] = (schema.BAG, spread, {
            "long_name": "variance of the observations (divisor: their number)"})
    out.attrs |= {} if ds is None else ds.attrs
    return schema.check(out)


def read_table(table: object):
    """A DataFrame, or the table in a CSV or Parquet file."""
    import pandas as pd

    if isinstance(table, pd.DataFrame):
        twice = sorted({str(c) for c in table.columns[table.columns.duplicated()]})
        require(not twice, f"column names must differ, but these repeat: {twice[:5]}")
        return table.reset_index(drop=True)
    if not isinstance(table, (str, Path)):
        raise reject("a DataFrame or the path of a CSV or Parquet file", type(table).__name__,
                     "pass pandas.DataFrame(table)")
    path = Path(table)
    require(path.is_file(), f"{str(path)!r} is no file; expected a CSV or Parquet table")
    choose("kind of file", path.suffix.lower(), _SUFFIXES)
    if path.suffix.lower() == ".csv":
        with reading(path, "a CSV table", "to save it anew as UTF-8 text with commas between the "
                                          "columns, or pass the DataFrame that pandas.read_csv "
                                          "makes with the right encoding= and sep="):
            return pd.read_csv(path, sep=separator(path))
    package("pyarrow", extra="data")
    with reading(path, "a Parquet table", "to write it again"):
        return pd.read_parquet(path)


def _numbers(frame, columns: list[str]):
    """The table with these columns as numbers, all finite."""
    frame = frame.copy()
    for column in columns:
        try:
            values = frame[column].to_numpy(float)
        except (TypeError, ValueError) as error:
            text = frame[column].astype(str)
            commas = text[text.str.fullmatch(r"-?\d+,\d+")]
            hint = f"; {commas.iloc[0]!r} has a decimal comma: write points" if len(commas) else ""
            raise InputError(f"column {column!r} must hold numbers ({error}){hint}") from error
        bad = np.flatnonzero(~np.isfinite(values))
        require(bad.size == 0, f"column {column!r} has {bad.size} values that are missing or not "
                f"finite, the first in row {bad[:1].tolist()}; drop or fill these rows")
        frame[column] = values
    return frame


def _first(rows) -> object:
    return rows.index[0] if len(rows) else None
