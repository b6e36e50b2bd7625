"""Calibration, scores and training beside each other."""

from __future__ import annotations

from html import escape

import panel as pn
import panel_material_ui as pmui
import param
from bokeh.models import ColumnDataSource
from bokeh.plotting import figure

from workbench.plots import pit_histogram, reliability_curve
from workbench.plots.theme import CATEGORIES, NEUTRAL, OWN_BAG, colours
from workbench.ui import lang
from workbench.ui.store import Store
from workbench.ui.views.layout import wrapping
from workbench.ui.views.scores import Scores
from workbench.ui.views.text import note

SIZE = 260
TARGETS = {"bag": "areas", "individual": "fine values", "rate": "true rate"}


class Charts(pn.viewable.Viewer):
    """Reliability curve, PIT histogram, scores against the flat model, and training curve."""

    store = param.ClassSelector(class_=Store)

    def __init__(self, store: Store, **params):
        super().__init__(store=store, **params)
        self.target = pmui.RadioButtonGroup(
            label="Calibration and scores of", options={"areas": "bag"}, value="bag", size="small",
            width=360, margin=(5, 5))
        self._coverage = pn.pane.HoloViews(None, margin=0, linked_axes=False)
        self._legend = note(width=SIZE + 50)
        self._pit = pn.pane.HoloViews(None, margin=0, linked_axes=False)
        self.scores = Scores()
        self._steps = ColumnDataSource({"step": [], "objective": []})
        self._training = _training_figure(self._steps)
        self._empty = note(lang.NO_CURVE, SIZE)
        self._row = wrapping(
            self._cell(pn.Column(self._coverage, self._legend, margin=0), "coverage"),
            self._cell(self._pit, "pit"),
            self._cell(pn.Column(pn.pane.Bokeh(self._training), self._empty, margin=0),
                       "training"),
            gap=12,
        )
        store.param.watch(self._scored, "scores")
        store.param.watch(self._learn, "history")
        self.target.param.watch(lambda _: self._draw(), "value")
        self._scored()
        self._learn()

    def _scored(self, *events) -> None:
        scores = self.store.scores
        self._row.styles = {"opacity": "0.45" if scores is None else "1"}
        if scores is None:
            return
        targets = {TARGETS[str(t)]: str(t) for t in scores["target"].values}
        finest = list(targets.values())[-1]
        if targets != self.target.options:
            self.target.param.update(options=targets, value=finest)
        self._draw()

    def _draw(self) -> None:
        scores, target = self.store.scores, self.target.value
        if scores is None:
            return
        name = self.store.answer.fit.model.name
        size = {"frame_width": SIZE, "frame_height": SIZE, "toolbar": None}
        with pn.io.hold():
            self._coverage.object = reliability_curve(scores, target).opts(
                **size, show_legend=False)      # it would cover the curves
            self._legend.object = _legend([str(m) for m in scores["model"].values])
            self._pit.object = pit_histogram(scores, name, target).opts(**size)
            self.scores.param.update(scores=scores, target=target)

    def _learn(self, *events) -> None:
        steps, values = zip(*self.store.history, strict=True) if self.store.history else ((), ())
        self._steps.data = {"step": steps, "objective": values}
        if values:
            self._training.x_range.update(start=0, end=max(steps) + 1)
            low = sorted(values)[len(values) // 20]      # the first steps would flatten the rest
            pad = 0.05 * max(max(values) - low, 1e-9)
            self._training.y_range.update(start=low - pad, end=max(values) + pad)
        self._empty.visible = not values

    @staticmethod
    def _cell(pane, what: str) -> pn.Column:
        return pn.Column(pane, note(lang.CHARTS[what], SIZE + 50), margin=0)

    def __panel__(self):
        return pn.Column(
            self.target, self._row, self.scores, note(lang.TRAINED_ON),
            sizing_mode="stretch_width", margin=0,
        )


def _legend(models: list[str]) -> str:
    """Models beside their lines, as HTML."""
    styles = {OWN_BAG: "dotted"}
    lines = [f"<span><i style='border-top: 3px {styles.get(name, 'solid')} {colour}'></i>"
             f"{escape(name)}</span>" for name, colour in colours(models).items()]
    band = f"<span><i style='border-top: 9px solid {NEUTRAL}66'></i>±2 standard errors</span>"
    return f"<p class='wb-legend'>{''.join(lines)}{band}</p>"


def _training_figure(source: ColumnDataSource) -> figure:
    plot = figure(
        title="Training", x_axis_label="step", y_axis_label="objective (nats)", name="training",
        frame_width=SIZE, frame_height=SIZE, tools="pan,wheel_zoom,reset", active_scroll=None,
        x_range=(0, 1), y_range=(0, 1), output_backend="canvas",
    )
    plot.toolbar.autohide, plot.toolbar.logo = True, None
    plot.line("step", "objective", source=source, line_color=CATEGORIES[0], line_width=1.5)
    plot.scatter("step", "objective", source=source, color=CATEGORIES[0], size=4)
    plot.grid.grid_line_color, plot.grid.grid_line_alpha = NEUTRAL, 0.3
    return plot
