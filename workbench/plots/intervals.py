"""Areas one below the other with their intervals: ranks, and totals of new polygons."""

from __future__ import annotations

from dataclasses import dataclass

import holoviews as hv
import numpy as np
import xarray as xr
from bokeh.models import NumeralTickFormatter

from workbench.checks import require
from workbench.plots.theme import CATEGORIES, CHART, axis

MOST = 30           # areas that one chart lists
_LONGEST = 24       # letters of an area's name
_ROW = 15           # pixels of each
_LARGE = 10_000     # from which an axis would write powers of ten


@dataclass(frozen=True)
class Intervals:
    """Areas with intervals in the order in which they are listed, the first on top.

    Parameters
    ----------
    names : list of str
    middle, low, high : array (area,)
    title, label : str
        Of the chart, and of its axis.
    """

    names: list[str]
    middle: np.ndarray
    low: np.ndarray
    high: np.ndarray
    title: str
    label: str


def has_ranks(found: xr.Dataset) -> bool:
    """Whether a dataset holds ranks of areas: of ``fit.ranks``, or in a map."""
    return "rank_median" in found and found["rank_median"].dims == ("bag",)


def is_aggregate(found: xr.Dataset) -> bool:
    """Whether a dataset is what `workbench.aggregate` makes: numbers of new polygons."""
    return "value_quantile" in found and found["value_quantile"].dims == ("quantile", "bag")


def is_predicted(found: xr.Dataset) -> bool:
    """Whether a dataset is a map of areas with outlines of which no value was known."""
    return ("value" not in found and "bag_geometry" in found.coords and "bag_mean" in found
            and "bag_quantile" in found)


def ranks_of(found: xr.Dataset, most: int = MOST) -> Intervals:
    """The highest areas by their median rank, with the intervals of their ranks.

    Parameters
    ----------
    found : xr.Dataset
        From ``fit.ranks``, `workbench.ranks` of areas, or a map made with ``--ranks``.
    most : int
        How many.

    Returns
    -------
    Intervals

    Raises
    ------
    InputError
        If there are no ranks of areas.
    """
    require(has_ranks(found), "the dataset has no ranks of areas; give what fit.ranks made, or a "
            "map of `workbench disaggregate --ranks`")
    chosen = np.lexsort((found["rank_mean"].values, found["rank_median"].values))[:most]
    count, level = found.sizes["bag"], float(found["rank_lower"].attrs.get("level", 0.9))
    title = (f"The {chosen.size} highest of {count} areas" if count > chosen.size
             else f"Ranks of {count} areas")
    return _listed(found, chosen, *(found[f"rank_{end}"].values for end in (
        "median", "lower", "upper")), title, f"rank, 1 the highest (median, {100 * level:g} %)")


def totals_of(found: xr.Dataset, most: int = MOST) -> Intervals:
    """The largest polygons by their mean, with its outermost quantiles.

    Parameters
    ----------
    found : xr.Dataset
        From `workbench.aggregate` or ``fit.aggregate``, or a map of areas without values.
    most : int
        How many.

    Returns
    -------
    Intervals

    Raises
    ------
    InputError
        If the dataset is no such result.
    """
    require(is_aggregate(found) or is_predicted(found), "the dataset has no totals of polygons; "
            "give what wb.aggregate or `workbench aggregate` made, or a map of another region")
    of = ("mean", "value_quantile") if is_aggregate(found) else ("bag_mean", "bag_quantile")
    mean = found[of[0]].values
    chosen = np.argsort(-np.where(np.isfinite(mean), mean, -np.inf), kind="stable")[:most]
    chosen = chosen[np.isfinite(mean[chosen])]
    ends = found[of[1]].transpose("quantile", "bag").sortby("quantile")
    low, high = float(ends["quantile"][0]), float(ends["quantile"][-1])
    count, unit = found.sizes["bag"], str(found[of[0]].attrs.get("units", ""))
    title = (f"The {chosen.size} largest of {count} polygons" if count > chosen.size
             else f"{count} polygons")
    return _listed(found, chosen, mean, ends.values[0], ends.values[-1], title,
                   axis(f"mean, {100 * low:g} to {100 * high:g} %", unit))


def interval_chart(it: Intervals) -> hv.Overlay:
    """Areas one below the other, each a dot with a line from end to end of its interval.

    Parameters
    ----------
    it : Intervals
        From `ranks_of` or `totals_of`.

    Returns
    -------
    hv.Overlay
        The first on top.
    """
    rows = -np.arange(len(it.names), dtype=float)
    x, y = hv.Dimension("interval"), hv.Dimension("area")
    lines = hv.Segments((it.low, rows, it.high, rows), [x, y, "upper", "area_"]).opts(
        color=CATEGORIES[0], alpha=0.5, line_width=3)
    dots = hv.Scatter({"interval": it.middle, "area": rows, "name": it.names, "from": it.low,
                       "to": it.high}, x, [y, "name", "from", "to"]).opts(
        color=CATEGORIES[0], size=7, tools=["hover"], hover_tooltips=[
            ("area", "@name"), ("middle", "@interval"), ("from", "@from"), ("to", "@to")])
    large = {"xformatter": NumeralTickFormatter(format="0,0"), "xticks": 4} if (
        np.nanmax(np.abs(it.high)) >= _LARGE) else {}
    return (lines * dots).opts(**CHART | {"frame_height": max(120, _ROW * len(it.names))} | large,
        title=it.title, xlabel=it.label, ylabel="", yticks=list(zip(rows, it.names, strict=True)),
        ylim=(rows[-1] - 0.7, 0.7))


def rank_intervals(found: xr.Dataset, most: int = MOST) -> hv.Overlay:
    """The highest areas with the intervals of their ranks: which are certainly high.

    Parameters
    ----------
    found, most
        As of `ranks_of`.

    Returns
    -------
    hv.Overlay
        The chart.
    """
    return interval_chart(ranks_of(found, most))


def total_intervals(found: xr.Dataset, most: int = MOST) -> hv.Overlay:
    """The largest of new polygons with the intervals of their totals or means.

    Parameters
    ----------
    found, most
        As of `totals_of`.

    Returns
    -------
    hv.Overlay
        The chart.
    """
    return interval_chart(totals_of(found, most))


def _listed(found: xr.Dataset, chosen: np.ndarray, middle, low, high, title: str, label: str
            ) -> Intervals:
    own = found["bag_name"] if "bag_name" in found.coords else found["bag"]
    names = [name if len(name) <= _LONGEST else f"{name[:_LONGEST - 1]}…"
             for name in own.values[chosen].astype(str)]
    return Intervals(names, middle[chosen], low[chosen], high[chosen], title, label)
