"""Scores beside the flat model, as a table or as bars."""

from __future__ import annotations

import holoviews as hv
import panel as pn
import panel_material_ui as pmui
import param
import xarray as xr

from workbench.plots import score_bars
from workbench.ui.base.views import text
from workbench.ui.base.views.layout import wrapping
from workbench.ui.base.views.text import block, note
from workbench.ui.disaggregate import messages

SCORES = ["crps", "rmse", "correlation", "coverage_50", "coverage_80", "coverage_95"]
BARS = ["crps", "rmse", "coverage_95"]
WIDTH = 190     # pixels across the bars, without their labels
TEXT = {"title": "10pt", "labels": "9pt", "ticks": "9pt"}
PLAIN = {"plot.frame_align": False, "plot.title.text_font_style": "normal"}


class Scores(pn.viewable.Viewer):
    """Scores of all models at one target; bars are drawn only while they are looked at."""

    scores = param.ClassSelector(class_=xr.Dataset, doc="from `workbench.evaluate`")
    target = param.String("bag", doc="what is scored")

    def __init__(self, **params):
        super().__init__(**params)
        self.shape = pmui.RadioButtonGroup(
            label=messages.SCORES, options={"table": "table", "bars": "bars"}, value="table",
            size="small", width=180, margin=(5, 5))
        self.table = block()
        self.bars = [pn.pane.HoloViews(None, margin=0, linked_axes=False) for _ in BARS]
        self._bars = wrapping(*self.bars, gap=18)
        self.shape.param.watch(self._draw, "value")
        self._draw()

    @param.depends("scores", "target", watch=True)
    def _draw(self, *events) -> None:
        scores, as_bars = self.scores, self.shape.value == "bars"
        self._bars.visible, self.table.visible = as_bars, not as_bars
        if scores is None or self.target not in scores["target"].values:
            return
        with pn.io.hold():
            if as_bars:
                for pane, score in zip(self.bars, BARS, strict=True):
                    pane.object = score_bars(scores, score, self.target).opts(
                        hv.opts.Bars(frame_width=WIDTH, toolbar=None, fontsize=TEXT,
                                     backend_opts=PLAIN))
            else:
                self.table.object = _html(scores, self.target)

    def __panel__(self):
        return pn.Column(self.shape, self.table, self._bars, note(messages.CHARTS["scores"]),
                         sizing_mode="stretch_width", margin=0)


def _html(scores: xr.Dataset, target: str) -> str:
    from workbench.evaluation import table  # loads the models; the page is drawn before that

    known = [s for s in SCORES if s in scores["score"].values]
    frame = table(scores, target, known)
    return text.table([str(frame.columns.name or ""), *map(str, frame.columns)], [
        ([str(model), *("–" if one != one else f"{one:g}" for one in row)], "")
        for model, row in zip(frame.index, frame.to_numpy(), strict=True)])
