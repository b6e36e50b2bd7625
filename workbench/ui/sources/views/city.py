"""Two maps of the city at an hour: the prediction, or what else is asked for, beside the truth."""

from __future__ import annotations

import numpy as np
import panel as pn
import panel_material_ui as pmui
from bokeh.events import Tap
from bokeh.models import BasicTicker, ColorBar, FixedTicker, Range1d

from workbench.plots.theme import NEUTRAL
from workbench.ui.base.bands import HALF_95
from workbench.ui.base.views.figures import (
    HERE,
    colour_bar,
    colours,
    crosshair,
    empty,
    hover,
    map_chart,
    push,
    shown,
)
from workbench.ui.base.views.layout import View, dim, stretched, wrapping
from workbench.ui.base.views.text import note
from workbench.ui.sources import messages
from workbench.ui.sources.city import CityData
from workbench.ui.sources.store import Store

EXTENT = (42, 35)       # km
WIDTH = 405             # pixels across a map, until the page says how much room there is
NEAR = 1.5              # km within which a click finds a station
PALETTES = {"value": "viridis", "width": "cividis", "error": "RdBu_r"}
MAPPED = {"mean": "value", "satellite": "value", "width": "width", "error": "error"}
ERROR = 25.0            # ug/m3, ends of the colours of errors
WIDTHS = (3.0, 80.0)
TICKS = {"value": BasicTicker(desired_num_ticks=6), "error": BasicTicker(desired_num_ticks=6),
         "width": FixedTicker(ticks=[3, 5, 10, 20, 40, 80])}


class Map(View):
    """Two linked maps with one colour scale for each kind of number, and stations to click."""

    def __init__(self, store: Store, **params):
        super().__init__(store, **params)
        self.mappers = {name: colours(palette, name == "width", low=1, high=2)
                        for name, palette in PALETTES.items()}
        self.mappers["width"].update(low=WIDTHS[0], high=WIDTHS[1])
        self.mappers["error"].update(low=-ERROR, high=ERROR)
        self.pixels = empty("mean", "width", "error", "truth", "left", "bottom", "across", "up")
        self.cells = empty("left", "right", "bottom", "top", "value")
        self.dots = empty("x", "y", "value", "name", "kind")
        self.hollow, self.chosen, self.river = empty("x", "y", "name"), empty("x", "y"), empty(
            "x", "y")
        self.roads, self.parks = empty("xs", "ys", "width"), empty("xs", "ys")
        self.ranges = {"x_range": Range1d(0, EXTENT[0]), "y_range": Range1d(0, EXTENT[1])}
        self.figure, self.bar = self._figure("city"), self._bar()
        self.drawn = {kind: self._image(self.figure, column, kind)
                      for kind, column in (("value", "mean"), ("width", "width"),
                                           ("error", "error"))}
        self.squares = self.figure.quad(
            "left", "right", "top", "bottom", source=self.cells, line_color=NEUTRAL,
            line_width=0.8, fill_color=None)
        self.points, *self.outlines = self._places(self.figure, list(self.drawn.values()))
        self.figure.add_layout(self.bar, "below")
        self.truth = self._figure("truth")
        self.truth.title.text, self.truth.yaxis.visible = messages.TRUTH_TITLE, False
        self._places(self.truth, [self._image(self.truth, "truth", "value")])
        self.bars = self.bar, self._bar()
        self.truth.add_layout(self.bars[1], "below")
        crosshair([self.figure, self.truth])
        state = store.state
        self.shown = pmui.RadioButtonGroup.from_param(state.param.shown, label="", size="small",
                                                      margin=(2, 5), max_width=410,
                                                      sizing_mode="stretch_width")
        self.outlined = pmui.Switch.from_param(state.param.cells, label="outline cells",
                                               size="small", margin=(4, 8))
        self._data: CityData | None = None
        self._pane = wrapping(shown(self.figure), shown(self.truth), gap=4)
        self._panel = stretched(wrapping(self.shown, self.outlined), self._pane,
                                note(messages.MAP_NOTE))
        state.param.watch(self._show, ["shown", "cells"])
        state.param.watch(self._seen, ["hour", "station"])
        self.follow(self._enter, "data", of=store.city)
        self.follow(self._update, "hour", of=store.city)
        self.follow(self._dim, "stale", "hour", of=store.city)

    def fit(self, width: int) -> None:
        """Be so many pixels across, each map."""
        with pn.io.hold():
            for plot, bar in zip((self.figure, self.truth), self.bars, strict=True):
                plot.update(frame_width=width, frame_height=round(width * EXTENT[1] / EXTENT[0]))
                bar.width = width - 12

    def _figure(self, name: str):
        plot = map_chart("", "east (km)", "north (km)", WIDTH, round(WIDTH * 35 / 42), name=name,
                         **self.ranges)
        plot.on_event(Tap, self._tapped)
        return plot

    def _bar(self) -> ColorBar:
        return colour_bar(self.mappers["value"], WIDTH - 12)

    def _image(self, plot, column: str, kind: str):
        # One image for each scale: an image does not follow another mapper.
        return plot.image(column, source=self.pixels, x="left", y="bottom", dw="across", dh="up",
                          color_mapper=self.mappers[kind])

    def _places(self, plot, images: list) -> tuple:
        """River, roads, parks and stations; glyphs of the stations and of what has an outline."""
        plot.line("x", "y", source=self.river, line_color="#9ecae1", line_width=3.5,
                  line_alpha=0.8)
        roads = plot.multi_line("xs", "ys", source=self.roads, line_color="white",
                                line_width="width", line_alpha=0.55)
        parks = plot.multi_line("xs", "ys", source=self.parks, line_color="white",
                                line_dash="dashed", line_alpha=0.8)
        hollow = plot.scatter("x", "y", source=self.hollow, size=9, fill_color=None,
                              line_color="white", line_width=1.5)
        dots = plot.scatter("x", "y", source=self.dots, size=11, line_color="white",
                            line_width=1.5, fill_color={"field": "value",
                                                        "transform": self.mappers["value"]})
        plot.scatter("x", "y", source=self.chosen, size=18, fill_color=None, line_color=HERE,
                     line_width=3)
        hover(plot, dots, [("station", "@name"), ("kind", "@kind"),
                           ("reading", "@value{0.0} µg/m³")])
        hover(plot, hollow, [("station", "@name"), ("reading", "missing in this hour")])
        hover(plot, images, [(title, f"@{name}{{0.0}} µg/m³") for title, name in (
            ("prediction", "mean"), ("95 % interval width", "width"), ("error", "error"),
            ("truth", "truth"))], point_policy="follow_mouse")
        return dots.glyph, roads.glyph, parks.glyph, hollow.glyph

    def _enter(self, *events) -> None:
        """Another city: its outlines, cells and colours."""
        data = self.store.city.data
        if data is None or data is self._data:
            return
        self._data = data
        self.mappers["value"].update(low=data.colours[0], high=data.colours[1])
        lines = data.outlines
        road = lines["road"].values
        order = [road == r for r in np.unique(road)]
        push(self.roads, {"xs": [lines["road_x"].values[o] for o in order],
                          "ys": [lines["road_y"].values[o] for o in order],
                          "width": [0.6 + 1.4 * float(lines["flow"].values[o][0]) for o in order]})
        push(self.parks, {"xs": list(lines["park_x"].values), "ys": list(lines["park_y"].values)})
        push(self.river, {"x": lines["river_x"].values, "y": lines["river_y"].values})
        self._seen()

    def _seen(self, *events) -> None:
        """Readings and the satellite's values of the hour, and the station that is chosen."""
        data, state = self._data, self.store.state
        if data is None or state.station not in data.names or state.hour >= len(data.hours):
            return
        values, xy = data.readings[:, state.hour], data.stations.xy
        known, names = np.isfinite(values), np.array(data.names)
        kinds = np.where(data.stations.features[:, 0] > 0, "by a main road", "background")
        push(self.dots, {"x": xy[known, 0], "y": xy[known, 1], "value": values[known],
                         "name": names[known], "kind": kinds[known]})
        push(self.hollow, {"x": xy[~known, 0], "y": xy[~known, 1], "name": names[~known]})
        at = data.names.index(state.station)
        push(self.chosen, {"x": [xy[at, 0]], "y": [xy[at, 1]]})
        half = data.side / 2
        push(self.cells, {"left": data.cells[:, 0] - half, "right": data.cells[:, 0] + half,
                          "bottom": data.cells[:, 1] - half, "top": data.cells[:, 1] + half,
                          "value": data.seen[data.overpass(state.hour)]})
        self._show()

    def _update(self, *events) -> None:
        hour = self.store.city.hour
        if hour is None:
            return
        data = hour.fitted.data
        maps = {"mean": hour.mean, "width": 2 * HALF_95 * hour.total, "error": hour.error,
                "truth": hour.truth}
        push(self.pixels, {name: [image(data, values)] for name, values in maps.items()} | {
            "left": [0], "bottom": [0], "across": [0.5 * data.shape[1]],
            "up": [0.5 * data.shape[0]]})
        self._show()

    def _show(self, *events) -> None:
        state = self.store.state
        asked = state.shown
        kind = MAPPED[asked]
        over = asked == "satellite"
        for name, drawn in self.drawn.items():
            drawn.visible = name == kind and not over
        for glyph in (*self.outlines, self.points):     # to be seen on the pale middle of errors
            glyph.line_color = "#333333" if kind == "error" else "white"
        self.points.fill_color = {"field": "value", "transform": self.mappers["value"]} if (
            kind == "value") else NEUTRAL
        self.bar.color_mapper, self.bar.ticker = self.mappers[kind], TICKS[kind].clone()
        self.squares.glyph.fill_color = {
            "field": "value", "transform": self.mappers["value"]} if over else None
        self.squares.visible = over or state.cells
        title = messages.MAP_TITLES[asked]
        if over and self._data is not None:
            title += f", {messages.clock(self._data.overpass(state.hour))}"
        self.figure.title.text = title

    def _dim(self, *events) -> None:
        waits = self.store.city.stale or self.store.city.hour is None
        dim(self._pane, waits)

    def _tapped(self, event: Tap) -> None:
        if self._data is not None:
            away = np.hypot(*(self._data.stations.xy - (event.x, event.y)).T)
            if away.min() <= NEAR:
                self.store.state.station = self._data.names[int(away.argmin())]


def image(data: CityData, values: np.ndarray) -> np.ndarray:
    """Values of pixels as an image in Bokeh's order, first row at the bottom."""
    return values.reshape(data.shape).astype(np.float32)[::-1].copy()
