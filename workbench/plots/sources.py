"""Several sources along one input: what each observed, what models make of it, whom they trust."""

from __future__ import annotations

from collections.abc import Mapping

import holoviews as hv
import numpy as np
import xarray as xr
from scipy.special import ndtri

from workbench.checks import choose, require
from workbench.plots.theme import CATEGORIES, CHART, NEUTRAL, axis
from workbench.schema import BAG, COVARIATE, INDIVIDUAL

MODEL = CATEGORIES[0]           # of a model's band; sources take the others, in their order
SOURCES = CATEGORIES[1:]
TRUTH = {"color": NEUTRAL, "line_dash": "dashed", "line_width": 1.5}
_WIDE = {**CHART, "frame_width": 380, "frame_height": 210}
_LEGEND = {"legend_position": "right", "legend_opts": {"border_line_alpha": 0, "margin": 0}}


def source_bands(
    tree: xr.DataTree, maps: Mapping[str, xr.Dataset], *, covariate: str | None = None,
    level: float = 0.95, xlim: tuple[float, float] | None = None, columns: int = 2,
) -> hv.Layout:
    """Observations of all sources along one covariate, and the band of each model, a panel each.

    Observations of single individuals are crosses, those of bags lines from their first to their
    last individual.

    Parameters
    ----------
    tree : xr.DataTree
        ``sources/<name>`` and ``target``, as `workbench.load_sources` returns it; the target's
        ``truth`` is dashed, or without one its held-out values are grey crosses.
    maps : mapping of str to xr.Dataset
        By model: ``mean`` and ``std`` over the individuals of the target, as
        ``fit.to_dataset(target)`` has them.
    covariate : str, optional
        What is drawn along; the first one if not given.
    level : float
        Of the bands, those of a Normal law.
    xlim : (float, float), optional
        Part to draw.
    columns : int
        Panels in a row.

    Returns
    -------
    hv.Layout
        One panel per model on common axes; the legend is beside the last one.

    Raises
    ------
    InputError
        If there is no model, the covariate is unknown, or a map is of other individuals.

    References
    ----------
    Hamelijnck et al. 2019, figure 2.
    """
    target = tree["target"].to_dataset()
    names = [str(n) for n in target[COVARIATE].values]
    along = choose("covariate", covariate or names[0], names)
    require(len(maps) > 0, "there is no model to draw; pass maps={'mr-gp': fit.to_dataset(...)}")
    for name, ds in maps.items():
        require(ds.sizes.get(INDIVIDUAL) == target.sizes[INDIVIDUAL],
                f"the map of {name!r} is not of the target's {target.sizes[INDIVIDUAL]} "
                "individuals; make it with fit.to_dataset(tree['target'].to_dataset())")
    x = target["covariates"].sel({COVARIATE: along}).values
    if "truth" in target:
        shown = [hv.Curve((x, target["truth"].values), "x", "y", label="truth").opts(**TRUTH)]
    else:
        shown = [hv.Points((x, target["value"].values[target["membership"].values]), ["x", "y"],
                           label="held out").opts(color=NEUTRAL, marker="x", size=5)]
    for (name, node), colour in zip(tree["sources"].children.items(), SOURCES, strict=False):
        shown.append(observations(node.to_dataset(), along, str(name), colour))
    label, unit = (str(target["value"].attrs.get(n, "")) for n in ("long_name", "units"))
    panels = []
    for k, (name, ds) in enumerate(maps.items()):
        last = k == len(maps) - 1
        band = model_band(x, ds, level, f"model, {100 * level:g} %", MODEL)
        panels.append((band * hv.Overlay(shown)).opts(
            **_WIDE, **(_LEGEND if last else {}), show_legend=last, title=name, xlabel=axis(
                along, _unit(target, along)), ylabel=axis(label or "value", unit.replace("1", "")),
            xlim=xlim or (float(x.min()), float(x.max())), ylim=_span(tree, x, maps, level, xlim)))
    return hv.Layout(panels).cols(columns).opts(shared_axes=False)


def observations(ds: xr.Dataset, along: str, label: str, colour: str) -> hv.Element:
    """What a source observed: crosses of single individuals, or lines as long as its bags."""
    inputs = ds["covariates"].sel({COVARIATE: along})
    bags, value = inputs.groupby(ds["membership"]), ds["value"].values
    if ds.sizes[BAG] == ds.sizes[INDIVIDUAL]:
        return hv.Points((inputs.values, value[ds["membership"].values]), ["x", "y"],
                         label=label).opts(color=colour, marker="x", size=5, line_width=1.5)
    low, high = bags.min().values, bags.max().values
    return hv.Segments((low, value, high, value), ["x", "y", "x1", "y1"], label=label).opts(
        color=colour, line_width=3)


def model_band(x: np.ndarray, ds: xr.Dataset, level: float, label: str, colour: str) -> hv.Overlay:
    """Mean and central interval of a Normal law along x."""
    order = np.argsort(x)
    mean, half = ds["mean"].values[order], ndtri((1 + level) / 2) * ds["std"].values[order]
    shade = hv.Area((x[order], mean - half, mean + half), "x", ["y", "upper"]).opts(
        color=colour, alpha=0.25, line_alpha=0)
    line = hv.Curve((x[order], mean), "x", "y", label=label).opts(color=colour, line_width=2)
    return shade * line


def contraction(runs: xr.Dataset, *, aim: float = 0.95) -> hv.Layout:
    """How wide posteriors are beside the right one, and how much of the truth they cover.

    Parameters
    ----------
    runs : xr.Dataset
        ``relative_variance`` (model, run), of which one is right, and ``coverage`` (model, run) of
        intervals; NaN where a run is missing.
    aim : float
        What the intervals claim.

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
                               ("coverage", f"share of truth inside {100 * aim:g} %", aim)):
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


def expert_weights(weights: xr.DataArray, along: str = "x") -> hv.Overlay:
    """Shares of the experts of a mixture along one input, stacked to one.

    Parameters
    ----------
    weights : xr.DataArray
        (expert, individual), each column adding up to one, with a coordinate of the individuals.
    along : str
        That coordinate.

    Raises
    ------
    InputError
        If the array has other dimensions, or the coordinate is missing.

    References
    ----------
    Hamelijnck et al. 2019, appendix D.10.
    """
    require(set(weights.dims) == {"expert", INDIVIDUAL} and along in weights.coords,
            f"weights need dimensions (expert, individual) and a coordinate {along!r}, got "
            f"{weights.dims} and {', '.join(map(str, weights.coords))}")
    ordered = weights.transpose("expert", INDIVIDUAL).sortby(along)
    x, tops = ordered[along].values, ordered.values.cumsum(0)
    bottoms = np.vstack([np.zeros(len(x)), tops[:-1]])
    drawn = [hv.Area((x, low, high), "x", ["y", "upper"], label=str(name)).opts(
        color=colour, alpha=0.7, line_alpha=0) for name, low, high, colour in zip(
            ordered["expert"].values, bottoms, tops, SOURCES, strict=False)]
    return hv.Overlay(drawn).opts(
        **(_WIDE | {"frame_height": 120}), **_LEGEND, xlabel=along, ylabel="weight", ylim=(0, 1),
        xlim=(float(x.min()), float(x.max())), title="weights of the experts")


def full_bayes(ds: xr.Dataset, *, true: str = "dependent") -> hv.Layout:
    """Posteriors of f of every likelihood beside that of the true one, and those of the noise.

    Parameters
    ----------
    ds : xr.Dataset
        ``mean``, ``low``, ``high`` (likelihood, individual) of f, ``truth`` and ``points``
        (individual), a coordinate x, and ``point_noise`` (likelihood, draw).
    true : str
        The likelihood that the others are drawn beside.

    References
    ----------
    Hamelijnck et al. 2019, figure 5.
    """
    names = [str(n) for n in ds["likelihood"].values]
    choose("likelihood", true, names)
    others = [name for name in names if name != true]
    palette = dict(zip([true, *others], [NEUTRAL, *SOURCES], strict=False))
    x, panels = ds["x"].values, []
    for name in others:
        bands = [_between(x, ds.sel(likelihood=one), one, palette[one]) for one in (true, name)]
        points = hv.Points((x, ds["points"].values), ["x", "y"]).opts(
            color="black", marker="x", size=4, alpha=0.5)
        curve = hv.Curve((x, ds["truth"].values), "x", "y").opts(**TRUTH | {"color": "black"})
        panels.append((hv.Overlay(bands) * curve * points).opts(
            **_WIDE, title=f"f: {name} and {true}", xlabel="x", ylabel="f", show_legend=False))
    top = float(ds["point_noise"].quantile(0.995))
    edges = np.linspace(0, top, 41)
    steps = []
    for name in names:
        share = np.histogram(ds["point_noise"].sel(likelihood=name).values, edges)[0]
        steps.append(hv.Curve((np.repeat(edges, 2), np.concatenate(
            [[0], np.repeat(share / ds.sizes["draw"], 2), [0]])), "noise", "share", label=name
            ).opts(color=palette[name], line_width=3 if name == true else 2))
    panels.append(hv.Overlay(steps).opts(
        **_WIDE, **_LEGEND, title="noise of points", xlabel="standard deviation",
        ylabel="share of draws"))
    return hv.Layout(panels).cols(2).opts(shared_axes=False)


def _between(x, part: xr.Dataset, label: str, colour: str) -> hv.Overlay:
    shade = hv.Area((x, part["low"].values, part["high"].values), "x", ["y", "upper"]).opts(
        color=colour, alpha=0.3, line_alpha=0)
    return shade * hv.Curve((x, part["mean"].values), "x", "y", label=label).opts(
        color=colour, line_width=2)


def _unit(ds: xr.Dataset, name: str) -> str:
    if "covariate_units" not in ds:
        return ""
    unit = str(ds["covariate_units"].sel({COVARIATE: name}).values)
    return "" if unit == "1" else unit


def _span(tree, x, maps, level: float, xlim) -> tuple[float, float]:
    """Ends of the common value axis: all observations and truth, and three times them at most."""
    target = tree["target"].to_dataset()
    seen = [node["value"].values for node in tree["sources"].children.values()]
    seen = np.concatenate([*seen, target["truth" if "truth" in target else "value"].values])
    low, high = float(seen.min()), float(seen.max())
    inside = slice(None) if xlim is None else (x >= xlim[0]) & (x <= xlim[1])
    half = {n: ndtri((1 + level) / 2) * ds["std"].values for n, ds in maps.items()}
    ends = [(np.min((ds["mean"].values - half[n])[inside]),
             np.max((ds["mean"].values + half[n])[inside])) for n, ds in maps.items()]
    reach, pad = high - low, 0.04 * (high - low)
    return (max(low - reach, min(low, *(a for a, _ in ends))) - pad,
            min(high + reach, max(high, *(b for _, b in ends))) + pad)
