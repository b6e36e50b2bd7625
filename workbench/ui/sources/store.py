"""One session's results on the line: sliders are answered at once, learning goes to a thread."""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np
import param

from workbench.ui.base import store
from workbench.ui.base.cache import Cache
from workbench.ui.sources import background, line, messages
from workbench.ui.sources.background import Estimate, Experts, Learnt, Plan
from workbench.ui.sources.city_store import CityStore
from workbench.ui.sources.engine import Answer, Bench, Model, answer
from workbench.ui.sources.state import CITY, LINE, SET


class Store(store.Store):
    """What the line shows; what the other tab shows is in ``city``. Parameters as of the base."""

    answer = param.ClassSelector(class_=Answer, doc="the present world's posteriors")
    learnt = param.ClassSelector(class_=Learnt, doc="hyperparameters; None unless asked and known")
    estimate = param.ClassSelector(class_=Estimate, doc="composite weights; None until known")
    experts = param.ClassSelector(class_=Experts, doc="MR-DGP; None until learnt")
    fresh = param.Boolean(False, doc="whether MR-DGP belongs to the present data")
    dragging = param.Boolean(False, doc="whether a support is being dragged")

    watched = ("tab", "span", "truth", "drawn", "draw", "sources", "kernel", "hyper",
               "lengthscale", "spread", "weight", "experts")

    @property
    def subject(self) -> str:
        """What the open tab is about, for names of files."""
        return self.state.truth if self.state.tab == LINE else f"city-{self.state.city}"

    def _set_up(self) -> None:
        self.city = CityStore(self.state, self._schedule, self._together)
        self._benches, self._plan = Cache(4), None

    def refresh(self) -> None:
        """Answer the state as it is."""
        super().refresh()
        self.city.refresh()

    def close(self) -> None:
        """Drop all work: the session is over."""
        super().close()
        self.city.close()

    def escape(self) -> None:
        """Stop what the user may stop on the tab that is open."""
        if self.state.tab == CITY:
            self.city.escape()
        else:
            super().escape()

    @property
    def bench(self) -> Bench:
        """Of the present world."""
        key = self.state.data_key
        return self._benches.get(key, lambda: Bench(line.make(*key)))

    @property
    def plan(self) -> Plan:
        """What is wanted besides what the sliders say."""
        state = self.state
        return Plan(state.data_key, state.kernel, state.hyper, state.experts)

    @property
    def model(self) -> Model:
        """Hyperparameters: learnt ones if they are asked for and known."""
        return self.learnt.model if self.learnt is not None else self.set_model()

    def set_model(self) -> Model:
        """Hyperparameters as the sliders say; the mean is that of source 1, noise as made."""
        state, world = self.state, self.bench.world
        return Model(state.kernel, state.lengthscale, state.spread**2,
                     float(world.sources[0].values.mean()),
                     tuple(float(shown.noise) for shown in world.sources))

    def _changed(self, *events) -> None:
        if self.state.tab != LINE:
            return
        plan, moved = self.plan, self.plan != self._plan
        with self._together():
            if moved:
                self._begin(plan)
            self._reply()
        if moved and plan.wanted:
            self._job.start(lambda run: background.complete(plan, run))

    def _begin(self, plan: Plan) -> None:
        """Other data or another model: what is known of it already, and what is not."""
        self._job.drop()
        self._plan = plan
        known = {what: plan.kept(what) for what in ("learnt", "estimate", "experts")}
        shown = self.experts if known["experts"] is None and plan.experts else known["experts"]
        self.param.update(
            learnt=known["learnt"] if plan.hyper != SET else None, estimate=known["estimate"],
            experts=shown if plan.experts else None, fresh=known["experts"] is not None,
            work=messages.WORK[plan.wanted[0]] if plan.wanted else "", fraction=0.0, error="")

    def _reply(self) -> None:
        start = time.perf_counter()
        found = answer(self.bench, self.model, self.state.weight)
        spent = 1000 * (time.perf_counter() - start)
        self._spend("line", spent)
        self.answer = replace(found, milliseconds=spent)

    def _receive(self, name: str, result: object) -> None:
        if name == "doing":
            self.param.update(work=messages.WORK[result], fraction=0.0)
        elif name == "experts":
            self.param.update(experts=result, fresh=True)
        else:
            self.param.update(**{name: result})
        if name == "learnt":
            self._reply()


def usable(estimate: Estimate | None, name: str, stops: list[float]) -> float | None:
    """The stop nearest to an estimated weight; None if there is none within the slider."""
    value = None if estimate is None else getattr(estimate, name)
    if value is None or not np.isfinite(value) or not stops[0] <= value <= stops[-1]:
        return None
    return min(stops, key=lambda stop: abs(stop - value))
