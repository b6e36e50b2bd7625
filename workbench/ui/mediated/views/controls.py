"""The sidebar: one widget per choice; those without effect are not shown."""

from __future__ import annotations

from workbench.ui.base.views.controls import (
    SELECT,
    SLIDER,
    column,
    learn_button,
    small_button,
    title,
    widget,
)
from workbench.ui.base.views.layout import View, stretched
from workbench.ui.base.views.text import note
from workbench.ui.mediated import messages
from workbench.ui.mediated.store import Store
from workbench.ui.mediated.views.charts import Curves

LABELS = {
    "model": "Model", "source": "Fields", "hour": "Hour", "level": "Height",
    "draw": "Seed of the globe", "covariate": "Covariate shown",
    "side": "Block size (granularity)", "share": "Unmatched blocks",
    "split": "Seed of the split", "mediator": "Mediator", "joint": "ℓ combines both as a",
    "far": "Lengthscale of ℓ (places)", "near": "Lengthscale of ℓ (mediator)",
    "share_of_place": "Share of place in ℓ", "ridge": "Ridge λ",
    "kernel": "Kernel k of the field", "lengthscale": "Lengthscale of k (places)",
    "spread": "Prior sd (places)", "detail": "Lengthscale of k (covariates)",
    "detail_spread": "Prior sd (covariates)", "noise": "Noise σ of a target",
}
SECTIONS = {
    "Data": ("source", "hour", "level", "draw", "covariate"),
    "Bags and targets": ("side", "share", "split"),
    "Mediation: which blocks are similar": ("mediator", "joint", "far", "near", "share_of_place",
                                          "ridge"),
    "Field: which pixels are similar": ("kernel", "lengthscale", "spread", "detail",
                                      "detail_spread", "noise"),
}
FIRST = ("model", "side", "share")      # the rest is shown when it is asked for
SELECTS = ("model", "source", "hour", "level", "covariate", "share", "kernel", "mediator", "joint")


class Controls(View):
    """Widgets of a store's state, curves over distance, and the button that learns."""

    def __init__(self, store: Store, **params):
        super().__init__(store, **params)
        state = store.state
        self.widgets = {name: self._widget(name) for name in LABELS}
        # Around each, what is hidden: a widget that itself was hidden stays light on dark pages.
        self.cells = {name: column(each) for name, each in self.widgets.items()}
        self.titles = {text: column(title(text)) for text in SECTIONS}
        self.curves, self.learn = Curves(store), learn_button(messages.LEARN, store.learn)
        parts = [self.curves]
        for text, names in SECTIONS.items():
            parts += [self.titles[text], *(self.cells[name] for name in names if name not in FIRST)]
        self.rest = column(*parts)
        start = type(state)()
        self.rest.visible = any(getattr(state, name) != getattr(start, name)
                                for name in LABELS if name not in FIRST)
        self.more = small_button("", self._more, variant="text", sizing_mode="stretch_width")
        self._named()
        self._panel = stretched(
            *(self.cells[name] for name in FIRST), self.learn,
            note(messages.LEARN_NOTE, inset=10), self.more, self.rest)
        store.param.watch(self._shown, ["stale", "work"])
        self.follow(self._shown, *state.names(), of=state)

    def _more(self) -> None:
        self.rest.visible = not self.rest.visible
        self._named()

    def _named(self) -> None:
        self.more.param.update(label=messages.FEWER if self.rest.visible else messages.MORE,
                               icon="expand_less" if self.rest.visible else "expand_more")

    def _widget(self, name: str):
        kind = SELECT if name in SELECTS else SLIDER
        return widget(self.store.state, name, LABELS[name], kind,
                      (7, 10, 3, 10) if kind is SELECT else (3, 10))

    def _shown(self, *events) -> None:
        store, state = self.store, self.store.state
        for name, cell in self.cells.items():
            seen = not state.inapplicable(name)
            if name == "covariate":
                seen = len(state.param.covariate.objects) > 1
            cell.visible = seen
        for text, names in SECTIONS.items():
            self.titles[text].visible = any(self.cells[name].visible for name in names
                                            if name not in FIRST)
        self.curves.figure.visible = state.model != "bilinear"
        self.learn.disabled = (state.model == "bilinear" or store.stale
                               or store.work == messages.LEARNING)
