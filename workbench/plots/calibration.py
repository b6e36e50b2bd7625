"""Calibration as pictures: the reliability curve and the PIT histogram, with their bands."""

from __future__ import annotations

import holoviews as hv
import numpy as np
import xarray as xr

from workbench.checks import choose
from workbench.plots.theme import CHART, NEUTRAL, OWN_BAG, colours

TARGETS = {"bag": "areas", "individual": "individuals", "rate": "true rates"}


def reliability_curve(
    result: xr.Dataset, target: str = "bag", models: list[str] | None = None
) -> hv.Overlay:
    """Empirical against nominal coverage of central intervals, one line per model.

    The dashed diagonal is perfect calibration, the grey band 2 standard errors around it (the
    widest among the models). A line below the diagonal claims too much, one above too little.

    Parameters
    ----------
    result : xr.Dataset
        From `workbench.evaluate` or `workbench.cross_validate`.
    target : {"bag", "individual", "rate"}
    models : list of str, optional
        Which to draw; by default all that were scored.

    Returns
    -------
    hv.Overlay
        The chart.
    """
    part, names = _scored(result, target, models, "coverage")
    level = part["level"].values
    colour = colours([str(m) for m in result["model"].values])
    band = (
        level,
        part["coverage_lower"].min("model").values,
        part["coverage_upper"].max("model").values,
    )
    x, y = hv.Dimension("nominal coverage"), hv.Dimension("empirical coverage")
    shapes = [
        hv.Area(band, x, [y, "upper"], label="±2 standard errors").opts(
            color=NEUTRAL, alpha=0.25, line_alpha=0
        ),
        hv.Curve([(0, 0), (1, 1)], x, y, label="perfect").opts(
            color=NEUTRAL, line_dash="dashed", line_width=1.5
        ),
    ]
    for name in names:
        points = np.column_stack([level, part["coverage"].sel(model=name).values])
        shapes.append(
            hv.Curve(points, x, y, label=name).opts(
                color=colour[name], line_width=2, line_dash="dotted" if name == OWN_BAG else "solid"
            )
        )
        shapes.append(
            hv.Scatter(points, x, y, label=name).opts(color=colour[name], size=6, tools=["hover"])
        )
    count = int(part["units_scored"].max())
    return hv.Overlay(shapes).opts(
        **CHART, xlim=(0, 1), ylim=(0, 1), legend_position="top_left",
        legend_opts={"background_fill_alpha": 0, "border_line_alpha": 0, "spacing": 0},
        title=f"Coverage of {count:,} {TARGETS[target]}",
        xlabel="nominal coverage of the interval", ylabel="share observed inside",
    )  # fmt: skip


def pit_histogram(result: xr.Dataset, model: str, target: str = "bag") -> hv.Overlay:
    """Histogram of PIT values of one model; flat within the grey band is calibrated.

    A hill means intervals too wide, a valley too narrow, a slope means biased.

    Parameters
    ----------
    result, target
        As in `reliability_curve`.
    model : str
        Whose PIT values.

    Returns
    -------
    hv.Overlay
        The chart.
    """
    part, _ = _scored(result, target, [model], "pit_density")
    colour = colours([str(m) for m in result["model"].values])[model]
    part = part.sel(model=model)
    density = part["pit_density"].values
    edges = np.linspace(0, 1, density.size + 1)
    low, high = float(part["pit_lower"][0]), float(part["pit_upper"][0])
    bars = hv.Histogram((edges, density), kdims="PIT", vdims="density").opts(
        fill_color=colour, line_color="white", fill_alpha=0.6, tools=["hover"]
    )
    band = hv.HSpan(low, high).opts(color=NEUTRAL, alpha=0.3)
    line = hv.HLine(1).opts(color=NEUTRAL, line_dash="dashed", line_width=1.5)
    top = 1.1 * max(float(density.max()), high)
    return (band * bars * line).opts(
        **CHART, xlim=(0, 1), ylim=(0, top),
        title=f"PIT of {model}: {int(part['units_scored']):,} {TARGETS[target]}",
        xlabel="probability integral transform", ylabel="density (1 = calibrated)",
    )  # fmt: skip


def _scored(result: xr.Dataset, target: str, models: list[str] | None, variable: str):
    choose("target", target, [str(t) for t in result["target"].values])
    known = [str(m) for m in result["model"].values]
    for name in models or ():
        choose("model", name, known)
    part = result.sel(target=target)
    there = [m for m in models or known if bool(part[variable].sel(model=m).notnull().all())]
    return part.sel(model=there), there
