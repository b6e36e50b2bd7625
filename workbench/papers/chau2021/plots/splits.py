"""Error against coverage of maps of fields: over splits, and by the size of the blocks."""

from __future__ import annotations

import holoviews as hv
import numpy as np
import pandas as pd

from workbench.plots.theme import CATEGORIES, FLAT

_DASHED = {"color": "gray", "line_width": 1, "line_dash": "dashed"}
_CHART = {"frame_width": 270, "frame_height": 250, "fontscale": 0.9}


def splits(runs: pd.DataFrame, models: list[str], reference: str) -> hv.Layout:
    """A dot for every split: error against coverage, one panel for each world.

    Parameters
    ----------
    runs : pd.DataFrame
        Columns ``world``, ``model``, ``rmse`` (K) and ``coverage`` of 95 % intervals.
    models : list of str
        Those that are drawn.
    reference : str
        The model without intervals whose mean error is an upright line.

    Returns
    -------
    hv.Layout
    """
    worlds, panels = list(dict.fromkeys(runs["world"])), []
    for world in worlds:
        rows, drawn = runs[runs["world"] == world], []
        for name, colour in zip(models, [*CATEGORIES[:5], "#000000"], strict=False):
            points = rows.loc[rows["model"] == name, ["rmse", "coverage"]].to_numpy()
            drawn.append(hv.Scatter(points if len(points) else [(np.nan, np.nan)], "rmse",
                                    "coverage", label=name).opts(color=colour, size=8, alpha=0.8))
        known = rows.loc[rows["model"] == reference, "rmse"]
        marks = [hv.HLine(0.95).opts(**_DASHED)] + [hv.VLine(known.mean()).opts(
            color="gray", line_width=1)] * bool(len(known))
        pad = 0.08 * (rows["rmse"].max() - rows["rmse"].min()) + 1e-3
        panels.append(hv.Overlay([*drawn, *marks]).opts(
            title=world, xlabel="RMSE (K)", ylabel="share inside 95 %", ylim=(0, 1.05), xticks=5,
            xlim=(rows["rmse"].min() - pad, rows["rmse"].max() + pad),
            show_legend=world == worlds[-1], legend_position="right", **_CHART))
    return hv.Layout(panels).opts(shared_axes=False)


def by_block(grain: pd.DataFrame, spread: float) -> hv.Layout:
    """Coverage and error of models by the side of a block.

    Parameters
    ----------
    grain : pd.DataFrame
        Columns ``rmse`` (K) and ``coverage`` by side (km) and model.
    spread : float
        Standard deviation of the truth, the error of a flat map.

    Returns
    -------
    hv.Layout
        Two panels.
    """
    panels, names = [], list(grain.index.unique(1))
    for score, label, top, mark in (("coverage", "share inside 95 %", 1.05, 0.95),
                                    ("rmse", "RMSE (K)", 1.1 * spread, spread)):
        wide = grain[score].unstack().dropna(axis="columns")
        lines = [hv.Curve(wide[name], label=name).opts(color=colour, line_width=2)
                 for name, colour in zip(names, [*CATEGORIES[1:3], FLAT], strict=False)
                 if name in wide]
        panels.append(hv.Overlay([*lines, hv.HLine(mark).opts(**_DASHED)]).opts(
            ylabel=label, ylim=(0, top), xlabel="side of a block (km)",
            xticks=[int(side) for side in wide.index], show_legend=score == "rmse",
            legend_position="right", **_CHART))
    return hv.Layout(panels).opts(shared_axes=False)
