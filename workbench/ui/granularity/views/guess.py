"""The truth of a map in its place: hidden, until it was guessed how far from it the map is."""

from __future__ import annotations

import panel as pn
import panel_material_ui as pmui

from workbench.ui.base.views.controls import small_button
from workbench.ui.base.views.layout import View
from workbench.ui.base.views.text import note, paragraph
from workbench.ui.granularity import messages
from workbench.ui.granularity.state import GUESSES, NO_GUESS
from workbench.ui.granularity.store import Store
from workbench.ui.granularity.views.large import enlarge


class Guess(View):
    """The question, what can be answered, and the button that reveals the truth."""

    def __init__(self, store: Store, **params):
        super().__init__(store, **params)
        state = store.state
        self.question = note("", 210)
        self.answers = {
            name: pmui.Button(label=label, size="small", margin=(3, 5), width=200,
                              on_click=lambda _, name=name: self._guess(name))
            for label, name in GUESSES.items()}
        self.reveal = small_button(messages.REVEAL, state.uncover, variant="contained",
                                   margin=(10, 5), width=200)
        self._panel = pn.Column(self.question, *self.answers.values(), self.reveal, margin=(24, 5))
        self.follow(self._update, "guess", "lecture", of=state)

    def fit(self, side: int) -> None:
        """Be as wide as a map."""
        self.question.width = side

    def _guess(self, name: str) -> None:
        self.store.state.guess = name

    def _update(self, *events) -> None:
        state = self.store.state
        size = 22 if state.lecture else 15
        self.question.object = paragraph(
            f"<span style='font-size: {size}px'>{messages.ASK}</span>", html=True)
        enlarge([*self.answers.values(), self.reveal], state.lecture)
        self.reveal.disabled = state.guess == NO_GUESS
        for name, button in self.answers.items():
            button.param.update(variant="contained" if name == state.guess else "outlined",
                                color="secondary" if name == state.guess else "primary")
