"""What can be taken away from the page besides maps and settings: a report, and a program."""

from __future__ import annotations

import io

import panel as pn
import panel_material_ui as pmui

from workbench.ui.base.views.controls import small_button
from workbench.ui.base.views.exports import Program
from workbench.ui.base.views.layout import View, wrapping
from workbench.ui.disaggregate import exporting, messages
from workbench.ui.disaggregate.store import Store
from workbench.ui.disaggregate.views.stepper import target


class Exports(View):
    """A report as one page, and the map as Python, to be copied or downloaded."""

    def __init__(self, store: Store, **params):
        super().__init__(store, **params)
        self.report = pmui.FileDownload(
            label="Report (HTML)", callback=self._report, filename="report.html",
            variant="outlined", size="small", embed=False, margin=(4, 5))
        self.python = small_button("Copy as Python", self._show, margin=(4, 5))
        self.program = Program("This map as Python", messages.PYTHON, "disaggregate.py")
        self._panel = pn.Column(wrapping(self.report, self.python), self.program, margin=(6, 0),
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

    def _show(self) -> None:
        self.program.show(exporting.program(self.store.answer, self._threshold()))
