"""What was found in the data before the fit, as cards: what, where, what follows, how to fix it."""

from __future__ import annotations

from html import escape

import panel as pn
import panel_material_ui as pmui

from workbench.bagging.cells import Cells
from workbench.bagging.findings import Finding
from workbench.ui.base.views.layout import View
from workbench.ui.base.views.text import block
from workbench.ui.disaggregate import labels, messages, plain
from workbench.ui.disaggregate.pixels import in_parts
from workbench.ui.disaggregate.remedies import remedies
from workbench.ui.disaggregate.store import Store
from workbench.ui.disaggregate.views.finding import button, card
from workbench.ui.disaggregate.views.stepper import target

EXTRAPOLATION = "extrapolation"     # code of a finding that has a map of its own


class Checks(View):
    """The findings of `workbench.check`, folded away unless there are errors."""

    def __init__(self, store: Store, **params):
        super().__init__(store, **params)
        self.cards: list[pn.Row] = []
        self._panel = pmui.Card(title=messages.CHECKING, collapsed=True, variant="outlined",
                                title_variant="body1",
                                sizing_mode="stretch_width", margin=(4, 5),
                                css_classes=[target("check")])
        self.follow(self._update, "check", "unchecked")
        self.follow(self._open, "step", of=store.state)

    def _update(self, *events) -> None:
        check = self.store.check
        if check is None:
            why = self.store.unchecked
            self._panel.title = escape(messages.data_not_checked(why)) if why else messages.CHECKING
            return
        with pn.io.hold():
            self._mark([], None)
            parts = in_parts(check.data)
            self.cards = [self._card(finding, parts) for finding in check.findings]
            told = escape(plain.words(check.cost(), parts))
            cost = [block(f"<p class='wb-note'>{told}</p>")] if told else []
            self._panel.param.update(
                title=escape(messages.checked(check.summary())), objects=[*self.cards, *cost],
                collapsed=check.ok and self.store.state.step != "check")

    def _open(self, *events) -> None:
        if self.store.state.step == "check":
            self._panel.collapsed = False

    def _card(self, found: Finding, parts: bool) -> pn.Row:
        store, state = self.store, self.store.state
        areas = set(store.scene.data["bag"].values.astype(str)) if store.scene else set()
        here = [one for one in found.where if one in areas]
        beside = []
        if store.correctable:
            beside = [button(one.label, lambda one=one: setattr(store, "remedy", one))
                      for one in remedies(found, state.choice.loader)]
        merged = state.fewer() if "areas=" in found.fix else ""
        if merged:
            label = next(k for k, v in state.param.granularity.names.items() if v == merged)
            beside.append(button(labels.merge_to(label),
                                 lambda: setattr(state, "granularity", merged)))
        if here or found.cells is not None:
            return card(found, *beside, press=lambda: self._seek(here, found.cells),
                        look=lambda: self._mark(here, found.cells), parts=parts)
        if found.code == EXTRAPOLATION:
            return card(found, *beside, press=self._beyond, look=lambda: None, parts=parts)
        return card(found, *beside, parts=parts)

    def _mark(self, areas: list[str], cells: Cells | None) -> None:
        self.store.param.update(marked=areas, pointed=cells)

    def _seek(self, areas: list[str], cells: Cells | None) -> None:
        self._mark(areas, cells)
        self.store.seek += 1

    def _beyond(self) -> None:
        self.store.state.beside = "beyond"
        self.store.seek += 1
