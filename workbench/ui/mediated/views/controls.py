"""The sidebar: one widget per choice; those without effect are not shown."""

from __future__ import annotations

import panel as pn
import panel_material_ui as pmui
import param

from workbench.ui.mediated import words
from workbench.ui.mediated.store import Store
from workbench.ui.mediated.views.charts import Curves
from workbench.ui.views.text import note

LABELS = {
    "source": "Fields", "hour": "Hour", "level": "Height", "draw": "Draw of the globe",
    "covariate": "Covariate shown", "side": "Block size (granularity)", "share": "Unmatched",
    "split": "Draw of the split", "mediator": "Mediator", "joint": "ℓ joins both as a",
    "far": "Lengthscale of ℓ (places)", "near": "Lengthscale of ℓ (mediator)",
    "share_of_place": "Share of place in ℓ", "ridge": "Ridge λ",
    "kernel": "Kernel k of the field", "lengthscale": "Lengthscale of k (places)",
    "spread": "Sd by places", "detail": "Lengthscale of k (covariates)",
    "detail_spread": "Sd by covariates", "noise": "Noise σ of a target",
}
SECTIONS = {
    "Data": ("source", "hour", "level", "draw", "covariate"),
    "Bags and targets": ("side", "share", "split"),
    "Mediation: which blocks are alike": ("mediator", "joint", "far", "near", "share_of_place",
                                          "ridge"),
    "Field: which pixels are alike": ("kernel", "lengthscale", "spread", "detail",
                                      "detail_spread", "noise"),
}
SELECTS = ("source", "hour", "level", "covariate", "share", "kernel", "mediator", "joint")
class Controls(pn.viewable.Viewer):
    """Widgets of a store's state, curves over distance, and the button that learns."""

    store = param.ClassSelector(class_=Store)

    def __init__(self, store: Store, **params):
        super().__init__(store=store, **params)
        self.widgets = {name: self._widget(name) for name in LABELS}
        # Around each, what is hidden: a widget that itself was hidden stays light on dark pages.
        self.cells = {name: _cell(widget) for name, widget in self.widgets.items()}
        self.titles = {title: _cell(pmui.Typography(
            title, variant="overline", margin=(3, 10, 0, 10))) for title in SECTIONS}
        self.curves = Curves(store)
        self.learn = pmui.Button(
            label=words.LEARN, icon="auto_fix_high", color="primary", variant="contained",
            size="small", margin=(4, 10), sizing_mode="stretch_width",
            on_click=lambda _: store.learn())
        store.state.param.watch(self._shown, store.state.names())
        store.param.watch(self._shown, ["stale", "work"])
        self._shown()

    def _widget(self, name: str):
        slot = self.store.state.param[name]
        kind = pmui.Select if name in SELECTS else pmui.DiscreteSlider
        more = {"margin": (7, 10, 3, 10)} if kind is pmui.Select else {
            "margin": (3, 10), "tooltips": False}
        return kind.from_param(slot, label=LABELS[name], description=slot.doc, size="small",
                               sizing_mode="stretch_width", **more)

    def _shown(self, *events) -> None:
        store, state = self.store, self.store.state
        for name, cell in self.cells.items():
            seen = not state.inapplicable(name)
            if name == "covariate":
                seen = len(state.param.covariate.objects) > 1
            cell.visible = seen
        for title, names in SECTIONS.items():
            self.titles[title].visible = any(self.cells[name].visible for name in names)
        self.curves.figure.visible = state.model != "bilinear"
        self.learn.disabled = (state.model == "bilinear" or store.stale
                               or store.work == words.LEARNING)

    def __panel__(self):
        parts = [note(words.ABOUT, inset=10)]   # few words: much is to be seen without scrolling
        for title, names in SECTIONS.items():
            parts.append(self.titles[title])
            parts += [self.cells[name] for name in names]
        return pn.Column(*parts, self.curves, self.learn, note(words.LEARN_NOTE, inset=10),
                         sizing_mode="stretch_width")


def _cell(part) -> pn.Column:
    return pn.Column(part, sizing_mode="stretch_width", margin=0)
