"""Coverage of areas that were held out: the calibration of data whose fine truth is not known."""

from __future__ import annotations

import holoviews as hv
import xarray as xr

from workbench.plots.theme import CHART, NEUTRAL, OWN_BAG
from workbench.plots.theme import colours as colours_of
from workbench.ui.disaggregate import names

_COVERAGE = "coverage_"


def held_out_coverage(recovered: xr.Dataset) -> hv.Overlay:
    """Empirical against nominal coverage of areas that were not seen, a line per model.

    Parameters
    ----------
    recovered : xr.Dataset
        As of `workbench.ui.disaggregate.recovery.recover`.

    Returns
    -------
    hv.Overlay
        The chart; the dashed diagonal is perfect calibration.
    """
    scores = recovered["scores"]
    levels = {str(one): float(str(one).removeprefix(_COVERAGE)) / 100
              for one in scores["score"].values if str(one).startswith(_COVERAGE)}
    x, y = hv.Dimension("nominal coverage"), hv.Dimension("empirical coverage")
    shapes = [hv.Curve([(0, 0), (1, 1)], x, y, label="perfect").opts(
        color=NEUTRAL, line_dash="dashed", line_width=1.5)]
    for name, colour in colours_of(models_of(recovered)).items():
        found = scores.sel(model=name, score=list(levels))
        points = list(zip(levels.values(), found.values.tolist(), strict=True))
        label = names.model(name)
        shapes += [hv.Curve(points, x, y, label=label).opts(
                       color=colour, line_width=2,
                       line_dash="dotted" if name == OWN_BAG else "solid"),
                   hv.Scatter(points, x, y, label=label).opts(
                       color=colour, size=7, tools=["hover"])]
    return hv.Overlay(shapes).opts(
        **CHART, xlim=(0, 1), ylim=(0, 1), xlabel="nominal coverage of the interval",
        ylabel="share of held-out areas inside")


def models_of(recovered: xr.Dataset) -> list[str]:
    """The models that were tested and could be scored.

    Parameters
    ----------
    recovered : xr.Dataset
        As of `workbench.ui.disaggregate.recovery.recover`.
    """
    known = recovered["scores"].notnull().any("score")
    return [str(name) for name in recovered["model"].values[known.values]]
