"""A rehearsal in one picture: coverage, resolutions, and ranks of the truth among draws."""

from __future__ import annotations

import holoviews as hv
import numpy as np
import xarray as xr

from workbench.checks import require
from workbench.plots.theme import CATEGORIES, CHART, NEUTRAL

_BAND, _LEAST = 0.95, -1.0
_OF_MAPS = CATEGORIES[2:4]      # colours of the simple maps


def rehearsal_picture(result: xr.Dataset) -> hv.Layout:
    """Coverage by level, skill by resolution, the ECDF of ranks, and the histogram of all ranks.

    Grey is what a calibrated method gives: the diagonal, the 95 % band that an ECDF stays in as a
    whole (Kolmogorov and Smirnov's), the flat histogram.

    Parameters
    ----------
    result : xr.Dataset
        From `workbench.rehearse`.

    Returns
    -------
    hv.Layout
        Four charts.

    Raises
    ------
    InputError
        If the dataset is no rehearsal.
    """
    require("rehearsal" in result.attrs, "this is no rehearsal; give what wb.rehearse or "
            "`workbench rehearse` made")
    panels = [rehearsal_coverage(result), _skill(result), rank_curves(result), _histogram(result)]
    return hv.Layout(panels).cols(2).opts(shared_axes=False)


def rehearsal_coverage(result: xr.Dataset) -> hv.Overlay:
    """Coverage of central intervals against their level, with Monte Carlo intervals.

    Dotted: that of individuals by the simple maps, where the rehearsal has them.

    Parameters
    ----------
    result : xr.Dataset
        From `workbench.rehearse`.

    Returns
    -------
    hv.Overlay
        One line for individuals, one for areas, and one for each simple map.
    """
    x, y = hv.Dimension("nominal coverage"), hv.Dimension("empirical coverage")
    shapes = [hv.Curve([(0, 0), (1, 1)], x, y, label="nominal").opts(
        color=NEUTRAL, line_dash="dashed")]
    for colour, unit, aside in zip(CATEGORIES, result["unit"].values, (-0.006, 0.006),
                                   strict=False):
        at = result.sel(unit=unit)
        level, mean = at["level"].values + aside, at["coverage"].values
        ends = (level, mean, mean - at["coverage_lower"].values,
                at["coverage_upper"].values - mean)
        shapes += [hv.ErrorBars(ends, x, [y, "below", "above"]).opts(color=colour),
                   hv.Curve((level, mean), x, y, label=str(unit)).opts(color=colour),
                   hv.Scatter((level, mean), x, y, label=str(unit)).opts(
                       color=colour, size=6, tools=["hover"])]
    for colour, name in zip(_OF_MAPS, _simple(result), strict=False):
        at = result.sel(map=name)
        shapes.append(hv.Curve((at["level"].values, at["beside_coverage"].values), x, y,
                               label=f"individuals, {name}").opts(color=colour, line_dash="dotted"))
    return hv.Overlay(shapes).opts(
        **CHART, xlim=(0.4, 1), ylim=(0, 1.02), legend_position="bottom_right",
        legend_opts={"background_fill_alpha": 0, "border_line_alpha": 0, "spacing": 0},
        title=f"Coverage over {result.sizes['truth']} truths",
        xlabel="nominal coverage of the interval", ylabel="share of truths inside")


def rank_curves(result: xr.Dataset) -> hv.Overlay:
    """ECDF of ranks less that of uniform ones, for each quantity of the whole field.

    Parameters
    ----------
    result : xr.Dataset
        From `workbench.rehearse`.

    Returns
    -------
    hv.Overlay
        Inside the grey band as a whole where ranks are uniform.
    """
    x, y = hv.Dimension("PIT"), hv.Dimension("difference")
    from scipy.stats import kstwo  # only here: it is slow to import

    reach = kstwo.ppf(_BAND, result.sizes["truth"])
    shapes, top = [hv.HSpan(-reach, reach).opts(color=NEUTRAL, alpha=0.25)], reach
    for colour, name in zip(CATEGORIES, result["quantity"].values, strict=False):
        ranks = np.sort(result["rank"].sel(quantity=name).values)
        at = np.concatenate([[0.0], np.repeat(ranks, 2), [1.0]])
        step = np.repeat(np.arange(ranks.size + 1) / ranks.size, 2)
        top = max(top, float(np.abs(step - at).max()))
        shapes.append(hv.Curve((at, step - at), x, y, label=str(name)).opts(color=colour))
    return hv.Overlay(shapes).opts(
        **CHART, xlim=(0, 1), ylim=(-1.1 * top, 1.9 * top), legend_position="top_right",
        legend_opts={"background_fill_alpha": 0, "border_line_alpha": 0, "spacing": 0},
        title="Ranks of whole fields", xlabel="rank of the truth among draws (PIT)",
        ylabel="ECDF less uniform")


def _skill(result: xr.Dataset) -> hv.Overlay:
    names = [_short(result, k) for k in range(result.sizes["resolution"])]
    median = result["skill"].values
    low = np.maximum(result["skill_lower"].values, _LEAST)
    high = np.maximum(result["skill_upper"].values, _LEAST)
    x, y = hv.Dimension("resolution"), hv.Dimension("skill")
    shown = np.maximum(median, _LEAST)
    bars = hv.ErrorBars((names, shown, shown - low, high - shown), x, [y, "below", "above"])
    simple = _simple(result)
    points = hv.Scatter((names, shown), x, y, label="model" if simple else "").opts(
        size=9, color=CATEGORIES[0], tools=["hover"])
    line = hv.HLine(result.attrs["threshold"]).opts(
        color=NEUTRAL, line_dash="dashed", line_width=1.5)
    shapes = [line, bars.opts(color=CATEGORIES[0]), points]
    least = min(0.0, float(low.min()))
    for colour, marker, name in zip(_OF_MAPS, ("triangle", "square"), simple, strict=False):
        beside = np.maximum(result["beside_skill"].sel(map=name).values, _LEAST)
        least = np.nanmin([least, *beside])
        shapes.append(hv.Scatter((names, beside), x, y, label=name).opts(
            size=8, color=colour, marker=marker, tools=["hover"]))
    return hv.Overlay(shapes).opts(
        **CHART, ylim=(least - 0.05, 1.05), xrotation=35, legend_position="top_left",
        legend_opts={"background_fill_alpha": 0, "border_line_alpha": 0, "spacing": 0},
        title="Skill over a simple map (median, quartiles)", xlabel="cells, the finest first",
        ylabel="skill" if least > _LEAST else f"skill (below {_LEAST:g} drawn there)")


def _simple(result: xr.Dataset) -> list[str]:
    return [str(name) for name in result["map"].values] if "map" in result else []


def _short(result: xr.Dataset, k: int) -> str:
    name = str(result["resolution"].values[k])
    return f"{name} ({int(result['cells'][k]):,})"


def _histogram(result: xr.Dataset) -> hv.Overlay:
    by_truth = result["rank_density"].values
    density, count = by_truth.mean(0), len(by_truth)
    edges = np.linspace(0, 1, density.size + 1)
    error = 2 * by_truth.std(0, ddof=1) / np.sqrt(count) if count > 1 else np.zeros(density.size)
    bars = hv.Histogram((edges, density), kdims="PIT", vdims="density").opts(
        fill_color=CATEGORIES[0], line_color="white", fill_alpha=0.6, tools=["hover"])
    ends = hv.ErrorBars((result["bin"].values, density, error), "PIT", ["density", "error"])
    line = hv.HLine(1).opts(color=NEUTRAL, line_dash="dashed", line_width=1.5)
    return (bars * ends.opts(color=NEUTRAL) * line).opts(
        **CHART, xlim=(0, 1), ylim=(0, 1.15 * max(float((density + error).max()), 1.2)),
        title="Ranks of all individuals (±2 standard errors)",
        xlabel="rank of the truth among draws (PIT)", ylabel="density (1 = calibrated)")
