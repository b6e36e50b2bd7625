"""What a session looks at beside its maps: a check, a test, further layers, a place explained.

Each is a line of work of its own, which neither stops a fit nor waits for it.
"""

from __future__ import annotations

import time
from dataclasses import replace

import param
import xarray as xr

from workbench.bagging.cells import Cells
from workbench.checks import require
from workbench.pipeline.spec import Spec
from workbench.ui.base import store
from workbench.ui.base.jobs import Run
from workbench.ui.base.store import alone, in_words
from workbench.ui.disaggregate import layers, looking, own, recovery, verdict_words
from workbench.ui.disaggregate.catalogue import Choice
from workbench.ui.disaggregate.engine import Answer, Scene
from workbench.ui.disaggregate.layers import Layer

PAUSE = 0.5     # seconds
#: What belongs to one fit, before any of it is there.
NONE = {"recovered": None, "testing": (0, 0), "untested": "", "layer": None, "explained": None,
        "spot": None}


class Insights(store.Store):
    """What is found out about the data and the fit of a session. Parameters as of the base."""

    scene = param.ClassSelector(class_=Scene, doc="the data, ready to be shown")
    answer = param.ClassSelector(class_=Answer, doc="the maps shown; None until there are some")
    recovered = param.ClassSelector(class_=xr.Dataset, doc="areas merged and found again, or None")
    testing = param.Tuple((0, 0), doc="fits of that test done, and in all; zeros if none is run")
    untested = param.String("", doc="why that test has no result, if it was tried")
    check = param.Parameter(None, doc="what was found in the data (`workbench.check`), or None")
    unchecked = param.String("", doc="why the data could not be checked; empty if they can be")
    own = param.Parameter(None, doc="what was found in files that were dropped, or None")
    own_refused = param.String("", doc="why those files could not be checked; empty if they were")
    marked = param.List(doc="ids of areas that are to be seen on the map")
    pointed = param.ClassSelector(class_=Cells, doc="pixels that are to be seen on the map")
    seek = param.Integer(0, doc="how often the map was asked for from elsewhere on the page")
    led = param.Integer(0, doc="how often the explanation was asked for by key: it takes the focus")
    remedy = param.Parameter(None, doc="the `Remedy` that was last chosen for own data in use")
    explained = param.ClassSelector(class_=xr.Dataset, doc="of the place chosen, or None")
    spot = param.Parameter(None, doc="where the map shows that place, two coordinates, or None")
    layer = param.ClassSelector(class_=Layer, doc="what is shown beside the map, if it is a layer")

    #: Until when, on the monotonic clock, what takes seconds waits for a slider to be let go.
    held_until = 0.0

    def _set_up(self) -> None:
        self._test, self._layers = self._line(self._hear_test), self._line(self._hear_insight)
        self._looking = self._line(self._hear_insight)
        self._checks = self._line(self._hear_check, spare=True)
        self._own, self._dropped, self._used = self._line(self._hear_own), None, {}
        self._unsaved: set[str] = set()
        self.state.param.watch(self._look, "beside")
        self.state.param.watch(self._explain, "place")

    @property
    def dragged(self) -> bool:
        """Whether a slider is being dragged, as far as its moves tell."""
        return time.monotonic() < self.held_until

    @property
    def blocked(self) -> str:
        """Why nothing can be fitted; empty if something can."""
        errors = [] if self.check is None else self.check.of("error")
        return str(errors[0].what) if errors else ""

    @property
    def correctable(self) -> bool:
        """Whether the data shown are the files that were dropped last, and can be read again."""
        used = self._used.get(self.state.dataset)
        return used is not None and used is self._dropped

    @alone
    def test(self) -> None:
        """Merge the areas and find them again, with the fit shown."""
        scene, answer = self.scene, self.answer
        self.param.update(testing=(0, 1), untested="")
        self._test.start(lambda run: _test(answer, scene, run))

    @alone
    def stop_test(self) -> None:
        """Give up the test."""
        self._test.drop()
        self.param.update(testing=(0, 0), untested=verdict_words.STOPPED)

    def check_own(self, dataset: str, options: dict, columns: tuple[str, ...] = ()) -> None:
        """Check files that were dropped, see `own.check`."""
        self.param.update(own=None, own_refused="")
        self._own.start(lambda run: run.send("own", own.check(dataset, options, columns)))

    def forget_check(self) -> None:
        """Drop the check of files that were dropped: something else is asked of them."""
        self._own.drop()
        self.param.update(own=None, own_refused="")

    def keep_own(self, contents: dict[str, bytes]) -> own.Files:
        """Keep files that were dropped, see `own.kept`; former ones that are not used go."""
        self._own.drop()
        if self._dropped is not None and self._dropped not in self._used.values():
            self._dropped.remove()
        self._dropped = None
        self._have_room(contents)
        self._dropped = own.kept(contents)
        return self._dropped

    def _have_room(self, contents: dict[str, bytes]) -> None:
        size = sum(files.size for files in self._used.values()) + sum(map(len, contents.values()))
        require(size <= 1e6 * own.MOST_KEPT, f"own data of this session would have {size / 1e6:.0f}"
                f" MB together, more than {own.MOST_KEPT}; open the page again for further ones")

    def use_own(self, choice: Choice, files: own.Files, saved: bool = False) -> str:
        """Offer data of one's own and choose them, each time under a new name (returned)."""
        name = f"{own.NAME}{len(self._used) + 1}"
        titles, title, count = set(self.state.param.dataset.names), choice.title, 1
        while title in titles:
            count += 1
            title = f"{choice.title} ({count})"
        self._used[name] = files
        self._need_saving(name, not saved)
        found = self.own if files is self._dropped else None
        self.state.add(name, replace(choice, title=title))
        if found is not None:           # as of these very files: it need not be made again
            looking.keep_check(self.state.spec(), found)
            self._checks.drop()
            self.param.update(check=found, unchecked="")
        return name

    def _need_saving(self, name: str, needed: bool = True) -> None:
        """Note whether own data and their fit are in no session file yet."""
        if name in self._used:
            (self._unsaved.add if needed else self._unsaved.discard)(name)
        self.unsaved = bool(self._unsaved)

    def leave(self) -> None:
        """Drop all work and delete the files: the session is over."""
        super().leave()
        for files in [*self._used.values(), *([self._dropped] if self._dropped else [])]:
            files.remove()

    def _have_checked(self, spec: Spec) -> None:
        """Check the data of a Spec, unless that was done."""
        self.param.update(check=looking.ready_check(spec), unchecked="")
        if self.check is None:
            self._checks.start(lambda run: _check(spec, run))

    def _have_tested(self) -> None:
        """Test a fit that has ended, if nothing finer is known to compare it with."""
        if (self.answer is not None and self.answer.kind in ("learnt", "stopped")
                and self.scene.known is None and self.recovered is None and not self.untested
                and self.testing == (0, 0)):
            self.test()

    @alone
    def _look(self, *events) -> None:
        """Make the layer that is looked at, if it is one."""
        scene, answer, name = self.scene, self.answer, self.state.beside
        self._layers.drop()
        if answer is None or name not in layers.LAYERS:
            return
        self.layer = layers.ready(answer, name)
        if self.layer is None:
            self._layers.start(lambda run: run.send("layer", layers.layer(answer, scene, name)))

    @alone
    def explain(self, x: float, y: float) -> None:
        """Have the place of the map explained that is at two coordinates."""
        if self.scene is not None and self.answer is not None:
            place = looking.place_at(self.scene, self.state.choice.axes, x, y)
            if place is not None:
                self.state.place = str(place)

    @alone
    def explain_highest(self) -> None:
        """Have the place with the highest estimate explained."""
        if self.scene is not None and self.answer is not None:
            self.state.place = str(looking.highest(self.answer, self.scene))

    @alone
    def explain_beside(self, across: int, up: int, steps: int = 1) -> None:
        """Have a place beside the explained one explained: so many steps along an axis."""
        if self.spot is None:
            return
        place, axes = int(self.state.place), self.state.choice.axes
        for _ in range(steps):
            place = looking.beside(self.scene, axes, place, across, up)
        self.state.place = str(place)

    def explain_no_more(self) -> None:
        """Have no place explained."""
        self.state.place = ""

    @alone
    def _explain(self, *events) -> None:
        """Explain the place that is chosen, of a new fit once it is there; or close it."""
        scene, answer, place = self.scene, self.answer, self.state.place
        if events:
            self._looking.drop()
        if not place or scene is not None and int(place) >= scene.data.sizes["individual"]:
            self.param.update(explained=None, spot=None)
        elif answer is not None and (events or self.explained is None):
            self.spot = looking.middle(scene, self.state.choice.axes, int(place))
            self._looking.start(lambda run: run.send(
                "explained", looking.explain(answer, scene, int(place))))

    @alone
    def _hear_insight(self, event: str, *values) -> None:
        if event == "received":
            self.param.update(**{values[0]: values[1]})
        elif event == "failed":
            self.error = in_words(values[0])

    @alone
    def _hear_check(self, event: str, *values) -> None:
        if event == "failed":           # else the check would be under way for ever
            self.unchecked = in_words(values[0])
        self._hear_insight(event, *values)

    @alone
    def _hear_own(self, event: str, *values) -> None:
        if event == "received":
            self.own = values[1]
        elif event == "failed":
            self._log().warning("check of own files failed", exc_info=values[0])
            self.own_refused = in_words(values[0])

    @alone
    def _hear_test(self, event: str, *values) -> None:
        if event == "received" and values[0] == "progress":
            self.testing = values[1]
        elif event == "received":
            self.param.update(recovered=values[1], testing=(0, 0))
        elif event == "failed":
            why = verdict_words.impossible(in_words(values[0]))
            self.param.update(testing=(0, 0), untested=why)


def _check(spec: Spec, run: Run) -> None:
    run.rest(PAUSE)
    run.give_way()              # to the maps
    run.send("check", looking.check(spec))


def _test(answer: Answer, scene: Scene, run: Run) -> None:
    def progress(done: int, total: int, what: str) -> None:
        run.send("progress", (done, total))

    run.send("result", recovery.recover(answer, scene.plain, progress))
