"""The line: points, cells as bars over their intervals, both posteriors, boundaries to drag."""

from __future__ import annotations

import numpy as np
import panel as pn
import panel_material_ui as pmui
import param
from bokeh.events import Pan, PanEnd, PanStart, Tap
from bokeh.models import CustomJS, HoverTool

from workbench.plots.theme import NEUTRAL
from workbench.ui.granularity import cells as cutting
from workbench.ui.granularity import words
from workbench.ui.granularity.state import LINE, MOST_MOVABLE
from workbench.ui.granularity.store import Store
from workbench.ui.granularity.views.look import (
    COMPLETE,
    HERE,
    SUMMARY,
    TRUTH,
    chart,
    legend,
    push,
    source,
)
from workbench.ui.granularity.worlds import END
from workbench.ui.views.layout import wrapping
from workbench.ui.views.text import note, paragraph

WIDTH, HEIGHT = 965, 215
BAND = 1.645            # standard deviations: 90 %
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


class Line(pn.viewable.Viewer):
    """The figure of the line, and the buttons that edit its cells."""

    store = param.ClassSelector(class_=Store)

    def __init__(self, store: Store, **params):
        super().__init__(store=store, **params)
        self.points = source(x=[], y=[])
        self.fine = source(x=[], truth=[], complete=[], complete_low=[], complete_high=[],
                           summary=[], summary_low=[], summary_high=[])
        self.bars = source(left=[], right=[], mean=[], low=[], high=[], count=[])
        self.handles = source(x=[], y=[])
        self.chosen = source(left=[], right=[])
        self.drag = source(which=[], x=[])
        self.figure = self._figure()
        self.drag.on_change("data", self._dragged)
        self.figure.on_event(Tap, self._tapped)
        self._text = note(words.LINE_NOTE, 330)
        self._buttons = self._editors()
        self._world = None
        self._panel = pn.Column(
            pn.pane.Bokeh(self.figure, margin=(0, 2)),
            wrapping(*self._buttons.values(), self._text),
            sizing_mode="stretch_width", margin=0)
        store.param.watch(self._update, "answer")
        store.state.param.watch(lambda _: self._choose(), "cell")
        self._update()

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
        truth = plot.line("x", "truth", source=self.fine, line_color=TRUTH, line_width=2,
                          line_dash="dashed")
        means = [plot.line("x", name, source=self.fine, line_color=colour, line_width=2.5)
                 for name, colour in (("complete", COMPLETE), ("summary", SUMMARY))]
        plot.segment("x", -9, "x", 9, source=self.handles, line_color=NEUTRAL, line_alpha=0.4,
                     line_dash="dotted")
        self._marks = plot.scatter("x", "y", source=self.handles, marker="triangle", size=13,
                                   color=HERE, line_color=NEUTRAL).glyph
        plot.add_tools(HoverTool(renderers=[boxes], tooltips=[
            ("cell", "@left{0.00} to @right{0.00} rad"), ("mean", "@mean{0.000}"),
            ("points", "@count")]))
        legend(plot, {"truth": [truth], "points": [dots], "cell: its mean ± 1 standard error":
                      [boxes, bars], "posterior from complete data, 90 %": [means[0], bands[0]],
                      "posterior from summaries, 90 %": [means[1], bands[1]]},
               "top_left", side="above")
        grab = CustomJS(args={"plot": plot, "handles": self.handles, "drag": self.drag}, code=GRAB)
        pull = CustomJS(args={"handles": self.handles, "drag": self.drag, "gap": cutting.GAP,
                              "limit": END}, code=PULL)
        plot.js_on_event(PanStart, grab)
        plot.js_on_event(Pan, pull)
        plot.js_on_event(PanEnd, pull)
        return plot

    def _editors(self) -> dict[str, pmui.Button]:
        made = {
            "previous": ("‹ Previous cell", lambda _: self._step(-1)),
            "next": ("Next cell ›", lambda _: self._step(1)),
            "merge": ("Merge with next", lambda _: self._edit(cutting.merged)),
            "split": ("Split in half", lambda _: self._edit(cutting.split)),
            "left": ("Right edge ←", lambda _: self._nudge(-NUDGE)),
            "right": ("Right edge →", lambda _: self._nudge(NUDGE)),
            "equal": ("Equal cells", lambda _: self.store.state.param.update(edges="", cell=-1)),
        }
        return {name: pmui.Button(label=label, size="small", variant="outlined", margin=(2, 0),
                                  on_click=function) for name, (label, function) in made.items()}

    def _update(self, *events) -> None:
        answer, state = self.store.answer, self.store.state
        if answer is None or state.tab != LINE:
            return
        world, model, cells = answer.world, answer.model, answer.cells
        if world is not self._world:
            self._world = world
            push(self.points, {"x": world.points[:, 0], "y": world.values})
            reach = np.abs(world.truth).max() + min(2.2 * state.noise, 1.6)
            self.figure.y_range.update(start=-reach, end=reach)
        columns = {"x": world.places[:, 0], "truth": world.truth}
        for name, law in (("complete", answer.complete), ("summary", answer.summary)):
            half = np.full(law.mean.size, np.nan) if law.sd is None else BAND * law.sd
            columns |= {name: law.mean, f"{name}_low": law.mean - half,
                        f"{name}_high": law.mean + half}
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
        text = words.LINE_NOTE if movable else words.TOO_MANY
        if there:
            bars = self.bars.data
            found = np.flatnonzero(np.isclose(bars["left"], edges[cell]))
            mean = float(bars["mean"][found[0]]) if found.size else None
            count = int(bars["count"][found[0]]) if found.size else 0
            text = words.chosen(cell, edges[cell], edges[cell + 1], mean, count)
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

    def __panel__(self):
        return self._panel
