"""The sidebar: one widget per choice, those of the tab that is shown."""

from __future__ import annotations

from dataclasses import replace

import panel_material_ui as pmui
from panel import Column

from workbench.ui.base.views.controls import SELECT, SLIDER, column, small_button, title, widget
from workbench.ui.base.views.layout import View, stretched, wrapping
from workbench.ui.base.views.text import note, paragraph
from workbench.ui.sources import messages
from workbench.ui.sources.designs import MOST, SIZES, STEP, STOPS
from workbench.ui.sources.state import CITY, LINE, SET, SOURCES, WEIGHTS
from workbench.ui.sources.store import Store, usable

LABELS = {
    "truth": "Function f", "span": "Line", "kernel": "Kernel", "hyper": "Hyperparameters",
    "lengthscale": "Lengthscale", "spread": "Prior sd of f", "weight": "Composite weight φ",
    "experts": "Fit deep GPs too (MR-DGP)", "city": "Draw of the city", "scope": "Size of the data",
    "stations": "Stations (first half)", "satellite": "Satellite (biased)",
    "side": "Satellite cells (granularity)", "model": "Model", "city_kernel": "Kernel",
    "reach": "Lengthscale over place", "hour": "Hour",
}
SLIDERS = ("lengthscale", "spread", "weight", "city", "hour", "reach")
SWITCHES = ("experts", *SOURCES)
EDITED = {"points": "Points", "size": "Points per observation", "scale": "Bias: scale",
          "offset": "Bias: offset", "noise": "Noise (sd of a point)",
          "copied": "Noise copied from source 1"}
MARGIN = (3, 10)
CLOSE = 12              # stops of the weight, within which two labels would overlap


class Editor(View):
    """The chosen source: buttons for each, its support, and sliders for all else of it."""

    def __init__(self, store: Store, **params):
        super().__init__(store, **params)
        state = store.state
        self._showing = False
        self.chosen = pmui.RadioButtonGroup(label="Source", options=[1], value=1, size="small",
                                            margin=MARGIN)
        self.support = pmui.RangeSlider(label="Support", start=-2, end=15, step=STEP,
                                        value=(-2, 15), size="small", margin=(3, 16),
                                        format="0[.]0",
                                        sizing_mode="stretch_width")
        self.sliders = {name: pmui.DiscreteSlider(
            label=label, options=STOPS[name], value=STOPS[name][0], size="small",
            tooltips=False, margin=MARGIN, sizing_mode="stretch_width")
            for name, label in EDITED.items()}
        self.add = small_button(messages.ADD, state.add, margin=(3, 0, 3, 10))
        self.remove = small_button(messages.REMOVE, state.remove, margin=(3, 0, 3, 10))
        self._copied = column(self.sliders["copied"])
        self._panel = column(
            wrapping(self.chosen), self.support,
            *[s for name, s in self.sliders.items() if name != "copied"], self._copied,
            wrapping(self.add, self.remove))
        self.chosen.param.watch(self._pick, "value")
        self.support.param.watch(self._place, "value_throttled")
        for name, slider in self.sliders.items():
            slider.param.watch(lambda event, name=name: self._edit(name, event.new), "value")
        state.param.watch(self._show, ["sources", "chosen", "span"])
        self.follow(self._show, "dragging")

    def _show(self, *events) -> None:
        state, self._showing = self.store.state, True
        try:
            numbers = list(range(1, len(state.designs) + 1))
            self.chosen.param.update(options=numbers, value=min(state.chosen, numbers[-1]))
            design, (low, high) = state.design, state.ends
            if not self.store.dragging:     # a browser sends a value back that was replaced since
                self.support.param.update(start=low, end=high, value=(design.low, design.high))
            self.sliders["size"].options = [s for s in SIZES if s <= design.points]
            for name, slider in self.sliders.items():
                slider.value = getattr(design, name)
            self._copied.visible = state.chosen > 1
            self.add.disabled, self.remove.disabled = len(numbers) == MOST, len(numbers) == 1
        finally:
            self._showing = False

    def _pick(self, event) -> None:
        if not self._showing and event.new:
            self.store.state.chosen = event.new

    def _place(self, event) -> None:
        if not self._showing and event.new:
            state = self.store.state
            state.change(state.chosen - 1, state.design.placed(*event.new, state.ends))
            self._show()                    # where it was too narrow, the slider is put right

    def _edit(self, name: str, value: float) -> None:
        if self._showing:
            return
        state = self.store.state
        design = replace(state.design, **{name: value})
        if design.size > design.points:
            design = replace(design, size=max(s for s in SIZES if s <= design.points))
        state.change(state.chosen - 1, design)


class Controls(View):
    """Widgets of a store's state, of either tab."""

    def __init__(self, store: Store, **params):
        super().__init__(store, **params)
        state = store.state
        self.widgets = {name: self._widget(name) for name in LABELS}
        self.editor = Editor(store)
        self.about, self.learnt, self.last = (note(inset=10) for _ in range(3))
        self.draw = small_button(messages.NEW_DRAW,
                                 lambda: state.param.update(draw=(state.draw + 1) % 20),
                                 sizing_mode="stretch_width")
        self.use = {name: small_button("", lambda name=name: self._take(name))
                    for name in ("ribatet", "lyddon")}
        self._parts = {LINE: self._line(), CITY: self._city()}
        self._panel = stretched(self.about, *self._parts.values())
        self.follow(self._shown, "tab", "hyper", *SOURCES, of=state)
        self.follow(self._estimated, "estimate")
        self.follow(self._learnt, "learnt")

    def _widget(self, name: str):
        kind = SLIDER if name in SLIDERS else pmui.Switch if name in SWITCHES else SELECT
        return widget(self.store.state, name, LABELS[name], kind,
                      (8, 10, 3, 10) if kind is SELECT else MARGIN)

    def _line(self) -> Column:
        w = self.widgets
        return column(
            title("Likelihoods"), w["weight"], wrapping(*self.use.values(), gap=0),
            w["experts"], title("Sources"), self.editor, self.draw,
            title("Function"), w["truth"], w["span"], title("Model"), w["kernel"],
            w["lengthscale"], w["spread"], w["hyper"], self.learnt)

    def _city(self) -> Column:
        w = self.widgets
        return column(
            title("Sources"), w["stations"], w["satellite"], self.last, w["side"],
            title("Model"), w["model"], w["city_kernel"], w["reach"],
            title("City"), w["hour"], w["city"], w["scope"])

    def _shown(self, *events) -> None:
        state = self.store.state
        self.about.object = paragraph(messages.ABOUT[state.tab])
        for tab, part in self._parts.items():
            part.visible = tab == state.tab
        for name in ("lengthscale", "spread"):
            self.widgets[name].disabled = state.hyper != SET
        reasons = {name: state.why_on(name) for name in SOURCES}
        for name, reason in reasons.items():
            self.widgets[name].disabled = bool(reason)
        self.last.object = paragraph(f"{reason}." if (reason := "".join(reasons.values())) else "")

    def _estimated(self, *events) -> None:
        found = self.store.estimate
        for name, button in self.use.items():
            value = None if found is None else getattr(found, name)
            button.label = messages.mark(name.capitalize(), value, WEIGHTS[0], WEIGHTS[-1])
            button.disabled = usable(found, name, WEIGHTS) is None
        places = {name: usable(found, name, WEIGHTS) for name in self.use}
        marks = [{"value": WEIGHTS.index(v), "label": name[0].upper()}
                 for name, v in places.items() if v is not None]
        if len(marks) == 2 and abs(marks[0]["value"] - marks[1]["value"]) < CLOSE:
            marks[0]["label"] = "R L"
            other = marks.pop()["value"]
            marks += [{"value": other}] if other != marks[0]["value"] else []
        self.widgets["weight"].marks = marks

    def _take(self, name: str) -> None:
        value = usable(self.store.estimate, name, WEIGHTS)
        if value is not None:
            self.store.state.weight = value

    def _learnt(self, *events) -> None:
        found = self.store.learnt
        self.learnt.object = "" if found is None else paragraph(messages.learnt(
            found.model, found.objective, self.store.state.hyper == "all"))
