"""The bar that stays in view: Fit, what is being worked on, how long it will take, and Cancel."""

from __future__ import annotations

import time

import numpy as np
import panel as pn
import panel_material_ui as pmui

from workbench.evaluation.judgement_words import beyond
from workbench.schema import counts_add_up
from workbench.ui.base.views.readout import Readout
from workbench.ui.base.views.text import note, paragraph
from workbench.ui.disaggregate import messages, names
from workbench.ui.disaggregate.facts import facts, took
from workbench.ui.disaggregate.pixels import in_words
from workbench.ui.disaggregate.rules import FLAT
from workbench.ui.disaggregate.state import AUTO
from workbench.ui.disaggregate.store import Store
from workbench.ui.disaggregate.views.verdict import verdict_of

STICKY = {"position": "sticky", "top": "0", "z-index": "20",
          "background": "var(--mui-palette-background-paper, var(--panel-background-color, white))",
          "border-bottom": "1px solid rgba(128, 128, 128, 0.35)"}
WRAP = ":host {flex-wrap: wrap; gap: 2px 6px; align-items: center;}"
# On a phone progress is a line along the bar's lower edge: with room of its own beside the words
# it sends a button to another row while there is work, and all below jumps when the work ends.
EDGE = """@media (max-width: 599.95px) {
  :host {position: absolute !important; left: 0; bottom: 0; width: 100% !important;
         margin: 0 !important;}
  .linear-progress {width: 100% !important;}}"""
_LEAST = 2.0        # seconds of work before its end is foretold


class Numbers(Readout):
    """The bar, and for what is below it: headline numbers in a live region, facts, errors."""

    chips = ("cost",)

    def __init__(self, store: Store, **params):
        super().__init__(store, **params)
        self._since = None
        self.fit = pmui.Button(
            label="Fit", icon="play_arrow", color="primary", variant="contained", size="small",
            margin=(4, 8), on_click=lambda _: store.fit())
        self.facts = note()
        self.facts.styles = {"flex": "1 1 260px"}       # else on a phone one word wide
        self.bar.param.update(width=110, margin=(18, 8, 0, 8), stylesheets=[EDGE])
        self.doing.param.update(margin=(2, 5), align="center")
        self.cost.styles = {"max-width": "calc(100vw - 24px)"}
        self.top = pn.Row(self.fit, self.doing, self.bar, self.stop, margin=0,
                          sizing_mode="stretch_width", styles=STICKY, stylesheets=[WRAP],
                          min_height=42)
        self.text.styles, self.text.stylesheets = {"font-size": "13px"}, []     # in its place
        self.follow(self._numbers, "scene", "answer", "exceedance")
        self.follow(self._facts, "answer", "scores", "recovered")
        self.follow(self._work, "work", "fraction", "stage")
        self.follow(self._dim, "work", "answer")
        self.follow(self._allowed, "check", "work")
        store.param.watch(self._failed, "error")

    @property
    def stoppable(self) -> bool:
        """Whether hyperparameters are being learnt."""
        return self.store.fitting

    @property
    def present(self) -> str:
        """What is being worked on, at which step, and how long it will still take."""
        store = self.store
        if store.blocked and not store.work:
            return messages.refused(store.blocked)
        if store.work != messages.LEARNING:
            return super().present + self._left()
        doing, stage, step = super().present, store.stage, ""
        if stage is not None:
            doing = messages.stage(stage.what, stage.done, stage.total, names.candidate(stage.name))
        if store.history and (stage is None or stage.name):      # steps are those of one search
            step = f", step {store.history[-1][0]}"
        return doing + step + self._left()

    def _left(self) -> str:
        """Seconds left, by the share of the work that is done."""
        store = self.store
        if not store.fitting or store.fraction <= 0:
            self._since = time.monotonic() if store.fitting else None
            return ""
        spent = time.monotonic() - (self._since or time.monotonic())
        return "" if spent < _LEAST else messages.left(spent * (1 / store.fraction - 1))

    def _dim(self, *events) -> None:
        """What is said of former settings or data fades while others are worked on."""
        opacity = "0.55" if self.store.stale else "1"
        for each in (self.text, self.facts):
            each.styles = {**(each.styles or {}), "opacity": opacity}

    def _allowed(self, *events) -> None:
        self.fit.disabled = bool(self.store.blocked) or self.store.fitting
        self._work()

    def _facts(self, *events) -> None:
        answer = self.store.answer
        if answer is None:
            self.facts.object = ""
            return
        judged = beyond(answer.fit.outside_share) in verdict_of(self.store).sentence
        self.facts.object = paragraph(facts(answer, judged))

    def _numbers(self, *events) -> None:
        store, answer, scene = self.store, self.store.answer, self.store.scene
        if answer is None:
            self.cost.visible = False
        if scene is None:
            return
        if answer is None:
            self.text.text = messages.data_line(scene.data.sizes["bag"],
                                                in_words(scene.data))
            return
        weight = scene.data["weight"].values
        # The flat model is shown without effects, which nobody can switch on.
        includes = answer.area_effect or answer.spec.model == FLAT
        low, high = np.quantile(answer.mean, [0.01, 0.99]) * scene.factor
        self.text.text = messages.headline(
            scene.data.sizes["bag"], in_words(scene.data),
            float(np.average(answer.mean, weights=weight)) * scene.factor, low, high,
            float(np.median(answer.std)) * scene.factor,
            float(weight[store.exceedance > 0.5].sum() / weight.sum()),
            store.threshold, scene.unit, scene.noun,
        ) + (messages.adds_up(float(answer.mean @ weight), float(scene.data["value"].sum()),
                              includes) if counts_add_up(scene.data) else "")
        stands_in = answer.kind == "start" and answer.spec.model == AUTO
        self.cost.param.update(             # at once, or an empty chip moves what is beside it
            visible=True,
            label=messages.badge(answer.exact, "stand-in" if stands_in else answer.kind,
                                 took(answer), len(answer.history), includes,
                                 len(getattr(answer.fit, "candidates", ()))),
            color={"learnt": "success", "stopped": "warning"}.get(answer.kind, "default"))

    def _failed(self, *events) -> None:
        self._work()
        if self.store.error and pn.state.notifications:
            pn.state.notifications.error(self.store.error, duration=8000)
