"""Whether the intervals over the city are as wide as stated."""

from __future__ import annotations

from bokeh.models import FixedTicker

from workbench.plots.theme import CATEGORIES
from workbench.ui.base.bands import LEVELS
from workbench.ui.base.views.figures import empty, legend, push, shown, widen
from workbench.ui.base.views.layout import View
from workbench.ui.base.views.line_charts import calibration
from workbench.ui.base.views.text import note
from workbench.ui.sources import messages
from workbench.ui.sources.store import Store

SIDE = 270
COLOURS = {"held_out": CATEGORIES[0], "pixels": CATEGORIES[1]}
NAMES = {"held_out": messages.HELD_OUT, "pixels": messages.PIXELS}


class Calibration(View):
    """Nominal against empirical coverage, at held-out stations and of the map of the hour."""

    def __init__(self, store: Store, **params):
        super().__init__(store, **params)
        self.coverage = empty("level", *COLOURS)
        self.figure = calibration(messages.CALIBRATION, SIDE, self.coverage, COLOURS)
        legend(self.figure, {name: self.figure.select({"name": key})
                             for key, name in NAMES.items()}, "top_left", side="above")
        for axis in (self.figure.xaxis, self.figure.yaxis):
            axis.ticker = FixedTicker(ticks=[0, 0.25, 0.5, 0.75, 1])
        self._panel = shown(self.figure, note(messages.CALIBRATION_NOTE), width=SIDE + 70)
        self.follow(self._update, "hour", "fitted", of=store.city)

    def fit(self, width: int) -> None:
        """Be so many pixels across, or fewer."""
        widen(self.figure, min(width, SIDE))

    def _update(self, *events) -> None:
        hour = self.store.city.hour
        if hour is not None:
            fitted = hour.fitted
            push(self.coverage, {"level": LEVELS, "pixels": hour.coverage,
                                 "held_out": fitted.held_out.coverage(fitted.later)})
