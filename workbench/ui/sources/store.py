"""One session's results on the line: sliders are answered at once, learning goes to a thread."""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace

import numpy as np
import param

from workbench.ui.granularity.bench import Recent
from workbench.ui.results import Results
from workbench.ui.sources import background, line, words
from workbench.ui.sources.background import Estimate, Experts, Learnt, Plan
from workbench.ui.sources.city_store import CityStore
from workbench.ui.sources.engine import Answer, Bench, Model, answer
from workbench.ui.sources.state import LINE, SET, State

_LOG = logging.getLogger("workbench.ui.sources")


class Store(Results):
    """What the line shows; what the other tab shows is in ``city``. Parameters as of `Results`."""

    answer = param.ClassSelector(class_=Answer, doc="the present world's posteriors")
    learnt = param.ClassSelector(class_=Learnt, doc="hyperparameters; None unless asked and known")
    estimate = param.ClassSelector(class_=Estimate, doc="composite weights; None until known")
    experts = param.ClassSelector(class_=Experts, doc="MR-DGP; None until learnt")
    fresh = param.Boolean(False, doc="whether MR-DGP belongs to the present data")
    dragging = param.Boolean(False, doc="whether a support is being dragged")

    watched = ("tab", "span", "truth", "drawn", "draw", "sources", "kernel", "hyper",
               "lengthscale", "spread", "weight", "experts")

    def __init__(self, state: State, hop: Callable = lambda function: function(),
                 together: Callable = nullcontext):
        super().__init__(state, hop, together)
        self.city = CityStore(state, hop, together)
        self.costs, self._benches, self._plan = deque(maxlen=500), Recent(4), None

    def refresh(self) -> None:
        """Answer the state as it is."""
        super().refresh()
        self.city.refresh()

    def close(self) -> None:
        """Drop all work: the session is over."""
        super().close()
        self.city.close()

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
            self._job.start(lambda run: background.settle(plan, run))

    def _begin(self, plan: Plan) -> None:
        """Other data or another model: what is known of it already, and what is not."""
        self._job.drop()
        self._plan = plan
        known = {what: plan.kept(what) for what in ("learnt", "estimate", "experts")}
        shown = self.experts if known["experts"] is None and plan.experts else known["experts"]
        self.param.update(
            learnt=known["learnt"] if plan.hyper != SET else None, estimate=known["estimate"],
            experts=shown if plan.experts else None, fresh=known["experts"] is not None,
            work=words.WORK[plan.wanted[0]] if plan.wanted else "", fraction=0.0, error="")

    def _reply(self) -> None:
        start = time.perf_counter()
        found = answer(self.bench, self.model, self.state.weight)
        spent = 1000 * (time.perf_counter() - start)
        self.costs.append(spent)
        _LOG.info("line: %.1f ms", spent)
        self.answer = replace(found, milliseconds=spent)

    def _take(self, name: str, result: object) -> None:
        if name == "doing":
            self.param.update(work=words.WORK[result], fraction=0.0)
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
