"""Scores beside the flat model, as a table or as bars."""

from __future__ import annotations

from html import escape

import holoviews as hv
import panel as pn
import panel_material_ui as pmui
import param
import xarray as xr

from workbench.plots import score_bars
from workbench.ui.base.messages import signed
from workbench.ui.base.views import text
from workbench.ui.base.views.layout import View, stretched, wrapping
from workbench.ui.base.views.text import block, note, paragraph
from workbench.ui.disaggregate import messages, names, verdict_words
from workbench.ui.disaggregate.kinds import COUNT, in_words_of
from workbench.ui.disaggregate.store import Store
from workbench.ui.disaggregate.verdict import weighed_here

SCORES = ["crps", "rmse", "correlation", "coverage_50", "coverage_80", "coverage_95"]
BARS = ["crps", "rmse", "coverage_95"]
WIDTH = 190     # pixels across the bars, without their labels
TEXT = {"title": "10pt", "labels": "9pt", "ticks": "9pt"}
PLAIN = {"plot.frame_align": False, "plot.title.text_font_style": "normal"}


class Scores(View):
    """Scores of all models at one target; bars are drawn only while they are looked at.

    Those of held-out areas, where there are any, stand first.
    """

    scores = param.ClassSelector(class_=xr.Dataset, doc="from `workbench.evaluate`")
    target = param.String("bag", doc="what is scored")

    def __init__(self, store: Store, **params):
        super().__init__(store, **params)
        self.held_out = block()
        self.shape = pmui.RadioButtonGroup.from_param(
            store.state.param.scores_as, label=messages.SCORES, size="small", width=180,
            margin=(5, 5))
        self.table = block()
        self.bars = [pn.pane.HoloViews(None, margin=0, linked_axes=False) for _ in BARS]
        self._bars = wrapping(*self.bars, gap=18)
        self._reading = note(messages.CHARTS["scores"])
        self._panel = stretched(self.held_out, self.shape, self.table, self._bars, self._reading)
        self.shape.param.watch(self._draw, "value")
        self.follow(self._test, "recovered", "scene", "answer")
        self._draw()

    def _test(self, *events) -> None:
        """Show the scores of held-out areas, or that they are to come."""
        store = self.store
        known = store.scene is None or store.scene.known is not None
        if store.recovered is not None:
            weighed = store.answer is not None and weighed_here(store.answer.fit)
            self.held_out.object = recovered_table(
                store.recovered, store.state.choice.kind) + (
                paragraph(verdict_words.OTHER_TEST) if weighed else "")
        else:
            self.held_out.object = "" if known else paragraph(verdict_words.TO_COME)

    @param.depends("scores", "target", watch=True)
    def _draw(self, *events) -> None:
        scores, as_bars = self.scores, self.shape.value == "bars"
        self.shape.visible = self._reading.visible = scores is not None
        self._bars.visible, self.table.visible = as_bars, not as_bars
        if scores is None:
            self.table.object, self._bars.visible = "", False
            return
        if self.target not in scores["target"].values:      # held-out areas: their table is above
            self.table.visible = self._bars.visible = False
            return
        titles = {str(name): names.scored(str(name), scores) for name in scores["model"].values}
        with pn.io.hold():
            if as_bars:
                for pane, score in zip(self.bars, BARS, strict=True):
                    pane.object = score_bars(scores, score, self.target, titles=titles).opts(
                        hv.opts.Bars(frame_width=WIDTH, toolbar=None, fontsize=TEXT,
                                     backend_opts=PLAIN))
            else:
                self.table.object = _html(scores, self.target, self.store.state.choice.kind)


def _html(scores: xr.Dataset, target: str, kind: str) -> str:
    from workbench.evaluation import table  # loads the models; the page is drawn before that

    known = [s for s in SCORES if s in scores["score"].values]
    frame = table(scores, target, known)
    return _headed(in_words_of(kind, messages.SCORED[target]), list(map(str, frame.columns)), [
        [names.scored(str(model), scores), *map(_number, row)]
        for model, row in zip(frame.index, frame.to_numpy(), strict=True)])


def recovered_table(recovered: xr.Dataset, kind: str = COUNT) -> str:
    """Scores of areas that were predicted while their values were not seen, as HTML.

    Parameters
    ----------
    recovered : xr.Dataset
        As of `recovery.recover`.
    kind : str
        What the values are, as of `kinds`.
    """
    from workbench.evaluation import recovery_table

    frame, main = recovery_table(recovered), recovered.attrs["headline"]
    titles = recovered["score_title"].to_series()
    shown = [titles[main], *(name for name in frame if name.endswith("coverage (%)"))]
    return _headed(verdict_words.scores(kind), shown, [
        [names.model(str(model)), *map(_number, row)]
        for model, row in zip(frame.index, frame[shown].to_numpy(), strict=True)])


def _headed(title: str, heads: list[str], rows: list[list[str]]) -> str:
    """A table below its title."""
    return (f"<p style='margin: 8px 0 2px; font-size: 14px; font-weight: 600'>{escape(title)}</p>"
            + text.table(["model", *heads], [(row, "") for row in rows]))


def _number(value: float) -> str:
    return "–" if value != value else signed(value, "g")
