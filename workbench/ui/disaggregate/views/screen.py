"""The page beside its controls: everything that decides on one screen, details below it."""

from __future__ import annotations

import panel as pn
import panel_material_ui as pmui
import param

from workbench.ui.base.views.layout import View, stretched, wrapping
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
ABOVE, LEAST = 395, 250                 # pixels that are not map, least height of a map


class Room(pn.custom.JSComponent):
    """How much room a page has, told by the browser as it changes."""

    across = param.Integer(0, doc="pixels of the column")
    down = param.Integer(0, doc="pixels of the window")
    window = param.Integer(0, doc="pixels across the window")

    _esm = """
    export function render({model, el}) {
      const line = document.createElement('div')
      line.style.width = '100%'
      let later
      const tell = () => {
        const across = Math.round(el.getBoundingClientRect().width), down = window.innerHeight
        if (across > 0 && (Math.abs(across - model.across) > 6
                           || Math.abs(down - model.down) > 6)) {
          model.across = across
          model.down = down
          model.window = window.innerWidth
        }
      }
      const soon = () => { clearTimeout(later); later = setTimeout(tell, 150) }
      new ResizeObserver(soon).observe(el)
      window.addEventListener('resize', soon)
      setTimeout(tell, 0)
      return line
    }
    """


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
            wrapping(self.numbers.cost, self.numbers.facts), self.maps.tabs, self._row,
            self.numbers.text, Exports(store), Checks(store), Report(store), Explained(store), own,
            styles={"max-height": "none"})
        self.room.param.watch(self._arrange, ["across", "down"])
        store.param.watch(self._arrange, "scene")

    def placed(self, page: pmui.Page) -> None:
        """Close the controls of the page on a phone, which shows the map first."""
        def close(*events) -> None:
            page.sidebar_open = self.room.window >= PHONE

        self.room.param.watch(close, "window")

    def _arrange(self, *events) -> None:
        """Maps as large as the window allows; charts beside them where there is room."""
        across, high = self.room.across, max(LEAST, self.room.down - ABOVE)
        if not across:
            return
        with pn.io.hold():
            needed = self._fit(across, high)
            docked = across >= NARROW and across - needed >= DOCK
            if not docked and across >= WIDE:
                docked = True
                needed = self._fit(across - DOCK, high)
            self.charts.dock(max(DOCK, across - needed) - 28 if docked else None)

    def _fit(self, across: int, high: int) -> int:
        each = across // 2 - SIDE - 8 if across >= NARROW else across - SIDE - 12
        return self.maps.fit_into(each, high, across - 8)
