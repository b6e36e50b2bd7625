"""The page: the story, the setting in words, and below them the line or the map, and charts."""

from __future__ import annotations

import panel_material_ui as pmui

from workbench.ui.base.live_text import LiveText
from workbench.ui.base.shell import App
from workbench.ui.base.views.exports import Exports
from workbench.ui.base.views.layout import ByTab, lower
from workbench.ui.base.views.readout import Readout
from workbench.ui.granularity import exporting, messages
from workbench.ui.granularity.engine import NINETY
from workbench.ui.granularity.state import LINE, MAP, State
from workbench.ui.granularity.store import Store
from workbench.ui.granularity.views.charts import Charts
from workbench.ui.granularity.views.controls import Controls
from workbench.ui.granularity.views.large import enlarge
from workbench.ui.granularity.views.line import Line
from workbench.ui.granularity.views.maps import Maps
from workbench.ui.granularity.views.story import Lecture, Story
from workbench.ui.granularity.views.window import Window
from workbench.ui.granularity.zones import STRIPS


class Numbers(Readout):
    """The setting in a live region, the number that matters, and what the last event cost."""

    rows = (2, 3)

    def __init__(self, store: Store, **params):
        self.ratio = pmui.Chip("", variant="outlined", color="default", size="small",
                               margin=(4, 5), visible=False)
        # In a lecture the setting stands in the row of its badge: figures need the height.
        self.brief = LiveText(margin=(8, 5), styles={"font-size": "20px"}, visible=False)
        super().__init__(store, beside=(self.ratio, self.brief), lines=2, **params)
        store.state.param.watch(self._numbers, ["tolerance", "reveal", "lecture"])
        self.follow(self._numbers, "answer")
        self.follow(self._work, "lecture", "at", of=store.state)
        self.follow(self._work, "work", "tick", "error")

    @property
    def stoppable(self) -> bool:
        """Nothing here takes long enough."""
        return False

    @property
    def present(self) -> str:
        """What is being worked on, else whether the sliders show a fit."""
        return self.store.work or self.store.status

    def _numbers(self, *events) -> None:
        answer, state = self.store.answer, self.store.state
        if answer is None:
            return
        covered = answer.coverage and tuple(share[NINETY] for share in answer.coverage)
        world, shape = answer.world, state.formed
        strip = answer.cells.extent if shape == STRIPS else (0.0, 0.0)
        said = messages.headline(
            answer.cells.size, world.values.size, state.size, world.unit, answer.error,
            answer.against, covered, state.tolerance, world.truth is not None,
            state.tab != LINE or not state.edges, state.hidden,
            shape, state.lecture, strip[0])
        for line, here in ((self.text, not state.lecture), (self.brief, state.lecture)):
            line.param.update(text=said if here else "", visible=here)
        self.verdict.size = self.ratio.size = "medium" if state.lecture else "small"
        enlarge([self.verdict, self.ratio], state.lecture)
        self.judge(messages.verdict(answer.error, state.tolerance))
        self.ratio.param.update(visible=True, label=messages.ratio(
            answer.model.lengthscale, state.size, shape, strip))

    def _work(self, *events) -> None:
        super()._work()
        store, self.bar.visible = self.store, False
        self.doing.visible = not store.state.lecture
        self.keep_rows(not store.state.lecture)
        if store.tick is not None:
            self.cost.param.update(visible=not store.state.lecture, label=messages.tick(
                store.tick.milliseconds, store.tick.evaluations, store.answer.model.likelihood))


class Stage(ByTab):
    """The line or the map, whichever tab is open."""

    def __init__(self, store: Store, **params):
        super().__init__(store.state, {LINE: [Line(store)], MAP: [Maps(store)]}, **params)


class TakeAway(Exports):
    """What can be taken away of the tab that is open; not in a lecture."""

    def __init__(self, store: Store, **params):
        super().__init__(store, lambda: exporting.bundle(store),
                         {store: ("answer",), store.state: ("tab",)}, **params)
        lower(self._panel)
        self.follow(self._look, "lecture", of=store.state)

    def _look(self, *events) -> None:
        self._panel.visible = not self.store.state.lecture


def frame(page: pmui.Page, store: Store) -> None:
    """Hide the sidebar while it is a lecture."""
    before = page.sidebar_open

    def look(*events) -> None:
        nonlocal before
        lecture = store.state.lecture
        before = page.sidebar_open if lecture else before
        page.sidebar_open = not lecture and before

    store.state.param.watch(look, "lecture")
    if store.state.lecture:
        look()


APP = App(messages.TITLE, State, Store, Controls,
          (Window, Story, Lecture, Numbers, Stage, Charts, TakeAway), frame=frame)
