"""The top of the page: tabs, the story, and the setting in words."""

from __future__ import annotations

import panel as pn
import panel_material_ui as pmui
import param

from workbench.ui.granularity import words
from workbench.ui.granularity.bench import LEVELS
from workbench.ui.granularity.state import LINE, MAP
from workbench.ui.granularity.store import Store
from workbench.ui.granularity.story import STEPS
from workbench.ui.granularity.views.line import Line
from workbench.ui.granularity.views.maps import Maps
from workbench.ui.views.layout import ByTab, wrapping
from workbench.ui.views.status import LiveText
from workbench.ui.views.text import note, paragraph

NINETY = int(abs(LEVELS - 0.9).argmin())


class Story(pn.viewable.Viewer):
    """Tabs on the left, then the steps of the story and the sentence of the present one."""

    store = param.ClassSelector(class_=Store)

    def __init__(self, store: Store, **params):
        super().__init__(store=store, **params)
        state = store.state
        self.tab = pmui.RadioButtonGroup.from_param(
            state.param.tab, label="", size="small", margin=(4, 5), width=210)
        self.back = pmui.Button(label="‹ Back", size="small", variant="outlined", margin=(4, 2),
                                on_click=lambda _: state.tell(state.story - 1))
        self.on = pmui.Button(label="Start the story", size="small", variant="contained",
                              margin=(4, 2), on_click=lambda _: state.tell(
                                  min(state.story + 1, len(STEPS))))
        self.leave = pmui.Button(label="Leave", size="small", variant="text", margin=(4, 2),
                                 on_click=lambda _: state.tell(0))
        self.sentence = note("", html=True)
        self._panel = pn.Column(
            wrapping(self.tab, self.back, self.on, self.leave), self.sentence,
            sizing_mode="stretch_width", margin=0)
        state.param.watch(self._update, "story")
        self._update()

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

    def __panel__(self):
        return self._panel


class Readout(pn.viewable.Viewer):
    """The setting in a live region, the number that matters, and what the last event cost."""

    store = param.ClassSelector(class_=Store)

    def __init__(self, store: Store, **params):
        super().__init__(store=store, **params)
        self.text = LiveText(sizing_mode="stretch_width", margin=(2, 5),
                             styles={"font-size": "15px"}, min_height=40)
        chip = {"size": "small", "margin": (2, 5)}
        self.ratio = pmui.Chip("", variant="filled", **chip)
        self.cost = pmui.Chip("", variant="outlined", **chip)
        self.doing = pmui.Typography("", variant="body2", margin=(4, 5))
        self.error = pmui.Alert("", severity="error", visible=False, margin=(4, 10),
                                sizing_mode="stretch_width")
        self._panel = pn.Column(
            self.error, self.text, wrapping(self.ratio, self.cost, self.doing),
            sizing_mode="stretch_width", margin=0)
        store.param.watch(self._numbers, "answer")
        store.state.param.watch(self._numbers, "tolerance")
        store.param.watch(self._work, ["work", "learnt", "tick", "error"])
        self._numbers()
        self._work()

    def _numbers(self, *events) -> None:
        answer, state = self.store.answer, self.store.state
        if answer is None:
            return
        held = None if answer.coverage is None else tuple(c[NINETY] for c in answer.coverage)
        world, ratio = answer.world, answer.model.lengthscale / state.size
        self.text.text = words.headline(
            answer.cells.size, world.values.size, state.size, world.unit, answer.error,
            answer.against, held, state.tolerance, world.truth is not None,
            state.tab != LINE or not state.edges)
        self.ratio.param.update(label=words.ratio(ratio), color=words.verdict(ratio)[1])

    def _work(self, *events) -> None:
        store = self.store
        if store.tick is not None:
            self.cost.label = words.tick(store.tick.milliseconds, store.tick.evaluations,
                                         store.answer.model.likelihood)
        self.doing.object = store.learnt or store.work or words.READY
        self.error.param.update(object=store.error, visible=bool(store.error))

    def __panel__(self):
        return self._panel


class Stage(ByTab):
    """The line or the map, whichever tab is open."""

    def __init__(self, store: Store, **params):
        super().__init__(store.state, {LINE: [Line(store)], MAP: [Maps(store)]}, **params)
