"""One session's results: watches the state, answers at once what it can, works on the rest.

Three lines of work, each in its own `Job`: what was asked for; the same fit's maps with or without
the area effect, which must not stop a fit; and ahead of the user, what a slider's next move needs.
"""

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
from workbench.ui.results import in_words
from workbench.ui.state import State

PAUSE = 0.5     # seconds
SHOWN_ONLY = ("colours", "log_colours")     # choices of the views, not of the answer


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
    answer = param.ClassSelector(class_=Answer, doc="the maps shown; None until there are some")
    exceedance = param.Array(doc="P(rate > threshold) of each individual, or None")
    scores = param.ClassSelector(class_=xr.Dataset, doc="scores of the maps shown, or None")
    history = param.List(doc="(step, objective) of the present or last fit")
    work = param.String(doc="what is being worked on; empty if nothing")
    fraction = param.Number(0.0, doc="share of the steps allowed that the present fit has used")
    error = param.String(doc="what went wrong last; empty if nothing")

    def __init__(self, state: State, hop: Callable = lambda function: function()):
        super().__init__()
        self.state, self._spec, self._lock = state, None, threading.RLock()
        self._job = Job(self._hear, hop)
        self._side = Job(self._hear_side, hop)
        self._ahead = Job(self._hear_side, hop, spare=True)
        state.param.watch(self._changed, [n for n in state.names() if n not in SHOWN_ONLY])

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
        self._drop()
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
        self._drop()

    def _drop(self) -> None:
        for job in (self._job, self._side, self._ahead):
            job.drop()

    @_alone
    def _changed(self, *events) -> None:
        spec = self.state.spec()
        before, self._spec = self._spec, spec
        if before is not None and answers.fit_spec(before) == answers.fit_spec(spec):
            self._exceed()
            self._include(spec.area_effect)
            return
        self._drop()
        found, scene = answers.ready(spec), answers.ready_scene(spec)
        self.param.update(error="", work="updating the maps")
        if found is None or scene is None:
            self._job.start(lambda run: _answer(spec, run))
            return
        self._show(scene, found)
        if self.scores is None:
            self.work = "scoring"
            self._job.start(lambda run: _score(found, run))
        else:
            self._rest()

    def _show(self, scene: Scene, answer: Answer) -> None:
        history = list(enumerate(answer.history, 1)) or self.history
        exceedance = answer.exceedance(self.state.spec().threshold)
        scores = self.scores if self._same_fit(answer) else answers.ready_scores(answer)
        self.param.update(scene=scene, answer=answer, exceedance=exceedance, history=history,
                          scores=scores)

    def _same_fit(self, answer: Answer) -> bool:
        return self.answer is not None and self.answer.fit is answer.fit

    def _stage(self, scene: Scene) -> None:
        """Show the data of a scene while its maps are worked on."""
        if scene is not self.scene:
            self.param.update(scene=scene, answer=None, exceedance=None, scores=None, history=[])

    def _include(self, area_effect: bool) -> None:
        scene, answer = self.scene, self.answer
        self._side.drop()
        if answer is not None and answer.area_effect != area_effect:
            self._side.start(lambda run: run.send(
                "law", (scene, answers.including(answer, area_effect))))

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
            if name == "scene":
                self._stage(result)
            elif name == "maps":
                self._show(*result)
                self.work = "scoring"
                self._include(self._spec.area_effect)   # it may have been switched meanwhile
            else:
                self.param.update(**{name: result})
        elif event == "failed":
            self.param.update(work="", error=in_words(values[0]))
        elif event == "ended":
            self._rest()

    def _rest(self) -> None:
        """All that was asked for is shown: work ahead."""
        self.work = ""
        neighbours = self.state.neighbours()
        if neighbours:
            self._ahead.start(lambda run: _work_ahead(neighbours, run))

    @_alone
    def _hear_side(self, event: str, *values) -> None:
        if event == "received":
            scene, answer = values[1]
            if self._same_fit(answer):      # a fit may have ended meanwhile
                self._show(scene, answer)
        elif event == "failed":
            self.error = in_words(values[0])


def _answer(spec: Spec, run: Run) -> None:
    run.settle(0)               # a page still being drawn first: the models take seconds to load
    scene = answers.scene(spec)
    run.send("scene", scene)
    answer = answers.quick(spec)
    run.send("maps", (scene, answer))
    _score(answer, run)


def _score(answer: Answer, run: Run) -> None:
    if answers.ready_scores(answer) is None:
        run.settle(PAUSE)       # scores take seconds: not while a slider is being moved
    run.send("scores", answers.scores(answer))


def _fit(spec: Spec, run: Run) -> None:
    scene = answers.scene(spec)
    run.send("scene", scene)
    answer = answers.learn(spec, run.tick)
    run.send("maps", (scene, answers.including(answer, spec.area_effect)))
    run.send("scores", answers.scores(answer))


def _work_ahead(specs: list[Spec], run: Run) -> None:
    """Answer what the next move of a slider asks for, as long as nobody wants anything else."""
    run.rest(PAUSE)
    for spec in specs:
        run.give_way()
        if answers.ready(spec) is None:
            answers.quick(spec)
