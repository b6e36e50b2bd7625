"""All that a stored map holds, in one picture."""

from __future__ import annotations

from dataclasses import replace

import holoviews as hv
import numpy as np
import xarray as xr

from workbench.checks import require
from workbench.geo.shapes import coordinate_units
from workbench.plots.area_maps import area_panels, area_picture
from workbench.plots.intervals import is_aggregate
from workbench.plots.maps import AXES, value_map
from workbench.plots.outlines import simplified
from workbench.plots.panels import disaggregation_panel, exceedances_of, threshold_told
from workbench.plots.scales import ColourScale, colour_scale, map_rate_unit
from workbench.schema import INDIVIDUAL

SIZE = 340          # pixels along the longer side of a map


def map_picture(maps: xr.Dataset, *, log: bool = False, size: int = SIZE,
                axes: tuple[str, str] = AXES) -> hv.Layout:
    """Observed areas, posterior mean, sd, exceedance, extrapolation, parts and areas of a map.

    Observed values and mean share one colour scale, and so do the components. What the map lacks
    is left out; so is the map of extrapolation if no individual lies outside the range of the
    areas. Residuals and ranks of areas are maps and charts.

    Parameters
    ----------
    maps : xr.Dataset
        From ``fit.to_dataset``, or `workbench.read` of a stored one; or totals of polygons from
        `workbench.aggregate`, of which it is `area_picture`.
    log : bool
        Logarithmic colours of the rate.
    size : int
        Pixels along the longer side of a map.
    axes : (str, str)
        Coordinates of the individuals that make the map, for data without geography.

    Returns
    -------
    hv.Layout
        Maps in rows of two or three.

    Raises
    ------
    InputError
        If the dataset is not a map of individuals, or nothing says where they are.
    """
    if is_aggregate(maps):
        return area_picture(_with_units(simplified(maps)), size=size, axes=axes)
    require("mean" in maps and maps["mean"].dims == (INDIVIDUAL,),
            "there is no map to draw: the dataset has no 'mean' of individuals; "
            "give what `workbench disaggregate` or fit.to_dataset made")
    maps = _with_units(simplified(maps))
    observed = {"value", "weight", "membership"} <= set(maps.variables)
    options = {"size": size, "axes": axes}
    panels = (list(disaggregation_panel(maps, maps, log=log, **options)) if observed
              else _unobserved(maps, log, options))
    if "extrapolation" in maps and bool((maps["extrapolation"] > 0).any()):
        panels.append(_beyond(maps, options))
    panels += [*_parts(maps, options), *area_panels(maps, **options)]
    columns = 2 if len(panels) in (2, 4) else 3
    return hv.Layout(panels).cols(columns).opts(shared_axes=True)


def _with_units(maps: xr.Dataset) -> xr.Dataset:
    """Say what coordinates are in, where only the CRS does: degrees are drawn in proportion."""
    if not maps.attrs.get("crs") or any(n not in maps or maps[n].attrs.get("units") for n in AXES):
        return maps
    units = {"units": coordinate_units(maps.attrs["crs"])}
    return maps.assign_coords({name: maps[name].assign_attrs(units) for name in AXES})


def _unobserved(maps: xr.Dataset, log: bool, options: dict) -> list:
    """Panels of a map of which no areas are known: from summaries, or unmatched targets."""
    factor, unit = map_rate_unit(maps)
    scale = colour_scale(maps["mean"], label="mean", unit=unit, log=log, factor=factor)
    panels = [value_map(maps, maps["mean"], scale, "Posterior mean", **options)]
    if "std" in maps:
        spread = colour_scale(maps["std"], label="standard deviation", unit=unit, kind="spread",
                              factor=factor)
        panels.append(value_map(maps, maps["std"], spread, "Standard deviation", **options))
    for one, title in exceedances_of(maps, factor):
        chance = colour_scale(label="probability", unit=threshold_told(one, factor, unit),
                              kind="probability")
        panels.append(value_map(maps, one, chance, title, **options))
    return panels


def _beyond(maps: xr.Dataset, options: dict):
    """How far covariates lie beyond what the areas have seen; blank where they do not."""
    beyond = maps["extrapolation"]
    outside = beyond > 0
    share = float(outside.mean())
    scale = colour_scale(beyond.where(outside), label="extrapolation", kind="spread",
                         unit="ranges of the area means")
    scale = replace(scale, lower=0.0, upper=float(np.nextafter(max(scale.upper, 1e-6), np.inf)))
    return value_map(maps, beyond.where(outside), scale,
                     f"Extrapolation ({100 * share:.1f} % of all)", **options)


def _parts(maps: xr.Dataset, options: dict) -> list:
    """How much the data told, and what each summand of f says where it is not the same."""
    panels = []
    if "information" in maps:
        told = ColourScale("information", "share of prior variance removed", 0.0, 1.0, "spread")
        panels.append(value_map(maps, maps["information"], told, "Information", **options))
    if "component_mean" in maps:
        means = maps["component_mean"]
        varying = [name for name in means["component"].values
                   if np.ptp(means.sel(component=name).values) > 0]
        centred = [means.sel(component=name, drop=True) for name in varying]
        centred = [one - one.mean() for one in centred]
        if varying:
            shared = colour_scale(*centred, label="summand of f, less its mean", kind="difference",
                                  unit="link scale")
            roles = maps["role"].sel(component=varying).values
            titles = [f"Component: {name}" + (
                "" if name == role else f" ({role.replace(' and ', ' + ')})")
                for name, role in zip(varying, roles, strict=True)]
            panels += [value_map(maps, one, shared, title, **options)
                       for title, one in zip(titles, centred, strict=True)]
    return panels
