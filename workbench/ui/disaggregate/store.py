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
from workbench.ui.base.fitted import FITTED
from workbench.ui.base.jobs import Run
from workbench.ui.base.messages import not_offered
from workbench.ui.base.store import alone, in_words
from workbench.ui.disaggregate import engine, exports, keeping, labels, messages, own, recovery
from workbench.ui.disaggregate.engine import Answer, Scene
from workbench.ui.disaggregate.fitted import UNFITTED, Fitted
from workbench.ui.disaggregate.following import follow, learn, score, work_ahead
from workbench.ui.disaggregate.insights import NONE, Insights
from workbench.ui.disaggregate.keeping import Opened
from workbench.ui.disaggregate.state import State

UPDATING = "updating the maps"
#: Choices of the views, not of the answer.
SHOWN_ONLY = ("colours", "log_colours", "beside", "swipe", "step", "summand", "scored", "scores_as",
              "place", "rescale")


class Store(Insights):
    """The data, the maps of one fit, and their scores. Parameters as of the bases."""

    exceedance = param.Array(doc="P(rate > threshold) of each individual, or None")
    scores = param.ClassSelector(class_=xr.Dataset, doc="scores of the maps shown, or None")
    history = param.List(doc="(step, objective) of the present or last fit")
    stage = param.Parameter(None, doc="labelled.stages.Stage of the present fit, or None")

    #: The threshold of ``exceedance``, in the unit shown.
    threshold = 0.0
    session_note = labels.SESSION_NOTE
    watched = tuple(name for name in State.names() if name not in SHOWN_ONLY)

    def _set_up(self) -> None:
        self._spec, self._asked, self._side = None, None, self._line(self._hear_side)
        self._opened, self._pursued, self._wanted, self._glimpsed = {}, None, None, False
        self._staged = None
        self._ahead = self._line(self._hear_side, spare=True)
        super()._set_up()

    @property
    def subject(self) -> str:
        """The dataset, or the name of the file of own data."""
        return exports.subject(self.state.spec())

    @property
    def fitting(self) -> bool:
        """Whether hyperparameters are being learnt, which can be cancelled."""
        return self.work.startswith("learning")

    @property
    def stoppable(self) -> bool:
        """Whether hyperparameters are being learnt."""
        return self.fitting

    @property
    def stale(self) -> bool:
        """Whether the maps are of other settings; not while they follow a slider step by step."""
        if self.answer is None:
            return False
        return self.work == UPDATING and not self._glimpsed or self.of_other_data

    @property
    def reading(self) -> bool:
        """Whether the data that are chosen are still being read: what is shown are former ones."""
        return bool(self.work) and self._spec is not None and (
            engine.data_spec(self._spec) != self._staged)

    @property
    def of_other_data(self) -> bool:
        """Whether the maps are of data that are no longer chosen."""
        answer, spec = self.answer, self._spec
        return answer is not None and spec is not None and (
            engine.data_spec(answer.spec) != engine.data_spec(spec))

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
        """The session as one file, its fit and own data in it, if it can be opened again."""
        answer, state = self.answer, self.state
        current = answer is not None and answer.answers(state.spec(), state.fitted)
        packed = session.pack(self.app, keeping.session_of(
            state.query(), answer if current else None, state.choice,
            self._used.get(state.dataset)))
        if len(packed) > 1e6 * own.MOST:
            self.error = labels.not_saved(len(packed) / 1e6, own.MOST)
            raise InputError(self.error)
        self._need_saving(state.dataset, False)
        return packed

    @alone
    def open(self, content: bytes) -> list[str]:
        """Go on with a session that was saved; its fit and data are read in a thread."""
        found = session.unpack(content, self.app, [keeping.FIT, *keeping.FILES])
        with_own = keeping.OWN in found.facts
        if with_own:
            self._have_room(keeping.own_contents(found))
        elif keeping.FIT not in found.members:
            return self.state.read(found.query)
        self.close()
        self.param.update(error="", work=messages.OPENING, fraction=0.0)
        self._job.start(lambda run: run.send("opened", keeping.opened(found)))
        return [] if with_own else State().read(found.query)    # of own data it is said later

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
        self.param.update(error="", history=[], fraction=0.0, testing=(0, 0), stage=None,
                          work=messages.LEARNING)
        empty = self.answer is None
        self._job.start(lambda run: learn(spec, empty, run))

    @alone
    def _changed(self, *events) -> None:
        spec, fitted = self.state.spec(), self.state.fitted
        before, self._asked = self._asked, (engine.fit_spec(spec), fitted)
        self._spec = spec
        if before == self._asked:
            self._exceed()
            self._include(spec.area_effect)
            return
        if self.work and self._pursued == (engine.base_spec(spec), fitted):
            self._wanted = spec             # what is under way is shown, and then this
            return
        self.close()
        self._have_checked(spec)
        found, scene = self._ready(spec, fitted), engine.ready_scene(spec)
        self._glimpsed = False
        reads = scene is None and engine.data_spec(spec) != self._staged
        self.param.update(error="", work=messages.READING if reads else UPDATING, fraction=0.0,
                          testing=(0, 0))
        if found is None and fitted.status == FITTED and not fitted.at:
            self._learn(spec)
            return
        if found is None or scene is None:
            self._pursued = engine.base_spec(spec), fitted
            self._job.start(lambda run: follow(spec, fitted, run, self))
            return
        self._show(scene, found)
        if self.scores is None or found.rough:
            self.work = "scoring"
            self._job.start(lambda run: score(found, scene, run, self))
        else:
            self._end()

    def close(self) -> None:
        """Drop all work."""
        self._pursued = self._wanted = None
        super().close()

    @alone
    def newer(self, run: Run) -> Spec | None:
        """What a slider asks for since an answer was begun; asked by the run that pursues it."""
        run.check()
        wanted, self._wanted = self._wanted, None
        if wanted is None:
            self._pursued = None
        return wanted

    def _adopt(self, answer: Answer) -> None:
        """Put what was learnt into the state, and so into the URL."""
        if answer.fitted != UNFITTED:
            self._asked = engine.fit_spec(self.state.spec()), answer.fitted
            self.state.keep(answer.fitted)

    def _show(self, scene: Scene, answer: Answer) -> None:
        curve = answer.history and (*answer.history, answer.reached)
        history = list(enumerate(curve, 1)) or self.history
        self.threshold, self._staged = self.state.threshold, engine.data_spec(answer.spec)
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
        self._staged = None if self._spec is None else engine.data_spec(self._spec)
        if self.work == messages.READING:
            self.work = UPDATING
        if scene is not self.scene:
            self.threshold = self.state.threshold
            self.param.update(scene=scene, answer=None, exceedance=None, scores=None, history=[],
                              marked=[], pointed=None, **NONE)

    def _include(self, area_effect: bool) -> None:
        scene, answer = self.scene, self.answer
        self._side.drop()
        if answer is not None and answer.area_effect != area_effect:
            self._side.start(lambda run: run.send(
                "maps", (scene, engine.including(answer, area_effect))))

    def _exceed(self) -> None:
        if self.answer is not None and self._spec is not None and not self.of_other_data:
            self.threshold = self.state.threshold
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
            self._go_on(result)
        elif name == "refused":
            self.state.keep(UNFITTED)
            self.error = result
        elif name == "maps":
            self._glimpsed = True
            self._show(*result)
            self._adopt(result[1])
            if result[1].fitted != UNFITTED:
                self._need_saving(self.state.dataset)
            done = result[1].answers(self._spec, self.state.fitted)
            self.param.update(work="scoring" if done else UPDATING, fraction=0.0)
            self._include(self._spec.area_effect)   # it may have been switched meanwhile
        else:
            self.param.update(**{name: result})

    def _go_on(self, opened: Opened) -> None:
        query, answer = opened.query, opened.answer
        self._opened = {} if answer is None else {(answer.spec, answer.fitted): answer}
        self._asked = None
        with self.state.together():
            if opened.choice is not None:
                query = keeping.with_dataset(query, self.use_own(
                    opened.choice, opened.files, saved=True))
            self.state.read(query)
        self._changed()
        if answer is not None:
            self._adopt(answer)
        if opened.choice is not None and opened.problems:
            self.error = not_offered(opened.problems)

    @alone
    def _hear(self, event: str, *values) -> None:
        super()._hear(event, *values)
        if event == "failed" and self._wanted is not None:      # there may be no error there
            self._pursued = self._asked = None
            self._changed()

    def _end(self) -> None:
        """All that was asked for is shown: work ahead."""
        super()._end()
        self._have_tested()
        self._explain()
        neighbours, fitted = self.state.neighbours(), self.state.fitted
        if neighbours:
            self._ahead.start(lambda run: work_ahead(neighbours, fitted, run))

    @alone
    def _hear_side(self, event: str, *values) -> None:
        if event == "received":
            scene, answer = values[1]
            if self._same_fit(answer):      # a fit may have ended meanwhile
                self._show(scene, answer)
        elif event == "failed":
            self.error = in_words(values[0])
