"""The page: headline numbers and progress, and below them maps, charts and the fit in words."""

from __future__ import annotations

import numpy as np
import panel as pn

from workbench.ui.base.jobs import PAGE_DRAWN, Run
from workbench.ui.base.shell import App
from workbench.ui.base.views.readout import Readout
from workbench.ui.disaggregate import engine, messages
from workbench.ui.disaggregate.state import AUTO, State
from workbench.ui.disaggregate.store import Store
from workbench.ui.disaggregate.views.charts import Charts
from workbench.ui.disaggregate.views.controls import Controls
from workbench.ui.disaggregate.views.maps import Maps
from workbench.ui.disaggregate.views.report import Report

QUIET = 15.0    # seconds; then nobody waits for the first page, and its scores can be made
SOON = 3.0      # seconds in which a browser is opened that is opened at once


class Numbers(Readout):
    """Headline numbers in a live region, how the maps were come by, progress and errors."""

    chips = ("cost",)

    def __init__(self, store: Store, **params):
        super().__init__(store, **params)
        self.follow(self._numbers, "scene", "answer", "exceedance")
        self.follow(self._work, "work", "fraction")
        store.param.watch(self._failed, "error")

    @property
    def stoppable(self) -> bool:
        """Whether hyperparameters are being learnt."""
        return self.store.fitting

    @property
    def present(self) -> str:
        """What is being worked on, and at which step."""
        store = self.store
        step = f", step {store.history[-1][0]}" if store.fitting and store.history else ""
        return super().present + step

    def _numbers(self, *events) -> None:
        store, answer, scene = self.store, self.store.answer, self.store.scene
        self.cost.visible = answer is not None
        if scene is None:
            return
        if answer is None:
            self.text.text = messages.data_line(scene.data.sizes["bag"],
                                                scene.data.sizes["individual"])
            return
        weight = scene.data["weight"].values
        low, high = np.quantile(answer.mean, [0.01, 0.99]) * scene.factor
        self.text.text = messages.headline(
            scene.data.sizes["bag"], scene.data.sizes["individual"],
            float(np.average(answer.mean, weights=weight)) * scene.factor, low, high,
            float(np.median(answer.std)) * scene.factor,
            float(weight[store.exceedance > 0.5].sum() / weight.sum()),
            store.state.threshold, scene.unit, float((answer.extrapolation > 0).mean()),
        )
        stands_in = answer.kind == "start" and answer.spec.model == AUTO
        self.cost.param.update(
            label=messages.badge(answer.exact, "stand-in" if stands_in else answer.kind,
                                 answer.seconds, len(answer.history), answer.area_effect),
            color={"learnt": "success", "stopped": "warning"}.get(answer.kind, "default"))

    def _failed(self, *events) -> None:
        self._work()
        if self.store.error and pn.state.notifications:
            pn.state.notifications.error(self.store.error, duration=8000)


def _first_maps(run: Run) -> None:
    PAGE_DRAWN.wait(SOON)       # the browser has its own work with the page, on another core
    run.check()
    spec = State().spec()
    engine.scene(spec)
    run.check()
    engine.quick(spec)


def _first_scores(run: Run) -> None:
    run.rest(QUIET)
    run.give_way()
    engine.scores(engine.quick(State().spec()))


APP = App(messages.TITLE, State, Store, Controls, (Numbers, Maps, Charts, Report), _first_maps,
          _first_scores)
