"""Maps of areas: residuals, ranks, and what a map adds up to over new polygons."""

from __future__ import annotations

from dataclasses import dataclass

import holoviews as hv
import numpy as np
import xarray as xr

from workbench.plots.intervals import (
    has_ranks,
    interval_chart,
    is_aggregate,
    is_predicted,
    ranks_of,
    totals_of,
)
from workbench.plots.maps import AXES, value_map
from workbench.plots.residuals import has_residuals, moran_scatter, residual_variogram, residuals_of
from workbench.plots.scales import ColourScale, colour_scale, rate_unit
from workbench.plots.svg import told

_WHOLE = 0.99       # share of a polygon that the map covers, below which that is drawn


@dataclass(frozen=True)
class AreaMap:
    """One quantity of areas with the scale that it is drawn by.

    Parameters
    ----------
    title : str
    values : xr.DataArray (bag,)
    scale : ColourScale
    """

    title: str
    values: xr.DataArray
    scale: ColourScale

    @property
    def said(self) -> str:
        """What the colours mean, as a sentence."""
        if self.values.name == "rank_median":
            return f"from 1, the highest, to {self.scale.upper:.0f}."
        if self.scale.kind == "probability" or self.values.name == "covered":
            return f"{self.scale.unit or self.scale.label}, from 0 to 1."
        return self.scale.caption.partition(": ")[2]


def area_maps(found: xr.Dataset) -> list[AreaMap]:
    """What a dataset says of its areas beside observed values: residuals, ranks, totals.

    Parameters
    ----------
    found : xr.Dataset
        A map, or from ``fit.residual_check``, ``fit.ranks`` or `workbench.aggregate`.

    Returns
    -------
    list of AreaMap
        In the order in which one reads them; empty if there is nothing of the kind.
    """
    maps = list(_of_polygons(found)) if is_aggregate(found) else []
    if is_predicted(found):
        unit = {"1": ""}.get(given := str(found["bag_mean"].attrs.get("units", "")), given)
        maps.append(AreaMap("Predicted for the areas", found["bag_mean"], colour_scale(
            found["bag_mean"], label="posterior mean", unit=unit)))
    if has_residuals(found):
        scale = colour_scale(found["residual"], label="residual", unit="standard normal scale",
                             kind="difference")
        maps.append(AreaMap("Residuals of areas", found["residual"], scale))
    if has_ranks(found):
        count = found.sizes["bag"]
        maps += [
            AreaMap("Rank of areas (median)", found["rank_median"], ColourScale(
                "rank", "rank, 1 the highest", 1.0, float(max(2, count)), "spread")),
            AreaMap(_top(found), found["top_probability"], colour_scale(
                label="probability", unit=_top(found), kind="probability"))]
    return maps


def area_panels(found: xr.Dataset, places: xr.Dataset | None = None, *, size: int = 300,
                axes: tuple[str, str] = AXES) -> list:
    """The same as maps, each with the chart that belongs to it.

    Parameters
    ----------
    found : xr.Dataset
        As of `area_maps`.
    places : xr.Dataset, optional
        Bagged dataset that knows where the areas are, if ``found`` does not.
    size : int
        Pixels along the longer side of a map.
    axes : (str, str)
        Coordinates of the individuals that make the map.

    Returns
    -------
    list of hv.Element
        Maps where it is known where the areas are, and charts.
    """
    where = found if places is None else places
    drawn = "bag_geometry" in where.coords or "membership" in where
    panels = [value_map(where, one.values.drop_vars("bag", errors="ignore"), one.scale, one.title,
                        size=size, axes=axes)
              for one in (area_maps(found) if drawn else [])]
    if has_residuals(found):
        panels += [moran_scatter(found)] if residuals_of(found).neighbours is not None else []
        panels.append(residual_variogram(found))
    if has_ranks(found):
        panels.append(interval_chart(ranks_of(found)))
    if is_aggregate(found) or is_predicted(found):
        panels.append(interval_chart(totals_of(found)))
    return panels


def area_picture(found: xr.Dataset, places: xr.Dataset | None = None, *, size: int = 300,
                 axes: tuple[str, str] = AXES) -> hv.Layout:
    """Totals of new polygons, ranks, or residuals of areas, as one picture.

    Parameters
    ----------
    found : xr.Dataset
        From `workbench.aggregate`, ``fit.ranks`` or ``fit.residual_check``.
    places : xr.Dataset, optional
        Bagged dataset that knows where the areas are, if ``found`` does not.
    size : int
        Pixels along the longer side of a map.
    axes : (str, str)
        Coordinates of the individuals that make the map.

    Returns
    -------
    hv.Layout
        Maps and charts in rows of two or three.
    """
    panels = area_panels(found, places, size=size, axes=axes)
    return hv.Layout(panels).cols(2 if len(panels) in (2, 4) else 3).opts(shared_axes=True)


def _of_polygons(found: xr.Dataset):
    """Total or mean, rate where it is another thing, sd, exceedance, and what is not covered."""
    unit = {"1": ""}.get(given := str(found["mean"].attrs.get("units", "")), given)
    what = str(found["mean"].attrs.get("long_name", "mean"))
    yield AreaMap(what[:1].upper() + what[1:], found["mean"],
                  colour_scale(found["mean"], label="mean", unit=unit))
    if not np.allclose(found["rate"], found["mean"], equal_nan=True):
        factor, per = rate_unit(found.assign(value=found["mean"]).fillna(0.0))
        yield AreaMap("Rate", found["rate"], colour_scale(
            found["rate"], label="rate", unit=per, factor=factor))
    yield AreaMap("Standard deviation", found["std"], colour_scale(
        found["std"], label="standard deviation", unit=unit, kind="spread"))
    if "exceedance" in found:
        above = found["exceedance"].attrs.get("threshold")
        said = "" if above is None else f"P(> {told(float(above))} {unit})".replace(" )", ")")
        yield AreaMap("Exceedance", found["exceedance"], colour_scale(
            label="probability", unit=said, kind="probability"))
    if bool((found["covered"] < _WHOLE).any()):
        yield AreaMap("Share that the map covers", found["covered"], ColourScale(
            "covered", "share of the polygon's area", 0.0, 1.0, "spread"))


def _top(found: xr.Dataset) -> str:
    told = str(found["top_probability"].attrs.get("long_name", "P(among the highest)"))
    return told[:1].upper() + told[1:]
