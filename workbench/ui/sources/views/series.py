"""A station over time beside the map, and the table of models learnt on the city."""

from __future__ import annotations

import numpy as np
import panel_material_ui as pmui
from bokeh.events import Tap
from bokeh.models import BoxAnnotation, Range1d, Span

from workbench.plots.theme import CATEGORIES, NEUTRAL
from workbench.ui.base.bands import HALF_95, Band
from workbench.ui.base.messages import ROWS_NOTE
from workbench.ui.base.views.figures import HERE, chart, empty, legend, push, shown, widen
from workbench.ui.base.views.kept_rows import rows_button
from workbench.ui.base.views.layout import View, stretched
from workbench.ui.base.views.text import block, note, table
from workbench.ui.sources import messages
from workbench.ui.sources.store import Store

WIDTH, HEIGHT = 415, 270
PREDICTED, READ = CATEGORIES[0], CATEGORIES[1]


class Series(View):
    """The chooser of stations, and what is known and predicted of the chosen one."""

    def __init__(self, store: Store, **params):
        super().__init__(store, **params)
        self.fine = empty("hour", "truth", "mean", "low", "high")
        self.early, self.late = empty("hour", "value"), empty("hour", "value")
        self.passes = empty("hour", "value")
        self.now = Span(dimension="height", line_color=HERE, line_width=2)
        self.held_out = BoxAnnotation(fill_color=NEUTRAL, fill_alpha=0.15)
        self.figure = self._figure()
        self.station = pmui.Select.from_param(store.state.param.station, label="Station",
                                              size="small", width=130, margin=(8, 5, 2, 5))
        self._panel = shown(self.station, self.figure, note(messages.SERIES_NOTE),
                            width=WIDTH + 80)
        store.state.param.watch(self._update, "station")
        self.follow(self._update, "data", "fitted", of=store.city)
        self.follow(self._move, "hour", of=store.state)

    def fit(self, width: int) -> None:
        """Be so many pixels across, or fewer, the axis beside them."""
        widen(self.figure, min(width, WIDTH))
        self._panel.width = min(width, WIDTH) + 80

    def _figure(self):
        plot = chart("", "hours since midnight of 19 February 2019", "NO₂ (µg/m³)", WIDTH, HEIGHT,
                     x_range=Range1d(-0.5, 47.5), y_range=Range1d(0, 100), name="series",
                     min_border_left=62)
        plot.add_layout(self.held_out)
        band = plot.varea("hour", "low", "high", source=self.fine, fill_color=PREDICTED,
                          fill_alpha=0.22)
        truth = plot.line("hour", "truth", source=self.fine, line_color=NEUTRAL, line_width=2,
                          line_dash="dashed")
        mean = plot.line("hour", "mean", source=self.fine, line_color=PREDICTED, line_width=2.2)
        early = plot.scatter("hour", "value", source=self.early, size=5, color=READ)
        late = plot.scatter("hour", "value", source=self.late, size=5, fill_color=None,
                            line_color=READ)
        ticks = plot.scatter("hour", "value", source=self.passes, marker="dash", angle=np.pi / 2,
                             size=12, line_width=2, color=CATEGORIES[2])
        plot.renderers.append(self.now)
        legend(plot, {"truth": [truth], "predicted": [band, mean],
                      "training": [early], "held out": [late], "satellite": [ticks]},
               "top_left", side="above")
        plot.legend.spacing, plot.legend.glyph_width = 0, 14
        plot.xaxis.ticker.desired_num_ticks = 8
        plot.on_event(Tap, self._tapped)
        return plot

    def _update(self, *events) -> None:
        data, state = self.store.city.data, self.store.state
        if data is None or state.station not in data.names:
            return
        k, hours = data.names.index(state.station), data.hours
        kind = "by a main road" if data.stations.features[k, 0] > 0 else "background"
        self.figure.title.text = f"Station {state.station}, {kind}"
        read, early = data.readings[k], hours < data.half
        for where, part in ((self.early, early), (self.late, ~early)):
            there = part & np.isfinite(read)
            push(where, {"hour": hours[there], "value": read[there]})
        fitted = self.store.city.fitted
        known = fitted is not None and fitted.data is data
        nothing = np.full(hours.size, np.nan)
        band = (Band(fitted.mean[k], fitted.total[k]) if known else Band(nothing)).columns(HALF_95)
        push(self.fine, {"hour": hours, "truth": data.truth[k]} | band)
        low = -0.04 * data.truth.max()
        push(self.passes, {"hour": list(data.seen), "value": [low / 2] * len(data.seen)})
        self.held_out.update(left=data.half - 0.5, right=2 * data.half - 0.5)
        self.figure.x_range.update(start=-0.5, end=2 * data.half - 0.5)
        top = np.nanmax(np.r_[read, data.truth[k], band["high"], 40.0])
        bottom = np.nanmin(np.r_[low, band["low"]])
        self.figure.y_range.update(start=float(min(bottom, low)), end=float(1.05 * top))

    def _move(self, *events) -> None:
        self.now.location = self.store.state.hour

    def _tapped(self, event: Tap) -> None:
        data = self.store.city.data
        if data is not None:
            self.store.state.hour = int(np.clip(round(event.x), 0, len(data.hours) - 1))


class Models(View):
    """One row for each model learnt on the present city."""

    def __init__(self, store: Store, **params):
        super().__init__(store, **params)
        self.table = block()
        self.keep = rows_button("sources-city-models", messages.CITY_HEADS, lambda: [
            (row, store.city.addresses[key]) for key, row in store.city.rows.items()])
        self._panel = stretched(self.table, self.keep, note(f"{messages.CITY_NOTE} {ROWS_NOTE}"),
                                margin=(6, 0))
        self.follow(self._update, "rows", "fitted", of=store.city)

    def _update(self, *events) -> None:
        city = self.store.city
        present = None if city.fitted is None else city.fitted.key
        rows = [(city.rows[key], "font-weight: 600" if key == present else "")
                for key in city.rows if present is not None and key.world == present.world]
        self.table.object = table(messages.CITY_HEADS, rows) if rows else ""
