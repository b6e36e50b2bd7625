"""What can be taken away of the tab that is open: the row of every app, and JSON."""

from __future__ import annotations

import io
from typing import IO

from workbench.ui.base.views import exports as base
from workbench.ui.compare import exporting, published
from workbench.ui.compare.state import BETWEEN, PAPERS
from workbench.ui.compare.store import Store


class Exports(base.Exports):
    """Pictures, maps, table, report, program and notebook of the open tab; and JSON."""

    def __init__(self, store: Store, **params):
        super().__init__(store, lambda: exporting.bundle(store),
                         {store: ("board", "pair"), store.state: ("tab", "paper")},
                         kinds=(".tif", ".gpkg", ".nc"), **params)
        self.json = base.download("JSON", self._json)
        self.add(self.json)

    def _json(self) -> tuple[str, IO]:
        store, name = self.store, f"{exporting.bundle(self.store).stem}.json"
        if store.state.tab == PAPERS:
            return name, io.StringIO(published.as_json(store.state.paper))
        if store.state.tab == BETWEEN:
            return name, io.StringIO(exporting.pair_json(store.shown, store.pair))
        return name, io.StringIO(exporting.as_json(store.board, exporting.address(store)))
