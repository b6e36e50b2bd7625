"""What can be taken away from the page: the row of every app, and settings that can be run."""

from __future__ import annotations

import io
from typing import IO

from workbench.ui.base.views import exports as base
from workbench.ui.disaggregate import exporting, exports
from workbench.ui.disaggregate.store import Store
from workbench.ui.disaggregate.verdict import OPEN
from workbench.ui.disaggregate.views.stepper import target
from workbench.ui.disaggregate.views.verdict import verdict_of


class Exports(base.Exports):
    """Pictures, maps, table, report, program and notebook of the map, and its settings."""

    def __init__(self, store: Store, **params):
        super().__init__(
            store, lambda: exporting.bundle(store, _said(store)),
            {store: ("answer", "exceedance")}, kinds=(".tif", ".gpkg", ".nc"), **params)
        self._panel.param.update(margin=(6, 0), css_classes=[target("report")])
        self.settings = base.download("Settings (JSON)", self._settings)
        self.add(self.settings, always=True)

    def _settings(self) -> tuple[str, IO]:
        answer, state = self.store.answer, self.store.state
        about = exports.subject(state.spec() if answer is None else answer.spec)
        return (exports.file_name("settings", about, answer, ".json"),
                io.StringIO(exports.settings(answer, state)))


def _said(store: Store) -> str:
    """The verdict in words, once the map was tested."""
    verdict = verdict_of(store)
    return "" if verdict.light == OPEN else verdict.sentence
