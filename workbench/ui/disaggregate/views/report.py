"""The fit in words, folded away until asked for."""

from __future__ import annotations

from html import escape

import panel_material_ui as pmui

from workbench.ui.base.views.layout import View
from workbench.ui.base.views.text import block, paragraph
from workbench.ui.disaggregate import messages
from workbench.ui.disaggregate.facts import in_words, said
from workbench.ui.disaggregate.store import Store

__all__ = ["Report", "said"]


class Report(View):
    """Summary of the fit shown and its notes."""

    def __init__(self, store: Store, **params):
        super().__init__(store, **params)
        self._text = block()
        self._panel = pmui.Card(self._text, title=messages.SUMMARY, collapsed=True,
                                variant="outlined", sizing_mode="stretch_width", margin=(4, 5),
                                title_variant="body1")
        self.follow(self._update, "answer")

    def _update(self, *events) -> None:
        answer = self.store.answer
        if answer is not None and answer.rough:     # its objective takes longer than its map
            self._text.object = paragraph(messages.LET_GO)
            return
        if answer is None:
            self._text.object = ""
            return
        tests, summary = in_words(answer, self.store.state.choice.kind)
        self._text.object = f"{paragraph(tests) if tests else ''}<pre>{escape(summary)}</pre>"
