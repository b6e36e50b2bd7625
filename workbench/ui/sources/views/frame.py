"""The top of the page: tabs and presets, what is seen in words, and the stage of each tab."""

from __future__ import annotations

import panel as pn
import panel_material_ui as pmui
import param
from bokeh.models import Range1d

from workbench.ui.sources import words
from workbench.ui.sources.city_store import CityStore
from workbench.ui.sources.presets import PRESETS
from workbench.ui.sources.state import CITY, LINE
from workbench.ui.sources.store import Store
from workbench.ui.sources.views.charts import Charts
from workbench.ui.sources.views.city import Map
from workbench.ui.sources.views.experts import Experts
from workbench.ui.sources.views.line import Line
from workbench.ui.sources.views.series import Models, Series
from workbench.ui.views import readout
from workbench.ui.views.layout import ByTab, wrapping
from workbench.ui.views.text import note, paragraph

STEP = 900              # milliseconds between hours that are played


class Top(pn.viewable.Viewer):
    """Tabs, and the presets of the line."""

    store = param.ClassSelector(class_=Store)

    def __init__(self, store: Store, **params):
        super().__init__(store=store, **params)
        state = store.state
        self.tab = pmui.RadioButtonGroup.from_param(state.param.tab, label="", size="small",
                                                    margin=(4, 5), width=250)
        self.presets = [pmui.Button(
            label=preset.name, size="small", variant="outlined", margin=(4, 0),
            on_click=lambda _, k=k: state.take(k)) for k, preset in enumerate(PRESETS)]
        self.play = pmui.Button(label=words.PLAY, icon="play_arrow", size="small",
                                variant="outlined", margin=(4, 5), on_click=self._play)
        self.sentence, self._clock = note(), None
        self.sentence.min_height = 27       # nothing may move below it while a bar is dragged
        state.param.watch(self._update, state.names())
        self._update()

    def _update(self, *events) -> None:
        state = self.store.state
        for button in self.presets:
            button.visible = state.tab == LINE
        self.sentence.visible = state.tab == LINE
        self.play.visible = state.tab == CITY
        if state.tab != CITY and self._clock is not None:
            self._play()
        known = next((p for p in PRESETS if all(
            getattr(state, n) == v for n, v in p.setting.items()
            if n in ("tab", "span", "truth", "sources"))), None)
        self.sentence.object = paragraph(known.sentence if known else "")

    def _play(self, *events) -> None:
        if self._clock is not None:
            self._clock.stop()
            self._clock = None
        elif pn.state.curdoc is not None:
            self._clock = pn.state.add_periodic_callback(self._tick, period=STEP)
        playing = self._clock is not None
        self.play.param.update(label=words.PAUSE if playing else words.PLAY,
                               icon="pause" if playing else "play_arrow")

    def _tick(self) -> None:
        """The next hour, once the map of the present one is there."""
        state, city = self.store.state, self.store.city
        if not city.work and city.hour is not None:
            hours = state.param.hour.objects
            state.hour = hours[(hours.index(state.hour) + 1) % len(hours)]

    def __panel__(self):
        return pn.Column(wrapping(self.tab, *self.presets, self.play), self.sentence,
                         sizing_mode="stretch_width", margin=0)


class Readout(readout.Readout):
    """What is seen in a live region, what is being worked on, and errors; of the tab shown."""

    def __init__(self, store: Store, **params):
        super().__init__(store, **params)
        self.text.min_height = 40
        self._panel = pn.Column(self.error, self.text, self.strip(),
                                sizing_mode="stretch_width", margin=0)
        store.param.watch(self._numbers, ["answer", "estimate"])
        store.city.param.watch(self._numbers, ["hour", "stale"])
        store.param.watch(self._work, ["work", "fraction", "error"])
        store.city.param.watch(self._work, ["work", "fraction", "error"])
        store.state.param.watch(self._both, "tab")
        self._both()

    @property
    def results(self) -> Store | CityStore:
        """The store of the tab shown."""
        return self.store if self.store.state.tab == LINE else self.store.city

    def _both(self, *events) -> None:
        self._numbers()
        self._work()

    def _numbers(self, *events) -> None:
        store, state = self.store, self.store.state
        on_line = state.tab == LINE
        self.verdict.visible = self.cost.visible = on_line and store.answer is not None
        if on_line and store.answer is not None:
            answer, designs = store.answer, state.designs
            self.text.text = words.line_headline(answer.scores, answer.weight, store.estimate)
            label, colour = words.verdict(answer.scores, any(d.copied for d in designs),
                                          any(d.biased for d in designs))
            self.verdict.param.update(label=label, color=colour)
            self.cost.label = words.cost(answer.milliseconds)
        elif not on_line:
            hour = store.city.hour
            self.text.text = words.ABOUT["city"] if hour is None else _of_city(hour)

    def __panel__(self):
        return self._panel


class Stage(ByTab):
    """The line or the city, whichever tab is open."""

    def __init__(self, store: Store, **params):
        x_range = Range1d(-2, 15)
        super().__init__(store.state, {
            LINE: [Line(store, x_range), Experts(store, x_range), Charts(store)],
            CITY: [wrapping(Map(store), Series(store), gap=10), Models(store)]}, **params)


def _of_city(hour) -> str:
    fitted = hour.fitted
    *_, seen, name = fitted.key
    return words.city_headline(words.MODELS[name], " and ".join(seen), fitted.rmse,
                               fitted.coverage, words.clock(hour.hour))
