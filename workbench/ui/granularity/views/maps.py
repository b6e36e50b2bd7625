"""The map: cells, both posterior means and their difference, with linked zoom."""

from __future__ import annotations

import math

import numpy as np
from bokeh.models import ColorBar, Range1d
from bokeh.plotting import figure

from workbench.plots.theme import NEUTRAL, PALETTES
from workbench.ui.base.views.figures import colours, crosshair, empty, hover, push, shown, value_map
from workbench.ui.base.views.layout import View, stretched, wrapping
from workbench.ui.base.views.text import note
from workbench.ui.granularity import messages
from workbench.ui.granularity.engine import Answer
from workbench.ui.granularity.observed import LEAST, OBSERVED
from workbench.ui.granularity.state import MAP
from workbench.ui.granularity.store import Store
from workbench.ui.granularity.worlds import World

SIDE = 222              # pixels across a map
NOWHERE = "#00000000"   # pixels far from data are transparent
MAPS = {
    "cells": "Cells: all that is left",
    "complete": "From complete data",
    "summary": "From summaries",
    "difference": "Difference: summaries − complete",
}
QUANTILES = (0.02, 0.98)


class Maps(View):
    """Four linked maps on two locked colour scales."""

    def __init__(self, store: Store, **params):
        super().__init__(store, **params)
        self.ranges = Range1d(0, 10), Range1d(0, 10)
        self.value = colours(PALETTES["rate"], nan_color=NOWHERE)
        self.change = colours(PALETTES["difference"], nan_color=NOWHERE)
        self.squares = empty("left", "right", "bottom", "top", "mean", "count")
        self.points = empty("x", "y")
        self.pixels = empty("left", "bottom", "width", "height", "complete", "summary",
                            "difference")
        self.figures = {name: self._figure(name, title) for name, title in MAPS.items()}
        crosshair(list(self.figures.values()))
        self._world = None
        self._panes = {name: shown(plot) for name, plot in self.figures.items()}
        self._panel = stretched(wrapping(*self._panes.values(), gap=4), note(messages.MAP_NOTE))
        self.follow_answer(self._update)

    def _figure(self, name: str, title: str) -> figure:
        mapper = self.change if name == "difference" else self.value
        plot = value_map(title, SIDE, self.ranges, name, mapper)
        if name == "cells":
            drawn = plot.quad("left", "right", "top", "bottom", source=self.squares,
                              line_color=NEUTRAL, line_width=0.4,
                              fill_color={"field": "mean", "transform": mapper})
            tips = [("mean", "@mean{0.[000]}"), ("points", "@count")]
        else:
            drawn = plot.image(name, source=self.pixels, x="left", y="bottom", dw="width",
                               dh="height", color_mapper=mapper)
            tips = [("complete", "@complete{0.[000]}"), ("summaries", "@summary{0.[000]}"),
                    ("difference", "@difference{0.[000]}")]
        if name == "complete":
            plot.scatter("x", "y", source=self.points, size=1.5, color="black", alpha=0.55)
        elif name != "cells":
            plot.quad("left", "right", "top", "bottom", source=self.squares, fill_color=None,
                      line_color=NEUTRAL, line_width=0.4, line_alpha=0.8)
        hover(plot, drawn, tips, point_policy="follow_mouse")
        plot.yaxis.visible = name == "cells"
        return plot

    def _update(self, answer) -> None:
        state = self.store.state
        if state.tab != MAP:
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
        if world.truth is None:
            seen = OBSERVED[world.likelihood].statistic(seen, LEAST)
        low, high = (float(end) * world.scale for end in np.quantile(seen, QUANTILES))
        self.value.update(low=low, high=high)
        self.change.update(low=-(high - low) / 3, high=(high - low) / 3)
        for plot in self.figures.values():
            plot.select_one({"type": ColorBar}).title = world.quantity
        push(self.points, {"x": world.points[:, 0], "y": world.points[:, 1]})
        empty = [np.full(world.shape, np.nan, dtype=np.float32)]
        push(self.pixels, {"left": [x0], "bottom": [y0], "width": [x1 - x0], "height": [y1 - y0],
                           "complete": empty, "summary": empty, "difference": empty})


def image(world: World, mean: np.ndarray) -> np.ndarray:
    """A posterior mean as an image in Bokeh's order, first row at the bottom, natural units."""
    pixels = np.full(world.shape[0] * world.shape[1], np.nan, dtype=np.float32)
    pixels[world.pixels] = mean[: world.pixels.size] * world.scale
    return pixels.reshape(world.shape)
