"""The top of the page: tabs and presets, what is seen in words, and the stage of each tab."""

from __future__ import annotations

import panel as pn
import panel_material_ui as pmui
from bokeh.models import Range1d

from workbench.ui.base.jobs import Run, load_models
from workbench.ui.base.shell import App
from workbench.ui.base.views.controls import small_button
from workbench.ui.base.views.exports import Exports
from workbench.ui.base.views.layout import ByTab, View, lower, stretched, wrapping
from workbench.ui.base.views.readout import Readout
from workbench.ui.base.views.room import Room
from workbench.ui.base.views.text import note, paragraph
from workbench.ui.sources import city_models, exporting, messages, stored
from workbench.ui.sources.city_store import CityStore
from workbench.ui.sources.presets import PRESETS
from workbench.ui.sources.state import CITY, LINE, State
from workbench.ui.sources.store import Store
from workbench.ui.sources.views.calibration import Calibration
from workbench.ui.sources.views.charts import Charts
from workbench.ui.sources.views.city import EXTENT, Map
from workbench.ui.sources.views.controls import Controls
from workbench.ui.sources.views.experts import Experts
from workbench.ui.sources.views.line import Line
from workbench.ui.sources.views.series import Models, Series

NARROW, EDGES = 700, 92     # pixels: of two maps beside each other, and of what is beside them
ABOVE, LEAST = 388, 260     # pixels above and below a map in the window, and across it at least
STEP = 900              # milliseconds between hours that are played


class Top(View):
    """Tabs, and the presets of the line."""

    def __init__(self, store: Store, **params):
        super().__init__(store, **params)
        state = store.state
        self.tab = pmui.RadioButtonGroup.from_param(state.param.tab, label="", size="small",
                                                    margin=(4, 5), width=250)
        self.presets = [small_button(preset.name, lambda k=k: state.choose_preset(k),
                                     margin=(4, 0, 4, 5)) for k, preset in enumerate(PRESETS)]
        self.play = small_button(messages.PLAY, self._play, icon="play_arrow", margin=(4, 5))
        self.sentence, self._clock = note(), None
        self.sentence.min_height = 27       # nothing may move below it while a bar is dragged
        self._panel = stretched(wrapping(self.tab, *self.presets, self.play), self.sentence)
        self.follow(self._update, *state.names(), of=state)

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

    def _play(self) -> None:
        if self._clock is not None:
            self._clock.stop()
            self._clock = None
        elif pn.state.curdoc is not None:
            self._clock = pn.state.add_periodic_callback(self._tick, period=STEP)
        playing = self._clock is not None
        self.play.param.update(label=messages.PAUSE if playing else messages.PLAY,
                               icon="pause" if playing else "play_arrow")

    def _tick(self) -> None:
        """The next hour, once the map of the present one is there."""
        state, city = self.store.state, self.store.city
        if not city.work and city.hour is not None:
            hours = state.param.hour.objects
            state.hour = hours[(hours.index(state.hour) + 1) % len(hours)]


class Numbers(Readout):
    """What is seen in a live region, what is being worked on, and errors; of the tab shown."""

    def __init__(self, store: Store, **params):
        self.intervals = note()
        super().__init__(store, under=(self.intervals,), lines=2, **params)
        store.param.watch(self._numbers, ["answer", "estimate"])
        store.city.param.watch(self._numbers, ["hour", "stale"])
        for each in (store, store.city):
            each.param.watch(self._work, ["work", "fraction", "error"])
        self.follow(self._both, "tab", of=store.state)

    @property
    def results(self) -> Store | CityStore:
        """The store of the tab shown."""
        return self.store if self.store.state.tab == LINE else self.store.city

    def _both(self, *events) -> None:
        self._numbers()
        self._work()

    def _numbers(self, *events) -> None:
        store, hour = self.store, self.store.city.hour
        on_line = store.state.tab == LINE
        self.intervals.visible = not on_line
        if not on_line or store.answer is None:
            self.cost.visible = False
        if (store.answer if on_line else hour) is None:
            self.verdict.visible = False
        # chips come with their labels: an empty one moves what is beside it
        if on_line and store.answer is not None:
            answer, designs = store.answer, store.state.designs
            self.text.text = messages.line_headline(answer.scores, answer.weight, store.estimate)
            self.judge(messages.verdict(answer.scores, any(d.copied for d in designs),
                                        any(d.biased for d in designs)))
            self.cost.param.update(label=messages.cost(answer.milliseconds), visible=True)
        elif not on_line:
            self.text.text = messages.ABOUT["city"] if hour is None else _of_city(hour)
            if hour is not None:
                self.judge(messages.city_verdict(hour.fitted))
                self.intervals.object = paragraph(messages.city_intervals(hour.fitted))


class TakeAway(Exports):
    """What can be taken away of the tab that is open."""

    def __init__(self, store: Store, **params):
        super().__init__(store, lambda: exporting.bundle(store), {
            store: ("answer", "experts"), store.city: ("hour",), store.state: ("tab",)}, **params)
        lower(self._panel)


class City(View):
    """Maps as large as the page allows, below them a station, calibration and models."""

    def __init__(self, store: Store, **params):
        super().__init__(store, **params)
        self.maps, self.series, self.calibration = Map(store), Series(store), Calibration(store)
        self._panel = stretched(self.maps, wrapping(self.series, self.calibration, gap=16),
                                Models(store))

    def arrange(self, across: int, down: int) -> None:
        """Fit the maps into a column and a window of so many pixels."""
        beside = 2 if across >= NARROW else 1
        high = max(down - ABOVE, LEAST) * EXTENT[0] / EXTENT[1]
        self.maps.fit(int(max(LEAST, min((across - EDGES) / beside, high))))
        self.series.fit(across - EDGES)
        self.calibration.fit(across - EDGES)


class Stage(ByTab):
    """The line or the city, whichever tab is open; no chart is wider than the page."""

    def __init__(self, store: Store, **params):
        x_range = Range1d(-2, 15)
        self.city, self.room = City(store), Room(sizing_mode="stretch_width", height=1, margin=0)
        self.line = [Line(store, x_range), Experts(store, x_range), Charts(store)]
        super().__init__(store.state, {LINE: self.line, CITY: [self.city]}, **params)
        self.room.param.watch(lambda event: self.arrange(*event.new), "room")

    def arrange(self, across: int, down: int) -> None:
        """Fit all charts into a column and a window of so many pixels."""
        with pn.io.hold():
            self.line[0].fit(max(LEAST, across - EDGES), down)
            for part in self.line[1:]:
                part.fit(max(LEAST, across - EDGES))
            self.city.arrange(across, down)

    def __panel__(self):
        return stretched(self.room, super().__panel__())


def _of_city(hour) -> str:
    key = hour.fitted.key
    return messages.city_headline(messages.MODELS[key.model], " and ".join(key.seen), hour.fitted,
                                  messages.clock(hour.hour))


def _import_models(run: Run) -> None:
    load_models()


def _first_city(run: Run) -> None:
    """The fit that the city opens on, and its map, for whoever opens the other tab."""
    run.give_way()
    if stored.fit() is not None:
        city_models.learn(stored.KEY, run)


APP = App(messages.TITLE, State, Store, Controls, (Top, Numbers, Stage, TakeAway),
          first=_import_models,
          later=_first_city)
