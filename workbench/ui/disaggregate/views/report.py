"""The fit in words, folded away until asked for."""

from __future__ import annotations

from html import escape

import panel_material_ui as pmui

from workbench.ui.base.messages import true_minus
from workbench.ui.base.views.layout import View
from workbench.ui.base.views.text import block, paragraph
from workbench.ui.disaggregate import messages, verdict_words
from workbench.ui.disaggregate.store import Store
from workbench.ui.disaggregate.verdict import weighed_here


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
        tests = (paragraph(verdict_words.weighed(self.store.state.choice.kind))
                 if weighed_here(answer.fit) else "")
        self._text.object = f"{tests}<pre>{escape(said(answer.summary))}</pre>"


def said(summary: str) -> str:
    """The summary of a fit as a page says it: without the Python of the fit, with a true minus."""
    first, _, rest = summary.partition("\n")
    return true_minus(rest if first.startswith("<") else summary)
