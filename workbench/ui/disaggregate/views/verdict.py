"""The strip above the maps: a traffic light, and the verdict in one sentence."""

from __future__ import annotations

import panel as pn

from workbench.evaluation.evidence import Evidence, of_recovery
from workbench.ui.base.live_text import LiveText
from workbench.ui.base.views.controls import small_button
from workbench.ui.base.views.layout import View
from workbench.ui.disaggregate import messages, verdict_words
from workbench.ui.disaggregate.store import Store
from workbench.ui.disaggregate.verdict import (
    AMBER,
    GREEN,
    OPEN,
    RED,
    Verdict,
    doubts_of,
    doubts_of_mixture,
    faults_of,
    judge,
    of_scores,
    reasons_of,
    said_once,
)

LOOKS = {GREEN: ("✓", "46, 125, 50"), AMBER: ("!", "230, 145, 0"), RED: ("✗", "198, 40, 40"),
         OPEN: ("…", "128, 128, 128")}
LIGHT = """
div {width: 26px; height: 26px; border-radius: 50%; color: white; font-weight: bold;
  font-size: 15px; line-height: 26px; text-align: center;}
"""
# That most sentences take on a phone: what is below stays where it is when another one comes.
TWO_LINES = "@media (max-width: 599.95px) {:host {min-height: 2.6em;}}"


def verdict_of(store: Store) -> Verdict:
    """The verdict on what a store shows.

    Parameters
    ----------
    store : Store

    Returns
    -------
    Verdict
    """
    answer, scene = store.answer, store.scene
    if answer is None or scene is None or store.of_other_data:
        return Verdict(OPEN, "")
    if answer.kind == "start":
        return Verdict(OPEN, messages.PREVIEW)
    outside, found = answer.fit.outside_share, evidence_of(store)
    doubts = doubts_of(answer.kind, scene.data.sizes["bag"], answer.fit.converged)
    doubts += doubts_of_mixture(answer.fit)
    if found is not None:
        return said_once(judge(found, outside, doubts, faults_of(answer.fit)))
    if scene.known is not None:
        return Verdict(OPEN, messages.SCORING)
    if store.testing[1]:
        return Verdict(OPEN, verdict_words.under_way(*store.testing, store.state.choice.kind))
    return Verdict(OPEN, store.untested or (
        verdict_words.MOVED if answer.kind == "moved" else verdict_words.UNTESTED))


def evidence_of(store: Store) -> Evidence | None:
    """What tested the fit that a store shows; None as long as nothing has.

    Parameters
    ----------
    store : Store
    """
    answer, scene = store.answer, store.scene
    if answer is None or answer.kind == "start":
        return None
    name = answer.fit.model.name
    if scene.known is not None:
        return None if store.scores is None else of_scores(store.scores, name)
    return None if store.recovered is None else of_recovery(store.recovered, name)


class Strip(View):
    """The verdict of a store, and the button that has it tested or stops that."""

    def __init__(self, store: Store, **params):
        super().__init__(store, **params)
        self._light = pn.pane.HTML("", width=26, height=26, margin=(6, 10), stylesheets=[LIGHT])
        self.text = LiveText(role="note", sizing_mode="stretch_width", margin=(5, 4),
                             stylesheets=[TWO_LINES],
                             styles={"font-size": "15px", "font-weight": "500",
                                     "line-height": "1.3"})
        self.reasons = LiveText(role="note", sizing_mode="stretch_width", margin=(0, 4, 5, 4),
                                styles={"font-size": "13px", "opacity": "0.85"})
        self.test = small_button(verdict_words.TEST, store.test, margin=(5, 10), visible=False)
        self.stop = small_button(verdict_words.STOP, store.stop_test, margin=(5, 10),
                                 visible=False)
        self.light = OPEN
        self._panel = pn.Row(
            self._light, pn.Column(self.text, self.reasons, sizing_mode="stretch_width", margin=0),
            self.test, self.stop, sizing_mode="stretch_width", margin=(4, 5))
        self.follow(self._update, "scene", "answer", "scores", "recovered", "testing", "untested",
                    "work")

    def _update(self, *events) -> None:
        store, found = self.store, verdict_of(self.store)
        mark, colour = LOOKS[found.light]
        # From the beginning, so that nothing below it moves when there is a verdict.
        sentence = found.sentence or (messages.MAKING if store.work else "")
        said = reasons_of(found)
        if store.testing[1]:
            said = verdict_words.how(store.state.choice.kind)
        with pn.io.hold():
            self.light = found.light
            self._light.object = f"<div style='background: rgb({colour})'>{mark}</div>"
            self.text.text = sentence
            self.reasons.param.update(text=said, visible=bool(said))
            self._panel.param.update(visible=bool(sentence), styles={
                "border-left": f"5px solid rgb({colour})", "border-radius": "4px",
                "background": f"rgba({colour}, 0.10)"})
            self.stop.visible = bool(store.testing[1])
            self.test.visible = (store.answer is not None and store.scene.known is None
                                 and store.answer.kind != "start" and not store.testing[1]
                                 and store.recovered is None)
