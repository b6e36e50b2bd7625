"""One session's results: events are answered at once where only sliders moved.

New bags and targets, learning and maps in full are computed in threads. Learning and maps in full
are dropped when something else is asked for.
"""

from __future__ import annotations

import param

from workbench.ui.base import store
from workbench.ui.base.cache import Cache
from workbench.ui.base.fitted import CANCELLED, EVIDENCE
from workbench.ui.base.messages import BY_HAND
from workbench.ui.mediated import background, messages
from workbench.ui.mediated.background import Answer, Setting
from workbench.ui.mediated.engine import Bench
from workbench.ui.mediated.state import SHOWN_ONLY, State

BENCHES, ROWS = 5, 40           # kept


def setting_of(state: State) -> Setting:
    """What the bench of a state is built from."""
    split = state.split if state.share else 0
    return Setting(state.world_key, state.side, state.share, split, state.mediator,
                   state.chosen.grammar, state.mediator_kernel)


class Store(store.Store):
    """An answer, and a row of the table for each. Parameters as of the base."""

    answer = param.ClassSelector(class_=Answer, doc="the present setting; None until there is one")
    stale = param.Boolean(True, doc="whether the answer belongs to a former setting")
    rows = param.Dict({}, doc="rows of the table by what they are kept by")

    watched = tuple(name for name in State.names() if name not in (*SHOWN_ONLY, "status", "at"))

    @property
    def subject(self) -> str:
        """The fields, for names of files."""
        return self.state.source

    def _set_up(self) -> None:
        self._benches = Cache(BENCHES)

    @property
    def status(self) -> str:
        """What was learnt, or that the sliders were set by hand; empty without hyperparameters."""
        state, place = self.state, self.state.place
        if not state.fit:
            return "" if state.model == "bilinear" else BY_HAND
        units = {"lengthscale": place.unit, "far": place.unit, "spread": "K", "noise": "K",
                 "detail_spread": "K", "detail": place.detail[2]}
        if state.field:
            units["near"] = place.mediators[state.field][1]
        return messages.learnt(state.fit, self._at_stops(), units, state.status == CANCELLED,
                               state.beyond)

    def _at_stops(self) -> dict[str, float]:
        """Where the sliders are that show a fit, and the evidence there once it is computed."""
        state, answer = self.state, self.answer
        found = {name: getattr(state, name) for name in state.fit if name != EVIDENCE}
        if answer is not None and (answer.setting, answer.model) == (self.setting, state.chosen):
            found[EVIDENCE] = answer.posterior.evidence
        return found

    @property
    def stoppable(self) -> bool:
        """Whether there is work that the user may stop."""
        return self.work in (messages.LEARNING, messages.WHOLE)

    @property
    def setting(self) -> Setting:
        """What the present bench is built from."""
        return setting_of(self.state)

    @property
    def bench(self) -> Bench | None:
        """Of the present setting; None until it is built."""
        return self._benches.peek(self.setting)

    def learn(self) -> None:
        """Learn the present model's hyperparameters from the targets, in a thread."""
        bench, model = self.bench, self.state.chosen
        if bench is None or model.kind == "bilinear":
            return
        self.param.update(work=messages.LEARNING, fraction=0.0, error="")
        self._job.start(lambda run: background.learn(bench, model, run))

    def whole(self) -> None:
        """Compute the map on the full grid, in a thread."""
        setting, model = self.setting, self.state.chosen
        self.param.update(work=messages.WHOLE, fraction=0.0, error="")
        self._job.start(lambda run: background.whole(setting, model, run))

    def forget(self) -> None:
        """Empty the table but for the present row."""
        self.rows = {}
        if self.answer is not None:
            self._note(self.answer)

    def _changed(self, *events) -> None:
        self._job.drop()
        setting, model, bench = self.setting, self.state.chosen, self.bench
        if bench is None:
            with self._together():
                self.param.update(stale=True, work=messages.LOADING, fraction=0.0, error="")
            self._job.start(lambda run: background.prepare(setting, model, run))
            return
        with self._together():
            self._show(background.answer(setting, bench, model))
            self.param.update(work="", fraction=0.0, error="")

    def _receive(self, name: str, result: object) -> None:
        if name == "bench":
            setting, bench, found = result
            self._benches.keep(setting, bench)
            self._show(found)
        elif name == "answer":
            self._show(result)
        else:
            self.state.keep(*result)

    def _show(self, found: Answer) -> None:
        self._spend(f"{found.model.kind}, {found.evaluations} values of k", found.milliseconds)
        self.param.update(answer=found, stale=False)
        self._note(found)

    def _note(self, found: Answer) -> None:
        key = background.key(found)
        rows = {k: row for k, row in self.rows.items() if k != key} | {
            key: background.row(found) | {"address": f"{self.app}?{self.state.query()}"}}
        self.rows = dict(list(rows.items())[-ROWS:])
