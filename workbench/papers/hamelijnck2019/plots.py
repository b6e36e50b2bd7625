"""What becomes of a posterior if sources are dependent, and if they are counts and measurements."""

from __future__ import annotations

import holoviews as hv
import numpy as np
import xarray as xr

from workbench.checks import choose, require
from workbench.labelled.predictive import LabelledPredictive
from workbench.plots.cycle import Look, looks, room
from workbench.plots.sources import LEGEND, MODEL, SOURCES, TRUTH, WIDE
from workbench.plots.theme import CHART, NEUTRAL


def contraction(runs: xr.Dataset) -> hv.Layout:
    """How wide posteriors are beside the right one, and how much of the truth they cover.

    Parameters
    ----------
    runs : xr.Dataset
        ``relative_variance`` (model, run), of which one is right, and ``coverage`` (model, run) of
        95 % intervals; NaN where a run is missing.

    Returns
    -------
    hv.Layout
        Two panels; a dot for each run, a tick at the mean.

    References
    ----------
    Hamelijnck et al. 2019, figure 2 (left), which has no numbers.
    """
    names = [str(n) for n in runs["model"].values][::-1]
    panels = []
    for score, label, mark in (("relative_variance", "variance, relative", 1.0),
                               ("coverage", "share of truth inside 95 %", 0.95)):
        require(score in runs, f"the runs have no {score!r}; give relative_variance and coverage")
        table = runs[score].transpose("model", ...).sel(model=names).values
        row, _ = np.nonzero(np.isfinite(table))
        dots = hv.Points((table[np.isfinite(table)], row), ["value", "row"]).opts(
            color=MODEL, size=5, alpha=0.5)
        ticks = hv.Points((np.nanmean(table, 1), np.arange(len(names))), ["value", "row"]).opts(
            color=SOURCES[0], marker="dash", angle=90, size=16, line_width=3)
        panels.append((hv.VLine(mark).opts(color=NEUTRAL, line_dash="dashed", line_width=1.5)
                       * dots * ticks).opts(
            **(CHART | {"frame_width": 280, "frame_height": 30 + 24 * len(names)}),
            xlabel=label, ylabel="", yticks=list(enumerate(names)), ylim=(-0.6, len(names) - 0.4),
            xlim=(0, 1.05 * max(mark, float(np.nanmax(table))))))
    panels[1] = panels[1].opts(yaxis="bare")
    return hv.Layout(panels).cols(2).opts(shared_axes=False)


def full_bayes(ds: xr.Dataset, *, true: str = "dependent") -> hv.Layout:
    """Posteriors of f of every likelihood beside that of the true one, and those of the noise.

    Beyond five likelihoods the colours come again with other dashes.

    Parameters
    ----------
    ds : xr.Dataset
        ``mean``, ``low``, ``high`` (likelihood, individual) of f, ``truth`` and ``points``
        (individual), a coordinate x, and ``point_noise`` (likelihood, draw).
    true : str
        The likelihood that the others are drawn beside.

    Raises
    ------
    InputError
        If the likelihood is unknown, or there are more of them than can be distinguished.

    References
    ----------
    Hamelijnck et al. 2019, figure 5.
    """
    names = [str(n) for n in ds["likelihood"].values]
    choose("likelihood", true, names)
    others = [name for name in names if name != true]
    look = {true: Look(NEUTRAL), **looks(others, SOURCES)}
    x, panels = ds["x"].values, []
    for name in others:
        bands = [_between(x, ds.sel(likelihood=one), one, look[one]) for one in (true, name)]
        points = hv.Points((x, ds["points"].values), ["x", "y"]).opts(
            color="black", marker="x", size=4, alpha=0.5)
        curve = hv.Curve((x, ds["truth"].values), "x", "y").opts(**TRUTH | {"color": "black"})
        panels.append((hv.Overlay(bands) * curve * points).opts(
            **WIDE, title=f"f: {name} and {true}", xlabel="x", ylabel="f", show_legend=False))
    top = float(ds["point_noise"].quantile(0.995))
    edges = np.linspace(0, top, 41)
    steps = []
    for name in names:
        share = np.histogram(ds["point_noise"].sel(likelihood=name).values, edges)[0]
        steps.append(hv.Curve((np.repeat(edges, 2), np.concatenate(
            [[0], np.repeat(share / ds.sizes["draw"], 2), [0]])), "noise", "share", label=name
            ).opts(**look[name].line(3 if name == true else 2)))
    height = {"frame_height": room(WIDE["frame_height"], len(names))}
    panels.append(hv.Overlay(steps).opts(
        **(WIDE | height), **LEGEND, title="noise of points", xlabel="standard deviation",
        ylabel="share of draws"))
    return hv.Layout(panels).cols(2).opts(shared_axes=False)


def rate_bands(cases: xr.Dataset, measured: xr.Dataset,
               rates: dict[str, LabelledPredictive]) -> hv.Layout:
    """Posterior rates along the line with 95 % bands, beside what was seen and the truth.

    Parameters
    ----------
    cases, measured : xr.Dataset
        As of `workbench.papers.hamelijnck2019.counts.counts_and_measurements`.
    rates : dict
        Distributions of the rate at the places of ``cases``, by title; measurements are drawn on
        the last.

    Returns
    -------
    hv.Layout
        A panel for each.
    """
    x = cases["covariates"].values[:, 0]
    order = np.argsort(x)
    areas = cases["membership"].values
    edges = [(x[areas == a].min(), x[areas == a].max()) for a in range(cases.sizes["bag"])]
    people = np.bincount(areas, cases["weight"].values)
    seen = cases["value"].values / people
    bars = hv.Segments([(low, y, high, y) for (low, high), y in zip(edges, seen, strict=True)],
                       ["x", "rate", "x1", "y1"]).opts(color=SOURCES[0], line_width=3)
    known = hv.Curve((x[order], cases["truth"].values[order]), "x", "rate").opts(**TRUTH)
    dots = hv.Points((measured["covariates"].values[:, 0], np.exp(measured["value"].values)),
                     ["x", "rate"]).opts(color=SOURCES[1], marker="x", size=8, line_width=2)
    panels = []
    for name, dist in rates.items():
        low, high = (end.values[order] for end in dist.interval(0.95))
        band = hv.Area((x[order], low, high), "x", ["rate", "high"]).opts(
            color=MODEL, alpha=0.25, line_alpha=0)
        mean = hv.Curve((x[order], dist.mean.values[order]), "x", "rate").opts(color=MODEL)
        drawn = band * mean * known * bars
        panels.append((drawn * dots if name == list(rates)[-1] else drawn).opts(
            **WIDE, title=name, ylim=(0, 5)))
    return hv.Layout(panels).opts(shared_axes=False)


def _between(x, part: xr.Dataset, label: str, look: Look) -> hv.Overlay:
    shade = hv.Area((x, part["low"].values, part["high"].values), "x", ["y", "upper"]).opts(
        color=look.colour, alpha=0.3, line_alpha=0)
    return shade * hv.Curve((x, part["mean"].values), "x", "y", label=label).opts(**look.line())
