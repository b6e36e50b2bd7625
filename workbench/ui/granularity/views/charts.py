"""The plane of error, the error as cells get finer, calibration, and the kernel."""

from __future__ import annotations

import numpy as np
import panel as pn
import param
from bokeh.events import Tap
from bokeh.models import (
    BasicTickFormatter,
    BoxAnnotation,
    ColorBar,
    FixedTicker,
    HoverTool,
    Label,
    LogColorMapper,
    Range1d,
    Span,
)
from bokeh.palettes import Viridis256

from workbench.granularity.correlations import CORRELATIONS
from workbench.plots.theme import NEUTRAL
from workbench.ui.granularity import words
from workbench.ui.granularity.bench import LEVELS
from workbench.ui.granularity.plane import contour, edges
from workbench.ui.granularity.state import LINE
from workbench.ui.granularity.store import Store
from workbench.ui.granularity.views.look import (
    BOUND,
    CERTIFICATE,
    COMPLETE,
    HERE,
    SUMMARY,
    chart,
    legend,
    push,
    source,
)
from workbench.ui.views.layout import wrapping
from workbench.ui.views.text import note, paragraph

SIZE, HEIGHT = 255, 215
LIMIT = "#CC3311"       # what is tolerated
TICKS = [0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10]
LOWEST, HIGHEST = 0.003, 1.0        # of the plane's colours, shares of the data's sd
DIM = {True: {"opacity": "0.5"}, False: {"opacity": "1"}}


class Charts(pn.viewable.Viewer):
    """The row of charts under the line or the map."""

    store = param.ClassSelector(class_=Store)

    def __init__(self, store: Store, **params):
        super().__init__(store=store, **params)
        self.cells = source(left=[], right=[], bottom=[], top=[], error=[], size=[], length=[])
        self.tolerance, self.advised = source(limit=[], y=[]), source(x=[], y=[])
        self.here = source(x=[], y=[])
        self.errors, self.bounds = source(m=[], error=[]), source(m=[], bound=[], certificate=[])
        self.now = source(m=[], error=[])
        self.held = source(level=LEVELS, complete=LEVELS * np.nan, summary=LEVELS * np.nan)
        self.plane, self.curve = self._plane(), self._curve()
        self.calibration = self._calibration()
        self._note = note(words.CALIBRATION_NOTE, SIZE + 50)
        self._advice = note(words.PLANE_NOTE, SIZE + 90)
        self._cells = {
            "plane": pn.Column(pn.pane.Bokeh(self.plane, margin=(0, 2)),
                               self._advice, margin=0),
            "curve": pn.Column(pn.pane.Bokeh(self.curve, margin=(0, 2)),
                               note(words.CURVE_NOTE, SIZE + 60), margin=0),
            "calibration": pn.Column(pn.pane.Bokeh(self.calibration, margin=(0, 2)), self._note,
                                     margin=0),
        }
        self._panel = wrapping(*self._cells.values(), gap=10)
        store.param.watch(self._answer, "answer")
        store.param.watch(self._picture, "picture")
        store.param.watch(self._line, "curve")
        store.param.watch(self._dim, ["stale", "answer"])
        store.state.param.watch(self._tolerance, "tolerance")
        for draw in (self._answer, self._picture, self._line, self._tolerance, self._dim):
            draw()

    # figures

    def _plane(self):
        plot = chart("Error of summaries, share of the data's sd", "cell size",
                     "lengthscale", SIZE, HEIGHT, x_axis_type="log", y_axis_type="log",
                     x_range=Range1d(0.05, 3), y_range=Range1d(0.05, 10), name="plane")
        mapper = LogColorMapper(Viridis256, low=LOWEST, high=HIGHEST, nan_color="#00000000")
        cells = plot.quad("left", "right", "top", "bottom", source=self.cells, line_width=1,
                          line_color={"field": "error", "transform": mapper},
                          fill_color={"field": "error", "transform": mapper})
        plot.line([1e-3, 1e3], [1e-3, 1e3], line_color="white", line_dash="dashed", line_width=2)
        self.rule = Label(x=0.06, y=0.06, text="cell = lengthscale", text_color="white",
                          text_font_size="12px", y_offset=-15)
        plot.add_layout(self.rule)
        line = plot.line("limit", "y", source=self.tolerance, line_color=LIMIT, line_width=2.5)
        advised = plot.line("x", "y", source=self.advised, line_color=LIMIT, line_width=2,
                            line_dash="dotted")
        for axis in (plot.xaxis, plot.yaxis):
            axis.ticker, axis.formatter = FixedTicker(ticks=TICKS), BasicTickFormatter()
        self.across = Span(dimension="width", line_color=HERE, line_width=1.5)
        self.up = Span(dimension="height", line_color=HERE, line_width=1.5)
        plot.renderers.extend([self.across, self.up])
        plot.scatter("x", "y", source=self.here, marker="circle", size=11, line_color="black",
                     fill_color=HERE, line_width=1.5)
        plot.add_tools(HoverTool(renderers=[cells], tooltips=[
            ("cell", "@size{0.000}"), ("lengthscale", "@length{0.000}"),
            ("error", "@error{0.000} of the data's sd")]))
        bar = ColorBar(color_mapper=mapper, width=10, padding=2, margin=4,
                       ticker=FixedTicker(ticks=[0.003, 0.01, 0.03, 0.1, 0.3, 1]),
                       title="", major_label_text_font_size="11px", background_fill_alpha=0)
        plot.add_layout(bar, "right")
        legend(plot, {"tolerance, measured": [line], "adviser": [advised]}, "left", side="above")
        plot.on_event(Tap, self._tapped)
        return plot

    def _curve(self):
        plot = chart("Error as cells get finer", "number of cells m", "error (sd)",
                     SIZE, HEIGHT, x_axis_type="log", y_axis_type="log",
                     x_range=Range1d(1.7, 300), y_range=Range1d(1e-4, 30), name="curve")
        self.limit = Span(dimension="width", line_color=LIMIT, line_width=2)
        plot.renderers.append(self.limit)
        marks = {
            "measured error": [plot.line("m", "error", source=self.errors, line_color=SUMMARY,
                                         line_width=2.5)],
            "η': certificate": [
                plot.line("m", "certificate", source=self.bounds, line_color=CERTIFICATE,
                          line_width=2),
                plot.scatter("m", "certificate", source=self.bounds, color=CERTIFICATE, size=5)],
            "η: the paper's bound": [
                plot.line("m", "bound", source=self.bounds, line_color=BOUND, line_width=2,
                          line_dash="dashed"),
                plot.scatter("m", "bound", source=self.bounds, color=BOUND, size=5)],
        }
        plot.scatter("m", "error", source=self.now, size=11, fill_color=HERE, line_color="black",
                     line_width=1.5)
        legend(plot, marks, "bottom_left")
        return plot

    def _calibration(self):
        plot = chart(words.calibration(True), "nominal coverage of the interval",
                     "share inside", HEIGHT, HEIGHT, x_range=(0, 1), y_range=(0, 1.005),
                     name="calibration")
        plot.line([0, 1], [0, 1], line_color=NEUTRAL, line_dash="dashed", line_width=1.5)
        marks = {}
        for name, label, colour in (("complete", words.COMPLETE, COMPLETE),
                                    ("summary", words.SUMMARY, SUMMARY)):
            marks[label] = [
                plot.line("level", name, source=self.held, line_color=colour, line_width=2.5),
                plot.scatter("level", name, source=self.held, color=colour, size=4)]
        legend(plot, marks, "top_left")
        return plot

    # updates

    def _answer(self, *events) -> None:
        answer, state = self.store.answer, self.store.state
        if answer is None:
            return
        length = answer.model.lengthscale
        push(self.here, {"x": [state.size], "y": [length]})
        self.up.location, self.across.location = state.size, length
        error = [] if answer.error is None else [max(answer.error, 1e-4)]
        push(self.now, {"m": [answer.cells.size] * len(error), "error": error})
        if answer.coverage is not None:
            complete, summary = answer.coverage
            push(self.held, {"level": LEVELS, "complete": complete, "summary": summary})
        known = answer.world.truth is not None
        self.calibration.title.text = words.calibration(known)
        extra = words.DRAWS_NOTE if state.tab == LINE else "" if known else words.HELD_OUT_NOTE
        self._note.object = paragraph(words.CALIBRATION_NOTE + extra)
        self._advise()

    def _picture(self, *events) -> None:
        picture = self.store.picture
        if picture is None:
            return
        (left, right), (bottom, top) = edges(picture.sizes), edges(picture.lengthscales)
        count, high = picture.sizes.size, picture.lengthscales.size
        error = picture.error
        if np.array_equal(self.cells.data["length"], np.repeat(picture.lengthscales, count)) and (
                np.array_equal(self.cells.data["left"], np.tile(left, high))):
            self.cells.data["error"] = error.ravel().astype(np.float32)
            self._tolerance()
            return
        push(self.cells, {
            "left": np.tile(left, high), "right": np.tile(right, high),
            "bottom": np.repeat(bottom, count), "top": np.repeat(top, count),
            "error": error.ravel().astype(np.float32), "size": np.tile(picture.sizes, high),
            "length": np.repeat(picture.lengthscales, count)})
        self.plane.x_range.update(start=left[0], end=right[-1])
        self.plane.y_range.update(start=bottom[0], end=top[-1])
        self._lean(left[0], right[-1], bottom[0], top[-1])
        self.plane.xaxis.axis_label = f"cell size ({picture.unit})"
        self.plane.yaxis.axis_label = f"lengthscale ({picture.unit})"
        self._tolerance()

    def _lean(self, left: float, right: float, bottom: float, top: float) -> None:
        """Write along the diagonal."""
        slope = (HEIGHT / np.log(top / bottom)) / (SIZE / np.log(right / left))
        at = max(left, bottom) * 1.3
        self.rule.update(x=at, y=at, angle=float(np.arctan(slope)))

    def _tolerance(self, *events) -> None:
        tolerance, picture = self.store.state.tolerance, self.store.picture
        self.limit.location = tolerance
        x, y, ends, lengths = (), (), (), ()
        if picture is not None:
            ends = np.array([1e-3, 1e3])
            lengths = picture.trusted[tolerance] * ends
            if picture.share == 1:
                x, y = contour(picture.sizes, picture.lengthscales, picture.error, tolerance)
        push(self.tolerance, {"limit": x, "y": y})
        push(self.advised, {"x": ends, "y": lengths})
        self._advise()

    def _advise(self) -> None:
        picture, answer, state = self.store.picture, self.store.answer, self.store.state
        text = words.PLANE_NOTE
        if picture is not None and answer is not None:
            length = answer.model.lengthscale
            text += " " + words.advice(state.size, length, state.tolerance, picture.unit,
                                       length / picture.trusted[state.tolerance])
        self._advice.object = paragraph(text)

    def _line(self, *events) -> None:
        curve = self.store.curve
        if curve is None:
            return
        push(self.errors, {"m": curve.counts, "error": np.maximum(curve.errors, 1e-4)})
        push(self.bounds, {"m": curve.bound_counts, "bound": curve.bounds,
                           "certificate": curve.certificates})
        self.curve.x_range.end = max(300.0, 1.15 * float(curve.counts.max()))

    def _dim(self, *events) -> None:
        answer = self.store.answer
        for name in ("plane", "curve"):
            self._cells[name].styles = DIM[self.store.stale]
        waits = answer is not None and answer.coverage is None
        self._cells["calibration"].styles = DIM[waits]

    def _tapped(self, event: Tap) -> None:
        if event.x is not None and event.x > 0 and event.y > 0:
            self.store.state.go(event.x, event.y)

    def __panel__(self):
        return self._panel


class KernelCurve(pn.viewable.Viewer):
    """The kernel over distance, with one cell shaded."""

    store = param.ClassSelector(class_=Store)

    def __init__(self, store: Store, **params):
        super().__init__(store=store, **params)
        self.curve = source(r=[], k=[])
        self.figure = chart("Correlation over distance", "distance", "", 215, 75,
                            y_range=(0, 1.05), x_range=Range1d(0, 3), name="kernel")
        self.box = BoxAnnotation(left=0, right=1, fill_color=SUMMARY, fill_alpha=0.2)
        self.figure.add_layout(self.box)
        self.figure.line("r", "k", source=self.curve, line_color=COMPLETE, line_width=2.5)
        self.figure.yaxis.ticker = FixedTicker(ticks=[0, 0.5, 1])
        self._panel = pn.Column(pn.pane.Bokeh(self.figure, margin=0),
                                note(words.KERNEL_NOTE, 280), margin=(0, 5))
        store.param.watch(self._update, "answer")
        self._update()

    def _update(self, *events) -> None:
        answer = self.store.answer
        if answer is None:
            return
        end = answer.world.extent / 2
        r = np.linspace(0, end, 120)
        push(self.curve, {"r": r, "k": CORRELATIONS[answer.model.kernel](
            r / answer.model.lengthscale)})
        self.box.right = self.store.state.size
        self.figure.x_range.end = end
        self.figure.xaxis.axis_label = f"distance ({answer.world.unit}); shaded: one cell"

    def __panel__(self):
        return self._panel
