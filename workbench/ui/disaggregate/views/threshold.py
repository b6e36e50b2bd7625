"""The threshold of the exceedance: chosen among some of the data's, or typed exactly."""

from __future__ import annotations

import panel as pn
import panel_material_ui as pmui

from workbench.ui.base.views.controls import SELECT, widget
from workbench.ui.base.views.layout import View, stretched
from workbench.ui.disaggregate import labels
from workbench.ui.disaggregate.quantity import NOBODY_SAID
from workbench.ui.disaggregate.stops import a_threshold, in_digits, was_rounded
from workbench.ui.disaggregate.store import Store


class Threshold(View):
    """The list of thresholds with their unit, and below it a field for any other number."""

    def __init__(self, store: Store, **params):
        super().__init__(store, **params)
        self.select = widget(store.state, "threshold", labels.threshold(""), SELECT, (6, 10))
        self.typed = pmui.TextInput(label=labels.TYPED, size="small", margin=(6, 10, 8, 10),
                                    sizing_mode="stretch_width")
        self._panel = stretched(self.select, self.typed)
        self.typed.param.watch(self._take, "value")
        self.follow(self._name, "scene")
        self.follow(self._clear, "threshold", "dataset", of=store.state)

    def _name(self, *events) -> None:
        scene = self.store.scene
        self.select.label = labels.threshold(
            "" if scene is None or scene.unit == NOBODY_SAID else scene.unit)

    def _take(self, event) -> None:
        """Ask for what was typed, or say why it cannot be a threshold."""
        if not event.new.strip():
            self._say("")
            return
        value, why = a_threshold(self.store.state.choice, event.new)
        self._say(why)
        if value is not None:
            with pn.io.hold():
                self.store.state.fix_threshold(value)
                self._clear()
                if was_rounded(event.new, value):
                    self.typed.helper_text = labels.rounded(in_digits(value))

    def _clear(self, *events) -> None:
        """Leave the field to the next number: the list has the one that is asked for."""
        self.typed.value = ""
        self._say("")

    def _say(self, why: str) -> None:
        self.typed.param.update(error_state=bool(why), helper_text=why)
