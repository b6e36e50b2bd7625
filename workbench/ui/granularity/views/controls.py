"""The sidebar: one widget per choice, those of the tab that is shown."""

from __future__ import annotations

import panel as pn
import panel_material_ui as pmui
import param

from workbench.ui.granularity import words
from workbench.ui.granularity.state import LINE, MAP
from workbench.ui.granularity.store import Store
from workbench.ui.granularity.views.charts import KernelCurve
from workbench.ui.views.text import note

LABELS = {
    "known": "Known function", "points": "Points n", "noise": "Noise (sd) in the data",
    "cells": "Cells m", "source": "Map", "output": "Output variable", "likelihood": "Likelihood",
    "side": "Cell side", "kernel": "Kernel", "lengthscale": "Lengthscale",
    "map_lengthscale": "Lengthscale", "variance": "Variance", "map_variance": "Variance",
    "assumed": "Noise the model assumes", "map_noise": "Noise (sd) the model assumes",
    "tolerance": "Tolerance",
}
SECTIONS = {
    "Data": {LINE: ("known", "points", "noise"), MAP: ("source", "output", "likelihood")},
    "Granularity": {LINE: ("cells",), MAP: ("side",)},
    "Model": {LINE: ("kernel", "lengthscale"), MAP: ("kernel", "map_lengthscale")},
    "More": {LINE: ("variance", "assumed"), MAP: ("map_variance", "map_noise")},
    "Adviser": {LINE: ("tolerance",), MAP: ("tolerance",)},
}
SLIDERS = ("points", "noise", "cells", "side", "lengthscale", "map_lengthscale", "variance",
           "map_variance", "map_noise")


class Controls(pn.viewable.Viewer):
    """Widgets of a store's state, the kernel, and the button that learns."""

    store = param.ClassSelector(class_=Store)

    def __init__(self, store: Store, **params):
        super().__init__(store=store, **params)
        state = store.state
        self.widgets = {name: self._widget(name) for name in LABELS}
        self.kernel = KernelCurve(store)
        self.learn = pmui.Button(
            label=words.LEARN, icon="auto_fix_high", color="primary", variant="contained",
            size="small", margin=(4, 10), sizing_mode="stretch_width",
            on_click=lambda _: store.learn())
        self.draw = pmui.Button(label=words.NEW_DRAW, size="small", variant="outlined",
                                margin=(2, 10), sizing_mode="stretch_width",
                                on_click=lambda _: state.param.update(draw=state.draw % 20 + 1))
        state.param.watch(self._shown, ["tab", "likelihood"])
        self._shown()

    def _widget(self, name: str):
        slot = self.store.state.param[name]
        kind = pmui.DiscreteSlider if name in SLIDERS else pmui.Select
        more = {"tooltips": False} if kind is pmui.DiscreteSlider else {}
        return kind.from_param(slot, label=LABELS[name], description=slot.doc, size="small",
                               sizing_mode="stretch_width", margin=(3, 10), **more)

    def _shown(self, *events) -> None:
        state = self.store.state
        for parts in SECTIONS.values():
            for tab in (LINE, MAP):
                for name in parts[tab]:
                    self.widgets[name].visible = name in parts[state.tab]
        self.draw.visible = state.tab == LINE
        self.widgets["map_noise"].disabled = state.likelihood == "poisson"

    def __panel__(self):
        parts = [note(words.ABOUT, inset=10)]   # few words: all is to be seen without scrolling
        for title, names in SECTIONS.items():
            if title != "More":
                parts.append(pmui.Typography(title, variant="overline", margin=(3, 10, 0, 10)))
            parts += [self.widgets[n] for n in dict.fromkeys((*names[LINE], *names[MAP]))]
            if title == "Data":
                parts.append(self.draw)
            if title == "Model":
                parts.append(self.kernel)
            if title == "More":
                parts += [self.learn, note(words.LEARN_NOTE, inset=10)]
        return pn.Column(*parts, sizing_mode="stretch_width")
