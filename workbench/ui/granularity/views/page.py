"""The page: tabs, the story, the setting in words, and below them the line or the map."""

from __future__ import annotations

import panel_material_ui as pmui

from workbench.ui.base.bands import LEVELS
from workbench.ui.base.shell import App
from workbench.ui.base.views.controls import small_button
from workbench.ui.base.views.layout import ByTab, View, stretched, wrapping
from workbench.ui.base.views.readout import Readout
from workbench.ui.base.views.text import note, paragraph
from workbench.ui.granularity import messages
from workbench.ui.granularity.state import LINE, MAP, State
from workbench.ui.granularity.store import Store
from workbench.ui.granularity.story import STEPS
from workbench.ui.granularity.views.charts import Charts
from workbench.ui.granularity.views.controls import Controls
from workbench.ui.granularity.views.line import Line
from workbench.ui.granularity.views.maps import Maps

NINETY = int(abs(LEVELS - 0.9).argmin())


class Story(View):
    """Tabs on the left, then the steps of the story and the sentence of the present one."""

    def __init__(self, store: Store, **params):
        super().__init__(store, **params)
        state, beside = store.state, {"margin": (4, 2)}
        self.tab = pmui.RadioButtonGroup.from_param(
            state.param.tab, label="", size="small", margin=(4, 5), width=210)
        self.back = small_button("‹ Back", lambda: state.tell(state.story - 1), **beside)
        self.on = small_button("Start the story",
                               lambda: state.tell(min(state.story + 1, len(STEPS))),
                               variant="contained", **beside)
        self.leave = small_button("Leave", lambda: state.tell(0), variant="text", **beside)
        self.sentence = note("", html=True)
        self._panel = stretched(wrapping(self.tab, self.back, self.on, self.leave),
                                self.sentence)
        self.follow(self._update, "story", of=state)

    def _update(self, *events) -> None:
        step = self.store.state.story
        self.back.disabled, self.on.disabled = step <= 1, step == len(STEPS)
        self.back.visible = self.leave.visible = bool(step)
        self.on.label = "Next ›" if step else "Start the story"
        self.sentence.visible = bool(step)
        if step:
            told = STEPS[step - 1]
            self.sentence.object = paragraph(
                f"<span style='font-size: 16px'><b>{step} of {len(STEPS)}. {told.name}.</b> "
                f"{told.sentence}</span>", html=True)


class Numbers(Readout):
    """The setting in a live region, the number that matters, and what the last event cost."""

    def __init__(self, store: Store, **params):
        super().__init__(store, lines=2, **params)
        store.state.param.watch(self._numbers, "tolerance")
        self.follow(self._numbers, "answer")
        self.follow(self._work, "work", "learnt", "tick", "error")

    @property
    def stoppable(self) -> bool:
        """Nothing here takes long enough."""
        return False

    @property
    def present(self) -> str:
        """What was learnt last, or what is being worked on."""
        return self.store.learnt or super().present

    def _numbers(self, *events) -> None:
        answer, state = self.store.answer, self.store.state
        if answer is None:
            return
        covered = None if answer.coverage is None else tuple(c[NINETY] for c in answer.coverage)
        world, ratio = answer.world, answer.model.lengthscale / state.size
        self.text.text = messages.headline(
            answer.cells.size, world.values.size, state.size, world.unit, answer.error,
            answer.against, covered, state.tolerance, world.truth is not None,
            state.tab != LINE or not state.edges)
        self.judge(messages.ratio(ratio))

    def _work(self, *events) -> None:
        super()._work()
        store, self.bar.visible = self.store, False
        if store.tick is not None:
            self.cost.param.update(visible=True, label=messages.tick(
                store.tick.milliseconds, store.tick.evaluations, store.answer.model.likelihood))


class Stage(ByTab):
    """The line or the map, whichever tab is open."""

    def __init__(self, store: Store, **params):
        super().__init__(store.state, {LINE: [Line(store)], MAP: [Maps(store)]}, **params)


APP = App(messages.TITLE, State, Store, Controls, (Story, Numbers, Stage, Charts))
