"""One session's results: watches the state, answers at once what it can, works on the rest."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import wraps

import param
import xarray as xr

from workbench.spec import Spec
from workbench.ui import answers
from workbench.ui.answers import Answer, Scene
from workbench.ui.jobs import Job, Run
from workbench.ui.state import State

PAUSE = 0.5     # seconds


def _alone(method: Callable) -> Callable:
    """Let only one thread at a time into a session's store: widgets' events come in several."""
    @wraps(method)
    def locked(self, *args):
        with self._lock:
            return method(self, *args)

    return locked


class Store(param.Parameterized):
    """State in, results out; no widgets.

    Parameters
    ----------
    state : State
        What to answer.
    hop : callable
        Runs a function in the session's thread; by default at once.
    """

    scene = param.ClassSelector(class_=Scene, doc="the data, ready to be shown")
    answer = param.ClassSelector(class_=Answer, doc="the maps shown")
    exceedance = param.Array(doc="P(rate > threshold) of each individual")
    scores = param.ClassSelector(class_=xr.Dataset, doc="scores of the maps shown, or None")
    history = param.List(doc="(step, objective) of the present or last fit")
    work = param.String(doc="what is being worked on; empty if nothing")
    fraction = param.Number(0.0, doc="share of the steps allowed that the present fit has used")
    error = param.String(doc="what went wrong last; empty if nothing")

    def __init__(self, state: State, hop: Callable = lambda function: function()):
        super().__init__()
        self.state, self._spec, self._lock = state, None, threading.RLock()
        self._job = Job(self._hear, hop)
        state.param.watch(self._changed, [n for n in state.names() if n != "colours"])

    @property
    def fitting(self) -> bool:
        """Whether hyperparameters are being learnt, which can be cancelled."""
        return self.work.startswith("learning")

    def refresh(self) -> None:
        """Answer the state as it is; what needs computing is computed in a thread."""
        self._changed()

    @_alone
    def fit(self) -> None:
        """Learn the hyperparameters that are not held, in a thread."""
        spec = self._spec = self.state.spec()
        self.param.update(error="", history=[], fraction=0.0, work="learning hyperparameters")
        self._job.start(lambda run: _fit(spec, run))

    @_alone
    def cancel(self) -> None:
        """Stop learning at the next step; the best state so far is shown."""
        if self.fitting:
            self.work = "learning: stopping after this step"
        self._job.cancel()

    def close(self) -> None:
        """Drop all work: the session is over."""
        self._job.drop()

    @_alone
    def _changed(self, *events) -> None:
        spec = self.state.spec()
        before, self._spec = self._spec, spec
        if before is not None and answers.answer_spec(before) == answers.answer_spec(spec):
            self._exceed()
            return
        self._job.drop()
        found, scene = answers.ready(spec), answers.ready_scene(spec)
        if found is not None and scene is not None:
            self._show(scene, found)
        missing = found is None or scene is None
        self.param.update(error="", work="updating the maps" if missing else "scoring")
        self._job.start(lambda run: _answer(spec, run))

    def _show(self, scene: Scene, answer: Answer) -> None:
        history = list(enumerate(answer.history, 1)) or self.history
        exceedance = answer.exceedance(self.state.spec().threshold)
        self.param.update(scene=scene, answer=answer, exceedance=exceedance, history=history,
                          scores=answers.ready_scores(answer))

    def _exceed(self) -> None:
        if self.answer is not None and self._spec is not None:
            self.exceedance = self.answer.exceedance(self._spec.threshold)

    @_alone
    def _hear(self, event: str, *values) -> None:
        if event == "ticked":
            step, objective, fraction = values
            self.param.update(history=[*self.history, (step, objective)], fraction=fraction)
        elif event == "received":
            name, result = values
            if name == "maps":
                self._show(*result)
                self.work = "scoring"
            else:
                self.param.update(**{name: result})
        elif event == "failed":
            self.param.update(work="", error=_sentence(values[0]))
        elif event == "ended":
            self.work = ""


def _answer(spec: Spec, run: Run) -> None:
    scene = answers.scene(spec)
    run.check()
    answer = answers.ready(spec) or answers.quick(spec)
    run.send("maps", (scene, answer))
    if answers.ready_scores(answer) is None:
        run.rest(PAUSE)         # scores take seconds: not while a slider is being moved
    run.send("scores", answers.scores(answer))


def _fit(spec: Spec, run: Run) -> None:
    scene = answers.scene(spec)
    answer = answers.learn(spec, run.tick)
    run.send("maps", (scene, answer))
    run.send("scores", answers.scores(answer))


def _sentence(error: Exception) -> str:
    text = str(error) or type(error).__name__
    known = isinstance(error, (ValueError, ImportError))
    return text if known else f"{type(error).__name__}: {text}"
