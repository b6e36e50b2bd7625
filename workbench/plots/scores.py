"""Scores of models beside the flat baselines, and predictions against observations."""

from __future__ import annotations

from collections.abc import Mapping

import holoviews as hv
import numpy as np
import xarray as xr

from workbench.checks import choose, require
from workbench.plots.theme import CATEGORIES, CHART, NEUTRAL, axis, colours


def score_bars(
    result: xr.Dataset, score: str = "crps", target: str = "bag", models: list[str] | None = None,
    titles: Mapping[str, str] | None = None,
) -> hv.Overlay:
    """One score of every model as bars; a dashed line marks the constant model or the aim.

    Parameters
    ----------
    result : xr.Dataset
        From `workbench.evaluate` or `workbench.cross_validate`.
    score : str
        Name in ``result.score``.
    target : {"bag", "individual", "rate"}
    models : list of str, optional
    titles : mapping of str to str, optional
        What models are called in the chart, by their names.

    Returns
    -------
    hv.Overlay
        The chart.
    """
    choose("score", score, [str(s) for s in result["score"].values])
    choose("target", target, [str(t) for t in result["target"].values])
    part = result["scores"].sel(score=score, target=target).dropna("model")
    names = [str(m) for m in part["model"].values if models is None or m in models]
    require(len(names) > 0, f"no model has a {score!r} at {target!r}")
    title, unit, aim = (str(part[f"score_{key}"].values) for key in ("title", "units", "aim"))
    palette = colours([str(m) for m in result["model"].values])
    rows = [((titles or {}).get(name, name), float(part.sel(model=name)), palette[name])
            for name in reversed(names)]
    bars = hv.Bars(rows, "model", [hv.Dimension("score", label=title), "colour"]).opts(
        color="colour", invert_axes=True, tools=["hover"], line_alpha=0
    )
    best = {"lower": "lower is better", "higher": "higher is better"}.get(aim, f"aim: {aim}")
    options = {**CHART, "frame_height": 40 + 34 * len(names)}
    mark = float(aim) if aim.isdigit() and aim != "0" else np.nan
    if aim in ("lower", "higher") and "constant" in part["model"]:
        mark = float(part.sel(model="constant"))
    drawn = bars
    if np.isfinite(mark):  # the axes are inverted, so a horizontal line stands upright
        drawn = bars * hv.HLine(mark).opts(color=NEUTRAL, line_dash="dashed", line_width=1.5)
    return drawn.opts(
        hv.opts.Bars(**options, ylabel=axis(title, unit), xlabel="", title=f"{title} ({best})")
    )


def observed_vs_predicted(
    result: xr.Dataset,
    model: str,
    target: str = "bag",
    log: bool = False,
    level: float = 0.9,
) -> hv.Overlay:
    """Observed values against predicted means, with central predictive intervals.

    Parameters
    ----------
    result : xr.Dataset
        From `workbench.evaluate` or `workbench.cross_validate`.
    model : str
        Name in ``result.model``.
    target : {"bag", "individual", "rate"}
        What was predicted.
    log : bool
        Logarithmic axes; values of zero are then drawn at the lower edge and counted in the title.
    level : float
        Level of the intervals; its ends must be among the stored quantiles. More than 400
        units are drawn without intervals, which would hide them.

    Returns
    -------
    hv.Overlay
        A dot for every unit that was predicted, in the units of the values, on the diagonal where
        the prediction was right.

    Raises
    ------
    InputError
        If the model is unknown, or nothing was predicted or scored at the target.
    """
    choose("model", model, [str(m) for m in result["model"].values])
    require(f"{target}_mean" in result, f"nothing was scored at {target!r}")
    dim = result[f"{target}_observed"].dims[0]
    there = np.isfinite(result[f"{target}_mean"].sel(model=model).values)
    require(bool(there.any()), f"{model!r} predicted nothing at {target!r}")
    result = result.isel({dim: there})
    observed = result[f"{target}_observed"].values
    mean = result[f"{target}_mean"].sel(model=model).values
    quantile = result[f"{target}_quantile"].sel(model=model)
    tails = [(1 - level) / 2, (1 + level) / 2]
    ends = [quantile.sel(quantile_level=t, method="nearest", tolerance=1e-6).values for t in tails]
    unit = str(result["score_units"].sel(target=target, score="rmse").values)
    ids = result[dim].values.astype(str)
    title = model if there.all() else f"{model} ({int((~there).sum()):,} not predicted)"
    note, bars, floor = "", "", -np.inf
    if log:
        positive = np.concatenate([v[v > 0] for v in (observed, mean, *ends)])
        floor = float(positive.min()) / 2
        zeros = int((observed <= 0).sum())
        note = f" ({zeros:,} zeros at the edge)" if zeros else ""
    y, x, low, high = (np.maximum(v, floor) for v in (observed, mean, *ends))
    kdims, vdims = ["predicted"], ["observed"]
    span = [min(x.min(), y.min()), max(x.max(), y.max())]
    shapes = [
        hv.Curve([(v, v) for v in span], kdims, vdims).opts(
            color=NEUTRAL, line_dash="dashed", line_width=1.5
        )
    ]
    if x.size <= 400:
        sides = hv.Segments((x, low, x, high), ["predicted", "observed", "x1", "y1"])
        shapes.append(sides.opts(color=NEUTRAL, alpha=0.45, line_width=1))
        bars = f", bars {100 * level:g} %"
    dots = hv.Scatter({"predicted": x, "observed": y, "id": ids}, kdims, [*vdims, "id"])
    shapes.append(
        dots.opts(
            color=CATEGORIES[0],
            alpha=0.75 if x.size < 500 else 0.35,
            size=5 if x.size < 500 else 3,
            tools=["hover"],
        )
    )
    return hv.Overlay(shapes).opts(
        **CHART, logx=log, logy=log, show_legend=False, title=title,
        xlabel=axis("predicted mean", unit) + bars, ylabel=axis("observed", unit) + note,
    )
