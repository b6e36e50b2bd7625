"""The fit in words, folded away until asked for."""

from __future__ import annotations

from html import escape

import panel as pn
import panel_material_ui as pmui
import param

from workbench.ui import lang
from workbench.ui.store import Store
from workbench.ui.views.text import block


class Report(pn.viewable.Viewer):
    """Summary of the fit shown and its notes."""

    store = param.ClassSelector(class_=Store)

    def __init__(self, store: Store, **params):
        super().__init__(store=store, **params)
        self._text = block()
        store.param.watch(self._update, "answer")
        self._update()

    def _update(self, *events) -> None:
        answer = self.store.answer
        self._text.object = "" if answer is None else f"<pre>{escape(answer.summary)}</pre>"

    def __panel__(self):
        return pmui.Card(self._text, title=lang.SUMMARY, collapsed=True, variant="outlined",
                         sizing_mode="stretch_width", margin=(10, 10))
