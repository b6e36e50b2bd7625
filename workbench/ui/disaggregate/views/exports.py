"""What can be taken away from the page besides maps and settings: a report, and a program."""

from __future__ import annotations

import io

import panel as pn
import panel_material_ui as pmui

from workbench.ui.base.views.controls import small_button
from workbench.ui.base.views.layout import View, wrapping
from workbench.ui.base.views.text import note
from workbench.ui.disaggregate import exporting, messages
from workbench.ui.disaggregate.store import Store
from workbench.ui.disaggregate.views.stepper import target


class Exports(View):
    """A report as one page, and the map as Python, to be copied or downloaded."""

    def __init__(self, store: Store, **params):
        super().__init__(store, **params)
        look = {"variant": "outlined", "size": "small", "embed": False, "margin": (4, 5)}
        self.report = pmui.FileDownload(label="Report (HTML)", callback=self._report,
                                        filename="report.html", **look)
        self.python = small_button("Copy as Python", self._show, margin=(4, 5))
        self.program = pmui.FileDownload(label="Download .py", callback=self._program,
                                         filename="disaggregate.py", **look)
        self.text = pmui.TextAreaInput(label="Python", value="", rows=14, max_rows=24,
                                       sizing_mode="stretch_width")
        self._copy = small_button(messages.COPY, lambda: None, margin=(4, 5))
        self._copy.js_on_click(args={"text": self.text, "copied": messages.COPIED},
                               code="navigator.clipboard.writeText(text.value); "
                                    "cb_obj.label = copied")
        self.dialog = pmui.Dialog(
            pn.Column(note(messages.PYTHON), self.text,
                      wrapping(self._copy, self.program, small_button("Close", self._close,
                                                                     margin=(4, 5)))),
            title="This map as Python", title_variant="h6", close_on_click=True,
            width_option="md", open=False)
        self._panel = pn.Column(wrapping(self.report, self.python), self.dialog, margin=(6, 0),
                                css_classes=[target("report")])
        self.follow(self._available, "answer")

    def _available(self, *events) -> None:
        for each in (self.report, self.python):
            each.disabled = self.store.answer is None

    def _threshold(self) -> float:
        return self.store.state.spec().threshold

    def _report(self) -> io.StringIO:
        store = self.store
        return io.StringIO(exporting.report(
            store.answer, store.scene, self._threshold(), check=store.check,
            recovered=store.recovered, axes=store.state.choice.axes))

    def _program(self) -> io.StringIO:
        return io.StringIO(self.text.value)

    def _show(self) -> None:
        self._copy.label = messages.COPY
        self.text.value = exporting.program(self.store.answer, self._threshold())
        self.dialog.open = True

    def _close(self) -> None:
        self.dialog.open = False
