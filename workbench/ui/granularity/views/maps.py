"""The map: cells, both posterior means and their difference, with linked zoom."""

from __future__ import annotations

import math

import numpy as np
import panel as pn
import param
from bokeh.models import (
    BasicTicker,
    BasicTickFormatter,
    ColorBar,
    HoverTool,
    LinearColorMapper,
    Range1d,
)
from bokeh.plotting import figure
from holoviews.plotting.util import process_cmap

from workbench.plots.theme import NEUTRAL, PALETTES
from workbench.ui.granularity import words
from workbench.ui.granularity.bench import Answer
from workbench.ui.granularity.state import MAP
from workbench.ui.granularity.store import Store
from workbench.ui.granularity.views.look import chart, push, source
from workbench.ui.granularity.worlds import World
from workbench.ui.views.figures import crosshair
from workbench.ui.views.layout import wrapping
from workbench.ui.views.text import note

SIDE = 222              # pixels across a map
NOWHERE = "#00000000"   # pixels far from data are transparent
MAPS = {
    "cells": "Cells: all that is left",
    "complete": "From complete data",
    "summary": "From summaries",
    "difference": "Difference: summaries − complete",
}
QUANTILES = (0.02, 0.98)


class Maps(pn.viewable.Viewer):
    """Four linked maps on two locked colour scales."""

    store = param.ClassSelector(class_=Store)

    def __init__(self, store: Store, **params):
        super().__init__(store=store, **params)
        self.ranges = Range1d(0, 10), Range1d(0, 10)
        self.value = LinearColorMapper(process_cmap(PALETTES["rate"], 256), nan_color=NOWHERE)
        self.change = LinearColorMapper(process_cmap(PALETTES["difference"], 256),
                                        nan_color=NOWHERE)
        self.squares = source(left=[], right=[], bottom=[], top=[], mean=[], count=[])
        self.points = source(x=[], y=[])
        self.pixels = source(left=[], bottom=[], width=[], height=[], complete=[], summary=[],
                             difference=[])
        self.figures = {name: self._figure(name, title) for name, title in MAPS.items()}
        crosshair(list(self.figures.values()))
        self._world = None
        self._panes = {name: pn.Column(pn.pane.Bokeh(plot, margin=(0, 2)), margin=0)
                       for name, plot in self.figures.items()}
        self._panel = pn.Column(wrapping(*self._panes.values(), gap=4), note(words.MAP_NOTE),
                                sizing_mode="stretch_width", margin=0)
        store.param.watch(self._update, "answer")
        self._update()

    def _figure(self, name: str, title: str) -> figure:
        plot = chart(title, "", "", SIDE, SIDE, x_range=self.ranges[0], y_range=self.ranges[1],
                     tools="pan,wheel_zoom,box_zoom,reset,save", toolbar_location="above",
                     name=name)
        plot.toolbar.autohide, plot.grid.visible = True, False
        colours = self.change if name == "difference" else self.value
        if name == "cells":
            drawn = plot.quad("left", "right", "top", "bottom", source=self.squares,
                              line_color=NEUTRAL, line_width=0.4,
                              fill_color={"field": "mean", "transform": colours})
            tips = [("mean", "@mean{0.[000]}"), ("points", "@count")]
        else:
            drawn = plot.image(name, source=self.pixels, x="left", y="bottom", dw="width",
                               dh="height", color_mapper=colours)
            tips = [("complete", "@complete{0.[000]}"), ("summaries", "@summary{0.[000]}"),
                    ("difference", "@difference{0.[000]}")]
        if name == "complete":
            plot.scatter("x", "y", source=self.points, size=1.5, color="black", alpha=0.55)
        elif name != "cells":
            plot.quad("left", "right", "top", "bottom", source=self.squares, fill_color=None,
                      line_color=NEUTRAL, line_width=0.4, line_alpha=0.8)
        plot.add_tools(HoverTool(renderers=[drawn], tooltips=tips, point_policy="follow_mouse"))
        bar = ColorBar(color_mapper=colours, height=9, width=SIDE - 12, padding=4, margin=0,
                       major_label_text_font_size="11px", background_fill_alpha=0,
                       title_text_font_size="12px", title_text_font_style="normal", title=" ",
                       ticker=BasicTicker(desired_num_ticks=4), formatter=BasicTickFormatter())
        plot.add_layout(bar, "below")
        plot.xaxis.ticker.desired_num_ticks = plot.yaxis.ticker.desired_num_ticks = 4
        plot.yaxis.visible = name == "cells"
        return plot

    def _update(self, *events) -> None:
        answer, state = self.store.answer, self.store.state
        if answer is None or state.tab != MAP:
            return
        if answer.world is not self._world:
            self._enter(answer.world)
        self._push(answer)
        for name in ("complete", "difference"):
            waits = answer.complete is None
            self._panes[name].styles = {"opacity": "0.5" if waits else "1"}

    def _push(self, answer: Answer) -> None:
        world, cells = answer.world, answer.cells
        statistic = cells.statistic(world.likelihood) * world.scale
        push(self.squares, {"left": cells.left[:, 0], "right": cells.right[:, 0],
                            "bottom": cells.left[:, 1], "top": cells.right[:, 1],
                            "mean": statistic.astype(np.float32), "count": cells.counts})
        maps = {"summary": answer.summary.mean}
        if answer.complete is not None:
            maps |= {"complete": answer.complete.mean,
                     "difference": answer.summary.mean - answer.complete.mean}
        self.pixels.data.update({name: [image(world, mean)] for name, mean in maps.items()})

    def _enter(self, world: World) -> None:
        """Another world: its frame, colours and points; old maps do not belong to it."""
        self._world = world
        x0, y0, x1, y1 = world.bounds
        ground = math.cos(math.radians((y0 + y1) / 2)) if world.unit == "degrees" else 1.0
        for axis, low, high in ((0, x0, x1), (1, y0, y1)):
            self.ranges[axis].update(start=low, end=high, reset_start=low, reset_end=high)
        for plot in self.figures.values():
            plot.frame_height = round(SIDE * (y1 - y0) / (x1 - x0) / ground)
            names = ("longitude", "latitude") if world.unit == "degrees" else ("east", "north")
            plot.xaxis.axis_label = f"{names[0]} ({world.unit})"
            plot.yaxis.axis_label = f"{names[1]} ({world.unit})"
        seen = world.values if world.truth is None else world.truth
        if world.truth is None and world.likelihood == "poisson":
            seen = np.log(np.maximum(seen, 1e-3))
        low, high = (float(end) * world.scale for end in np.quantile(seen, QUANTILES))
        self.value.update(low=low, high=high)
        self.change.update(low=-(high - low) / 3, high=(high - low) / 3)
        for plot in self.figures.values():
            plot.select_one({"type": ColorBar}).title = world.quantity
        push(self.points, {"x": world.points[:, 0], "y": world.points[:, 1]})
        empty = [np.full(world.shape, np.nan, dtype=np.float32)]
        push(self.pixels, {"left": [x0], "bottom": [y0], "width": [x1 - x0], "height": [y1 - y0],
                           "complete": empty, "summary": empty, "difference": empty})

    def __panel__(self):
        return self._panel


def image(world: World, mean: np.ndarray) -> np.ndarray:
    """A posterior mean as an image in Bokeh's order, first row at the bottom, natural units."""
    pixels = np.full(world.shape[0] * world.shape[1], np.nan, dtype=np.float32)
    pixels[world.pixels] = mean[: world.pixels.size] * world.scale
    return pixels.reshape(world.shape)
