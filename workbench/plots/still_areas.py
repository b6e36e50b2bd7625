"""Residuals, ranks and totals of areas as still pictures: maps, and the charts beside them."""

from __future__ import annotations

import numpy as np
import xarray as xr

from workbench.plots.area_maps import area_maps
from workbench.plots.intervals import (
    Intervals,
    has_ranks,
    is_aggregate,
    is_predicted,
    ranks_of,
    totals_of,
)
from workbench.plots.maps import AXES
from workbench.plots.outlines import simplified
from workbench.plots.residuals import has_residuals, moran_line, residuals_of
from workbench.plots.still import SIZE, StillMap, still_map
from workbench.plots.still_charts import framed, whole
from workbench.plots.svg import FAINT, element, label, path_of, picture, ticks, told
from workbench.plots.theme import CATEGORIES, NEUTRAL, axis

_ROW, _NAMES, _WIDE, _TOP, _BELOW, _RIGHT = 15, 150, 300, 26, 42, 16


def still_areas(found: xr.Dataset, *, size: int = SIZE, axes: tuple[str, str] = AXES
                ) -> dict[str, list[StillMap]]:
    """Residuals, ranks and totals of areas as still pictures, by what they are about.

    Parameters
    ----------
    found : xr.Dataset
        A map, or a result of `workbench.aggregate`.
    size : int
        Pixels along the longer side of a map.
    axes : (str, str)
        Coordinates of the individuals that make the map.

    Returns
    -------
    dict of str to list of StillMap
        "totals", "residuals" and "ranks", as far as they are there.
    """
    groups: dict[str, list[StillMap]] = {}
    maps = simplified(found, 2 * size)
    if "bag_geometry" in found.coords or "membership" in found:
        for one in area_maps(found):
            about = {"residual": "residuals", "rank_median": "ranks",
                     "top_probability": "ranks"}.get(str(one.values.name), "totals")
            svg = still_map(maps, one.values, one.scale, one.title, size=size, axes=axes)
            groups.setdefault(about, []).append(StillMap(one.title, one.said, svg))
    charts = [(lambda one: is_aggregate(one) or is_predicted(one), "totals",
               lambda: [_chart(totals_of(found))]),
              (has_residuals, "residuals", lambda: _of_residuals(found)),
              (has_ranks, "ranks", lambda: [_chart(ranks_of(found))])]
    for there, about, drawn in charts:
        if there(found):
            groups.setdefault(about, []).extend(drawn())
    return groups


def _of_residuals(found: xr.Dataset) -> list[StillMap]:
    it = residuals_of(found)
    near = [] if it.neighbours is None else [StillMap(
        "Residuals of neighbours", "the slope of the line is Moran's I; flat where neighbours have "
        "nothing in common.", still_moran(found))]
    return [*near, StillMap("Variogram of residuals", "inside the grey band, which 90 % of random "
                            "permutations span, there is no sign of a pattern.",
                            still_variogram(found))]


def _chart(it: Intervals) -> StillMap:
    return StillMap(it.title, f"{it.label}.", still_intervals(it))


def still_variogram(found: xr.Dataset) -> str:
    """Variogram of the areas' residuals with what permutations span, as SVG.

    Parameters
    ----------
    found : xr.Dataset
        From ``fit.residual_check``, or a map made with ``--residuals``.

    Returns
    -------
    str
        An ``<svg>`` element.
    """
    it = residuals_of(found)
    top = 1.1 * float(max(it.semivariance.max(), it.upper.max()))
    at, frame = framed((0.0, 1.03 * float(it.distance.max())), (0.0, top),
                       axis("distance between areas", it.unit), "semivariance")
    band = np.vstack([at(it.distance, it.lower), at(it.distance[::-1], it.upper[::-1])])
    points = at(it.distance, it.semivariance)
    return whole("Variogram of residuals", frame, [
        element("path", d=path_of([band]) + "Z", fill=NEUTRAL, fill_opacity=0.25),
        element("path", d=path_of([points]), fill="none", stroke=CATEGORIES[0], stroke_width=2),
        *(element("circle", cx=x, cy=y, r=2.5, fill=CATEGORIES[0]) for x, y in points)])


def still_moran(found: xr.Dataset) -> str:
    """Residual of each area against the mean of its neighbours, as SVG; the slope is Moran's I.

    Parameters
    ----------
    found : xr.Dataset
        As of `still_variogram`.

    Returns
    -------
    str
        An ``<svg>`` element.
    """
    it = residuals_of(found)
    spans = [(min(v.min(), 0.0), max(v.max(), 0.0)) for v in (it.residual, it.neighbours)]
    xlim, ylim = ((float(a - 0.05 * (b - a)), float(b + 0.05 * (b - a))) for a, b in spans)
    at, frame = framed(xlim, ylim, "residual of the area", "mean of its neighbours")
    cross = [at([0, 0], ylim), at(xlim, [0, 0])]
    return whole(it.tested or "Residuals of neighbours", frame, [
        element("path", d=path_of(cross), stroke=NEUTRAL, stroke_dasharray="4 3", fill="none"),
        *(element("circle", cx=x, cy=y, r=2.6, fill=CATEGORIES[0], fill_opacity=0.7)
          for x, y in at(it.residual, it.neighbours)),
        element("path", d=path_of([at(*moran_line(it).T)]), stroke=CATEGORIES[1], fill="none",
                stroke_width=2)])


def still_intervals(it: Intervals) -> str:
    """Areas one below the other with their intervals, as SVG.

    Parameters
    ----------
    it : Intervals
        Ranks or totals, in their order.

    Returns
    -------
    str
        An ``<svg>`` element.
    """
    ends = float(np.nanmin(it.low)), float(np.nanmax(it.high))
    margin = 0.03 * ((ends[1] - ends[0]) or 1.0)
    left, right = ends[0] - margin, ends[1] + margin
    height = _ROW * len(it.names)

    def at(values) -> np.ndarray:
        return _NAMES + (np.asarray(values, float) - left) / (right - left) * _WIDE

    parts = [label(it.title, 8, 15, 12, font_weight="bold"),
             element("rect", x=_NAMES, y=_TOP, width=_WIDE, height=height, fill="none",
                     stroke=FAINT)]
    for value in ticks(left, right, 4):
        x = float(at(value))
        parts += [element("line", x1=x, x2=x, y1=_TOP, y2=_TOP + height, stroke=FAINT,
                          stroke_opacity=0.5), label(told(value), x, _TOP + height + 13, 10,
                                                     "middle")]
    for row, (name, middle, low, high) in enumerate(zip(
            it.names, at(it.middle), at(it.low), at(it.high), strict=True)):
        y = _TOP + _ROW * (row + 0.5)
        parts += [label(name, _NAMES - 6, y + 3.5, 10, "end"),
                  element("line", x1=float(low), x2=float(high), y1=y, y2=y, stroke=CATEGORIES[0],
                          stroke_opacity=0.5, stroke_width=3),
                  element("circle", cx=float(middle), cy=y, r=3, fill=CATEGORIES[0])]
    parts.append(label(it.label, _NAMES + _WIDE / 2, _TOP + height + 31, 11, "middle"))
    return picture(_NAMES + _WIDE + _RIGHT, _TOP + height + _BELOW, it.title, *parts)
