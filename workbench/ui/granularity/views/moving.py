"""Draws of a posterior that move in the browser: it turns one into the next, the server rests."""

from __future__ import annotations

import numpy as np
from bokeh.events import Tap
from bokeh.models import ColumnDataSource, CustomJS
from bokeh.plotting import figure

from workbench.ui.base.views.figures import push
from workbench.ui.granularity.draws import NUMBER

QUARTER = 2500      # milliseconds from one draw to the next
FRAME = 60          # milliseconds between two pictures
NAMES = tuple(f"departure{k}" for k in range(NUMBER))
# The same as `Draws.at`. Whoever asks for less motion sees one draw at rest.
TURN = """
const held = (window.workbenchMoving ??= {}), key = plot.id
const first = fields.data[names[0]]?.[0]
clearInterval(held[key]?.timer)
if (first === undefined || !first.length) return
const began = {at: held[key]?.at ?? 0, last: performance.now(), rests: held[key]?.rests ?? false}
if (matchMedia('(prefers-reduced-motion: reduce)').matches) began.rests = true
const paint = () => {
  const now = performance.now()
  if (!began.rests) began.at += (now - began.last) / quarter
  began.last = now
  const count = names.length, k = Math.floor(began.at) % count
  const angle = (began.at % 1) * Math.PI / 2, c = Math.cos(angle), s = Math.sin(angle)
  const a = fields.data[names[k]][0], b = fields.data[names[(k + 1) % count]][0]
  const mean = fields.data.mean[0], to = moving.data.draw[0]
  for (let i = 0; i < to.length; i++) to[i] = mean[i] + c * a[i] + s * b[i]
  moving.change.emit()
}
paint()
began.timer = setInterval(() => { if (!began.rests && !document.hidden) paint()
                                  else began.last = performance.now() }, frame)
held[key] = began
"""
PAUSE = """
const held = window.workbenchMoving?.[plot.id]
if (held) held.rests = !held.rests
"""


class Moving:
    """An image in a figure that turns from draw to draw while there are any.

    Parameters
    ----------
    plot : figure
    mapper : ColorMapper
    """

    def __init__(self, plot: figure, mapper):
        frame = {"left": [], "bottom": [], "width": [], "height": []}
        self.fields = ColumnDataSource({name: [] for name in ("mean", *NAMES)})
        self.moving = ColumnDataSource({"draw": [], **frame})
        self.image = plot.image("draw", source=self.moving, x="left", y="bottom", dw="width",
                                dh="height", color_mapper=mapper)
        turn = CustomJS(args={"plot": plot, "fields": self.fields, "moving": self.moving,
                              "names": list(NAMES), "quarter": QUARTER, "frame": FRAME}, code=TURN)
        self.fields.js_on_change("data", turn)
        plot.js_on_change("inner_width", turn)      # a page that is opened with draws in it
        plot.js_on_event(Tap, CustomJS(args={"plot": plot}, code=PAUSE))

    def rest(self) -> None:
        """Nothing moves any more."""
        push(self.fields, {name: [] for name in ("mean", *NAMES)})

    def show(self, mean: np.ndarray, departures: list[np.ndarray], bounds: tuple) -> None:
        """Move through draws: images of the mean and of departures from it."""
        x0, y0, x1, y1 = bounds
        push(self.moving, {"draw": [mean + departures[0]], "left": [x0], "bottom": [y0],
                           "width": [x1 - x0], "height": [y1 - y0]})
        push(self.fields, {"mean": [mean]} | {name: [departure] for name, departure
                                              in zip(NAMES, departures, strict=True)})
