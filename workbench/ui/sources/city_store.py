"""One session's results on the city; all of it is computed in a thread."""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import nullcontext

import param

from workbench.ui.jobs import Job
from workbench.ui.sources import city_models, words
from workbench.ui.sources.city import CityData
from workbench.ui.sources.city_models import Fitted, Hour
from workbench.ui.sources.state import CITY, State

WATCHED = ("tab", "city", "scope", "stations", "satellite", "model", "hour")
ROWS = 20
_LOG = logging.getLogger("workbench.ui.sources")


class CityStore(param.Parameterized):
    """State in, results out; no widgets. Parameters as of `workbench.ui.sources.store.Store`."""

    data = param.ClassSelector(class_=CityData, doc="the city that is shown; None until made")
    fitted = param.ClassSelector(class_=Fitted, doc="the model that is shown; None until learnt")
    hour = param.ClassSelector(class_=Hour, doc="its map of the present hour")
    stale = param.Boolean(True, doc="whether the model shown is a former one")
    rows = param.Dict({}, doc="RMSE, coverage and more by what was learnt")
    work = param.String("", doc="what is being worked on; empty if nothing")
    fraction = param.Number(0.0, doc="share of the work that is done; 0 if that is not known")
    error = param.String("", doc="what went wrong last; empty if nothing")

    def __init__(self, state: State, hop: Callable = lambda function: function(),
                 together: Callable = nullcontext):
        super().__init__()
        self.state, self._together = state, together
        self._job = Job(self._hear, hop)
        state.param.watch(self._changed, list(WATCHED))

    def refresh(self) -> None:
        """Answer the state as it is."""
        self._changed()

    def close(self) -> None:
        """Drop all work."""
        self._job.drop()

    def cancel(self) -> None:
        """Stop learning; the best state so far is shown, and not kept."""
        self._job.cancel()

    def _changed(self, *events) -> None:
        state = self.state
        if state.tab != CITY:
            self._job.drop()
            self.work = ""
            return
        key, hour = state.fit_key, state.hour
        if self.hour is not None and self.hour.hour == hour and self.fitted.key == key and (
                not self.stale):
            return
        with self._together():
            known = self.fitted is not None and self.fitted.key == key
            self.param.update(stale=not known, fraction=0.0, error="",
                              work=words.WORK["hour" if known else "fit"])
        if known:       # also one that was stopped early and is not kept
            fitted = self.fitted
            self._job.start(lambda run: run.send("hour", fitted.at(hour)))
        else:
            self._job.start(lambda run: city_models.work(key, hour, run))

    def _hear(self, event: str, *values) -> None:
        if event == "ticked":
            self.fraction = float(values[2])
        elif event == "received":
            with self._together():
                self._take(*values)
        elif event == "failed":
            _LOG.warning("work on the city failed", exc_info=values[0])
            self.param.update(work="", fraction=0.0, error=f"{values[0]}")
        elif event == "ended":
            self.param.update(work="", fraction=0.0)

    def _take(self, name: str, result: object) -> None:
        if name == "doing":
            self.param.update(work=words.WORK[result], fraction=0.0)
        elif name == "data":
            if result is not self.data:
                self.data = result
        elif name == "fitted":
            self.param.update(data=result.data, fitted=result, stale=False)
        else:
            self.hour = result
            fitted = result.fitted
            row = (fitted.rmse, fitted.coverage, result.rmse,
                   words.learnt_in(fitted.seconds, fitted.cancelled, fitted.converged))
            kept = {k: v for k, v in self.rows.items() if k != fitted.key}
            self.rows = dict(list((kept | {fitted.key: row}).items())[-ROWS:])
