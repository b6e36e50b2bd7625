"""One session's results: watches the state, answers at once what it can, works on the rest.

Three lines of work, each in its own `Job`: what was asked for; the same fit's maps with or without
the area effect, which must not stop a fit; and ahead of the user, what a slider's next move needs.
What is looked at beside the map has lines of its own, see `insights`.
"""

from __future__ import annotations

import param
import xarray as xr

from workbench.checks import InputError
from workbench.pipeline.spec import Spec
from workbench.ui.base import session
from workbench.ui.base.jobs import Run
from workbench.ui.base.store import alone, in_words
from workbench.ui.disaggregate import engine, keeping, labels, messages, own, recovery
from workbench.ui.disaggregate.engine import Answer, Scene
from workbench.ui.disaggregate.fitted import FITTED, UNFITTED, Fitted
from workbench.ui.disaggregate.insights import NONE, PAUSE, Insights
from workbench.ui.disaggregate.state import State

#: Choices of the views, not of the answer.
SHOWN_ONLY = ("colours", "log_colours", "beside", "swipe", "step")


class Store(Insights):
    """The data, the maps of one fit, and their scores. Parameters as of the bases."""

    exceedance = param.Array(doc="P(rate > threshold) of each individual, or None")
    scores = param.ClassSelector(class_=xr.Dataset, doc="scores of the maps shown, or None")
    history = param.List(doc="(step, objective) of the present or last fit")

    watched = tuple(name for name in State.names() if name not in SHOWN_ONLY)

    def _set_up(self) -> None:
        self._spec, self._asked, self._side = None, None, self._line(self._hear_side)
        self._opened = {}
        self._ahead = self._line(self._hear_side, spare=True)
        super()._set_up()

    @property
    def fitting(self) -> bool:
        """Whether hyperparameters are being learnt, which can be cancelled."""
        return self.work.startswith("learning")

    @property
    def stoppable(self) -> bool:
        """Whether hyperparameters are being learnt."""
        return self.fitting

    @alone
    def fit(self) -> None:
        """Learn the hyperparameters that no slider fixes, in a thread."""
        self._learn(self.state.spec())

    @alone
    def cancel(self) -> None:
        """Stop learning at the next step; the best state so far is shown."""
        if self.fitting:
            self.work = "learning: stopping after this step"
        self._job.cancel()

    def save(self) -> bytes:
        """The session as one file, its fit in it; refused of own files, which it would lack."""
        if self.state.dataset.startswith(own.NAME):
            self.error = labels.NOT_SAVED
            raise InputError(labels.NOT_SAVED)
        answer, state = self.answer, self.state
        current = answer is not None and answer.answers(state.spec(), state.fitted)
        return session.pack(self.app, keeping.session_of(
            state.query(), answer if current else None))

    @alone
    def open(self, content: bytes) -> list[str]:
        """Go on with a session that was saved; its fit is read in a thread."""
        found, named = session.unpack(content, self.app, [keeping.FIT]), State()
        problems = named.read(found.query)
        if keeping.FIT not in found.members:
            return self.state.read(found.query)
        self.close()
        self.param.update(error="", work=messages.OPENING, fraction=0.0)
        spec, fitted = named.spec(), named.fitted
        self._job.start(lambda run: run.send("opened", (
            found.query, keeping.answer_of(found, spec, fitted))))
        return problems

    def _ready(self, spec: Spec, fitted: Fitted) -> Answer | None:
        """The answer if it is there: that of the file that was opened, or of this server."""
        opened = self._opened.get((engine.fit_spec(spec), fitted))
        if opened is not None:
            return engine.including(opened, spec.area_effect)
        return engine.ready(spec, fitted)

    def _learn(self, spec: Spec) -> None:
        self._spec = spec
        self.close()
        self._have_checked(spec)
        self.param.update(error="", history=[], fraction=0.0, testing=(0, 0),
                          work="learning hyperparameters")
        empty = self.answer is None
        self._job.start(lambda run: _fit(spec, empty, run))

    @alone
    def _changed(self, *events) -> None:
        spec, fitted = self.state.spec(), self.state.fitted
        before, self._asked = self._asked, (engine.fit_spec(spec), fitted)
        self._spec = spec
        if before == self._asked:
            self._exceed()
            self._include(spec.area_effect)
            return
        self.close()
        self._have_checked(spec)
        found, scene = self._ready(spec, fitted), engine.ready_scene(spec)
        self.param.update(error="", work="updating the maps", fraction=0.0, testing=(0, 0))
        if found is None and fitted.status == FITTED and not fitted.at:
            self._learn(spec)
            return
        if found is None or scene is None:
            self._job.start(lambda run: _answer(spec, fitted, run))
            return
        self._show(scene, found)
        if self.scores is None:
            self.work = "scoring"
            self._job.start(lambda run: _score(found, run))
        else:
            self._end()

    def _adopt(self, answer: Answer) -> None:
        """Put what was learnt into the state, and so into the URL."""
        if answer.fitted != UNFITTED:
            self._asked = engine.fit_spec(self.state.spec()), answer.fitted
            self.state.keep(answer.fitted)

    def _show(self, scene: Scene, answer: Answer) -> None:
        history = list(enumerate(answer.history, 1)) or self.history
        exceedance = answer.exceedance(self.state.spec().threshold)
        same = self._same_fit(answer)
        scores = self.scores if same else engine.ready_scores(answer)
        forgotten = {} if same else NONE | {"recovered": recovery.ready(answer)}
        self.param.update(scene=scene, answer=answer, exceedance=exceedance, history=history,
                          scores=scores, **forgotten)
        if self.layer is None:
            self._look()

    def _same_fit(self, answer: Answer) -> bool:
        return self.answer is not None and self.answer.fit is answer.fit

    def _stage(self, scene: Scene) -> None:
        """Show the data of a scene while its maps are worked on."""
        if scene is not self.scene:
            self.param.update(scene=scene, answer=None, exceedance=None, scores=None, history=[],
                              marked=[], **NONE)

    def _include(self, area_effect: bool) -> None:
        scene, answer = self.scene, self.answer
        self._side.drop()
        if answer is not None and answer.area_effect != area_effect:
            self._side.start(lambda run: run.send(
                "maps", (scene, engine.including(answer, area_effect))))

    def _exceed(self) -> None:
        if self.answer is not None and self._spec is not None:
            self.exceedance = self.answer.exceedance(self._spec.threshold)

    def _tick(self, step: int, objective: float, fraction: float) -> None:
        self.param.update(history=[*self.history, (step, objective)], fraction=fraction)

    def _receive(self, name: str, result: object) -> None:
        if name == "scene":
            self._stage(result)
        elif name == "meanwhile":
            if self.answer is None:
                self._show(*result)
        elif name == "opened":
            query, answer = result
            self._opened = {(answer.spec, answer.fitted): answer}
            self._asked = None
            self.state.read(query)
            self._changed()
            self._adopt(answer)
        elif name == "refused":
            self.state.keep(UNFITTED)
            self.error = result
        elif name == "maps":
            self._show(*result)
            self._adopt(result[1])
            self.param.update(work="scoring", fraction=0.0)
            self._include(self._spec.area_effect)   # it may have been switched meanwhile
        else:
            self.param.update(**{name: result})

    def _end(self) -> None:
        """All that was asked for is shown: work ahead."""
        super()._end()
        self._have_tested()
        neighbours, fitted = self.state.neighbours(), self.state.fitted
        if neighbours:
            self._ahead.start(lambda run: _work_ahead(neighbours, fitted, run))

    @alone
    def _hear_side(self, event: str, *values) -> None:
        if event == "received":
            scene, answer = values[1]
            if self._same_fit(answer):      # a fit may have ended meanwhile
                self._show(scene, answer)
        elif event == "failed":
            self.error = in_words(values[0])


def _answer(spec: Spec, fitted: Fitted, run: Run) -> None:
    run.wait_for_page(0)        # before the models, which take seconds to load
    scene = engine.scene(spec)
    run.send("scene", scene)
    try:
        answer = engine.quick(spec, fitted)
    except InputError as error:
        if fitted == UNFITTED:
            raise
        run.send("refused", messages.no_such_fit(str(error)))
        return
    run.send("maps", (scene, answer))
    _score(answer, run)


def _score(answer: Answer, run: Run) -> None:
    if engine.ready_scores(answer) is None:
        run.wait_for_page(PAUSE)       # scores take seconds: not while a slider is being moved
    run.send("scores", engine.scores(answer))


def _fit(spec: Spec, empty: bool, run: Run) -> None:
    if empty:
        run.wait_for_page(0)
    scene = engine.scene(spec)
    run.send("scene", scene)
    if empty:       # of a URL: there are maps to look at until the fit is there
        run.send("meanwhile", (scene, engine.quick(spec)))
    answer = engine.learn(spec, run.tick)
    run.send("maps", (scene, engine.including(answer, spec.area_effect)))
    run.send("scores", engine.scores(answer))


def _work_ahead(specs: list[Spec], fitted: Fitted, run: Run) -> None:
    """Answer what the next move of a slider asks for, as long as nobody wants anything else."""
    run.rest(PAUSE)
    for spec in specs:
        run.give_way()
        if engine.ready(spec, fitted) is None:
            engine.quick(spec, fitted)
