"""The line: points, cells as bars over their intervals, both posteriors, boundaries to drag."""

from __future__ import annotations

import numpy as np
import panel_material_ui as pmui
from bokeh.events import Tap
from bokeh.models import CustomJS

from workbench.plots.theme import NEUTRAL
from workbench.ui.base.bands import HALF_90
from workbench.ui.base.views.controls import small_button
from workbench.ui.base.views.figures import HERE, chart, empty, hover, legend, on_drag, push, shown
from workbench.ui.base.views.layout import View, stretched, wrapping
from workbench.ui.base.views.text import note, paragraph
from workbench.ui.granularity import cells as cutting
from workbench.ui.granularity import messages
from workbench.ui.granularity.state import LINE, MOST_MOVABLE
from workbench.ui.granularity.store import Store
from workbench.ui.granularity.views.charts import COMPLETE, SUMMARY
from workbench.ui.granularity.views.large import Large
from workbench.ui.granularity.views.window import sizes
from workbench.ui.granularity.worlds import END

WIDTH, HEIGHT = 965, 215
NUDGE = 0.1             # rad that a button moves a boundary
# A boundary follows the pointer; the server hears of it at most every 60 ms, and at the end.
GRAB = """
const span = plot.x_range.end - plot.x_range.start, near = 12 * span / plot.inner_width
const xs = handles.data.x
let best = -1
for (let k = 0; k < xs.length; k++)
  if (Math.abs(xs[k] - cb_obj.x) < near &&
      (best < 0 || Math.abs(xs[k] - cb_obj.x) < Math.abs(xs[best] - cb_obj.x))) best = k
drag.tags = [best, 0]
"""
PULL = """
const [k, last] = drag.tags, now = Date.now(), end = cb_obj.event_name == 'panend'
if (k === undefined || k < 0) return
const xs = handles.data.x, lower = k > 0 ? xs[k - 1] : 0
const upper = k + 1 < xs.length ? xs[k + 1] : limit
const x = Math.min(Math.max(cb_obj.x, lower + gap), upper - gap)
if (end || now - last > 60) {
  drag.tags = [end ? -1 : k, now]
  drag.data = {which: [k], x: [x]}
}
"""


class Line(View):
    """The figure of the line, and the buttons that edit its cells."""

    def __init__(self, store: Store, **params):
        super().__init__(store, **params)
        self.points, self.handles = empty("x", "y"), empty("x", "y")
        self.fine = empty("x", "truth", "complete", "complete_low", "complete_high",
                          "summary", "summary_low", "summary_high")
        self.bars = empty("left", "right", "mean", "low", "high", "count")
        self.chosen, self.drag = empty("left", "right"), empty("which", "x")
        self.figure = self._figure()
        self.drag.on_change("data", self._dragged)
        self.figure.on_event(Tap, self._tapped)
        self._text = note(messages.LINE_NOTE, 330)
        self._buttons = self._editors()
        self._world, self._large = None, Large(self.figure)
        self._editing = wrapping(*self._buttons.values(), self._text)
        self._panel = stretched(shown(self.figure), self._editing)
        store.state.param.watch(lambda _: self._choose(), "cell")
        self.follow_answer(self._update)
        self.follow(self._fit, "room")
        self.follow(self._fit, "lecture", "story", "tab", of=store.state)

    def _figure(self):
        plot = chart("What is known of the function", "position x (rad)", "value", WIDTH, HEIGHT,
                     x_range=(0, END), y_range=(-2, 2), name="line")
        chosen = plot.quad("left", "right", top=9, bottom=-9, source=self.chosen,
                           fill_color=HERE, fill_alpha=0.15, line_color=None)
        chosen.level = "underlay"
        dots = plot.scatter("x", "y", source=self.points, size=3, color=NEUTRAL, alpha=0.55)
        bands = [plot.varea("x", f"{name}_low", f"{name}_high", source=self.fine,
                            fill_color=colour, fill_alpha=0.2)
                 for name, colour in (("complete", COMPLETE), ("summary", SUMMARY))]
        boxes = plot.quad("left", "right", "high", "low", source=self.bars, fill_color=SUMMARY,
                          fill_alpha=0.22, line_color=SUMMARY, line_alpha=0.35)
        bars = plot.segment("left", "mean", "right", "mean", source=self.bars, line_color=SUMMARY,
                            line_width=3)
        truth = plot.line("x", "truth", source=self.fine, line_color=NEUTRAL, line_width=2,
                          line_dash="dashed")
        means = [plot.line("x", name, source=self.fine, line_color=colour, line_width=2.5)
                 for name, colour in (("complete", COMPLETE), ("summary", SUMMARY))]
        plot.segment("x", -9, "x", 9, source=self.handles, line_color=NEUTRAL, line_alpha=0.4,
                     line_dash="dotted")
        self._marks = plot.scatter("x", "y", source=self.handles, marker="triangle", size=13,
                                   color=HERE, line_color=NEUTRAL).glyph
        hover(plot, boxes, [("cell", "@left{0.00} to @right{0.00} rad"), ("mean", "@mean{0.000}"),
                            ("points", "@count")])
        legend(plot, {"truth": [truth], "points": [dots], "cell mean ± 1 s.e.": [boxes, bars],
                      "from complete data, 90 %": [means[0], bands[0]],
                      "from summaries, 90 %": [means[1], bands[1]]}, "top_left", side="above")
        grab = CustomJS(args={"plot": plot, "handles": self.handles, "drag": self.drag}, code=GRAB)
        pull = CustomJS(args={"handles": self.handles, "drag": self.drag, "gap": cutting.GAP,
                              "limit": END}, code=PULL)
        on_drag(plot, grab, pull)
        return plot

    def _fit(self, *events) -> None:
        """Fill the room, in large type if it is a lecture."""
        state, room = self.store.state, self.store.room
        if state.tab != LINE:               # the browser lays out all for each change
            return
        width, height = sizes(room, state.lecture, bool(state.chart)).line
        self._panel.visible = bool(height)
        if height:
            self.figure.update(frame_width=width, frame_height=height)
        self.figure.legend.ncols = 5 if room[0] > 900 else 2 if room[0] > 470 else 1
        self._large.show(state.lecture)
        self._editing.visible = not state.lecture

    def _editors(self) -> dict[str, pmui.Button]:
        made = {
            "previous": ("‹ Previous cell", lambda: self._step(-1)),
            "next": ("Next cell ›", lambda: self._step(1)),
            "merge": ("Merge with next", lambda: self._edit(cutting.merged)),
            "split": ("Split in half", lambda: self._edit(cutting.split)),
            "left": ("Right edge ←", lambda: self._nudge(-NUDGE)),
            "right": ("Right edge →", lambda: self._nudge(NUDGE)),
            "equal": ("Equal cells", lambda: self.store.state.param.update(edges="", cell=-1)),
        }
        return {name: small_button(label, click, margin=(2, 0, 2, 5))
                for name, (label, click) in made.items()}

    def _update(self, answer) -> None:
        state = self.store.state
        if state.tab != LINE:
            return
        world, model, cells = answer.world, answer.model, answer.cells
        if world is not self._world:
            self._world = world
            push(self.points, {"x": world.points[:, 0], "y": world.values})
            reach = np.abs(world.truth).max() + min(2.2 * state.noise, 1.6)
            self.figure.y_range.update(start=-reach, end=reach)
        columns = {"x": world.places[:, 0], "truth": world.truth}
        for name, band in (("complete", answer.complete), ("summary", answer.summary)):
            columns |= band.columns(HALF_90, (name, f"{name}_low", f"{name}_high"))
        push(self.fine, columns)
        error = np.sqrt(model.errors(cells.means, cells.counts))
        push(self.bars, {"left": cells.left[:, 0], "right": cells.right[:, 0],
                         "mean": cells.means, "low": cells.means - error,
                         "high": cells.means + error, "count": cells.counts})
        self._choose()

    def _choose(self) -> None:
        """Show boundaries, the chosen cell, and what can be done with it."""
        state = self.store.state
        edges, cell = state.boundaries, state.cell
        movable = edges.size - 1 <= MOST_MOVABLE
        inner = edges[1:-1] if movable else np.empty(0)
        push(self.handles, {"x": inner, "y": np.full(inner.size, 0.94 * self.figure.y_range.start)})
        self._marks.size = 13 if inner.size <= 32 else 8
        there = 0 <= cell < edges.size - 1 and movable
        push(self.chosen, {"left": [edges[cell]] if there else [],
                           "right": [edges[cell + 1]] if there else []})
        for name in ("merge", "split", "left", "right"):
            self._buttons[name].disabled = not there
        self._buttons["equal"].disabled = not state.edges
        text = messages.LINE_NOTE if movable else messages.TOO_MANY
        if there:
            bars = self.bars.data
            found = np.flatnonzero(np.isclose(bars["left"], edges[cell]))
            mean = float(bars["mean"][found[0]]) if found.size else None
            count = int(bars["count"][found[0]]) if found.size else 0
            text = messages.chosen(cell, edges[cell], edges[cell + 1], mean, count)
        self._text.object = paragraph(text)

    def _dragged(self, attribute: str, old: dict, new: dict) -> None:
        if len(new["which"]):
            state = self.store.state
            edges, which = state.boundaries, int(new["which"][0]) + 1
            if 0 < which < edges.size - 1:
                state.edit(cutting.moved(edges, which, float(new["x"][0])))

    def _tapped(self, event: Tap) -> None:
        edges = self.store.state.boundaries
        if edges.size - 1 <= MOST_MOVABLE and 0 <= event.x <= END:
            self.store.state.cell = int(np.clip(np.searchsorted(edges, event.x) - 1, 0,
                                                edges.size - 2))

    def _step(self, by: int) -> None:
        state = self.store.state
        if state.boundaries.size - 1 <= MOST_MOVABLE:
            state.cell = (max(state.cell, -1 if by > 0 else 0) + by) % (state.boundaries.size - 1)

    def _edit(self, how) -> None:
        state = self.store.state
        edges = how(state.boundaries, state.cell)
        if edges.size - 1 <= MOST_MOVABLE:
            state.edit(edges)

    def _nudge(self, by: float) -> None:
        state = self.store.state
        edges, which = state.boundaries, state.cell + 1
        if which < edges.size - 1:
            state.edit(cutting.moved(edges, which, edges[which] + by))
