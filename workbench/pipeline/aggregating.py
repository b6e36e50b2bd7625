"""A stored map added up over new polygons: from the draws that it keeps, or from its fit again."""

from __future__ import annotations

import sys
from dataclasses import replace

import xarray as xr

from workbench import geo
from workbench.checks import NotExact, option, require
from workbench.checks.figures import figure
from workbench.geo.maps import listed_periods, map_periods
from workbench.pipeline.base import BaseSpec, existing
from workbench.pipeline.problems import model_of, problem_of
from workbench.pipeline.spec import AggregateSpec, Spec

_MOST = 12          # polygons that are shown in words


def aggregated(spec: AggregateSpec, progress: bool = False, callback=None, workers: int = 0
               ) -> xr.Dataset:
    """Do what an `AggregateSpec` says.

    Parameters
    ----------
    spec : AggregateSpec
        The map, and the polygons.
    progress : bool
        Show bars on standard error.
    callback : callable, optional
        As of `workbench.pipeline.run.run`.
    workers : int
        Processes of a model that can use several.

    Returns
    -------
    xr.Dataset
        As of `workbench.aggregate`, with the Spec.

    Raises
    ------
    InputError
        If the map or the polygons cannot be used, or the map keeps no draws and its data are no
        longer what it was made from.
    """
    existing("polygon", spec.to, directory=True)
    maps = geo.read(existing("map", spec.map))
    where = {"id": spec.id, "layer": spec.layer, "quantiles": spec.quantiles,
             "threshold": spec.threshold,
             "polygon_crs": spec.polygon_crs}
    maps = _at(maps, spec)
    if "draw" in maps:
        found = geo.aggregate(maps, spec.to, **where)
        found.attrs |= {name: maps.attrs[name] for name in (
            "model", "data_sha256", "versions", "title") if name in maps.attrs}
    else:
        found = _again(spec, maps, where, progress, callback, workers)
    weighed = {} if spec.weight is None else {"treatments": maps.attrs["weighed"]}
    return found.assign_attrs(
        weighed, spec=spec.to_json(indent=None), spec_key=spec.key,
        summary="\n".join([told(found), *filter("none".__ne__, weighed.values())]))


def _at(ds: xr.Dataset, spec: AggregateSpec) -> xr.Dataset:
    """A map or its places at the period that is asked for, all of one that has none; weighed."""
    periods = map_periods(ds)
    require(bool(periods) or spec.period is None, f"{spec.map} has no periods; leave "
            f"{option('period', spec.period)} out")
    require(len(periods) < 2 or spec.period is not None, "polygons are added up at one period, and "
            f"{spec.map} has {len(periods)} ({listed_periods(periods)}); choose one with "
            + option("period", next(reversed(periods), "")))
    ds = ds if spec.period is None else geo.at_period(ds, spec.period)
    if spec.weight is None:
        return ds
    existing("raster", spec.weight, directory=True)
    return geo.with_weight(ds, spec.weight, raster_crs=spec.raster_crs, nodata=spec.nodata,
                           weight_variable=spec.weight_variable)


def told(found: xr.Dataset) -> str:
    """The totals as text: a line for each polygon, of the first dozen.

    Parameters
    ----------
    found : xr.Dataset
        From `workbench.aggregate`.

    Returns
    -------
    str
    """
    levels = found["quantile"].values[[0, -1]]
    ends = found["value_quantile"].sel(quantile=levels)
    unit = found["mean"].attrs.get("units", "")
    names = [str(name) for name in found["bag"].values[:_MOST]]
    width = max(map(len, ["polygon", *names]))
    spans = " to ".join(f"{100 * level:g} %" for level in levels)
    lines = [f"{'polygon':<{width}}  {'mean':>12}  {spans} ({unit or 'value'})"]
    for place, name in enumerate(names):
        low, high = ends[:, place].values
        lines.append(f"{name:<{width}}  {figure(float(found['mean'][place]), 5):>12}  "
                     f"{figure(low, 5)} to {figure(high, 5)}")
    more = found.sizes["bag"] - len(names)
    return "\n".join([*lines, f"... and {more} more"] if more else lines)


def _again(spec: AggregateSpec, maps: xr.Dataset, where: dict, progress: bool, callback,
           workers: int) -> xr.Dataset:
    """From the model of the map's own Spec, fitted again."""
    inner = BaseSpec.from_json(maps.attrs["spec"]) if "spec" in maps.attrs else None
    require(isinstance(inner, Spec), f"{spec.map} keeps no joint draws, and no Spec of `workbench "
            "disaggregate` to fit its model again; make it with --draws 500")
    if progress:
        print("the map keeps no joint draws (--draws), so its model is fitted again",
              file=sys.stderr)
    model, problem = model_of(inner, workers or None), problem_of(inner)
    fit = model.fit(*problem.learn, progress=progress, callback=callback)
    made = maps.attrs.get("data_sha256")
    require(made == fit.provenance()["data_sha256"], f"the data of {spec.map} have changed since "
            "it was made, so that its model cannot be fitted again: run its Spec anew, with "
            "--draws 500")
    # A map of one period is of the data of all.
    taken = map_periods(maps)
    one = replace(spec, period=taken[0]) if len(taken) == 1 else spec
    ds = _at(problem.ds, one)
    where |= {"area_effect": inner.area_effect, "samples": spec.samples, "seed": spec.seed}
    try:
        found = fit.aggregate(ds, spec.to, **where, kind=(
            "preserved" if inner.rescale_to_totals else "expected"))
    except NotExact:            # neither did the map add up, which it says
        found = fit.aggregate(ds, spec.to, **where)
        found.attrs["treatments"] = "totals of the areas are not kept, as the map does not"
    if fit.cancelled:
        found.attrs["partial"] = f"the fit was stopped after {len(fit.history)} steps"
    return found
