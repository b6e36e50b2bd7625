"""Calibration, the table of models tried, and who is alike by distance."""

from __future__ import annotations

import panel_material_ui as pmui
from bokeh.models import FixedTicker

from workbench.granularity.correlations import CORRELATIONS
from workbench.plots.theme import CATEGORIES, NEUTRAL
from workbench.ui.base.bands import LEVELS
from workbench.ui.base.messages import ROWS_NOTE
from workbench.ui.base.views.controls import small_button
from workbench.ui.base.views.figures import empty, legend, push, shown
from workbench.ui.base.views.kept_rows import rows_button
from workbench.ui.base.views.layout import View, lower, stretched, wrapping
from workbench.ui.base.views.line_charts import DistanceCurves, calibration
from workbench.ui.base.views.text import block, note, table
from workbench.ui.mediated import background, messages
from workbench.ui.mediated.model import MEDIATED
from workbench.ui.mediated.store import Store

SIDE = 190
FIELD, ALIKE = CATEGORIES[0], CATEGORIES[1]


class Calibration(View):
    """Nominal against empirical coverage of the truth."""

    def __init__(self, store: Store, **params):
        super().__init__(store, **params)
        self.coverage = empty("level", "share")
        self.figure = calibration(messages.CALIBRATION, SIDE, self.coverage, {"share": FIELD})
        for axis in (self.figure.xaxis, self.figure.yaxis):
            axis.ticker = FixedTicker(ticks=[0, 0.25, 0.5, 0.75, 1])
        self.note = note(messages.CALIBRATION_NOTE, SIDE)
        self._panel = shown(self.figure, self.note)
        self.follow_answer(self._update)

    def fit(self, across: int, down: int) -> None:
        """Have a frame of so many pixels."""
        self.figure.update(frame_width=across - 62, frame_height=down)
        self.note.width = across

    def _update(self, answer) -> None:
        known = answer.coverage is not None
        push(self.coverage, {"level": LEVELS if known else [],
                         "share": answer.coverage if known else []})
        self.figure.title.text = messages.CALIBRATION + ("" if known else ": no intervals")


class Charts(View):
    """The table of models tried."""

    def __init__(self, store: Store, **params):
        super().__init__(store, **params)
        self.table = block()
        self.forget = small_button(messages.FORGET, store.forget, variant="text", margin=(4, 5))
        self.keep = rows_button("mediated-models-compared", messages.HEADS, lambda: [
            ([row[head] for head in messages.HEADS], row["address"])
            for row in store.rows.values()])
        self._panel = stretched(
            wrapping(pmui.Typography(messages.SCORES, variant="subtitle1", margin=(6, 5)),
                     self.forget, self.keep),
            self.table, note(f"{messages.SCORES_NOTE} {ROWS_NOTE}"))
        lower(self._panel)
        self.follow(self._update, "rows", "answer")

    def _update(self, *events) -> None:
        answer, rows = self.store.answer, []
        present = () if answer is None else background.key(answer)
        for key, row in sorted(self.store.rows.items(), key=lambda pair: pair[0][:-2] != (
                present[:-2])):
            style = ("font-weight: 600" if key == present else
                     "" if key[:-2] == present[:-2] else "opacity: 0.5")
            rows.append(([row[head] for head in messages.HEADS], style))
        self.table.object = table(messages.HEADS, rows)


class Curves(View):
    """Correlation of the field and likeness of blocks over distance, with one block shaded."""

    def __init__(self, store: Store, **params):
        super().__init__(store, **params)
        self._curves = DistanceCurves(
            messages.CURVES, "curves", 80,
            {"k": {"line_color": FIELD}, "ell": {"line_color": ALIKE, "line_dash": "dashed"}},
            {"fill_color": NEUTRAL, "fill_alpha": 0.25})
        self.curve, self.figure = self._curves.curve, self._curves.figure
        self.alike = self._curves.lines["ell"]
        legend(self.figure, {"k, pixels": [self._curves.lines["k"]], "ℓ, blocks": [self.alike]},
               "left", "above")
        self._panel = shown(self.figure, margin=(0, 3))
        self.follow(self._update, *store.state.names(), of=store.state)

    def _update(self, *events) -> None:
        state = self.store.state
        name = "matern32" if state.kernel == "place" else state.kernel.split(".")[0]
        unit = "°" if state.place.unit == "degree" else state.place.unit
        self._curves.push(
            state.block * 8, state.block, f"distance ({unit}); grey: bag spacing",
            k=lambda r: CORRELATIONS[name](r / state.lengthscale),
            ell=lambda r: CORRELATIONS["matern32"](r / state.far))
        self.alike.visible = state.by_place and state.model in MEDIATED
