"""One session's results: what is stored or was made before is there at once, the rest when asked.

Nothing that takes long begins by itself: a new setting leaves what is shown in place, marked as of
another setting, until a comparison is asked for.
"""

from __future__ import annotations

from functools import partial
from tempfile import TemporaryDirectory

import param
import xarray as xr

from workbench.checks import InputError
from workbench.ui.base import leftovers, store
from workbench.ui.compare import background, messages, own, pairs
from workbench.ui.compare.engine import Board
from workbench.ui.compare.state import BETWEEN, BOARD, MODELS, PAIR, PAPERS, Pair, Setting


class Store(store.Store):
    """A board, and a pair of engines. Parameters as of the base."""

    board = param.ClassSelector(class_=Board, doc="the comparison shown; None until there is one")
    stale = param.Boolean(True, doc="whether the board is of another setting")
    pair = param.ClassSelector(class_=xr.Dataset, doc="engines side by side")
    shown = param.ClassSelector(class_=Pair, doc="which engines these are")
    stale_pair = param.Boolean(True, doc="whether the engines are of another setting")
    what = param.String("", doc="what is being done, and how long it will still take")

    watched = (*BOARD, *PAIR)

    @property
    def subject(self) -> str:
        """What the open tab is about, for names of files."""
        data = self.state.data.title if self.state.data.handed else self.state.dataset
        return {MODELS: data, PAPERS: self.state.paper}.get(self.state.tab, "engines")

    def _set_up(self) -> None:
        self._asked: Setting | Pair | None = None
        self._finished: xr.Dataset | None = None
        self._folder: TemporaryDirectory | None = None

    def save(self) -> bytes:
        """The session as one file, unless it is about data that no file of it can hold."""
        if self.state.data.handed is not None:
            self.error = messages.NOT_SAVED
            raise InputError(self.error)
        return super().save()

    def leave(self) -> None:
        """Drop all work, data that were handed over, and what was fitted to them."""
        super().leave()
        for name in self.state.handed:
            own.forget(name)
        if self._folder is not None:
            self._folder.cleanup()

    def _own_folder(self) -> str:
        """A folder of this session for fits to data of one's own."""
        self._folder = self._folder or leftovers.folder(leftovers.COMPARED)
        return self._folder.name

    @property
    def problem(self) -> str:
        """Why the present setting cannot be compared; empty if it can."""
        state = self.state
        if state.tab == MODELS and not state.setting.models:
            return messages.TOO_FEW
        return messages.ONE_ENGINE if state.tab == BETWEEN and state.one == state.other else ""

    def compare(self) -> None:
        """Compare models, or engines, as the state asks, in a thread."""
        if self.problem or self.state.tab not in (MODELS, BETWEEN):
            return
        if self.state.tab == MODELS:
            folder = self._own_folder() if self.state.data.handed else ""
            asked, work = self.state.setting, messages.COMPARING
            do = partial(background.models, folder=folder)
        else:
            asked, do, work = self.state.pair, background.engines, messages.COMPUTING
        self._asked, self._finished = asked, None
        self.param.update(work=work, what="", fraction=0.0, error="")
        self._job.start(lambda run: do(asked, run))

    def cancel(self) -> None:
        """Stop; what is finished is shown, of engines also while another is at work.

        That one cannot be stopped in between: what it finds is not shown.
        """
        if isinstance(self._asked, Pair):
            asked, found = self._asked, self._finished
            self._job.drop()
            self._end()
            if found is not None:
                self.param.update(pair=found, shown=asked, stale_pair=False)
        else:
            super().cancel()

    def _changed(self, *events) -> None:
        setting, pair = self.state.setting, self.state.pair
        if self.work and self._asked not in (setting, pair):
            self._job.drop()
            self._end()
        found, engines = background.ready_board(setting, self.board), background.ready_pair(pair)
        with self._together():
            self.param.update(error="", unsaved=bool(self.state.handed))
            if found is None:
                self.stale = self.board is None or self.board.setting != setting
            else:
                self.param.update(board=found, stale=False)
            if engines is None:
                self.stale_pair = self.shown != pair
            else:
                self.param.update(pair=engines, shown=pair, stale_pair=False)

    def _receive(self, name: str, result: object) -> None:
        if name == "progress":
            self.what = messages.left(*result)
        elif name == "engines":
            asked, found = result
            self._finished = pairs.cut_short(asked, found)
            self.what = messages.engines_done(found["engine"].values.tolist())
        elif name == "board":
            self.param.update(board=result, stale=result.setting != self.state.setting)
        else:
            shown, found = result
            self.param.update(pair=found, shown=shown, stale_pair=shown != self.state.pair)

    def _end(self) -> None:
        self._asked = self._finished = None
        self.param.update(work="", what="", fraction=0.0)
