"""Calibration, the table of models tried, and who is alike by distance."""

from __future__ import annotations

from html import escape

import numpy as np
import panel as pn
import panel_material_ui as pmui
import param
from bokeh.models import BoxAnnotation, FixedTicker, Range1d

from workbench.plots.theme import CATEGORIES, NEUTRAL
from workbench.ui.granularity.views.look import chart, legend, push, source
from workbench.ui.mediated import background, words
from workbench.ui.mediated.background import LEVELS
from workbench.ui.mediated.model import MEDIATED
from workbench.ui.mediated.store import Store
from workbench.ui.views.layout import wrapping
from workbench.ui.views.text import block, note

SIDE = 190
FIELD, ALIKE = CATEGORIES[0], CATEGORIES[1]


class Calibration(pn.viewable.Viewer):
    """Nominal against empirical coverage of the truth."""

    store = param.ClassSelector(class_=Store)

    def __init__(self, store: Store, **params):
        super().__init__(store=store, **params)
        self.held = source(level=[], share=[])
        plot = chart(words.CALIBRATION, "nominal coverage of the interval", "share inside", SIDE,
                     SIDE, x_range=(0, 1), y_range=(0, 1.005), name="calibration")
        plot.line([0, 1], [0, 1], line_color=NEUTRAL, line_dash="dashed", line_width=1.5)
        plot.line("level", "share", source=self.held, line_color=FIELD, line_width=2.5)
        plot.scatter("level", "share", source=self.held, color=FIELD, size=4)
        for axis in (plot.xaxis, plot.yaxis):
            axis.ticker = FixedTicker(ticks=[0, 0.25, 0.5, 0.75, 1])
        self.figure = plot
        self._panel = pn.Column(pn.pane.Bokeh(plot, margin=(0, 2)),
                                note(words.CALIBRATION_NOTE, SIDE + 50), margin=0)
        store.param.watch(self._update, "answer")
        self._update()

    def _update(self, *events) -> None:
        answer = self.store.answer
        if answer is None:
            return
        known = answer.coverage is not None
        push(self.held, {"level": LEVELS if known else [],
                         "share": answer.coverage if known else []})
        self.figure.title.text = words.CALIBRATION + ("" if known else ": no intervals")

    def __panel__(self):
        return self._panel


class Charts(pn.viewable.Viewer):
    """The table of models tried."""

    store = param.ClassSelector(class_=Store)

    def __init__(self, store: Store, **params):
        super().__init__(store=store, **params)
        self.table = block()
        self.forget = pmui.Button(label=words.FORGET, size="small", variant="text",
                                  margin=(4, 5), on_click=lambda _: store.forget())
        self._panel = pn.Column(
            wrapping(pmui.Typography(words.SCORES, variant="subtitle1", margin=(6, 5)),
                     self.forget),
            self.table, note(words.SCORES_NOTE), sizing_mode="stretch_width", margin=0)
        store.param.watch(self._update, ["rows", "answer"])
        self._update()

    def _update(self, *events) -> None:
        store = self.store
        present = None if store.answer is None else background.key(store.answer)
        heads = "".join(f"<th>{escape(head)}</th>" for head in words.HEADS)
        lines = []
        for key, row in sorted(store.rows.items(), key=lambda pair: pair[0][:-2] != (
                present or ())[:-2]):
            style = ("font-weight: 600" if key == present else
                     "" if present and key[:-2] == present[:-2] else "opacity: 0.5")
            cells = "".join(f"<td>{escape(row[head])}</td>" if i else
                            f"<th scope='row' style='font-weight: inherit'>{escape(row[head])}</th>"
                            for i, head in enumerate(words.HEADS))
            lines.append(f"<tr style='{style}'>{cells}</tr>")
        self.table.object = (f"<div class='wb-scroll'><table class='wb-table'><thead><tr>{heads}"
                             f"</tr></thead><tbody>{''.join(lines)}</tbody></table></div>")

    def __panel__(self):
        return self._panel


class Curves(pn.viewable.Viewer):
    """Correlation of the field and likeness of blocks over distance, with one block shaded."""

    store = param.ClassSelector(class_=Store)

    def __init__(self, store: Store, **params):
        super().__init__(store=store, **params)
        self.curve = source(r=[], k=[], ell=[])
        self.figure = chart(words.CURVES, "distance", "", 215, 80, y_range=(0, 1.05),
                            x_range=Range1d(0, 1), name="curves")
        self.box = BoxAnnotation(left=0, right=1, fill_color=NEUTRAL, fill_alpha=0.25)
        self.figure.add_layout(self.box)
        field = self.figure.line("r", "k", source=self.curve, line_color=FIELD, line_width=2.5)
        self.alike = self.figure.line("r", "ell", source=self.curve, line_color=ALIKE,
                                      line_width=2.5, line_dash="dashed")
        self.figure.yaxis.ticker = FixedTicker(ticks=[0, 0.5, 1])
        legend(self.figure, {"k, pixels": [field], "ℓ, blocks": [self.alike]}, "left", "above")
        self._panel = pn.Column(pn.pane.Bokeh(self.figure, margin=0), margin=(0, 5))
        store.state.param.watch(self._update, store.state.names())
        self._update()

    def _update(self, *events) -> None:
        from workbench.ui.granularity.engine import CORRELATIONS

        state = self.store.state
        end = state.block * 8
        r = np.linspace(0, end, 120)
        name = "matern32" if state.kernel == "place" else state.kernel.split(".")[0]
        push(self.curve, {"r": r, "k": CORRELATIONS[name](r / state.lengthscale),
                          "ell": CORRELATIONS["matern32"](r / state.far)})
        self.alike.visible = state.by_place and state.model in MEDIATED
        self.box.right = state.block
        self.figure.x_range.end = end
        unit = "°" if state.place.unit == "degree" else state.place.unit
        self.figure.xaxis.axis_label = f"distance ({unit}); grey: bag spacing"

    def __panel__(self):
        return self._panel
