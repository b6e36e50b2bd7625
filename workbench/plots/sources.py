"""Several sources along one input: what each observed, what models make of it, whom they trust."""

from __future__ import annotations

from collections.abc import Mapping

import holoviews as hv
import numpy as np
import xarray as xr
from scipy.special import ndtri

from workbench.checks import choose, require
from workbench.plots.cycle import Look, looks, room
from workbench.plots.several import (
    TARGET,
    Tree,
    check_maps,
    covariate_of,
    named,
    of_task,
    parts,
    seen,
    tasks,
)
from workbench.plots.theme import CATEGORIES, CHART, NEUTRAL, axis
from workbench.schema import BAG, COVARIATE, INDIVIDUAL

MODEL = CATEGORIES[0]           # of a model's band; sources take the others, in their order
SOURCES = CATEGORIES[1:]
TRUTH = {"color": NEUTRAL, "line_dash": "dashed", "line_width": 1.5}
WIDE = {**CHART, "frame_width": 380, "frame_height": 210}
LEGEND = {"legend_position": "right", "legend_opts": {"border_line_alpha": 0, "margin": 0}}


def source_bands(
    tree: Tree, maps: Mapping[str, xr.Dataset], *, covariate: str | None = None,
    task: str | None = None, level: float = 0.95, xlim: tuple[float, float] | None = None,
    columns: int = 2,
) -> hv.Layout:
    """Observations of one task along one covariate, and the band of each model, a panel each.

    All sources of that task are drawn, and none of another one, whose values belong on another
    axis. Observations of single individuals are marks, those of bags lines from their first to
    their last individual. A source keeps its look from one task to the next; beyond five sources
    the colours come again with other dashes and marks.

    Parameters
    ----------
    tree : xr.DataTree or mapping of str to xr.Dataset
        ``sources/<name>`` and ``target``, as `workbench.load_sources` returns it, or Datasets by
        name with ``target`` among them; a source's ``value`` may be (bag, task), NaN where it is
        missing. If the target is of the task, its ``truth`` is dashed, or without one its held-out
        values are grey crosses.
    maps : mapping of str to xr.Dataset
        By model: ``mean`` and ``std`` over the individuals of the target, as
        ``fit.to_dataset(target, task=...)`` has them.
    covariate : str, optional
        What is drawn along; the first one if not given.
    task : str, optional
        The target's (its first one, if it has several) if not given; a target that names none is
        of the first source's, as predictions are.
    level : float
        Of the bands, those of a normal distribution; between 0 and 1.
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
        If there is no model, the covariate or task is unknown, a map is of other individuals or of
        another task, the level is none, nothing lies inside xlim, or there are more sources than
        can be distinguished.

    References
    ----------
    Hamelijnck et al. 2019, figure 2.
    """
    sources, target = parts(tree)
    names = [str(n) for n in target[COVARIATE].values]
    name_x = choose("covariate", covariate or names[0], names)
    require(len(maps) > 0, "there is no model to draw; pass maps={'mr-gp': fit.to_dataset(...)}")
    check_maps(maps, target, f"target's {target.sizes[INDIVIDUAL]} individuals",
               "fit.to_dataset(tree['target'].to_dataset())")
    known = list(dict.fromkeys(t for name, ds in sources.items() for t in tasks(name, ds)))
    target = named(target, known[0])
    task = _chosen_task(task, known, tasks(TARGET, target)[0], maps)
    drawn = {name: part for name, ds in sources.items()
             if (part := of_task(name, ds, task)) is not None}
    goal = of_task(TARGET, target, task)
    x = covariate_of(target, name_x, TARGET)
    shown, values = [], [part["value"].values[seen(part)] for part in drawn.values()]
    if goal is not None:
        shown, known = _goal(goal, x)
        values.append(known)
    inputs = {name: covariate_of(part, name_x, repr(name)) for name, part in drawn.items()}
    span = _span(x, inputs, xlim)
    look = looks(sources, SOURCES)
    shown += [observations(part, name_x, name, look[name]) for name, part in drawn.items()]
    said = (goal if goal is not None else next(iter(drawn.values())))["value"].attrs
    frame = WIDE | {"frame_height": room(WIDE["frame_height"], len(shown) + 1)}
    ends, panels = _ends(np.concatenate(values), x, maps, level, span), []
    for k, (name, ds) in enumerate(maps.items()):
        last = k == len(maps) - 1
        band = model_band(x, ds, level, f"model, {100 * level:g} %", Look(MODEL))
        panels.append((band * hv.Overlay(shown)).opts(
            **frame, **(LEGEND if last else {}), show_legend=last, title=name,
            xlabel=axis(name_x, _unit(target, name_x)), xlim=span, ylim=ends,
            ylabel=axis(str(said.get("long_name", "") or "value"), str(said.get("units", "")))))
    return hv.Layout(panels).cols(columns).opts(shared_axes=False)


def observations(ds: xr.Dataset, covariate: str, label: str, look: Look) -> hv.Element:
    """What a source observed: marks of single individuals, or lines as long as its bags."""
    inputs, there = ds["covariates"].sel({COVARIATE: covariate}), seen(ds)
    bags, value = inputs.groupby(ds["membership"]), ds["value"].values
    if ds.sizes[BAG] == ds.sizes[INDIVIDUAL]:
        rows = there[ds["membership"].values]
        return hv.Points((inputs.values[rows], value[ds["membership"].values[rows]]), ["x", "y"],
                         label=label).opts(**look.mark())
    low, high = bags.min().values[there], bags.max().values[there]
    return hv.Segments((low, value[there], high, value[there]), ["x", "y", "x1", "y1"],
                       label=label).opts(**look.line(3))


def model_band(x: np.ndarray, ds: xr.Dataset, level: float, label: str, look: Look) -> hv.Overlay:
    """Mean and central interval of a normal distribution along x.

    Raises
    ------
    InputError
        If the level is not between 0 and 1.
    """
    order, half = np.argsort(x), _half(ds, level)
    mean, half = ds["mean"].values[order], half[order]
    shade = hv.Area((x[order], mean - half, mean + half), "x", ["y", "upper"]).opts(
        color=look.colour, alpha=0.25, line_alpha=0)
    return shade * hv.Curve((x[order], mean), "x", "y", label=label).opts(**look.line())


def expert_weights(weights: xr.DataArray, along: str = "x") -> hv.Overlay:
    """Shares of the experts of a mixture along one input, stacked to one.

    Beyond five experts the colours come again, pale and with a dashed edge.

    Parameters
    ----------
    weights : xr.DataArray
        (expert, individual), each column adding up to one, with a coordinate of the individuals.
    along : str
        That coordinate.

    Returns
    -------
    hv.Overlay
        The chart.

    Raises
    ------
    InputError
        If the array has other dimensions, the coordinate is missing, columns do not add up to one,
        or there are more experts than can be distinguished.

    References
    ----------
    Hamelijnck et al. 2019, appendix D.10.
    """
    require(set(weights.dims) == {"expert", INDIVIDUAL} and along in weights.coords,
            f"weights need dimensions (expert, individual) and a coordinate {along!r}, got "
            f"{weights.dims} and {', '.join(map(str, weights.coords))}")
    ordered = weights.transpose("expert", INDIVIDUAL).sortby(along)
    x, tops = ordered[along].values, ordered.values.cumsum(0)
    off = int((~np.isclose(tops[-1], 1, atol=1e-4)).sum())
    require(off == 0, f"weights of {off} individuals do not add up to one; pass all experts of "
            "fit.expert_weights(ds)")
    bottoms = np.vstack([np.zeros(len(x)), tops[:-1]])
    look = looks([str(name) for name in ordered["expert"].values], SOURCES)
    drawn = [hv.Area((x, low, high), "x", ["y", "upper"], label=name).opts(**look[name].area())
             for name, low, high in zip(look, bottoms, tops, strict=True)]
    return hv.Overlay(drawn).opts(
        **(WIDE | {"frame_height": room(120, len(look))}), **LEGEND, xlabel=along,
        ylabel="weight", ylim=(0, 1), xlim=(float(x.min()), float(x.max())),
        title="weights of the experts")


def _chosen_task(
    task: str | None, known: list[str], own: str, maps: Mapping[str, xr.Dataset],
) -> str:
    """The task to draw: observed by a source, and that of all maps that name theirs."""
    task = choose("task", own if task is None else task, known)
    for name, ds in maps.items():
        theirs = str(ds.attrs.get("task", task))
        require(theirs == task, f"the map of {name!r} is of task {theirs!r}, the picture of "
                f"{task!r}; pass task={theirs!r}, or make it with fit.to_dataset(target, "
                f"task={task!r})")
    return task


def _goal(goal: xr.Dataset, x: np.ndarray) -> tuple[list[hv.Element], np.ndarray]:
    """Truth, or else what was held out; and its values."""
    if "truth" in goal:
        order, truth = np.argsort(x), goal["truth"].values
        return [hv.Curve((x[order], truth[order]), "x", "y", label="truth").opts(**TRUTH)], truth
    there = seen(goal)[goal["membership"].values]
    value = goal["value"].values[goal["membership"].values][there]
    return [hv.Points((x[there], value), ["x", "y"], label="held out").opts(
        color=NEUTRAL, marker="x", size=5)], value


def _unit(ds: xr.Dataset, name: str) -> str:
    if "covariate_units" not in ds:
        return ""
    return str(ds["covariate_units"].sel({COVARIATE: name}).values)


def _half(ds: xr.Dataset, level: float) -> np.ndarray:
    """Half the width of the central interval of a normal distribution."""
    require(0 < level < 1, f"level must be between 0 and 1, such as 0.95, got {level}")
    return ndtri((1 + level) / 2) * ds["std"].values


def _span(
    x: np.ndarray, inputs: Mapping[str, np.ndarray], xlim: tuple[float, float] | None,
) -> tuple[float, float]:
    """Ends of the input axis: the target's, or those that are asked for."""
    if xlim is None:
        return float(x.min()), float(x.max())
    low, high = xlim
    require(low < high, f"xlim must be a lower and an upper end, got {xlim}")
    every = np.concatenate([x, *inputs.values()])
    require(bool(((every >= low) & (every <= high)).any()), f"nothing lies inside xlim {low:g} to "
            f"{high:g}; the data span {every.min():g} to {every.max():g}")
    return low, high


def _ends(
    values: np.ndarray, x: np.ndarray, maps: Mapping[str, xr.Dataset], level: float,
    span: tuple[float, float],
) -> tuple[float, float]:
    """Ends of the common value axis: all that was observed, and three times that at most."""
    low, high = float(values.min()), float(values.max())
    reach, inside = high - low or abs(high) or 1.0, (x >= span[0]) & (x <= span[1])
    first, final = low, high
    for ds in maps.values() if inside.any() else ():
        mean, half = ds["mean"].values[inside], _half(ds, level)[inside]
        first, final = min(first, np.min(mean - half)), max(final, np.max(mean + half))
    pad = 0.04 * reach
    return max(low - reach, first) - pad, min(high + reach, final) + pad
