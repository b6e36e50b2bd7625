"""The page: what it is about, the numbers that matter, maps, the setting, and scores."""

from __future__ import annotations

from workbench.ui.base.jobs import Run, load_models
from workbench.ui.base.shell import App
from workbench.ui.base.views.controls import small_button
from workbench.ui.base.views.exports import Exports
from workbench.ui.base.views.layout import View, lower, stretched
from workbench.ui.base.views.readout import Readout
from workbench.ui.base.views.text import block, note, paragraph
from workbench.ui.mediated import background, exporting, messages
from workbench.ui.mediated.background import Answer
from workbench.ui.mediated.state import State
from workbench.ui.mediated.store import Store, setting_of
from workbench.ui.mediated.views.charts import Charts
from workbench.ui.mediated.views.controls import Controls
from workbench.ui.mediated.views.maps import Maps
from workbench.ui.mediated.worlds import world


class About(View):
    """What the page is about, in one sentence."""

    def __init__(self, store: Store, **params):
        super().__init__(store, **params)
        self._panel = stretched(block(f"<p class='wb-about'>{messages.ABOUT}</p>"))
        lower(self._panel)


class Numbers(Readout):
    """What the setting shows in a live region, and what is going on."""

    rows = (1, 3)

    def __init__(self, store: Store, **params):
        self.learnt = note()
        self.full = small_button(messages.FULL, store.whole, margin=(2, 5), icon="grid_on")
        super().__init__(store, (self.full,), (self.learnt,), lines=2, **params)
        self.follow_answer(self._numbers)
        self.follow(self._work, "work", "fraction", "error", "stale", "answer")
        self.follow(self._work, "at", of=store.state)

    def _numbers(self, answer) -> None:
        self.text.text = headline(answer)
        self.judge(messages.verdict(answer.scores["rmse"], answer.scores.get("coverage"),
                                    answer.baseline))
        self.cost.param.update(visible=True, label=messages.cost(
            answer.milliseconds, answer.evaluations, answer.model.kind))

    def _work(self, *events) -> None:
        super()._work()
        store, place = self.store, self.store.state.place
        self.full.param.update(
            label=f"{messages.FULL}: {messages.quantity(place.pixel, place.unit)} pixels",
            visible=place.fine, disabled=store.stale or bool(store.work))
        self.learnt.object = paragraph(store.status)


class Setting(View):
    """The setting in words."""

    def __init__(self, store: Store, **params):
        super().__init__(store, **params)
        self._panel = note(messages.WAITING)
        lower(self._panel)
        self.follow_answer(self._update)

    def _update(self, answer) -> None:
        self._panel.object = paragraph(_setting(answer))


class TakeAway(Exports):
    """What can be taken away of the present map."""

    def __init__(self, store: Store, **params):
        super().__init__(store, lambda: exporting.bundle(store),
                         {store: ("answer", "stale")}, **params)
        lower(self._panel)


def headline(answer: Answer) -> str:
    """The numbers that matter and what they show."""
    found, unit = answer.posterior, answer.data.world.place.unit
    slope = ""
    if found.slope is not None:
        name = next(n for n in answer.data.world.covariates if n in ("orography", "altitude"))
        slope = f"{1000 * found.slope:.2g} K per km of {name}"
    held = answer.scores.get("coverage")
    return " ".join((
        messages.scored(answer.model.kind, answer.scores["rmse"], held, answer.baseline,
                        answer.data.matched),
        messages.seen(answer.model.kind, answer.data.matched, found.weights,
                   messages.quantity(_block(answer), unit), slope)))


def _block(answer: Answer) -> float:
    place = answer.data.world.place
    return answer.setting.side * place.thin * place.pixel


def _setting(answer: Answer) -> str:
    data, unit = answer.data, answer.data.world.place.unit
    return f"{data.world.title}. " + messages.setting(
        data.bags.sizes["bag"], data.values.size, data.matched,
        messages.quantity(_block(answer), unit), data.pixels.sizes["individual"],
        messages.quantity(data.world.pixel(data.fine), unit)) + (
        "" if answer.model.kind == "bilinear" else
        " " + messages.ratio(answer.model.lengthscale / _block(answer)))


def _import_models(run: Run) -> None:
    load_models()


def _first_answer(run: Run) -> None:
    """The fields of the first setting, and one answer; benches belong to sessions."""
    state = State()
    setting = setting_of(state)
    run.give_way()
    world(*setting.world)
    run.give_way()
    bench = setting.build()
    run.give_way()
    background.answer(setting, bench, state.chosen)


APP = App(messages.TITLE, State, Store, Controls, (About, Numbers, Maps, Setting, TakeAway, Charts),
          _import_models, _first_answer)
