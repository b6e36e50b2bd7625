"""The sidebar: one widget per choice, those of the tab that is shown."""

from __future__ import annotations

from workbench.ui.base.views.controls import (
    SELECT,
    SLIDER,
    learn_button,
    small_button,
    title,
    widget,
)
from workbench.ui.base.views.layout import View, stretched
from workbench.ui.base.views.text import note
from workbench.ui.granularity import messages
from workbench.ui.granularity.observed import OBSERVED
from workbench.ui.granularity.state import LINE, MAP, State
from workbench.ui.granularity.store import Store
from workbench.ui.granularity.views.charts import KernelCurve
from workbench.ui.granularity.zones import SQUARES

LABELS = {
    "known": "Known function", "points": "Points n", "noise": "Noise (sd) in the data",
    "cells": "Cells m", "source": "Map", "output": "Output variable", "likelihood": "Likelihood",
    "side": messages.SIDE, "shape": "Cell shape", "second": "Second lengthscale, × the first",
    "kernel": "Kernel", "lengthscale": "Lengthscale",
    "map_lengthscale": "Lengthscale", "variance": "Variance", "map_variance": "Variance",
    "assumed": "Noise the model assumes", "map_noise": "Noise (sd) the model assumes",
    "tolerance": "Tolerance",
}
SECTIONS = {
    "Data": {LINE: ("known", "points", "noise"), MAP: ("source", "output", "likelihood")},
    "Granularity": {LINE: ("cells",), MAP: ("side", "shape")},
    "Model": {LINE: ("kernel", "lengthscale"), MAP: ("kernel", "map_lengthscale", "second")},
    "More": {LINE: ("variance", "assumed"), MAP: ("map_variance", "map_noise")},
    "Adviser": {LINE: ("tolerance",), MAP: ("tolerance",)},
}
SLIDERS = ("points", "noise", "cells", "side", "lengthscale", "map_lengthscale", "variance",
           "map_variance", "map_noise")


def name_side(slider, state: State) -> None:
    """Call the slider of sizes what it sets: of strips and Voronoi cells only their number."""
    slider.label = messages.SIDE if state.shape == SQUARES else messages.SIDE_OF_SQUARES


class Controls(View):
    """Widgets of a store's state, the kernel, and the button that learns."""

    def __init__(self, store: Store, **params):
        super().__init__(store, **params)
        state = store.state
        self.widgets = {name: widget(state, name, label, SLIDER if name in SLIDERS else SELECT)
                        for name, label in LABELS.items()}
        self.kernel, self.learn = KernelCurve(store), learn_button(messages.LEARN, store.learn)
        self.draw = small_button(messages.NEW_DRAW,
                                 lambda: state.param.update(draw=state.draw % 20 + 1),
                                 sizing_mode="stretch_width")
        self._panel = stretched(*self._parts())
        self.follow(self._shown, "tab", "likelihood", of=state)
        self.follow(lambda *_: name_side(self.widgets["side"], state), "shape", of=state)

    def _shown(self, *events) -> None:
        state = self.store.state
        for parts in SECTIONS.values():
            for tab in (LINE, MAP):
                for name in parts[tab]:
                    self.widgets[name].visible = name in parts[state.tab]
        self.draw.visible = state.tab == LINE
        self.widgets["map_noise"].disabled = not OBSERVED[state.likelihood].noisy

    def _parts(self) -> list:
        parts = [note(messages.ABOUT, inset=10)]   # few words: all is to be seen unscrolled
        for heading, names in SECTIONS.items():
            if heading != "More":
                parts.append(title(heading))
            parts += [self.widgets[n] for n in dict.fromkeys((*names[LINE], *names[MAP]))]
            if heading == "Data":
                parts.append(self.draw)
            if heading == "Model":
                parts.append(self.kernel)
            if heading == "More":
                parts += [self.learn, note(messages.LEARN_NOTE, inset=10)]
        return parts
