"""Pictures of the swiss roll by heights: the map, its two optima, and errors over seeds."""

from __future__ import annotations

import holoviews as hv
import numpy as np
import pandas as pd
import xarray as xr

from workbench.labelled.predictive import LabelledPredictive
from workbench.plots.theme import CATEGORIES, NEUTRAL

_LOOKS = {"size": 4, "frame_width": 230, "frame_height": 230, "xlabel": "x1", "ylabel": "height"}


def roll_panel(roll: xr.Dataset, dist: LabelledPredictive) -> hv.Layout:
    """Points, bags, values and truth of the roll, and a map of it with its uncertainty.

    Parameters
    ----------
    roll : xr.Dataset
        ``swiss-roll-heights``.
    dist : distribution
        Of f at its points.

    Returns
    -------
    hv.Layout
        Six panels.

    References
    ----------
    Chau et al. 2021, figure 2.
    """
    of, height = roll["membership"].values, roll["roll_3"].values
    per_sd = np.polyfit(roll["covariates"].values[:, 2], height, 1)
    cuts = [hv.HLine(cut).opts(color=NEUTRAL, line_width=0.5)
            for cut in np.polyval(per_sd, roll["bag_to"].values[:-1])]
    angle = {"cmap": "viridis", "clim": (-1.8, 1.8), "clabel": "t (sd of t)", "colorbar": True}
    sd = dist.std.values
    columns = {
        "1. Split by height": (height, {"cmap": "cividis"}),
        "2. Points into bags": (of % 7, {"cmap": "Set2"}),
        "3. Average t in each bag": (roll["value"].values[of], angle),
        "Truth": (roll["truth"].values, angle), "CMP: posterior mean": (dist.mean.values, angle),
        "CMP: posterior sd": (sd, {"cmap": "cividis", "clim": (sd.min(), sd.max()),
                                   "clabel": "sd of f (sd of t)", "colorbar": True})}
    panels = [hv.Points((roll["roll_1"].values, height, values), ["x1", "x3"], "c").opts(
        color="c", title=title, **_LOOKS | look) for title, (values, look) in columns.items()]
    return hv.Layout([hv.Overlay([panels[0], *cuts]), *panels[1:]]).cols(3).opts(
        shared_axes=False)


def basins(held: pd.DataFrame, spacing: float, released: float = 1.0) -> hv.Layout:
    """Log evidence and error of the map by the lengthscale at which ℓ was held.

    Parameters
    ----------
    held : pd.DataFrame
        Columns ``log evidence`` (nats) and ``RMSE`` (sd of t) by lengthscale.
    spacing, released : float
        Marked: the distance of the slabs, and the start of the released code.

    Returns
    -------
    hv.Layout
        Two panels.
    """
    marks = [hv.VLine(at).opts(color=colour, line_dash="dashed")
             for at, colour in ((spacing, CATEGORIES[2]), (released, CATEGORIES[1]))]
    frames = {"logx": True, "frame_width": 330, "frame_height": 200, "show_grid": True,
              "xlabel": "lengthscale of ℓ", "xticks": [(v, f"{v:g}") for v in held.index],
              "xlim": (0.9 * held.index.min(), 1.15 * held.index.max())}
    panels = [(hv.Curve((held.index, held[name]), "lengthscale of ℓ", name).opts(
        color=CATEGORIES[0], line_width=2) * marks[0] * marks[1]).opts(title=title, **frames)
        for name, title in (("log evidence", "Log evidence (nats), all else learnt"),
                            ("RMSE", "Error of the map (sd of t)"))]
    return hv.Layout(panels).cols(2).opts(shared_axes=False)


def seed_dots(runs: pd.DataFrame, models: list[str], kinds: tuple[str, ...]) -> hv.Layout:
    """Errors of every seed by model, a panel for each kind of matching.

    Parameters
    ----------
    runs : pd.DataFrame
        Columns ``matching``, ``model``, ``rmse`` (sd of t).
    models : list of str
        In the order of the rows, the same in all panels.
    kinds : tuple of str
        Of matching.

    Returns
    -------
    hv.Layout
        A dot for each seed, a bar at the median, a dashed line at a constant's error.
    """
    order, panels = models[::-1], []
    rows = np.arange(len(order))
    for kind in kinds:
        part = runs[runs["matching"] == kind]
        row = part["model"].map({m: i for i, m in enumerate(order)})
        shift = np.random.default_rng(0).uniform(-0.2, 0.2, len(part))
        middle = part.groupby("model")["rmse"].median().reindex(order)
        cloud = hv.Points((part["rmse"], row + shift), ["rmse", "row"]).opts(
            color=CATEGORIES[0], alpha=0.5, size=4)
        bars = hv.Segments((middle, rows - 0.35, middle, rows + 0.35),
                           ["rmse", "row", "x1", "y1"]).opts(color="black", line_width=2.5)
        flat = hv.VLine(1.0).opts(color=NEUTRAL, line_dash="dashed", line_width=1)
        panels.append((flat * cloud * bars).opts(
            title=kind, xlim=(0, 1.65), ylim=(-0.6, len(order) - 0.4), xlabel="RMSE (sd of t)",
            yticks=list(enumerate(order)), ylabel="", frame_width=250,
            frame_height=40 + 26 * len(order)))
    return hv.Layout(panels).cols(3).opts(shared_axes=False)
