"""The story: its steps, what the present one says, and a mode for lectures."""

from __future__ import annotations

import panel as pn
import panel_material_ui as pmui

from workbench.ui.base.views.controls import SELECT, SLIDER, small_button, widget
from workbench.ui.base.views.layout import View, dim, stretched, wrapping
from workbench.ui.base.views.text import note, paragraph
from workbench.ui.granularity import messages
from workbench.ui.granularity.state import LINE, MAP
from workbench.ui.granularity.store import Store
from workbench.ui.granularity.story import STEPS
from workbench.ui.granularity.views.controls import LABELS, SLIDERS, name_side
from workbench.ui.granularity.views.large import enlarge

WIDTH = 300
#: Of a list whose label is written above it; it still names the list to those who hear the page.
UNLABELLED = ".MuiInputLabel-root, legend {display: none !important;} fieldset {top: 0 !important;}"
#: The three controls of a lecture.
CHOSEN = {LINE: ("known", "cells", "lengthscale"), MAP: ("shape", "side", "map_lengthscale")}


class Story(View):
    """Tabs on the left, then the steps of the story and the sentence of the present one."""

    def __init__(self, store: Store, **params):
        super().__init__(store, **params)
        state, beside = store.state, {"margin": (4, 2)}
        self.tab = pmui.RadioButtonGroup.from_param(
            state.param.tab, label="", size="small", margin=(4, 5), width=210)
        self.back = small_button("‹ Back", lambda: state.step(-1), **beside)
        self.on = small_button("Start the story", lambda: state.step(1), variant="contained",
                               **beside)
        self.leave = small_button("Leave the story", lambda: state.tell(0), variant="text",
                                  **beside)
        self.again = small_button("Return to the step", lambda: state.tell(state.story), **beside)
        self.lecture = small_button(messages.LECTURE, self._switch, variant="text", **beside)
        self.sentence = note("", html=True)
        self._panel = stretched(
            wrapping(self.tab, self.back, self.on, self.leave, self.again, self.lecture),
            self.sentence)
        self.follow(self._update, *state.names(), of=state)

    def _switch(self) -> None:
        self.store.state.lecture = not self.store.state.lecture

    def _update(self, *events) -> None:
        state = self.store.state
        step, large, there = state.story, state.lecture, state.told
        self.back.disabled, self.on.disabled = step <= 1, step == len(STEPS)
        self.back.visible, self.leave.visible = bool(step), bool(step) and not large
        self.again.visible = bool(step) and not there
        self.on.label = "Next ›" if step else "Start the story"
        self.lecture.label = messages.LEAVE_LECTURE if large else messages.LECTURE
        self.tab.width = 260 if large else 210
        enlarge([self.tab, self.back, self.on, self.leave, self.again, self.lecture], large)
        self.sentence.visible = bool(step)
        dim(self.sentence, not there)
        if step:
            told = STEPS[step - 1]
            size, moved = 24 if large else 16, "" if there else f" <i>{messages.MOVED_ON}</i>"
            self.sentence.object = paragraph(
                f"<span style='font-size: {size}px'><b>{step} of {len(STEPS)}. {told.name}.</b> "
                f"{told.sentence}{moved}</span>", html=True)


class Lecture(View):
    """The three controls of a lecture, instead of the sidebar."""

    def __init__(self, store: Store, **params):
        super().__init__(store, **params)
        state, self.named = store.state, {}
        self.widgets = {
            name: widget(state, name, LABELS[name], SLIDER if name in SLIDERS else SELECT,
                         margin=(6, 16))
            for names in CHOSEN.values() for name in names}
        parts = []
        for name, made in self.widgets.items():
            made.param.update(sizing_mode=None, width=WIDTH, description="",
                              visible=name in CHOSEN[state.tab])
            if name in SLIDERS:
                parts.append(made)
            else:           # its own label stays small: above it as with sliders, it is large
                made.param.update(stylesheets=[UNLABELLED], margin=(0, 16))
                head = pmui.Typography(LABELS[name], variant="body2", margin=(6, 16, 0, 16))
                self.named[name] = pn.Column(head, made, margin=0, width=WIDTH + 32,
                                             visible=made.visible)
                parts.append(self.named[name])
                enlarge([head], True)
        enlarge(self.widgets.values(), True)
        self._panel = wrapping(*parts)
        self.follow(self._update, "tab", "lecture", of=state)
        self.follow(lambda *_: name_side(self.widgets["side"], state), "shape", of=state)

    def _update(self, *events) -> None:
        state = self.store.state
        self._panel.visible = state.lecture
        if state.lecture:               # each change of what is seen lays out the page anew
            for name, made in self.widgets.items():
                made.visible = name in CHOSEN[state.tab]
            for name, part in self.named.items():
                part.visible = name in CHOSEN[state.tab]
