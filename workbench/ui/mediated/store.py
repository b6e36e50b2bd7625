"""One session's results: events are answered at once where only sliders moved.

New bags and targets, learning and maps in full are computed in threads. Learning and maps in full
are dropped when something else is asked for.
"""

from __future__ import annotations

import logging
from collections import OrderedDict, deque
from collections.abc import Callable
from contextlib import nullcontext
from typing import TYPE_CHECKING

import param

from workbench.ui.jobs import Job
from workbench.ui.mediated import background, words
from workbench.ui.mediated.background import Answer, Setting
from workbench.ui.mediated.state import State

if TYPE_CHECKING:
    from workbench.ui.mediated.engine import Bench

SHOWN_ONLY = ("covariate",)     # of the views, not of the answer
BENCHES, ROWS = 5, 40           # kept
_LOG = logging.getLogger("workbench.ui.mediated")


def setting_of(state: State) -> Setting:
    """What the bench of a state is built from."""
    split = state.split if state.share else 0
    return Setting(state.world_key, state.side, state.share, split, state.mediator,
                   state.chosen.grammar, state.mediator_kernel)


class Store(param.Parameterized):
    """State in, results out; no widgets.

    Parameters
    ----------
    state : State
        What to answer.
    hop : callable
        Runs a function in the session's thread; by default at once.
    together : callable
        Gives a context within which all changes of the page are sent as one.
    """

    answer = param.ClassSelector(class_=Answer, doc="the present setting; None until there is one")
    stale = param.Boolean(True, doc="whether the answer belongs to a former setting")
    rows = param.Dict({}, doc="rows of the table by what they are kept by")
    work = param.String("", doc="what is being worked on; empty if nothing")
    fraction = param.Number(0.0, doc="share of the work that is done; 0 if that is not known")
    learnt = param.String("", doc="what was learnt last; empty once a slider moves")
    error = param.String("", doc="what went wrong last; empty if nothing")

    def __init__(self, state: State, hop: Callable = lambda function: function(),
                 together: Callable = nullcontext):
        super().__init__()
        self.state, self.costs, self._together = state, deque(maxlen=500), together
        self._benches: OrderedDict[Setting, Bench] = OrderedDict()
        self._job, self._moving = Job(self._hear, hop), False
        state.param.watch(self._changed, [n for n in state.names() if n not in SHOWN_ONLY])

    def refresh(self) -> None:
        """Answer the state as it is."""
        self._changed()

    def close(self) -> None:
        """Drop all work: the session is over."""
        self._job.drop()

    def cancel(self) -> None:
        """Stop learning with the best values so far, or a map in full without one."""
        self._job.cancel()

    @property
    def setting(self) -> Setting:
        """What the present bench is built from."""
        return setting_of(self.state)

    @property
    def bench(self) -> Bench | None:
        """Of the present setting; None until it is built."""
        return self._benches.get(self.setting)

    def learn(self) -> None:
        """Learn the present model's hyperparameters from the targets, in a thread."""
        bench, model = self.bench, self.state.chosen
        if bench is None or model.kind == "bilinear":
            return
        self.param.update(work=words.LEARNING, fraction=0.0, learnt="", error="")
        self._job.start(lambda run: background.learn(bench, model, run))

    def whole(self) -> None:
        """Compute the map on the full grid, in a thread."""
        setting, model = self.setting, self.state.chosen
        self.param.update(work=words.WHOLE, fraction=0.0, error="")
        self._job.start(lambda run: background.whole(setting, model, run))

    def forget(self) -> None:
        """Empty the table but for the present row."""
        self.rows = {}
        if self.answer is not None:
            self._note(self.answer)

    def _changed(self, *events) -> None:
        self._job.drop()
        setting, model, bench = self.setting, self.state.chosen, self.bench
        learnt = {} if self._moving else {"learnt": ""}
        if bench is None:
            self.param.update(stale=True, work=words.LOADING, fraction=0.0, error="", **learnt)
            self._job.start(lambda run: background.prepare(setting, model, run))
            return
        self._benches.move_to_end(setting)
        with self._together():
            self.param.update(work="", fraction=0.0, error="", **learnt)
            self._take(background.answer(setting, bench, model))

    def _take(self, found: Answer) -> None:
        _LOG.info("%s: %.1f ms, %d values of k", found.model.kind, found.milliseconds,
                  found.evaluations)
        self.costs.append(found.milliseconds)
        self.param.update(answer=found, stale=False)
        self._note(found)

    def _note(self, found: Answer) -> None:
        key = background.key(found)
        rows = {k: row for k, row in self.rows.items() if k != key} | {key: background.row(found)}
        self.rows = dict(list(rows.items())[-ROWS:])

    def _hear(self, event: str, *values) -> None:
        if event == "ticked":
            self.fraction = values[2]
        elif event == "received":
            with self._together():
                getattr(self, f"_{values[0]}")(values[1])
        elif event == "failed":
            _LOG.warning("work failed", exc_info=values[0])
            self.param.update(work="", fraction=0.0,
                              error=f"{type(values[0]).__name__}: {values[0]}")
        elif event == "ended":
            self.param.update(work="", fraction=0.0)

    def _bench(self, result: tuple) -> None:
        setting, bench, found = result
        self._benches[setting] = bench
        while len(self._benches) > BENCHES:
            self._benches.popitem(last=False)
        self._take(found)

    def _answer(self, found: Answer) -> None:
        self._take(found)

    def _learnt(self, result: tuple) -> None:
        values, evidence, cancelled = result
        place = self.state.place
        units = {"lengthscale": place.unit, "far": place.unit, "spread": "K", "noise": "K",
                 "detail_spread": "K", "detail": place.detail[2]}
        self._moving = True
        try:
            self.state.learnt(values)
        finally:
            self._moving = False
        self.learnt = words.learnt(values, units, evidence, cancelled)
