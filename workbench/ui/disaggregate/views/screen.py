"""The page beside its controls: everything that decides on one screen, details below it."""

from __future__ import annotations

import panel as pn

from workbench.ui.base.arrival import when_loaded
from workbench.ui.base.views.layout import NARROWING, View, stretched, wrapping
from workbench.ui.base.views.room import Room
from workbench.ui.disaggregate.store import Store
from workbench.ui.disaggregate.views.banner import Banner
from workbench.ui.disaggregate.views.bar import Numbers
from workbench.ui.disaggregate.views.charts import Charts
from workbench.ui.disaggregate.views.checks import Checks
from workbench.ui.disaggregate.views.explained import PART, WIDTH, Explained
from workbench.ui.disaggregate.views.exports import Exports
from workbench.ui.disaggregate.views.maps import SIDE, Maps
from workbench.ui.disaggregate.views.own import Own
from workbench.ui.disaggregate.views.report import Report
from workbench.ui.disaggregate.views.stepper import Stepper, target
from workbench.ui.disaggregate.views.verdict import Strip

DOCK = 340                  # least pixels across docked charts
NARROW = 620                # pixels below which maps stand below each other, and charts below maps
WORTH = 0.6                 # share of their size that maps give up at most for docked charts
LOOSE = {"max-height": "none", "min-width": "0"}
ABOVE, LEAST = 425, 250                 # pixels that are not map, least height of a map
ON_PHONE = 270              # the first of them where the map stands right below the verdict
# While a place is explained, what is below the maps ends where the drawer begins.
CLEAR, BESIDE = "wb-clear", f"""
:host {{box-sizing: border-box;}}
@media (min-width: 600px) {{:host(.wb-clear) {{padding-right: {WIDTH}px;}}}}
@media (max-width: 599.95px) {{:host(.wb-clear) {{padding-bottom: {PART}vh;}}}}"""
FACTS = 44                  # pixels of two lines of facts, which come with the map
BETWEEN, GAP = 30, 16       # pixels between maps below each other, and beside docked charts


class Screen(View):
    """Bar, verdict, check, maps with calibration beside them, and below that the rest.

    On a phone the estimate follows the verdict at once: numbers stand below the maps, and what
    chooses the second map right above that.
    """

    def __init__(self, store: Store, **params):
        super().__init__(store, **params)
        self.numbers, self.maps, self.charts = Numbers(store), Maps(store), Charts(store)
        own = Own(store)
        self.stepper = Stepper(store)
        self.numbers.top.extend([own.open, self.stepper])
        self.room = Room(sizing_mode="stretch_width", height=1, margin=0,
                         css_classes=[target("map")])
        self._left, self._right = stretched(self.maps), stretched()
        self._row = wrapping(self._left, self._right, gap=GAP)
        self._facts = wrapping(self.numbers.cost, self.numbers.facts, min_height=FACTS)
        self._above = stretched(self._facts, self.maps.choice)
        self._below = stretched(self.numbers.text, Exports(store), Checks(store), Report(store),
                                stylesheets=[NARROWING, BESIDE])
        self._panel = stretched(
            self.numbers.top, self.room, Banner(store), Strip(store), self._above, self._row,
            self._below, Explained(store), own, styles=LOOSE)
        self._loaded = False
        when_loaded(self._complete)
        self.room.param.watch(self._arrange, "room")
        self.follow(self._arrange, "scene")
        self.follow(self._clear, "explained")

    def _clear(self, *events) -> None:
        """Let nothing below the maps lie under the drawer that explains a place."""
        self._below.css_classes = [] if self.store.explained is None else [CLEAR]

    def _complete(self) -> None:
        self._loaded = True
        self._arrange()

    def _arrange(self, *events) -> None:
        """Maps as large as the window allows; charts beside them where there is room."""
        across, down = self.room.room
        if not across:
            return
        with pn.io.hold():
            self._panel.styles = {**LOOSE, "max-width": f"{across + 8}px"}
            # What stands below maps that are still being made would jump when they come; charts
            # would hold up the page, with its maps, if they came along with it.
            there = self.maps.atlas is not None and self._loaded
            self._row.min_height = 0 if there else down
            needed = fit(self.maps, across, max(
                LEAST, down - (ON_PHONE if across < NARROW else ABOVE)))
            docked = needed < across - 8
            beside = across - needed - GAP - 12 if docked else across - 8
            self._left.param.update(sizing_mode="fixed", width=min(needed, across - 8))
            self._right.param.update(sizing_mode="fixed", width=beside)
            below = self.charts.dock(beside) and docked
            columns = ([self.maps], [self.charts, self.charts.rest]) if below or not docked else (
                [self.maps, self.charts.rest], [self.charts])
            above, between = [self._facts, self.maps.choice], False
            if across < NARROW:
                above, between = [], self.maps.alone(across)
                columns[0].extend([] if between else [self.maps.choice])
                columns[1].insert(0, self._facts)
            if not there:
                columns = [self.maps], []
            for column, parts in zip((self._above, self._left, self._right), (above, *columns),
                                     strict=True):
                if column.objects != parts:
                    column.objects = parts
            self.maps.choose_between(between)


def fit(maps: Maps, across: int, high: int) -> int:
    """Size maps so that charts find room beside them, if that leaves the maps large.

    Parameters
    ----------
    maps : Maps
    across, high : int
        Pixels of the page, and down that maps may take.

    Returns
    -------
    int
        Pixels across that the maps need; all there are if nothing is docked.
    """
    room, full = across - DOCK - GAP - 12, across - 8
    if across < NARROW:
        maps.fit_into(across - SIDE - 12, high, full)
        return full
    alone = maps.fits(_half(across), high)
    beside, each = maps.fits(_half(room), high), (high - BETWEEN) // 2
    stacked = maps.fits(room - SIDE, each)
    if max(beside, stacked) < WORTH * alone:
        maps.fit_into(_half(across), high, full)
        return full
    if stacked > beside:
        return maps.fit_into(room - SIDE, each, room, stacked=True)
    return maps.fit_into(_half(room), high, room)


def _half(across: int) -> int:
    """Pixels of each of two maps beside each other."""
    return across // 2 - SIDE - 12
