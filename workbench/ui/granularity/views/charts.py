"""The plane of error, the error as cells get finer, calibration, and the kernel."""

from __future__ import annotations

import numpy as np
from bokeh.events import Tap
from bokeh.models import (
    BasicTickFormatter,
    ColorBar,
    FixedTicker,
    Label,
    LogColorMapper,
    Range1d,
    Span,
)
from bokeh.palettes import Viridis256
from bokeh.plotting import figure

from workbench.granularity.correlations import CORRELATIONS
from workbench.plots.theme import CATEGORIES
from workbench.ui.base.bands import LEVELS
from workbench.ui.base.views.figures import HERE, chart, empty, hover, legend, push, shown, source
from workbench.ui.base.views.layout import View, dim, lower, wrapping
from workbench.ui.base.views.line_charts import DistanceCurves, calibration
from workbench.ui.base.views.text import note, paragraph
from workbench.ui.granularity import messages
from workbench.ui.granularity.plane import contour, edges
from workbench.ui.granularity.state import LINE
from workbench.ui.granularity.store import Store
from workbench.ui.granularity.views.large import Large
from workbench.ui.granularity.views.window import sizes
from workbench.ui.granularity.zones import STRIPS

COMPLETE, SUMMARY = CATEGORIES[0], CATEGORIES[1]
BOUND, CERTIFICATE = CATEGORIES[3], CATEGORIES[2]
SIZE, HEIGHT = 255, 215
LIMIT = "#CC3311"       # what is tolerated
TICKS = [0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10]
LOWEST, HIGHEST = 0.003, 1.0        # of the plane's colours, shares of the data's sd


class Charts(View):
    """The row of charts under the line or the map."""

    def __init__(self, store: Store, **params):
        super().__init__(store, **params)
        self.cells = empty("left", "right", "bottom", "top", "error", "size", "length")
        self.tolerance, self.advised = empty("limit", "y"), empty("x", "y")
        self.here, self.now = empty("x", "y"), empty("m", "error")
        self.errors, self.bounds = empty("m", "error"), empty("m", "bound", "certificate")
        self.coverage = source(level=LEVELS, complete=LEVELS * np.nan, summary=LEVELS * np.nan)
        self.plane, self.curve = self._plane(), self._curve()
        self.calibration = calibration(messages.calibration(True), HEIGHT, self.coverage,
                                       {"complete": COMPLETE, "summary": SUMMARY})
        legend(self.calibration, {label: self.calibration.select({"name": name})
                                  for name, label in (("complete", messages.COMPLETE),
                                                      ("summary", messages.SUMMARY))}, "top_left")
        self._notes = {"plane": note(messages.PLANE_NOTE, SIZE + 90),
                       "curve": note(messages.CURVE_NOTE, SIZE + 60),
                       "calibration": note(messages.CALIBRATION_NOTE, SIZE + 50)}
        self._cells = {name: shown(plot, self._notes[name])
                       for name, plot in self._figures().items()}
        self._large = [Large(plot) for plot in self._figures().values()]
        self._panel = wrapping(*self._cells.values(), gap=10)
        lower(self._panel)
        self.follow(self._answer, "answer")
        self.follow(self._picture, "picture")
        self.follow(self._line, "curve")
        self.follow(self._tolerance, "tolerance", of=store.state)
        self.follow(self._dim, "stale", "answer")
        self.follow(self._answer, "reveal", of=store.state)
        self.follow(self._name_sizes, "tab", "shape", of=store.state)
        self.follow(self._fit, "room")
        self.follow(self._fit, "lecture", "story", of=store.state)

    def _figures(self) -> dict[str, figure]:
        return {"plane": self.plane, "curve": self.curve, "calibration": self.calibration}

    # figures

    def _plane(self):
        plot = chart("Error of summaries (data's sd)", "cell size",
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
        hover(plot, cells, [
            ("size", "@size{0.000}"), ("lengthscale", "@length{0.000}"),
            ("error", "@error{0.000} of the data's sd")])
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
        if state.hidden or answer.coverage is not None:
            complete, summary = answer.coverage if not state.hidden else (LEVELS * np.nan,) * 2
            push(self.coverage, {"level": LEVELS, "complete": complete, "summary": summary})
        known = answer.world.truth is not None
        self.calibration.title.text = messages.calibration(known)
        extra = (messages.DRAWS_NOTE if state.tab == LINE else
                 "" if known else messages.HELD_OUT_NOTE)
        self._notes["calibration"].object = paragraph(
            messages.HIDDEN_NOTE if state.hidden else messages.CALIBRATION_NOTE + extra)
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
        self._name_sizes()
        self.plane.yaxis.axis_label = f"lengthscale ({picture.unit})"
        self._tolerance()

    def _lean(self, left: float, right: float, bottom: float, top: float) -> None:
        """Write along the diagonal."""
        wide, high = self.plane.frame_width, self.plane.frame_height
        slope = (high / np.log(top / bottom)) / (wide / np.log(right / left))
        beyond = 2.6 if self.store.state.lecture else 1.3       # large type is longer
        at = max(left, bottom) * beyond
        self.rule.update(x=at, y=at, angle=float(np.arctan(slope)))

    def _name_sizes(self, *events) -> None:
        if self.store.picture is not None:
            size = messages.size_of(self.store.state.formed)
            self.plane.xaxis.axis_label = f"{size.lower()} ({self.store.picture.unit})"
            self.rule.text = f"{size.split()[0].lower()} = lengthscale"

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
        text = messages.PLANE_NOTE
        if picture is not None and answer is not None:
            length = answer.model.lengthscale
            text += " " + messages.advice(state.size, length, state.tolerance, picture.unit,
                                       length / picture.trusted[state.tolerance], state.formed)
        self._notes["plane"].object = paragraph(text)

    def _line(self, *events) -> None:
        curve = self.store.curve
        if curve is None:
            return
        push(self.errors, {"m": curve.counts, "error": np.maximum(curve.errors, 1e-4)})
        push(self.bounds, {"m": curve.bound_counts, "bound": curve.bounds,
                           "certificate": curve.certificates})
        self.curve.x_range.end = max(300.0, 1.15 * float(curve.counts.max()))

    def _fit(self, *events) -> None:
        """Fill the room; in a lecture there is the plane alone, in large type."""
        state = self.store.state
        width, height = sizes(self.store.room, state.lecture, bool(state.chart)).charts
        for (name, plot), large in zip(self._figures().items(), self._large, strict=True):
            self._cells[name].visible = name == "plane" or not state.lecture
            self._notes[name].visible = not state.lecture
            if self._cells[name].visible:
                plot.update(frame_width=width, frame_height=height)
                large.show(state.lecture)
                self._notes[name].width = width + 75
        self.rule.y_offset = -28 if state.lecture else -15
        ends = self.plane.x_range, self.plane.y_range
        self._lean(*(end for ends_of in ends for end in (ends_of.start, ends_of.end)))

    def _dim(self, *events) -> None:
        answer = self.store.answer
        for name in ("plane", "curve"):
            dim(self._cells[name], self.store.stale)
        waits = answer is not None and answer.coverage is None
        dim(self._cells["calibration"], waits)

    def _tapped(self, event: Tap) -> None:
        if event.x is not None and event.x > 0 and event.y > 0:
            self.store.state.go(event.x, event.y)


class KernelCurve(View):
    """The kernel over distance, with one cell shaded, of a strip its width."""

    def __init__(self, store: Store, **params):
        super().__init__(store, **params)
        self._curves = DistanceCurves(
            "Correlation over distance", "kernel", 75, {"k": {"line_color": COMPLETE}},
            {"fill_color": SUMMARY, "fill_alpha": 0.2})
        self.curve, self.figure = self._curves.curve, self._curves.figure
        self.note = note(messages.KERNEL_NOTE, 280)
        self._panel = shown(self.figure, self.note, margin=(0, 3))
        self.follow_answer(self._update)

    def _update(self, answer) -> None:
        model, world, state = answer.model, answer.world, self.store.state
        strips = state.formed == STRIPS
        self.note.object = paragraph(messages.STRIP_NOTE if strips else messages.KERNEL_NOTE)
        self._curves.push(
            world.extent / 2, answer.cells.extent[0] if strips else state.size,
            messages.shaded(state.formed, world.unit),
            k=lambda r: CORRELATIONS[model.kernel](r / model.lengthscale))
