"""The lengthscale: a slider with a mark where the fit is, a switch that fixes it, the kernel."""

from __future__ import annotations

import time

import panel as pn
import panel_material_ui as pmui

from workbench.plots.theme import CATEGORIES, NEUTRAL
from workbench.ui.base.messages import plainly
from workbench.ui.base.views.controls import SLIDER, small_button
from workbench.ui.base.views.figures import shown
from workbench.ui.base.views.layout import View, stretched
from workbench.ui.base.views.line_charts import DistanceCurves
from workbench.ui.base.views.text import note, paragraph
from workbench.ui.disaggregate import exploring, messages, scale
from workbench.ui.disaggregate.catalogue import lengthscales
from workbench.ui.disaggregate.scale import Scale
from workbench.ui.disaggregate.state import AUTO, LEARNT
from workbench.ui.disaggregate.store import Store

MARKED = {"& .MuiSlider-mark": {"height": "14px", "width": "3px", "opacity": 1}}
HELD = 5.0              # seconds after a move that scores wait for the handle to be let go
BACK = 1.0              # at the stop where it was last let go: a browser does not tell it again
LONGEST = 18            # letters below the chart that leave room for what grey is
_FOLLOWED = ("lengthscale", "dataset", "model", "kernel", "status", "at")


class Lengthscale(View):
    """Slider, switch, one line of numbers, and the correlation over distance."""

    def __init__(self, store: Store, **params):
        super().__init__(store, **params)
        doc = store.state.param.lengthscale.doc
        plain = {"sizing_mode": "stretch_width", "size": "small"}
        self.slider = SLIDER(label="Lengthscale", options={"": 0.0}, value=0.0, tooltips=False,
                             description=doc, margin=(6, 10, 0, 10), sx=MARKED, **plain)
        self.switch = pmui.Switch(label=scale.SWITCH, margin=(0, 10), **plain)
        self.told = note(inset=10)
        curves = {"fit": {"line_color": NEUTRAL, "line_dash": "dashed"},
                  "k": {"line_color": CATEGORIES[0]}}
        self.curves = DistanceCurves(scale.CURVE, "lengthscale", 75, curves,
                                     {"fill_color": NEUTRAL, "fill_alpha": 0.2})
        self._chart = shown(self.curves.figure, margin=(0, 3))
        self._showing, self.scale, self._scene, self._width = False, None, None, 0.0
        self._best: exploring.Alone | None = None
        self.alone = small_button(messages.EXPLORE, self._explore, sizing_mode="stretch_width",
                                  margin=(2, 10, 6, 10))
        self._panel = stretched(self.slider, self.switch, self.told, self.alone, self._chart)
        self.slider.param.watch(self._slid, ["value", "value_throttled"])
        self.switch.param.watch(self._switched, "value")
        store.state.listen(self._update, _FOLLOWED)
        self.follow(self._update, "answer")

    def _update(self, *events) -> None:
        """Show the setting; what is shown is not taken for what the user does."""
        store, self._showing = self.store, True
        reason = store.state.inapplicable("lengthscale")
        if store.scene is not self._scene:
            self._scene, self._width = store.scene, scale.width_of(store.scene.data)
        self.scale = found = scale.scale_of(store.state, store.answer, self._width)
        try:
            with pn.io.hold():
                self.slider.disabled = self.switch.disabled = found is None
                self._chart.visible = found is not None
                self._best = exploring.best(store.answer, store.state)
                self.alone.visible = store.state.model == AUTO
                self.alone.disabled = self._best is None
                self.told.object = paragraph(found.told if found else self._instead(reason))
                if found is None:
                    # A number of former settings would be taken for that of these.
                    instead = scale.BY_AUTO if store.state.model == AUTO else scale.NONE
                    self.slider.param.update(options={instead if reason else "": 0.0}, value=0.0,
                                             marks=[])
                    self.switch.value = False
                else:
                    self._place(found)
        finally:
            self._showing = False

    def _instead(self, reason: str) -> str:
        """What is said where no lengthscale can be moved."""
        answer = self.store.answer
        if self.store.state.model != AUTO or not reason:
            return f"None here: {reason}." if reason else scale.WAITING
        if self._best is not None:
            return f"{messages.MIXED} {self._best.told}"
        fitted = answer is not None and answer.spec.model == AUTO and answer.kind != "start"
        return f"{messages.MIXED} {messages.NONE_ALONE if fitted else messages.FIT_FIRST}"

    def _explore(self) -> None:
        """Take the best model of a mixture for itself."""
        if self._best is not None:
            self.store.state.explore(self._best.choices, self._best.fitted)

    def _place(self, found: Scale) -> None:
        options = stops(found, lengthscales(self.store.state.choice))
        at = list(options).index(labelled(found.reference, found.unit))
        self.slider.param.update(options=options, value=found.value,
                                 marks=[{"value": at, "label": found.mark}])
        self.switch.value = found.fixed
        unit = f"distance ({found.unit})"
        grey = "\ngrey: one area" if len(unit) > LONGEST else "; grey: one area"
        self.curves.push(found.reach, found.width, unit + grey,
                         k=lambda r: found.correlation(r, found.value),
                         fit=lambda r: found.correlation(r, found.reference))

    def _slid(self, *events) -> None:
        """Fix the lengthscale where the handle is; scores wait until it is let go.

        To a server that is busy the last move and the release come as one.
        """
        if self._showing or self.scale is None:
            return
        slider, values = self.slider, list(self.slider.options.values())
        let_go = any(event.name == "value_throttled" for event in events)
        value, released = slider.value, slider.value_throttled
        if let_go and released in range(len(values)):
            value = values[released]
        waits = 0.0 if let_go else BACK if values.index(value) == released else HELD
        self.store.held_until = time.monotonic() + waits
        if value != self.scale.value:
            with pn.io.hold():      # each message costs a list of all that the page is made of
                self.store.state.fix_lengthscale(value)

    def _switched(self, *events) -> None:
        """Fix the lengthscale where it is, so that nothing jumps; or let it be learnt."""
        if self._showing or self.scale is None:
            return
        if self.switch.value:
            self.store.state.fix_lengthscale(self.scale.value)
        else:
            self.store.state.lengthscale = LEARNT


def stops(found: Scale, grid: list[float]) -> dict[str, float]:
    """The stops of the slider by label: the grid, the reference, and the setting.

    Parameters
    ----------
    found : Scale
    grid : list of float
        Stops that are always there, unless one of the others has the same label.
    """
    by_label = {labelled(value, found.unit): value
                for value in (*grid, found.reference, found.value)}
    return dict(sorted(by_label.items(), key=lambda item: item[1]))


def labelled(value: float, unit: str) -> str:
    """A lengthscale as the slider has it."""
    return f"{plainly(value)} {unit}".strip()
