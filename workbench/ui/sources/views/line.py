"""The line: truth, observations and posteriors; below it the sources' supports as bars to drag."""

from __future__ import annotations

import numpy as np
from bokeh.events import Tap
from bokeh.models import CustomJS, FixedTicker, Range1d

from workbench.plots.theme import CATEGORIES, NEUTRAL
from workbench.ui.base.bands import HALF_95
from workbench.ui.base.views.figures import (
    HERE,
    chart,
    empty,
    hideable_legend,
    hover,
    on_drag,
    push,
    shown,
    widen,
)
from workbench.ui.base.views.layout import View
from workbench.ui.base.views.text import note, paragraph
from workbench.ui.sources import line, messages
from workbench.ui.sources.designs import MOST, NARROWEST, STEP
from workbench.ui.sources.line import DRAWN, Shown
from workbench.ui.sources.store import Store

WIDTH, HEIGHT, ROW = 950, 250, 22       # pixels, until the page says how much room there is
ROUND, HIGHEST = 550, 440               # of a window around the line; of the line at most
ENTRY = 26                              # of a further row of the legend
BORDER = 62                             # left of the frame, alike in all figures over x
PRODUCT, COMPOSITE = CATEGORIES[1], CATEGORIES[0]
#: Colour and marker of each source.
LOOKS = tuple(zip(CATEGORIES[2:6], ("circle", "square", "triangle", "diamond"), strict=True))
SIZES = (7, 4, 5, 5)
DRAWING = """
const xs = knots.data.x, span = xs[xs.length - 1] - xs[0]
if (xs.length == 0) return
const ys = knots.data.y, now = Date.now(), kind = cb_obj.event_name
const [x0, y0, last] = kind == 'panstart' ? [cb_obj.x, cb_obj.y, 0] : drag.tags
const y = Math.min(Math.max(cb_obj.y, low), high), near = 0.5 * span / (xs.length - 1)
for (let k = 0; k < xs.length; k++) {
  const between = (xs[k] - x0) * (xs[k] - cb_obj.x) <= 0
  if (between && x0 != cb_obj.x) ys[k] = y0 + (y - y0) * (xs[k] - x0) / (cb_obj.x - x0)
  else if (Math.abs(xs[k] - cb_obj.x) <= near) ys[k] = y
}
knots.change.emit()
const send = kind == 'panend' || now - last > 80
drag.tags = [cb_obj.x, y, send ? now : last]
if (send) drag.data = {y: Array.from(ys)}
"""
# A bar follows the pointer in the browser; the server hears of it at most every 80 ms, and at the
# end. It answers with a bar at the end alone: an answer to an earlier place would throw it back.
GRAB = """
const near = 7 * (plot.x_range.end - plot.x_range.start) / plot.inner_width
const {left, right, row} = bars.data
drag.tags = [-1]
for (let k = 0; k < row.length; k++) {
  if (Math.abs(row[k] - cb_obj.y) > 0.5) continue
  const x = cb_obj.x
  const part = Math.abs(x - left[k]) < near ? 'left' : Math.abs(x - right[k]) < near ? 'right'
    : x > left[k] && x < right[k] ? 'move' : ''
  if (part) drag.tags = [k, part, x, left[k], right[k], 0]
}
"""
PULL = """
const [k, part, from, left, right, last] = drag.tags
if (k === undefined || k < 0) return
const now = Date.now(), end = cb_obj.event_name == 'panend'
const low = plot.x_range.reset_start, high = plot.x_range.reset_end
let by = cb_obj.x - from
if (part == 'move') by = Math.min(Math.max(by, low - left), high - right)
const stop = x => Math.min(Math.max(Math.round(x / step) * step, low), high)
const a = part == 'right' ? left
  : stop(Math.min(left + by, right + (part == 'move' ? by : -least)))
const b = part == 'left' ? right
  : stop(Math.max(right + by, left + (part == 'move' ? by : least)))
bars.data.left[k] = a
bars.data.right[k] = b
bars.change.emit()
if (!end && now - last < 80) return
drag.tags = end ? [-1] : [k, part, from, left, right, now]
drag.data = {which: [k], left: [a], right: [b], end: [end]}
"""


class Line(View):
    """The figure of the line and the strip of supports under it, on one axis."""

    def __init__(self, store: Store, x_range: Range1d, **params):
        super().__init__(store, **params)
        self.fine = empty("x", "truth", *(f"{name}{end}" for name in (
            "alone", "product", "composite") for end in ("", "_low", "_high")))
        self.seen = [empty("x", "left", "right", "y") for _ in range(MOST)]
        self.knots, self.drawn = empty("x", "y"), empty("y")
        self.bars = empty("left", "right", "row", "top", "bottom", "colour", "text", "edge")
        self.moved = empty("which", "left", "right", "end")
        self.figure, self.strip = self._figure(x_range), self._strip(x_range)
        self.drawn.on_change("data", self._drew)
        self.moved.on_change("data", self._dragged)
        self.strip.on_event(Tap, self._tapped)
        self._world, self._hint = None, note()
        self._panel = shown(self.figure, self._hint, self.strip)
        store.state.param.watch(self._choose, ["chosen", "sources"])
        self.follow_answer(self._update)

    def fit(self, width: int, down: int) -> None:
        """Be so many pixels across, and as high as is worth it in a window of so many."""
        widen(self.figure, width, messages.LINE_TITLE)
        widen(self.strip, width, messages.STRIP_TITLE)
        legend = self.figure.legend[0]
        more = ENTRY * (-(-sum(item.visible for item in legend.items) // legend.ncols) - 1)
        self.figure.frame_height = min(max(HEIGHT, down - ROUND - more), HIGHEST,
                                       max(HEIGHT, width))

    def _figure(self, x_range: Range1d):
        plot = chart(messages.LINE_TITLE, "", "f and observations", WIDTH, HEIGHT, x_range=x_range,
                     y_range=Range1d(-2, 7), name="line", min_border_left=BORDER)
        looks = {"alone": NEUTRAL, "composite": COMPOSITE, "product": PRODUCT}
        bands = {name: plot.varea("x", f"{name}_low", f"{name}_high", source=self.fine,
                                  fill_color=colour, fill_alpha=0.3)
                 for name, colour in looks.items()}
        self._marks = []
        # Smaller ones later, so that a copy does not hide what it copies.
        for size, columns, (colour, shape) in zip(SIZES, self.seen, LOOKS, strict=True):
            bar = plot.segment("left", "y", "right", "y", source=columns, line_color=colour,
                               line_width=3.5)
            dot = plot.scatter("x", "y", source=columns, marker=shape, size=size, color=colour)
            self._marks.append((bar, dot))
        truth = plot.line("x", "truth", source=self.fine, line_color=NEUTRAL, line_width=2,
                          line_dash="dashed")
        means = {name: plot.line("x", name, source=self.fine, line_color=looks[name],
                                 line_width=2.2) for name in looks}
        bands["alone"].visible = means["alone"].visible = False
        knots = plot.scatter("x", "y", source=self.knots, size=9, fill_color=HERE,
                             line_color=NEUTRAL)
        hover(plot, [m for pair in self._marks for m in pair], [
            ("x", "@left{0.00} to @right{0.00}"), ("value", "@y{0.00}")])
        hideable_legend(plot, {"f": [truth, knots]} | {
            messages.NAMES[name]: [bands[name], means[name]] for name in looks}
            | {f"source {k}": list(marks) for k, marks in enumerate(self._marks, 1)})
        draw = CustomJS(args={"knots": self.knots, "drag": self.drawn, "low": line.LOWEST,
                              "high": line.HIGHEST}, code=DRAWING)
        on_drag(plot, draw, draw)
        return plot

    def _strip(self, x_range: Range1d):
        plot = chart(messages.STRIP_TITLE, "x", "", WIDTH, 2 * ROW, x_range=x_range,
                     y_range=Range1d(2.5, 0.5), name="strip", min_border_left=BORDER)
        plot.ygrid.visible = False
        plot.yaxis.axis_label, plot.yaxis.ticker = "source", FixedTicker(ticks=[1, 2, 3, 4])
        plot.quad("left", "right", "top", "bottom", source=self.bars, fill_color="colour",
                  line_color="black", line_width="edge")
        plot.text("left", "row", "text", source=self.bars, text_font_size="12px", x_offset=8,
                  text_baseline="middle", text_color="black")
        args = {"plot": plot, "bars": self.bars, "drag": self.moved, "least": NARROWEST,
                "step": STEP}
        grab, pull = CustomJS(args=args, code=GRAB), CustomJS(args=args, code=PULL)
        on_drag(plot, grab, pull)
        return plot

    def _update(self, answer) -> None:
        world = answer.world
        if world is not self._world:
            self._enter(world)
        columns = {"x": world.places, "truth": world.known}
        for name, band in answer.bands.items():
            columns |= band.columns(HALF_95, (name, f"{name}_low", f"{name}_high"))
        push(self.fine, {name: np.asarray(v, dtype=np.float32) for name, v in columns.items()})

    def _enter(self, world) -> None:
        """Other data: observations, axes, and the function's handles."""
        self._world = world
        low, high = world.span
        axis = self.figure.x_range
        if (axis.reset_start, axis.reset_end) != world.span:
            axis.update(start=low, end=high, reset_start=low, reset_end=high)
        for k, columns in enumerate(self.seen):
            there = world.sources[k] if k < len(world.sources) else None
            push(columns, _observations(there))
            for mark in self._marks[k]:
                mark.visible = there is not None
            self.figure.legend[0].items[k + 4].visible = there is not None
        values = np.concatenate([world.known, *(shown.values for shown in world.sources)])
        self.figure.y_range.update(start=float(min(values.min() - 0.7, -1)),
                                   end=float(max(values.max() + 0.7, 6)))
        drawn = self.store.state.truth == DRAWN
        if drawn:
            self.figure.y_range.update(start=min(self.figure.y_range.start, line.LOWEST - 0.5),
                                       end=max(self.figure.y_range.end, line.HIGHEST + 0.5))
        knots = line.knots(world.span) if drawn else np.empty(0)
        push(self.knots, {"x": knots, "y": world.truth(knots) if drawn else knots})
        self._hint.object = paragraph(messages.DRAW_NOTE if drawn else "")
        self._hint.visible = drawn
        self._choose()

    def _choose(self, *events) -> None:
        if self.store.dragging:
            return
        state = self.store.state
        found, rows = state.designs, np.arange(1, len(state.designs) + 1)
        push(self.bars, {
            "left": [d.low for d in found], "right": [d.high for d in found], "row": rows,
            "top": rows - 0.36, "bottom": rows + 0.36,
            "colour": [colour for colour, _ in LOOKS[: len(found)]],
            "text": [messages.observer(k, d, k == state.chosen) for k, d in zip(
                rows, found, strict=True)],
            "edge": [2.5 if k == state.chosen else 0.5 for k in rows]})
        self.strip.frame_height = ROW * len(found) + 6
        self.strip.y_range.start = len(found) + 0.5

    def _drew(self, attribute: str, old: dict, new: dict) -> None:
        values = np.array(new["y"], dtype=float)
        if len(values) == line.KNOTS and np.isfinite(values).all():
            self.store.state.draw_at(values)

    def _dragged(self, attribute: str, old: dict, new: dict) -> None:
        state = self.store.state
        if len(new["which"]) and int(new["which"][0]) < len(state.designs):
            k = int(new["which"][0])
            self.store.dragging = not new["end"][0]
            state.chosen = k + 1
            state.change(k, state.designs[k].placed(
                float(new["left"][0]), float(new["right"][0]), state.ends))
            self._choose()

    def _tapped(self, event: Tap) -> None:
        row = round(event.y)
        if 1 <= row <= len(self.store.state.designs):
            self.store.state.chosen = row


def _observations(shown: Shown | None) -> dict:
    if shown is None:
        return {"x": [], "left": [], "right": [], "y": []}
    return {"x": shown.x.mean(1), "left": shown.x[:, 0], "right": shown.x[:, -1],
            "y": shown.values}
