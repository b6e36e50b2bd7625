"""One session's results: each event is answered at once as far as a slider can wait.

What takes longer (a map's complete posterior under counts, the plane, the curves over m, theory)
is computed in a thread once the sliders rest, and dropped when they move again.
"""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass, replace

import numpy as np
import param

from workbench.ui.base import store
from workbench.ui.base.cache import Cache
from workbench.ui.base.messages import BY_HAND
from workbench.ui.granularity import cells as cutting
from workbench.ui.granularity import messages
from workbench.ui.granularity.background import Curve, Picture, Plan, complete, equal_cells, learn
from workbench.ui.granularity.cells import Summaries
from workbench.ui.granularity.draws import Draws, draws
from workbench.ui.granularity.engine import Answer, Bench
from workbench.ui.granularity.plane import Plane
from workbench.ui.granularity.state import (
    COUNTS,
    LENGTHS,
    LINE,
    MAP,
    SHOWN_ONLY,
    SIDES,
    State,
)
from workbench.ui.granularity.worlds import END

PAUSE = 0.25            # seconds without an event, after which a slider counts as released
CURVE = [2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256]      # cells on the line


@dataclass(frozen=True)
class Tick:
    """What one event cost on the server, views included."""

    milliseconds: float
    evaluations: int


class Store(store.Store):
    """Posteriors, plane and curves; learning works beside them. Parameters as of the base."""

    answer = param.ClassSelector(class_=Answer, doc="the present setting's posteriors")
    picture = param.ClassSelector(class_=Picture, doc="the plane; None until begun")
    curve = param.ClassSelector(class_=Curve, doc="error against cells; None until computed")
    stale = param.Boolean(False, doc="whether plane and curves belong to a former setting")
    shapes = param.Dict(doc="error by shape of the cells; None until known")
    draws = param.ClassSelector(class_=Draws, doc="moving draws; None while not wanted, or stale")
    room = param.Tuple((958, 800), doc="width and height in pixels that the page has for views")
    tick = param.ClassSelector(class_=Tick, doc="what the last event cost")

    watched = tuple(name for name in State.names() if name not in (*SHOWN_ONLY, "status", "at"))

    @property
    def subject(self) -> str:
        """What the open tab is about, for names of files."""
        return self.state.known if self.state.tab == LINE else (
            f"{self.state.source}-{self.state.output}")

    def _set_up(self) -> None:
        self._learner, self._learning = self._line(self._hear_of_learning), False
        self._drawer = self._line(self._hear_of_draws)
        self.state.param.watch(self._draw, "show")
        self.state.param.watch(self._refine, "tolerance")
        self._benches, self._planes, self._curves = Cache(4), Cache(12), Cache(60)

    @property
    def status(self) -> str:
        """What was learnt, or that the sliders were set by hand."""
        found, shown = self.state.fit, asdict(self.state.model)
        return BY_HAND if not found else messages.learnt(found, shown, self.bench.world.unit)

    @property
    def stoppable(self) -> bool:
        """Nothing here takes long enough."""
        return False

    @property
    def bench(self) -> Bench:
        """Of the present world."""
        return self._benches.get(self.state.world_key, lambda: Bench(self.state.world))

    def cut(self) -> Summaries:
        """Summaries of the present world at the present cells."""
        state, world = self.state, self.bench.world
        if state.tab == LINE:
            return cutting.intervals(world.points, world.values, state.boundaries)
        return equal_cells(world, state.side, state.shape)

    def learn(self) -> None:
        """Learn the hyperparameters from the present summaries, in a thread."""
        bench, cells, start = self.bench, self.cut(), self.state.model
        self.work, self._learning = messages.LEARNING, True
        self._learner.start(lambda run: learn(bench, cells, start, run))

    def _changed(self, *events) -> None:
        start, bench = time.perf_counter(), self.bench
        before = bench.evaluations
        self._job.drop()
        self._learner.drop()
        self._learning = False
        answer = bench.answer(self.cut(), self.state.model, self.state.rival)
        with self._together():
            self.param.update(answer=answer, stale=True, work=messages.UPDATING, error="")
            self._spend(", ".join(event.name for event in events) or "start",
                        1000 * (time.perf_counter() - start))
            self.tick = Tick(self.costs[-1], bench.evaluations - before)
        self._complete(answer)
        self._draw()

    def _complete(self, answer: Answer) -> None:
        plan = self._plan()
        self._job.start(lambda run: complete(plan, answer, run, PAUSE))

    def _refine(self, *events) -> None:
        """Have the plane finer where errors cross another tolerance."""
        if self.answer is not None:
            self.work = messages.UPDATING
            self._complete(self.answer)

    def _draw(self, *events) -> None:
        """Have draws made that move, if they are looked at."""
        self._drawer.drop()
        self.draws = None
        if self.state.tab == MAP and self.state.show == "draws" and self.answer is not None:
            bench, cells, model = self.bench, self.answer.cells, self.answer.model

            def make(run) -> None:
                run.wait_for_page(PAUSE)
                run.send("draws", draws(bench, cells, model))

            self._drawer.start(make)

    def _hear_of_learning(self, event: str, *values) -> None:
        self._learning = self._learning and event not in ("failed", "ended")
        self._hear(event, *values)

    def _end(self) -> None:
        """As of the base; while it is learnt, other work that ends is not all."""
        super()._end()
        self.work = messages.LEARNING if self._learning else ""

    def _hear_of_draws(self, event: str, *values) -> None:
        if event != "ended":            # of other work that may go on
            self._hear(event, *values)

    def _plan(self) -> Plan:
        state, model = self.state, self.state.model
        shape = state.shape if state.tab == MAP else ""
        key = (*state.world_key, shape, replace(model, lengthscale=1.0))
        sizes, every, stops = (SIDES, (4, 4), SIDES[:-1]) if state.tab == MAP else (
            [END / c for c in COUNTS if c <= 128], (6, 4), [END / c for c in CURVE])
        plane = self._planes.get(key, lambda: Plane(np.sort(sizes), np.array(LENGTHS), every))
        return Plan(self.bench, model, state.rival, state.size, shape,
                    state.tolerance, plane, np.array(stops),
                    self._curves, (*state.world_key, shape, model))

    def _receive(self, name: str, result: object) -> None:
        if name == "learnt":
            self.state.keep(*result)
        elif name == "fresh":
            self.stale = False
        else:
            self.param.update(**{name: result})
