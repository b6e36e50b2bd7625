"""Areas over time: a table of area and period, each of which is a bag of pixels at that period."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from workbench import schema
from workbench.bagging import assemble, looked_at
from workbench.bagging.findings import counted, part
from workbench.bagging.tables import as_numbers, numbers_of, require_columns
from workbench.checks import DataWarning, choose, option, require, without_warnings
from workbench.geo.areas import usable_values
from workbench.geo.attributes import hint_of
from workbench.geo.joining import TABLE, made_one, table_name, table_with_ids
from workbench.geo.maps import map_periods
from workbench.geo.period_numbers import TIME, as_text, on_a_line
from workbench.geo.period_weights import changes, mean_weight, weighed, weights_by_period
from workbench.geo.standard_errors import refuse_of_others, refuse_unusable, with_variances
from workbench.geo.totals import survey_errors
from workbench.geo.treatments import treatments_from

HOLE, _AT = "{time}", "@"
AREA, PERIOD = "area", "period"             # labels of the bags, and of the individuals
_MOST = 30_000_000                          # individuals, times periods
_OF_VALUES = ("totals", "join", "time", "trials", "standard_error", "value", "kind", "aggregation",
              "value_units", "encoding", "covariates", "weight", "treatments", "record")


def bag_periods(bag: Callable[..., xr.Dataset], given: dict[str, Any]) -> xr.Dataset:
    """Bag polygons once and repeat their pixels for each period.

    Parameters
    ----------
    bag : callable
        `workbench.bag_polygons`.
    given : dict
        Its arguments, ``time`` among them, and its ``record`` so far.

    Returns
    -------
    xr.Dataset
        One bag for each row of the table; the covariate ``time``; labels ``area`` and ``period`` of
        bags, ``period`` of individuals as ``individual_period``.

    Raises
    ------
    InputError
        If there is no table of totals, a period cannot be read, an area has a period twice, or no
        value is known.
    """
    treatments = given["treatments"]
    options, record = treatments_from(treatments), given["record"]
    require(given["totals"] is not None, "a column of periods is one of a table with a row for "
            "each area and period; give " + option("totals", "FILE"))
    frame, name = None, table_name(given["totals"])
    id, value, trials, error = (given[c] for c in ("join", "value", "trials", "standard_error"))
    refuse_of_others(error, given["kind"], given["aggregation"], trials, options.duplicates)
    with part(TABLE, name):
        frame, periods, at, unit = _table(given, name)
    require(frame is not None, f"without the periods of {name} polygons and rasters were not "
            "looked at; correct the table, and check again")
    covariates, varying = _expanded(given["covariates"], periods)
    weights, weight = None, given["weight"]
    if changes(weight, HOLE):
        weights = weights_by_period(given, periods, HOLE, options, record)
        weight = mean_weight(weights, _stem(given["weight"]))
    still = pd.DataFrame({id: frame[id].unique()}).assign(**{value: 0.0})
    with without_warnings(DataWarning):         # what is odd is looked for in all periods together
        static = bag(**{k: v for k, v in given.items() if k not in _OF_VALUES}, value=value,
                     totals=still, join=id, covariates=covariates, kind="continuous",
                     weight=weight, aggregation="mean" if trials else given["aggregation"],
                     **treatments)
    record.extend(line for line in static.attrs.pop("treatments").split("\n")
                  if line != "none" and not line.startswith("look at this:"))
    static.attrs.pop("sanity", None)

    names = static["bag"].values.astype(str)
    frame = frame[frame[id].isin(names)].reset_index(drop=True)
    require(len(frame) > 0, f"no row of {name} belongs to an area with pixels, so that its values "
            "and periods were not looked at; correct the ids or the polygons, and check again")
    bags = (frame[id] + " " + frame[PERIOD + _AT]).to_numpy(dtype=str)
    kind = choose("kind", given["kind"], schema.KINDS)
    values, kept = usable_values(_numbers(frame, value, name), bags, kind, options, record)
    tested = None if trials is None else numbers_of(frame, [trials], name)[trials].to_numpy()
    if tested is not None:
        survey_errors(values, tested, kept, bags, kind, (value, trials), record)
    # Of areas and periods, where those of the areas alone were counted; of weights nothing is lost.
    counted(areas=values.size, value=np.nansum(values), weight=np.nan, outside=np.nan, twice=np.nan)
    frame, values, bags = frame[kept], values[kept], bags[kept]
    errors = None if error is None else _numbers(frame, error, name)
    if errors is not None:
        refuse_unusable(errors, bags, error)
    position = pd.Index(names).get_indexer(frame[id])
    record.note(f"{len(bags)} of {names.size} x {len(periods)} areas and periods ({periods[0]} to "
                f"{periods[-1]}) have a value; a pixel is an individual in each of them")
    ds = _crossed(static, position, frame[PERIOD + _AT].to_numpy(dtype=str), dict(zip(
        periods, at, strict=True)), varying, unit)
    if weights is not None:
        ds = weighed(ds, weights, bags, record)
    described = {"long_name": value, "kind": kind,
                 "units": given["value_units"] or schema.UNITS[kind],
                 "aggregation": "mean" if trials else given["aggregation"]}
    if trials and described["units"] == "cases":
        described["units"] = "positives"
    labels = {key: static[key].values[position] for key, c in static.coords.items()
              if c.dims == (schema.BAG,) and key not in (schema.BAG, "bag_x", "bag_y")}
    made = assemble(
        ds.drop_vars("of"), ds["of"].values, values, bags, value_attrs=described,
        bag_coords=labels | {AREA: frame[id].to_numpy(dtype=str),
                             PERIOD: frame[PERIOD + _AT].to_numpy(dtype=str)})
    made["individual"] = np.arange(made.sizes["individual"])
    counted(bagged=made.sizes[schema.BAG], individuals=made.sizes[schema.INDIVIDUAL])
    if tested is not None:
        made = schema.check(made.assign(trials=(schema.BAG, tested[kept], {"units": "trials"})))
    if errors is not None:
        made = with_variances(made, errors, error)
    made.attrs |= static.attrs | {"treatments": str(record)}
    return looked_at(made)


def _table(given: dict[str, Any], name: str
           ) -> tuple[pd.DataFrame, list[str], list[float], str]:
    """A table with a row for each area and period, its periods as text and numbers, their unit."""
    frame, _ = table_with_ids(given["totals"], given["join"], given["encoding"], given["record"])
    columns = [given[c] for c in ("time", "value", "trials", "standard_error") if given[c]]
    require_columns(frame, columns, name)
    frame = frame.assign(**{PERIOD + _AT: [as_text(p) for p in frame[given["time"]]]})
    periods, at, unit = _periods(frame, given["time"], name)
    bags = frame[given["join"]] + " " + frame[PERIOD + _AT]
    twice = bags[bags.duplicated()].unique()
    require(len(twice) == 0, f"{len(twice)} areas have a period twice in {name} (first: "
            f"{list(twice[:3])})" + made_one(frame, bags))
    return frame, periods, at, unit


def _crossed(static: xr.Dataset, position: np.ndarray, periods: np.ndarray, at: dict[str, float],
             varying: dict[str, list[str]], unit: str) -> xr.Dataset:
    """Individuals of each bag: those of its area, with its period; ``of`` is the bag's position."""
    members = static["membership"].values
    sizes = np.bincount(members, minlength=static.sizes[schema.BAG])
    total = int(sizes[position].sum())
    require(total <= _MOST, f"{total:,} pixels times periods are more than {_MOST:,}; take coarser "
            "pixels, or fewer periods")
    first = np.cumsum(sizes) - sizes
    rows = np.concatenate([np.arange(first[p], first[p] + sizes[p]) for p in position])
    of = np.repeat(np.arange(position.size), sizes[position])
    ds = static.isel(individual=rows).drop_vars("covariates").drop_dims("covariate")
    names = [str(name) for name in static["covariate"].values]
    units = dict(zip(names, static["covariate_units"].values.astype(str), strict=True))
    table = static["covariates"].values
    own = {name for columns in varying.values() for name in columns}
    columns, told = {}, {}
    for name in names:
        stem = name.partition(_AT)[0]
        if name not in own:
            columns[name], told[name] = table[rows, names.index(name)], units[name]
        elif stem not in columns:
            each = np.array([names.index(f"{stem}{_AT}{p}") for p in periods])
            columns[stem], told[stem] = table[rows, each[of]], units[name]
    require(TIME not in columns, f"a covariate is called {TIME!r}, which the period is; rename it")
    columns[TIME], told[TIME] = np.array([at[p] for p in periods])[of], unit
    return ds.assign(
        covariates=((schema.INDIVIDUAL, schema.COVARIATE), np.stack(list(columns.values()), 1)),
    ).assign_coords({
        "covariate": list(columns), "covariate_units": (schema.COVARIATE, list(told.values())),
        "individual_period": (schema.INDIVIDUAL, periods[of]), "of": (schema.INDIVIDUAL, of)})


def _expanded(covariates: object, periods: list[str]) -> tuple[object, dict[str, list[str]]]:
    """Covariates with ``{time}`` in their path, one raster for each period, by name@period."""
    if covariates is None:
        return None, {}
    named = covariates if isinstance(covariates, dict) else None
    several = isinstance(covariates, Sequence) and not isinstance(covariates, str)
    listed = list(named.items()) if named is not None else [
        (None, one) for one in (covariates if several else [covariates])]
    if not any(isinstance(one, str | Path) and HOLE in str(one) for _, one in listed):
        return covariates, {}
    out, varying = {}, {}
    for name, one in listed:
        if isinstance(one, str | Path) and HOLE in str(one):
            stem = name or _stem(one)
            varying[stem] = [f"{stem}{_AT}{p}" for p in periods]
            out |= {f"{stem}{_AT}{p}": str(one).replace(HOLE, p) for p in periods}
        else:
            key = name or (Path(one).stem if isinstance(one, str | Path) else getattr(
                one, "name", None))
            require(key is not None and key not in out, "name each covariate, as a mapping of name "
                    "to raster, where some of them change over time")
            out[str(key)] = one
    return out, varying


def _stem(path: str | Path) -> str:
    """The name of a raster that changes: that of its file without the period."""
    return Path(str(path)).stem.replace(HOLE, "").strip("_-. ") or "covariate"


def _periods(frame: pd.DataFrame, column: str, name: str) -> tuple[list[str], list[float], str]:
    """Periods in order, as text and as numbers, and their unit."""
    absent = frame[column].isna()
    require(not absent.any(), f"{int(absent.sum())} rows of {name} have no period in column "
            f"{column!r}; fill or remove them")
    numbers, unit = on_a_line(frame[column], f"periods in column {column!r} of {name}")
    table = pd.Series(numbers, index=frame[PERIOD + _AT])
    table = table[~table.index.duplicated()].sort_values()
    alike = table.index[table.duplicated(keep=False)].tolist()
    require(not alike, f"periods {', '.join(map(repr, alike[:3]))} in column {column!r} of {name} "
            "are the same time, zones left out; write each in one way, or in UTC without zone")
    require(len(table) > 1, f"column {column!r} of {name} has one period, {table.index[0]}; leave "
            + option("time") + " out")
    return list(table.index), table.tolist(), unit


def _numbers(frame: pd.DataFrame, value: str, name: str) -> np.ndarray:
    numbers = as_numbers(frame[value])
    text = np.isnan(numbers) & frame[value].notna().to_numpy()
    hint = hint_of(frame[value][text], areas=False) if text.any() else ""
    require(not text.any(), f"column {value!r} of {name} does not hold numbers (first: "
            f"{frame[value][text].iloc[:1].tolist()}){hint and '; '}{hint}")
    return numbers


def at_period(ds: xr.Dataset, period: object) -> xr.Dataset:
    """One period of a dataset or map over time: its individuals and bags.

    Parameters
    ----------
    ds : xr.Dataset
        From `workbench.bag_polygons` with ``time``, or a map of it.
    period : str or number
        As in the table, such as 2023.

    Returns
    -------
    xr.Dataset
        As of a single period, so that it can be drawn and written as a raster.

    Raises
    ------
    InputError
        If there is no such period.
    """
    periods = map_periods(ds)
    require(bool(periods), "the dataset is not over time, so that there is no period to choose: "
            f"use it as it is, without {option('period', as_text(period))}")
    wanted = choose("period", as_text(period), periods)
    if "individual_period" not in ds.coords:        # taken at this one before
        return ds
    of = ds["individual_period"].values
    chosen = of == wanted
    out = ds.isel(individual=chosen).drop_vars("individual_period")
    if PERIOD in ds.coords:
        bags = np.flatnonzero(ds[PERIOD].values == as_text(period))
        out = out.isel(bag=bags)
        new = np.full(ds.sizes[schema.BAG], -1)
        new[bags] = np.arange(bags.size)
        out["membership"] = (schema.INDIVIDUAL, new[out["membership"].values])
    return out
