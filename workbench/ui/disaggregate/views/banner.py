"""The one banner of errors: what is wrong, and a button that does something about it."""

from __future__ import annotations

import panel as pn
import panel_material_ui as pmui

from workbench.ui.base.live_text import LiveText
from workbench.ui.base.views.controls import small_button
from workbench.ui.base.views.layout import View, wrapping
from workbench.ui.disaggregate.fixes import apply, fix_of, wrong
from workbench.ui.disaggregate.store import Store


class Banner(View):
    """Seen only while something is wrong."""

    def __init__(self, store: Store, **params):
        super().__init__(store, **params)
        self.said = LiveText(role="note", sizing_mode="stretch_width")
        alert = pmui.Alert(self.said, severity="error", margin=(2, 5),
                           sizing_mode="stretch_width", styles={"flex": "1 1 300px"})
        self.fix = small_button("", self._fix, margin=(8, 10), color="error",
                                 variant="contained")
        self._panel = wrapping(alert, self.fix, visible=False)
        self.follow(self._update, "error", "check", "work")

    def _update(self, *events) -> None:
        said, fix = wrong(self.store), fix_of(self.store)
        with pn.io.hold():
            self.said.text = said
            self.fix.param.update(label=fix.label if fix else "", visible=fix is not None)
            self._panel.visible = bool(said)

    def _fix(self) -> None:
        fix = fix_of(self.store)
        if fix is not None:
            apply(fix, self.store)
