"""A city's air: maps of one hour beside each other, and stations over time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import holoviews as hv
import numpy as np
import xarray as xr

from workbench.checks import choose, require
from workbench.plots.cycle import looks, room
from workbench.plots.scales import ColourScale, colour_scale
from workbench.plots.several import Tree, check_maps, covariate_of, need, parts
from workbench.plots.sources import SOURCES, TRUTH, model_band
from workbench.plots.theme import CATEGORIES, CHART, MAP, NEUTRAL, axis
from workbench.schema import INDIVIDUAL

_MAP = {**MAP, "frame_width": 250, "xaxis": "bare", "yaxis": "bare", "xlabel": "", "ylabel": ""}
_SERIES = {**CHART, "frame_width": 520, "frame_height": 150}
_BAR = {"width": 8, "title_text_font_size": "9pt", "title_text_font_style": "normal"}
_STATIONS = {"color": "white", "line_color": "black", "size": 5}


def city_maps(
    grid: xr.Dataset, maps: Mapping[str, xr.Dataset], *, outlines: xr.Dataset | None = None,
    satellite: xr.Dataset | None = None, stations: xr.Dataset | None = None,
    scale: ColourScale | None = None, columns: int = 3,
) -> hv.Layout:
    """Maps of one hour on one colour scale: truth, satellite, and the mean of each model.

    Parameters
    ----------
    grid : xr.Dataset
        From `workbench.city_map`: pixels with ``truth``, ``grid_shape`` and ``grid_transform``.
    maps : mapping of str to xr.Dataset
        By model: ``mean`` over the individuals of the grid.
    outlines : xr.Dataset, optional
        From `workbench.city_outlines`: main roads and the river are drawn.
    satellite : xr.Dataset, optional
        The source: cells of its last overpass until the hour of the grid.
    stations : xr.Dataset, optional
        Their places are drawn on the satellite's panel, or on the truth without one.
    scale : ColourScale, optional
        To keep colours from one hour to the next; by default from the truth.
    columns : int
        Panels in a row.

    Returns
    -------
    hv.Layout
        Truth, satellite, and one panel for each model.

    Raises
    ------
    InputError
        If the dataset is not a grid, a map is of other pixels, no overpass came before, or
        outlines, satellite or stations are other datasets than these.

    References
    ----------
    Hamelijnck et al. 2019, figure 4.
    """
    require("grid_shape" in grid.attrs and "truth" in grid, "the dataset is not a map of a "
            "simulated city; make it with workbench.city_map(tree, hour)")
    check_maps(maps, grid, f"grid's {grid.sizes[INDIVIDUAL]} pixels", "fit.to_dataset(grid)",
               ("mean",))
    scale = scale or city_scale(grid)
    lines = [] if outlines is None else _lines(outlines)
    dots = [] if stations is None else [_places(stations)]
    panels = [[_image(grid, grid["truth"].values, scale), *lines]]
    titles = ["truth"]
    if satellite is not None:
        cells, hour = _cells(satellite, _hour(grid), scale)
        panels.append([cells, *lines])
        titles.append(f"satellite at {hour % 24:02.0f}:00")
    panels[-1] += dots
    for name, ds in maps.items():
        panels.append([_image(grid, ds["mean"].values, scale), *lines])
        titles.append(name)
    panels[-1][0] = panels[-1][0].opts(colorbar=True, colorbar_opts=_BAR | {"title": scale.unit})
    rows, wide = grid.attrs["grid_shape"]
    x, y = _edges(grid)
    drawn = [hv.Overlay(parts).opts(
        **_MAP, frame_height=round(_MAP["frame_width"] * rows / wide), title=title, xlim=x, ylim=y,
        show_legend=False) for parts, title in zip(panels, titles, strict=True)]
    return hv.Layout(drawn).cols(columns).opts(shared_axes=False)


def city_scale(*grids: xr.Dataset) -> ColourScale:
    """One colour scale for the maps of several hours, from their truth.

    Parameters
    ----------
    *grids : xr.Dataset
        From `workbench.city_map`.

    Returns
    -------
    ColourScale
        From the 1st to the 99th percentile.
    """
    value = grids[0]["value"].attrs
    return colour_scale(*(g["truth"] for g in grids), label=str(value.get("long_name", "value")),
                        unit=str(value.get("units", "")), quantiles=(0.01, 0.99))


def station_series(
    tree: Tree, maps: Mapping[str, xr.Dataset], stations: str | Sequence[str], *,
    source: str = "stations", level: float = 0.95,
) -> hv.Layout:
    """Readings of stations over time, learnt from and held out, and the bands of models there.

    Parameters
    ----------
    tree : xr.DataTree or mapping of str to xr.Dataset
        With a source of stations and a target, both singletons with ``station`` and the covariate
        ``time``; see `workbench.plots.source_bands`.
    maps : mapping of str to xr.Dataset
        By model: ``mean`` and ``std`` over the individuals of the target. Beyond six models the
        colours come again with other dashes.
    stations : str or sequence of str
        Those to draw, a panel each.
    source : str
        Name of the stations' source.
    level : float
        Of the bands of the field, those of a normal distribution; between 0 and 1.

    Returns
    -------
    hv.Layout
        One panel below the other.

    Raises
    ------
    InputError
        If a station or the source is unknown, or there is none; if a part has no stations or no
        time; if a map is of other individuals, the level is none, or there are more models than
        can be distinguished.

    References
    ----------
    Hamelijnck et al. 2019, appendix C.2.
    """
    sources, target = parts(tree)
    train = sources[choose("source", source, sources)]
    for ds, what in ((train, f"the source {source!r}"), (target, "the target")):
        need(ds, ["station"], what, "series are of stations, as in the trees of "
             "load_sources('simulated-city') and sources_from_tables; see source_bands for others")
    check_maps(maps, target, f"target's {target.sizes[INDIVIDUAL]} individuals",
               "fit.to_dataset(tree['target'].to_dataset())")
    stations = [stations] if isinstance(stations, str) else list(stations)
    look = looks(maps, CATEGORIES)
    frame = _SERIES | {"frame_height": room(_SERIES["frame_height"], len(look) + 3)}
    known = sorted({str(s) for s in target["station"].values})
    require(len(stations) > 0, f"name one station or more of {', '.join(known)}")
    unit = str(target["value"].attrs.get("units", ""))
    label = axis(str(target["value"].attrs.get("long_name", "value")), unit)
    panels = []
    for k, name in enumerate(stations):
        choose("station", name, known)
        last = k == len(stations) - 1
        there = np.flatnonzero(target["station"].values.astype(str) == name)
        x = _time(target)[there]
        drawn = [model_band(x, ds.isel({INDIVIDUAL: there}), level, model, look[model])
                 for model, ds in maps.items()]
        if "truth" in target:
            there = there[np.argsort(x)]
            drawn.append(hv.Curve((np.sort(x), target["truth"].values[there]), "x", "y",
                                  label="truth").opts(**TRUTH))
        for ds, told, fill in ((train, "learnt from", 1.0), (target, "held out", 0.0)):
            rows = ds["station"].values.astype(str) == name
            drawn.append(hv.Points((_time(ds)[rows], ds["value"].values[ds["membership"].values[
                rows]]), ["x", "y"], label=told).opts(
                    fill_color="black", fill_alpha=fill, line_color="black", size=5))
        both = np.concatenate([_time(train), _time(target)])
        end = hv.VLine(float(_time(target).min()) - 0.5).opts(color=NEUTRAL, line_width=1)
        kind = str(target["kind"].values[there[0]]) if "kind" in target.coords else ""
        panels.append(hv.Overlay([*drawn, end]).opts(
            **frame, xlim=(float(both.min()), float(both.max())), legend_position="right",
            show_legend=last, ylabel=label,
            xlabel="time (h)" if last else "", title=f"{name}{f', {kind}' if kind else ''}",
            legend_opts={"border_line_alpha": 0, "margin": 0}))
    return hv.Layout(panels).cols(1).opts(shared_axes=False)


def _time(ds: xr.Dataset) -> np.ndarray:
    return covariate_of(ds, "time", "a dataset of a city")


def _hour(grid: xr.Dataset) -> float:
    return float(_time(grid)[0])


def _edges(grid: xr.Dataset) -> tuple[tuple[float, float], tuple[float, float]]:
    (rows, columns), (dx, _, left, _, dy, top) = (grid.attrs[n] for n in (
        "grid_shape", "grid_transform"))
    return (left, left + dx * columns), (top + dy * rows, top)


def _image(grid: xr.Dataset, values: np.ndarray, scale: ColourScale) -> hv.Image:
    (left, right), (bottom, top) = _edges(grid)
    return hv.Image(values.reshape(grid.attrs["grid_shape"]), ["x", "y"],
                    hv.Dimension("value", label=scale.title),
                    bounds=(left, bottom, right, top)).opts(
        **scale.options(), tools=["hover"])


def _cells(ds: xr.Dataset, hour: float, scale: ColourScale) -> tuple[hv.Rectangles, float]:
    need(ds, ("cell_x", "cell_y", "cell_size", "membership", "value"), "satellite=...", "pass the "
         "source of cells, tree['sources/satellite'].to_dataset()")
    first = np.unique(ds["membership"].values, return_index=True)[1]
    when = _time(ds)[first]
    require(bool((when <= hour).any()), f"the satellite has no overpass until hour {hour:g}; the "
            f"first is at {when.min():g}")
    at = float(when[when <= hour].max())
    x, y, half, value = (ds[n].values[when == at] for n in (
        "cell_x", "cell_y", "cell_size", "value"))
    half = half / 2
    return hv.Rectangles((x - half, y - half, x + half, y + half, value),
                         vdims=hv.Dimension("value", label=scale.title)).opts(
        **scale.options(), color="value", line_alpha=0), at


def _lines(outlines: xr.Dataset) -> list[hv.Element]:
    need(outlines, ("road", "road_x", "road_y", "river_x", "river_y"), "outlines=...",
         "pass workbench.city_outlines(tree)")
    road = outlines["road"].values
    x, y = outlines["road_x"].values, outlines["road_y"].values
    roads = [np.column_stack([x[road == r], y[road == r]]) for r in np.unique(road)]
    river = np.column_stack([outlines["river_x"].values, outlines["river_y"].values])
    return [hv.Path([river], ["x", "y"]).opts(color=SOURCES[3], line_width=2, alpha=0.8),
            hv.Path(roads, ["x", "y"]).opts(color="white", line_width=0.5, alpha=0.35)]


def _places(stations: xr.Dataset) -> hv.Points:
    need(stations, ("station", "x", "y"), "stations=...", "pass the source of stations, "
         "tree['sources/stations'].to_dataset()")
    _, first = np.unique(stations["station"].values, return_index=True)
    return hv.Points((stations["x"].values[first], stations["y"].values[first],
                      stations["station"].values[first].astype(str)), ["x", "y"],
                     "station").opts(**_STATIONS, tools=["hover"])
