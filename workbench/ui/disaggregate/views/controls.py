"""The sidebar: one widget per choice of the state."""

from __future__ import annotations

import panel_material_ui as pmui

from workbench.ui.base.messages import sentence
from workbench.ui.base.views.controls import SELECT, SLIDER, title, widget
from workbench.ui.base.views.layout import View, stretched
from workbench.ui.base.views.text import note
from workbench.ui.disaggregate import messages, scale
from workbench.ui.disaggregate.rules import AUTO
from workbench.ui.disaggregate.store import Store
from workbench.ui.disaggregate.views.lengthscale import Lengthscale
from workbench.ui.disaggregate.views.stepper import target
from workbench.ui.disaggregate.views.threshold import Threshold

_LABELS = {
    "dataset": "Dataset", "granularity": "Areas seen", "model": "Model", "kernel": "Kernel",
    "transform": "Covariates",
    "link": "Link", "likelihood": "Likelihood", "overdispersion": "Overdispersion",
    "nugget": "Nugget (individual sd)", "variance": "Variance",
    "threshold": "Threshold", "colours": "Colours", "log_colours": "Logarithmic colours",
    "area_effect": "Include area effect",
}
_SECTIONS = {
    "Data": ("dataset", "granularity"),
    "Model": ("model", "kernel", "transform", "link"),
    "Map term": ("variance",),
    "Noise": ("likelihood", "overdispersion", "nugget"),
    "Shown": ("threshold", "area_effect", "colours", "log_colours"),
}
_KINDS = {
    "variance": SLIDER,
    "colours": pmui.RadioButtonGroup, "log_colours": pmui.Switch, "area_effect": pmui.Switch,
}
_INSET = 10     # pixels left of the widgets
_HIDDEN = ("area_effect",)      # where they have no effect; the others are disabled


class Controls(View):
    """Widgets of a store's state."""

    def __init__(self, store: Store, **params):
        super().__init__(store, **params)
        state, self.widgets = store.state, {}
        # Registered before the widgets, whose options may not be others while some are disabled.
        offered = [name for name in _LABELS if hasattr(state.param[name], "objects")]
        state.param.watch(self._enable, offered, what="objects")
        self.widgets = {name: widget(state, name, label, _KINDS.get(name, SELECT), (6, 10))
                        for name, label in _LABELS.items() if name != "threshold"}
        for step, name in (("areas", "granularity"), ("model", "model")):
            self.widgets[name].css_classes = [target(step)]
        self.lengthscale, self.threshold = Lengthscale(store), Threshold(store)
        self.widgets["threshold"] = self.threshold.select
        self._panel = stretched(*self._parts())
        state.param.watch(self._applicable, offered, what="objects")
        self.follow(self._applicable, "model", "link", "likelihood", "overdispersion", "nugget",
                    "kernel", "dataset", of=state)

    def _enable(self, *events) -> None:
        """Disable none of what is offered no longer."""
        for event in events:
            each = self.widgets.get(event.name)
            if hasattr(each, "disabled_options"):
                each.disabled_options = []

    def _applicable(self, *events) -> None:
        for name, each in self.widgets.items():
            reason = self.store.state.inapplicable(name)
            barred = self.store.state.impossible(name)
            if name in _HIDDEN:
                each.visible = not reason
                continue
            each.disabled = bool(reason)
            if name == "variance":      # whose slider would show a number of former settings
                instead = scale.BY_AUTO if self.store.state.model == AUTO else scale.NONE
                each.param.update(show_value=not reason, label=_LABELS[name] + (
                    f": {instead}" if reason else ""))
            if hasattr(each, "description"):
                each.description = sentence(reason) or " ".join([
                    self.store.state.param[name].doc,
                    *(f"Not offered: {why}." for why in dict.fromkeys(barred.values()))])
            if hasattr(each, "disabled_options"):
                # While data change a widget may be behind, and refuses what it does not offer.
                each.disabled_options = [one for one in barred
                                         if one in each.values and one != each.value]

    def _parts(self) -> list:
        parts = [note(messages.ABOUT, inset=_INSET)]
        for text, names in _SECTIONS.items():
            above = [self.lengthscale] if text == "Map term" else []
            parts += [title(text, 8), *above, *(
                self.threshold if name == "threshold" else self.widgets[name] for name in names)]
        return parts
