"""What was found in the data before the fit, as cards: what, where, what follows, how to fix it."""

from __future__ import annotations

from html import escape

import panel as pn
import panel_material_ui as pmui

from workbench.bagging.findings import ERROR, NOTE, WARNING, Finding
from workbench.ui.base.views.controls import small_button
from workbench.ui.base.views.layout import View
from workbench.ui.base.views.text import block
from workbench.ui.disaggregate import messages
from workbench.ui.disaggregate.store import Store
from workbench.ui.disaggregate.views.stepper import target

COLOURS = {ERROR: "198, 40, 40", WARNING: "230, 145, 0", NOTE: "128, 128, 128"}
MOST = 8        # ids that a card names


class Checks(View):
    """The findings of `workbench.check`, folded away unless there are errors."""

    def __init__(self, store: Store, **params):
        super().__init__(store, **params)
        self.cards: list[pn.Row] = []
        self._panel = pmui.Card(title=messages.CHECKING, collapsed=True, variant="outlined",
                                title_variant="body1",
                                sizing_mode="stretch_width", margin=(4, 5),
                                css_classes=[target("check")])
        self.follow(self._update, "check")
        self.follow(self._open, "step", of=store.state)

    def _update(self, *events) -> None:
        check = self.store.check
        if check is None:
            self._panel.title = messages.CHECKING
            return
        with pn.io.hold():
            self.store.marked = []
            self.cards = [self._card(finding) for finding in check.findings]
            cost = [block(f"<p class='wb-note'>{escape(check.cost())}</p>")] if check.cost() else []
            self._panel.param.update(
                title=messages.checked(check.summary()), objects=[*self.cards, *cost],
                collapsed=check.ok and self.store.state.step != "check")

    def _open(self, *events) -> None:
        if self.store.state.step == "check":
            self._panel.collapsed = False

    def _card(self, found: Finding) -> pn.Row:
        areas = set(self.store.scene.data["bag"].values.astype(str)) if self.store.scene else set()
        here = [one for one in found.where if one in areas]
        button = small_button(messages.SHOW_AREAS, lambda: self._mark(here), margin=(6, 10))
        return card(found, *([button] if here else []))

    def _mark(self, areas: list[str]) -> None:
        self.store.marked = [] if self.store.marked == areas else areas


def card(found: Finding, *beside) -> pn.Row:
    """A finding as a card in the colour of its severity, with what else stands in it."""
    colour = COLOURS[found.severity]
    return pn.Row(block(told(found)), *beside, sizing_mode="stretch_width", margin=(3, 4), styles={
        "border-left": f"4px solid rgb({colour})", "background": f"rgba({colour}, 0.08)",
        "border-radius": "4px"})


def told(found: Finding) -> str:
    """A finding as HTML: severity and kind, what, where, what follows, how to fix it.

    Parameters
    ----------
    found : Finding

    Returns
    -------
    str
    """
    lines = [f"<b>{found.severity.capitalize()}</b> · {escape(found.code)}", escape(found.what)]
    if found.where:
        more = len(found.where) - MOST
        names = ", ".join(map(escape, found.where[:MOST])) + (f" and {more} more" if more > 0
                                                              else "")
        lines.append(f"<i>Where:</i> {names}")
    if found.effect:
        lines.append(f"<i>What follows:</i> {escape(found.effect)}")
    if found.fix:
        lines.append(f"<i>What to do:</i> {escape(found.fix)}")
    return f"<p class='wb-note' style='opacity: 1; margin: 4px 0'>{'<br>'.join(lines)}</p>"
