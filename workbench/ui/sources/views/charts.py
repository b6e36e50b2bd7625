"""Variance against the composite weight, and the table of posteriors."""

from __future__ import annotations

import numpy as np
from bokeh.events import Tap
from bokeh.models import BasicTickFormatter, FixedTicker, Label, Range1d, Span

from workbench.plots.theme import CATEGORIES, NEUTRAL
from workbench.ui.base.state import nearest
from workbench.ui.base.views.figures import HERE, chart, empty, push, shown, widen
from workbench.ui.base.views.layout import View, wrapping
from workbench.ui.base.views.text import block, note, table
from workbench.ui.sources import messages
from workbench.ui.sources.engine import WEIGHTS, Score, score
from workbench.ui.sources.state import WEIGHTS as STOPS
from workbench.ui.sources.store import Store

WIDTH, HEIGHT, EDGE = 400, 165, 70      # pixels; beside a frame
RIBATET, LYDDON = CATEGORIES[2], CATEGORIES[3]
TICKS = [0.05, 0.1, 0.2, 0.5, 1, 1.5]


class Charts(View):
    """The row under the line."""

    def __init__(self, store: Store, **params):
        super().__init__(store, **params)
        self.curve, self.now = empty("weight", "variance"), empty("x", "y")
        self.marks = {name: Span(dimension="height", line_color=colour, line_width=2,
                                 line_dash=dash, visible=False)
                      for name, colour, dash in (("ribatet", RIBATET, "solid"),
                                                 ("lyddon", LYDDON, "dashed"))}
        self.labels = {name: Label(x=1, y=0, text=name.capitalize(), text_color=colour,
                                   text_font_size="12px", visible=False, x_offset=offset,
                                   text_align=align, y_offset=3)
                       for name, colour, offset, align in (("ribatet", RIBATET, 4, "left"),
                                                           ("lyddon", LYDDON, -4, "right"))}
        self.figure = self._figure()
        self.table = block()
        self._parts = {
            shown(self.figure, note(messages.CURVE_NOTE), width=WIDTH + 80): WIDTH + 80,
            shown(self.table, note(messages.TABLE_NOTE), margin=(6, 0), width=480): 480}
        self._panel = wrapping(*self._parts, gap=14)
        self.follow_answer(self._update)
        self.follow(self._estimated, "estimate", "answer")
        self.follow(self._rows, "answer", "experts", "fresh")

    def fit(self, width: int) -> None:
        """Be so many pixels across, or fewer, the axis beside them."""
        widen(self.figure, min(width, WIDTH))
        for part, wide in self._parts.items():
            part.width = min(width + EDGE, wide)

    def _figure(self):
        plot = chart(messages.CURVE_TITLE, "composite weight φ", "relative variance", WIDTH, HEIGHT,
                     x_axis_type="log", y_axis_type="log", x_range=Range1d(0.05, 1.5),
                     y_range=Range1d(0.1, 4), name="curve")
        plot.renderers.append(Span(location=1, dimension="width", line_color=NEUTRAL,
                                   line_dash="dashed", line_width=1.5))
        plot.line("weight", "variance", source=self.curve, line_color=CATEGORIES[0],
                  line_width=2.5)
        plot.renderers.extend(self.marks.values())
        for label in self.labels.values():
            plot.add_layout(label)
        plot.scatter("x", "y", source=self.now, size=11, fill_color=HERE, line_color="black",
                     line_width=1.5)
        plot.xaxis.ticker, plot.xaxis.formatter = FixedTicker(ticks=TICKS), BasicTickFormatter()
        plot.yaxis.ticker = FixedTicker(ticks=[0.01, 0.03, 0.1, 0.3, 1, 3, 10])
        plot.yaxis.formatter = BasicTickFormatter()
        plot.on_event(Tap, self._tapped)
        return plot

    def _update(self, answer) -> None:
        push(self.curve, {"weight": WEIGHTS, "variance": answer.relative})
        push(self.now, {"x": [answer.weight], "y": [answer.scores["composite"].variance]})
        low, high = float(answer.relative.min()), float(answer.relative.max())
        self.figure.y_range.update(start=min(0.8 * low, 0.5), end=max(1.25 * high, 2.0))

    def _estimated(self, *events) -> None:
        found = self.store.estimate
        for name, mark in self.marks.items():
            value = None if found is None else getattr(found, name)
            there = value is not None and bool(np.isfinite(value)) and 0.05 <= value <= 1.5
            mark.visible = self.labels[name].visible = there
            if there:
                mark.location = value
                self.labels[name].update(x=value, y=self.figure.y_range.start)

    def _rows(self, *events) -> None:
        answer, found = self.store.answer, self.store.experts
        if answer is None:
            return
        scores = dict(answer.scores)
        if found is not None and self.store.fresh:
            scores["experts"] = score(found.band, answer.bands["alone"], answer.world)
        self.table.object = _rows_of(scores, answer.weight)

    def _tapped(self, event: Tap) -> None:
        if event.x is not None and event.x > 0:
            self.store.state.weight = nearest(STOPS, event.x)


def _rows_of(scores: dict[str, Score], weight: float) -> str:
    rows = []
    for name, found in scores.items():
        label = messages.NAMES[name] + (f" (φ = {weight:g})" if name == "composite" else "")
        rows.append(((label, f"{found.variance:.2f}", f"{found.rmse:.3f}",
                      f"{100 * found.coverage:.0f} %"), ""))
    return table(messages.HEADS, rows)
