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

from workbench.ui.mediated import background, words
from workbench.ui.mediated.background import Answer, Setting
from workbench.ui.mediated.state import State
from workbench.ui.results import Results

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


class Store(Results):
    """An answer, and a row of the table for each. Parameters as of `Results`."""

    answer = param.ClassSelector(class_=Answer, doc="the present setting; None until there is one")
    stale = param.Boolean(True, doc="whether the answer belongs to a former setting")
    rows = param.Dict({}, doc="rows of the table by what they are kept by")
    learnt = param.String("", doc="what was learnt last; empty once a slider moves")

    watched = tuple(name for name in State.names() if name not in SHOWN_ONLY)

    def __init__(self, state: State, hop: Callable = lambda function: function(),
                 together: Callable = nullcontext):
        super().__init__(state, hop, together)
        self._benches: OrderedDict[Setting, Bench] = OrderedDict()
        self.costs, self._moving = deque(maxlen=500), False

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
            with self._together():
                self.param.update(stale=True, work=words.LOADING, fraction=0.0, error="", **learnt)
            self._job.start(lambda run: background.prepare(setting, model, run))
            return
        self._benches.move_to_end(setting)
        with self._together():
            self.param.update(work="", fraction=0.0, error="", **learnt)
            self._show(background.answer(setting, bench, model))

    def _take(self, name: str, result: object) -> None:
        if name == "bench":
            setting, bench, found = result
            self._keep(setting, bench)
            self._show(found)
        elif name == "answer":
            self._show(result)
        else:
            self._adopt(*result)

    def _show(self, found: Answer) -> None:
        _LOG.info("%s: %.1f ms, %d values of k", found.model.kind, found.milliseconds,
                  found.evaluations)
        self.costs.append(found.milliseconds)
        self.param.update(answer=found, stale=False)
        self._note(found)

    def _note(self, found: Answer) -> None:
        key = background.key(found)
        rows = {k: row for k, row in self.rows.items() if k != key} | {key: background.row(found)}
        self.rows = dict(list(rows.items())[-ROWS:])

    def _keep(self, setting: Setting, bench: Bench) -> None:
        self._benches[setting] = bench
        while len(self._benches) > BENCHES:
            self._benches.popitem(last=False)

    def _adopt(self, values: dict, evidence: float, cancelled: bool) -> None:
        place = self.state.place
        units = {"lengthscale": place.unit, "far": place.unit, "spread": "K", "noise": "K",
                 "detail_spread": "K", "detail": place.detail[2]}
        self._moving = True
        try:
            self.state.learnt(values)
        finally:
            self._moving = False
        self.learnt = words.learnt(values, units, evidence, cancelled)
