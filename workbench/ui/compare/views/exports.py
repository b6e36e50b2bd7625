"""What can be downloaded of the comparison that is shown, and its Python to be copied."""

from __future__ import annotations

import io
from collections.abc import Callable

import panel as pn
import panel_material_ui as pmui

from workbench.ui.base.views.controls import small_button
from workbench.ui.base.views.layout import View, wrapping
from workbench.ui.base.views.text import note
from workbench.ui.compare import exporting, messages
from workbench.ui.compare.state import BETWEEN, MODELS
from workbench.ui.compare.store import Store


class Exports(View):
    """Buttons for what is shown: a report, a table, JSON, Python."""

    def __init__(self, store: Store, **params):
        super().__init__(store, **params)
        self.report = self._download("Report (HTML)", "comparison.html",
                                     lambda: exporting.as_html(store.board))
        self.csv = self._download("Table (CSV)", "comparison.csv",
                                  lambda: exporting.as_csv(store.board))
        self.json = self._download("JSON", "comparison.json", self._json)
        self.python = small_button("Copy as Python", self._show, margin=(4, 5))
        self.text = pmui.TextAreaInput(label="Python", value="", rows=14, max_rows=24,
                                       sizing_mode="stretch_width")
        self.program = self._download("Download .py", "comparison.py", lambda: self.text.value)
        self._copy = small_button(messages.COPY, lambda: None, margin=(4, 5))
        self._copy.js_on_click(args={"text": self.text, "copied": messages.COPIED},
                               code="navigator.clipboard.writeText(text.value); "
                                    "cb_obj.label = copied")
        self.dialog = pmui.Dialog(
            pn.Column(note(messages.PROGRAM_NOTE), self.text, wrapping(
                self._copy, self.program, small_button("Close", self._close, margin=(4, 5)))),
            title="This comparison as Python", title_variant="h6", close_on_click=True,
            width_option="md", open=False)
        self._panel = pn.Column(wrapping(self.report, self.csv, self.json, self.python),
                                self.dialog, margin=(6, 0))
        store.state.param.watch(self._available, "tab")
        self.follow(self._available, "board", "pair")

    def _download(self, label: str, name: str, make: Callable[[], str]) -> pmui.FileDownload:
        return pmui.FileDownload(label=label, filename=name, embed=False, variant="outlined",
                                 size="small", margin=(4, 5), callback=lambda: io.StringIO(make()))

    def _available(self, *events) -> None:
        store, tab = self.store, self.store.state.tab
        there = store.board if tab == MODELS else store.pair
        for each in (self.report, self.csv):
            each.visible = tab == MODELS
        for each in (self.report, self.csv, self.json, self.python):
            each.disabled = there is None
        self._panel.visible = tab in (MODELS, BETWEEN)

    def _json(self) -> str:
        store = self.store
        if store.state.tab == BETWEEN:
            return exporting.pair_json(store.shown, store.pair)
        return exporting.as_json(store.board, type(store.state)(
            **store.board.setting.choices).query())

    def _show(self) -> None:
        store = self.store
        self._copy.label = messages.COPY
        self.text.value = (exporting.pair_program(store.shown) if store.state.tab == BETWEEN else
                           exporting.program(store.board.setting))
        self.dialog.open = True

    def _close(self) -> None:
        self.dialog.open = False
