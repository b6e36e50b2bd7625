"""The page beside its controls: everything that decides on one screen, details below it."""

from __future__ import annotations

import panel as pn
import panel_material_ui as pmui

from workbench.ui.base.views.layout import View, stretched, wrapping
from workbench.ui.base.views.room import Room
from workbench.ui.disaggregate.store import Store
from workbench.ui.disaggregate.views.bar import Numbers
from workbench.ui.disaggregate.views.charts import Charts
from workbench.ui.disaggregate.views.checks import Checks
from workbench.ui.disaggregate.views.explained import Explained
from workbench.ui.disaggregate.views.exports import Exports
from workbench.ui.disaggregate.views.maps import SIDE, Maps
from workbench.ui.disaggregate.views.own import Own
from workbench.ui.disaggregate.views.report import Report
from workbench.ui.disaggregate.views.verdict import Strip

DOCK, WIDE = 340, 1250      # pixels across docked charts; from where they are docked anyhow
NARROW, PHONE = 620, 600    # pixels below which maps stand below each other, controls are closed
LOOSE = {"max-height": "none", "min-width": "0"}
ABOVE, LEAST = 395, 250                 # pixels that are not map, least height of a map


class Screen(View):
    """Bar, verdict, check, maps with calibration beside them, and below that the rest."""

    def __init__(self, store: Store, **params):
        super().__init__(store, **params)
        self.numbers, self.maps, self.charts = Numbers(store), Maps(store), Charts(store)
        own = Own(store)
        self.numbers.top.append(own.open)
        self.room = Room(sizing_mode="stretch_width", height=1, margin=0)
        self._row = wrapping(self.maps, self.charts, gap=16)
        self._panel = stretched(
            self.numbers.top, self.room, self.numbers.error, Strip(store),
            wrapping(self.numbers.cost, self.numbers.facts),
            wrapping(self.maps.tabs, self.maps.part), self._row,
            self.numbers.text, Exports(store), Checks(store), Report(store), Explained(store), own,
            styles=LOOSE)
        self.room.param.watch(self._arrange, "room")
        store.param.watch(self._arrange, "scene")

    def placed(self, page: pmui.Page) -> None:
        """Close the controls of the page on a phone, which shows the map first."""
        def close(*events) -> None:
            (_, _, before), (_, _, now) = events[0].old, events[0].new
            if (before >= PHONE or not before) and now < PHONE:
                page.sidebar_open = False

        self.room.param.watch(close, "room")

    def _arrange(self, *events) -> None:
        """Maps as large as the window allows; charts beside them where there is room."""
        across, down, _ = self.room.room
        high = max(LEAST, down - ABOVE)
        if not across:
            return
        with pn.io.hold():
            self._panel.styles = {**LOOSE, "max-width": f"{across + 8}px"}
            needed = self._fit(across, high)
            docked = across >= NARROW and across - needed >= DOCK
            if not docked and across >= WIDE:
                docked = True
                needed = self._fit(across - DOCK, high)
            self.charts.dock(max(DOCK, across - needed) - 28 if docked else across - 8)

    def _fit(self, across: int, high: int) -> int:
        each = across // 2 - SIDE - 12 if across >= NARROW else across - SIDE - 12
        return self.maps.fit_into(each, high, across - 8)
