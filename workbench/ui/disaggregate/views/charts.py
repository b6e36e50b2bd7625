"""Calibration, scores and training beside each other."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

import panel as pn
import panel_material_ui as pmui
import xarray as xr
from bokeh.plotting import figure

from workbench.plots import pit_histogram, reliability_curve
from workbench.plots.theme import CATEGORIES, NEUTRAL, OWN_BAG
from workbench.plots.theme import colours as colours_of
from workbench.ui.base.views.figures import chart, push, shown, source
from workbench.ui.base.views.layout import View, dim, stretched, wrapping
from workbench.ui.base.views.pictures import DRAWN
from workbench.ui.base.views.text import note, paragraph
from workbench.ui.disaggregate import messages, names, verdict_words
from workbench.ui.disaggregate.kinds import in_words_of
from workbench.ui.disaggregate.state import AUTO, SCORED
from workbench.ui.disaggregate.store import Store
from workbench.ui.disaggregate.views.held_out import held_out_coverage, models_of
from workbench.ui.disaggregate.views.scores import Scores

SIZE, LEAST = 235, 180      # pixels across a chart at most, and beside another at least
AXIS, GAP, NOTE = 66, 12, 45    # pixels of its axis and margins, between two, of a wider note
SMALL = 220                 # pixels of a chart below which its title is small
FONTS = {"title": "10.5pt", "labels": "10pt", "ticks": "9pt"}
TARGETS = {"bag": "areas (in-sample)", "individual": "fine values", "rate": "true rate"}
#: Of buttons as wide as their words, so that these stay on one line beside maps.
TIGHT = {"& .MuiToggleButton-root": {"flex": "1 1 auto", "width": "auto", "paddingLeft": "6px",
                                     "paddingRight": "6px"}}
HELD_OUT, HELD_OUT_TITLE = SCORED[-1], "held-out areas"     # beside them, where there was a test


class Charts(View):
    """Reliability curve, PIT histogram, scores against the flat model, and training curve."""

    def __init__(self, store: Store, **params):
        super().__init__(store, **params)
        self.target = pmui.RadioButtonGroup(
            label="Calibration and scores of", options={TARGETS["bag"]: "bag"}, value="bag",
            size="small", sizing_mode="stretch_width", max_width=460, margin=(5, 5), sx=TIGHT)
        self._coverage = pn.pane.HoloViews(None, margin=0, linked_axes=False)
        self._size, self._legend = SIZE, note()
        self._legend.css_classes = [DRAWN]
        self._pit = pn.pane.HoloViews(None, margin=0, linked_axes=False)
        self.scores = Scores(store)
        self._steps, self._end = (source(step=[], objective=[]) for _ in range(2))
        self._training, self._empty = self._training_figure(), note(messages.NO_CURVE, SIZE)
        self._curve = pn.pane.Bokeh(self._training, margin=(0, 2))
        self._learnt = pn.Column(self._empty, margin=0)     # a curve is drawn once there is one
        self.reached, self._reading = note(width=SIZE + NOTE), note(
            messages.CHARTS["training"], SIZE + NOTE)
        self._sized = [
            shown(self._coverage, self._legend, note(messages.CHARTS["coverage"]),
                  width=SIZE + AXIS),
            shown(self._pit, note(messages.CHARTS["pit"]), width=SIZE + AXIS)]
        self._row = wrapping(*self._sized, gap=GAP)
        self.seen = note(messages.IN_SAMPLE)
        self.waiting, self._of = note(messages.NO_SCORES_YET), None
        self._panel = stretched(self.target, self.seen, self.waiting, self._row)
        #: Scores and training, which stand below the charts or below the maps.
        self.rest = stretched(self.scores, shown(
            self._learnt, self.reached, self._reading))
        self.follow(self._scored, "scores", "scene", "recovered")
        self.follow(self._dim, "work", "answer")
        self.follow(self._learn, "history", "answer")
        self._picking = False
        self.target.param.watch(self._picked, "value")
        store.state.param.watch(self._choose, "scored")

    def dock(self, width: int) -> bool:
        """Stand in a column of so many pixels; returns whether charts stand beside each other."""
        each = (width - GAP) // 2 - AXIS
        beside = each >= LEAST
        size = min(SIZE, each if beside else max(LEAST, width - AXIS))
        if size != self._size:
            self._size = size
            for one in self._sized:
                one.width = size + AXIS
            self._draw()
        return beside

    def _scored(self, *events) -> None:
        scores, scene = self.store.scores, self.store.scene
        self._dim()
        if scores is None:
            if self._of is not scene:       # what was drawn is of other data
                self._clear()
            return
        self._of, self.waiting.visible = scene, False
        self.seen.object = paragraph(in_words_of(self.store.state.choice.kind, messages.IN_SAMPLE))
        self._row.visible = self.target.visible = True
        targets = {TARGETS[str(t)]: str(t) for t in scores["target"].values}
        if self.store.recovered is not None:
            targets[HELD_OUT_TITLE] = HELD_OUT
        if targets != self.target.options:
            self._pick(targets)
        self._draw()

    def _pick(self, targets: dict[str, str]) -> None:
        """Offer what there are scores of, and show what is chosen; else the finest."""
        there, wanted = list(targets.values()), self.store.state.scored
        self._picking = True
        try:
            self.target.param.update(options=targets,
                                     value=wanted if wanted in there else there[-1])
        finally:
            self._picking = False

    def _choose(self, *events) -> None:
        self._pick(self.target.options)
        self._draw()

    def _picked(self, event) -> None:
        if not self._picking:           # whoever picks draws, too
            self.store.state.scored = event.new

    def _dim(self, *events) -> None:
        """Fade what is of other settings or data than those chosen."""
        dim(self._row, self.store.scores is None or self.store.stale)

    def _clear(self) -> None:
        """Show no scores: there are none of these data yet."""
        with pn.io.hold():
            self.waiting.visible = True
            for one in (self._row, self.target, self.seen):
                one.visible = False
            self.scores.scores = None

    def _draw(self) -> None:
        scores, target = self.store.scores, self.target.value
        self._sized[1].visible = target != HELD_OUT
        if scores is None:
            return
        name = self.store.answer.fit.model.name
        size = {"frame_width": self._size, "frame_height": self._size, "toolbar": None,
                "active_tools": [], "fontsize": FONTS | (
                    {"title": "9pt"} if self._size < SMALL else {})}
        if target == HELD_OUT:
            self._draw_held_out(size)
            return
        count = int(scores["units_scored"].sel(model=name, target=target))
        with pn.io.hold():
            self.seen.visible = target == "bag"
            self._coverage.object = reliability_curve(scores, target).opts(
                **size, show_legend=False,      # it would cover the curves
                title=messages.charted("Coverage", count, target))
            self._legend.object = _legend([str(m) for m in scores["model"].values], scores)
            self._pit.object = pit_histogram(scores, name, target).opts(
                **size, title=messages.charted("Calibration (PIT)", count, target))
            self.scores.param.update(scores=scores, target=target)

    def _draw_held_out(self, size: dict) -> None:
        recovered = self.store.recovered
        with pn.io.hold():
            self.seen.visible = False
            self._coverage.object = held_out_coverage(recovered).opts(
                **size, show_legend=False, title=verdict_words.COVERAGE)
            self._legend.object = _legend(models_of(recovered))
            self.scores.param.update(scores=self.store.scores, target="bag")

    def _learn(self, *events) -> None:
        history = self.store.history
        steps, values = zip(*history, strict=True) if history else ((), ())
        # Where steps begin anew, another start or another model of a mixture is being learnt.
        last = len(steps) - self._ended
        runs = apart(steps[:last], values[:last])
        push(self._steps, {"step": runs[0], "objective": runs[1]})
        push(self._end, {"step": steps[last:], "objective": values[last:]})
        if values:
            self._training.x_range.update(start=0, end=max(steps) + 1)
            low = sorted(values)[len(values) // 20]      # the first steps would flatten the rest
            pad = 0.05 * max(max(values) - low, 1e-9)
            self._training.y_range.update(start=low - pad, end=max(values) + pad)
        seen = [self._curve if values else self._empty]
        if self._learnt.objects != seen:
            self._learnt.objects = seen
        self.reached.object, self._reading.visible = paragraph(self._ends()), bool(values)

    @property
    def _ended(self) -> bool:
        """Whether the last point is that of the fit shown; else another is being made."""
        history, answer = self.store.history, self.store.answer
        return bool(history) and answer is not None and history[-1][1] == answer.reached

    def _ends(self) -> str:
        """Where the curve of a fit ends."""
        answer = self.store.answer
        if not self._ended:
            return ""
        return messages.reached(answer.reached, answer.fit.objective, answer.spec.model == AUTO)

    def _training_figure(self) -> figure:
        plot = chart("Training", "step", "objective with log priors (nats)", SIZE, SIZE,
                     name="training", tools="pan,wheel_zoom,reset", toolbar_location="right",
                     active_scroll=None, x_range=(0, 1), y_range=(0, 1))
        plot.toolbar.autohide = True
        plot.line("step", "objective", source=self._steps, line_color=CATEGORIES[0],
                  line_width=1.5)
        plot.scatter("step", "objective", source=self._steps, color=CATEGORIES[0], size=4)
        plot.scatter("step", "objective", source=self._end, color=CATEGORIES[1], size=9,
                     marker="diamond")
        return plot


def apart(steps: Sequence[int], values: Sequence[float]) -> tuple[list, list]:
    """Points of several runs as columns of one line that is broken where steps begin anew.

    Parameters
    ----------
    steps, values : sequence
        Of all runs, one after the other.

    Examples
    --------
    >>> apart((1, 2, 1), (-3.0, -2.0, -5.0))
    ([1, 2, nan, 1], [-3.0, -2.0, nan, -5.0])
    """
    found: tuple[list, list] = [], []
    for k, (step, value) in enumerate(zip(steps, values, strict=True)):
        if k and step <= steps[k - 1]:
            found[0].append(math.nan)
            found[1].append(math.nan)
        found[0].append(step)
        found[1].append(value)
    return found


def _legend(models: list[str], seen: xr.Dataset | None = None) -> str:
    """Models beside their lines, as HTML that pictures of the page have, too.

    With a band of errors of what was seen; held-out areas have none.
    """
    lines = [_beside(3, colour, name == OWN_BAG, escape(
                names.model(name) if seen is None else names.scored(name, seen)))
             for name, colour in colours_of(models).items()]
    errors = _beside(9, f"{NEUTRAL}66", False, "±2 standard errors")
    return f"<p class='wb-legend'>{''.join(lines)}{'' if seen is None else errors}</p>"


def _beside(high: int, colour: str, dotted: bool, words: str) -> str:
    """A line of a legend and its words; colours are gradients, which pictures draw."""
    gaps = f"repeating-linear-gradient(90deg, {colour} 0 3px, #00000000 3px 6px)"
    fill = gaps if dotted else f"linear-gradient({colour}, {colour})"
    return f"<span><i style='height: {high}px; background-image: {fill}'></i>{words}</span>"
