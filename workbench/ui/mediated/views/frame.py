"""The top of the page: the toggle between models, and the setting in words."""

from __future__ import annotations

import panel as pn
import panel_material_ui as pmui
import param

from workbench.ui.mediated import words
from workbench.ui.mediated.background import Answer
from workbench.ui.mediated.store import Store
from workbench.ui.views import readout
from workbench.ui.views.text import note, paragraph


class Toggle(pn.viewable.Viewer):
    """Models beside each other."""

    store = param.ClassSelector(class_=Store)

    def __init__(self, store: Store, **params):
        super().__init__(store=store, **params)
        self.model = pmui.RadioButtonGroup.from_param(
            store.state.param.model, label="", size="small", margin=(4, 5),
            sizing_mode="stretch_width", max_width=860)

    def __panel__(self):
        return pn.Column(self.model, sizing_mode="stretch_width", margin=0)


class Readout(readout.Readout):
    """The setting and what it shows in a live region, and what is going on."""

    def __init__(self, store: Store, **params):
        super().__init__(store, **params)
        self.setting, self.learnt = note(words.WAITING), note()
        self.full = pmui.Button(label=words.FULL, size="small", variant="outlined", margin=(2, 5),
                                icon="grid_on", on_click=lambda _: store.whole())
        self._panel = pn.Column(self.error, self.text, self.setting, self.strip(self.full),
                                self.learnt, sizing_mode="stretch_width", margin=0)
        store.param.watch(self._numbers, "answer")
        store.param.watch(self._work, ["work", "fraction", "learnt", "error", "stale"])
        self._numbers()
        self._work()

    def _numbers(self, *events) -> None:
        answer = self.store.answer
        if answer is None:
            return
        self.text.text = headline(answer)
        self.setting.object = paragraph(_setting(answer))
        bilinear = answer.model.kind == "bilinear"
        side = _block(answer)
        text, colour = words.ratio(answer.model.lengthscale / side)
        self.verdict.param.update(label=text, color=colour, visible=not bilinear)
        self.cost.param.update(visible=True, label=words.cost(
            answer.milliseconds, answer.evaluations, answer.model.kind))

    @property
    def stoppable(self) -> bool:
        """Whether there is work that the user may stop."""
        return self.store.work in (words.LEARNING, words.WHOLE)

    def _work(self, *events) -> None:
        super()._work()
        store, place = self.store, self.store.state.place
        self.full.param.update(
            label=f"{words.FULL}: {words.quantity(place.pixel, place.unit)} pixels",
            visible=place.fine, disabled=store.stale or bool(store.work))
        self.learnt.object = paragraph(store.learnt)

    def __panel__(self):
        return self._panel


def headline(answer: Answer) -> str:
    """The numbers that matter and what they show."""
    law, unit = answer.posterior, answer.data.world.place.unit
    slope = ""
    if law.slope is not None:
        name = next(n for n in answer.data.world.covariates if n in ("orography", "altitude"))
        slope = f"{1000 * law.slope:.2g} K per km of {name}"
    held = answer.scores.get("coverage")
    return " ".join((
        words.scored(words.NAMES[answer.model.kind], answer.scores["rmse"], held),
        words.seen(answer.model.kind, answer.data.matched, law.weights,
                   words.quantity(_block(answer), unit), slope)))


def _block(answer: Answer) -> float:
    place = answer.data.world.place
    return answer.setting.side * place.thin * place.pixel


def _setting(answer: Answer) -> str:
    data, unit = answer.data, answer.data.world.place.unit
    return f"{data.world.title}. " + words.setting(
        data.bags.sizes["bag"], data.values.size, data.matched,
        words.quantity(_block(answer), unit), data.pixels.sizes["individual"],
        words.quantity(data.world.pixel(data.fine), unit))
