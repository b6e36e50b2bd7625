"""MR-DGP on the line: its posterior with all experts, and their weights along x."""

from __future__ import annotations

import numpy as np
from bokeh.models import FixedTicker, Range1d

from workbench.plots.theme import CATEGORIES, NEUTRAL
from workbench.ui.base.bands import HALF_95
from workbench.ui.base.views.figures import chart, empty, hideable_legend, push, shown, widen
from workbench.ui.base.views.layout import View, dim
from workbench.ui.base.views.text import note
from workbench.ui.sources import messages
from workbench.ui.sources.designs import MOST
from workbench.ui.sources.store import Store
from workbench.ui.sources.views.line import BORDER, LOOKS, WIDTH

HEIGHT, LOW = 170, 62
MIXED = CATEGORIES[0]
NAMES = [f"source {k}" for k in range(1, MOST + 1)]


class Experts(View):
    """Two figures on the axis of the line; a sentence where nothing was asked for."""

    def __init__(self, store: Store, x_range: Range1d, **params):
        super().__init__(store, **params)
        self.fine = empty("x", "truth", "mean", "low", "high", *(
            f"{kind}{k}" for kind in ("mean", "low", "high") for k in range(MOST)))
        self.figure, self.shares = self._figure(x_range), self._shares(x_range)
        self._off, self._row = note(messages.EXPERTS_OFF), shown(self.figure, self.shares)
        self._panel = shown(self._off, self._row)
        store.state.param.watch(self._dim, "experts")
        self.follow(self._update, "experts", "answer")
        self.follow(self._dim, "fresh", "experts")

    def fit(self, width: int) -> None:
        """Be so many pixels across."""
        widen(self.figure, width, messages.EXPERTS_TITLE)
        widen(self.shares, width, messages.WEIGHTS_TITLE)

    def _figure(self, x_range: Range1d):
        plot = chart(messages.EXPERTS_TITLE, "", "f", WIDTH, HEIGHT, x_range=x_range,
                     y_range=Range1d(-2, 7), name="experts", min_border_left=BORDER)
        band = plot.varea("x", "low", "high", source=self.fine, fill_color=MIXED, fill_alpha=0.25)
        self._lines = [plot.line("x", f"mean{k}", source=self.fine, line_color=colour,
                                 line_width=1.8, line_dash="dotdash")
                       for k, (colour, _) in enumerate(LOOKS)]
        truth = plot.line("x", "truth", source=self.fine, line_color=NEUTRAL, line_width=2,
                          line_dash="dashed")
        mean = plot.line("x", "mean", source=self.fine, line_color=MIXED, line_width=2.2)
        hideable_legend(plot, {"f": [truth], "mixture": [band, mean]} | {
            f"expert of {name}": [drawn] for name, drawn in zip(NAMES, self._lines, strict=True)})
        return plot

    def _shares(self, x_range: Range1d):
        plot = chart(messages.WEIGHTS_TITLE, "x", "weight", WIDTH, LOW, x_range=x_range,
                     y_range=Range1d(0, 1), name="shares", min_border_left=BORDER)
        plot.yaxis.ticker = FixedTicker(ticks=[0, 0.5, 1])
        for k, (colour, _) in enumerate(LOOKS):
            plot.varea("x", f"low{k}", f"high{k}", source=self.fine, fill_color=colour,
                       fill_alpha=0.7)
        return plot

    def _update(self, *events) -> None:
        found, answer = self.store.experts, self.store.answer
        if found is None or answer is None:
            return
        nothing = np.full(found.band.mean.size, np.nan)
        edges = np.vstack([np.zeros(nothing.size), found.weights.cumsum(0)])
        columns = {"x": answer.world.places, "truth": answer.world.known}
        columns |= found.band.columns(HALF_95)
        for k in range(MOST):
            there = k < len(found.means)
            columns |= {f"mean{k}": found.means[k] if there else nothing,
                        f"low{k}": edges[k] if there else nothing,
                        f"high{k}": edges[k + 1] if there else nothing}
            self.figure.legend[0].items[k + 2].visible = there
        push(self.fine, {name: np.asarray(v, dtype=np.float32) for name, v in columns.items()})
        known = answer.world.known
        self.figure.y_range.update(start=float(min(known.min() - 1.2, -1)),
                                   end=float(max(known.max() + 1.2, 6)))

    def _dim(self, *events) -> None:
        asked, found = self.store.state.experts, self.store.experts is not None
        self._off.visible = not asked
        self._row.visible = asked
        dim(self._row, not (self.store.fresh and found))
