"""The page: the verdict with what is going on, and below it models, engines, or the papers."""

from __future__ import annotations

import numpy as np
import panel as pn
import panel_material_ui as pmui

from workbench.ui.base.arrival import when_loaded
from workbench.ui.base.jobs import Run
from workbench.ui.base.shell import App
from workbench.ui.base.views.layout import ByTab, View, dim, stretched, wrapping
from workbench.ui.base.views.readout import Readout
from workbench.ui.base.views.room import Room
from workbench.ui.base.views.text import note, paragraph
from workbench.ui.compare import background, messages, pairs
from workbench.ui.compare.published import headline
from workbench.ui.compare.ranking import BETTER, ranking, score_of, title_of
from workbench.ui.compare.state import BETWEEN, MODELS, PAPERS, State
from workbench.ui.compare.store import Store
from workbench.ui.compare.views import papers
from workbench.ui.compare.views.charts import Charts
from workbench.ui.compare.views.controls import Controls
from workbench.ui.compare.views.engines import Engines
from workbench.ui.compare.views.exports import Exports
from workbench.ui.compare.views.maps import Maps

LOOSE = {"max-height": "none", "min-width": "0"}


class Numbers(Readout):
    """The verdict in a live region, the button that compares, and what is going on."""

    chips = ("verdict",)

    def __init__(self, store: Store, **params):
        self.rest, self.hint = note(), note()
        self.go = pmui.Button(label=messages.COMPARE, icon="play_arrow", color="primary",
                              variant="contained", size="small", margin=(2, 8),
                              on_click=lambda _: store.compare())
        super().__init__(store, (self.go,), (self.hint,), (self.rest,), **params)
        self.text.styles = {"font-size": "16px", "font-weight": "500"}
        self.follow(self._numbers, "board", "pair", "stale", "stale_pair")
        self.follow(self._work, "work", "fraction", "what", "error")
        store.state.param.watch(self._both, store.state.names())

    @property
    def present(self) -> str:
        """What is being done, and how long it will still take."""
        store = self.store
        return store.what or store.work or store.problem

    def _both(self, *events) -> None:
        self._numbers()
        self._work()

    def _work(self, *events) -> None:
        super()._work()
        store, tab = self.store, self.store.state.tab
        self.go.param.update(
            visible=tab != PAPERS, disabled=bool(store.problem or store.work),
            label=messages.COMPUTE if tab == BETWEEN else messages.COMPARE)

    def _numbers(self, *events) -> None:
        store, tab = self.store, self.store.state.tab
        text, rest, hint, chip = {MODELS: models, BETWEEN: engines, PAPERS: published}[tab](store)
        with pn.io.hold():
            self.text.text = text
            self.rest.object, self.hint.object = paragraph(rest), paragraph(hint)
            self.judge(chip or ("", "default"), chip is not None)
            former = {MODELS: store.board is not None and store.stale,
                      BETWEEN: store.pair is not None and store.stale_pair}.get(tab, False)
            for part in (self.text, self.rest, self.verdict):   # not what says that they are
                dim(part, former)


def models(store: Store) -> tuple[str, str, str, tuple[str, str] | None]:
    """Verdict, its reasons, what to do next, and a badge, of a comparison of models."""
    board = store.board
    if board is None:
        return messages.NONE_YET, "", "", None
    first, _, rest = board.result.attrs["sentence"].partition(". ")
    used, base = (board.result.attrs[name] for name in ("recommended", "baseline"))
    row = next((one for one in ranking(board) if one.name == used), None)
    scored = title_of(board, score_of(board, "crps"))
    chip = messages.badge(used, base, scored, row.change if row else 0.0,
                          row is not None and row.standing == BETTER)
    hint = messages.STALE if store.stale else (
        messages.failed(board.partial) if board.partial else "")
    return f"{first}.", rest, hint, chip


def engines(store: Store) -> tuple[str, str, str, None]:
    """What a comparison of engines found, in words."""
    if store.pair is None:
        return messages.NO_PAIR, "", "", None
    model, *lines = store.pair.attrs["summary"].split("\n")
    warned = messages.spoken(store.pair.attrs.get("warned", "").replace("\n", " "))
    shown = store.shown
    first = next((line for line in lines if line.startswith(f"{shown.one}: ")), lines[0])
    rest = [messages.spoken(line) for line in (model, *lines) if line != first]
    hint, said = messages.STALE_PAIR if store.stale_pair else "", messages.spoken(first)
    if missing := pairs.unfinished(store.pair):
        hint = f"{messages.engines_stopped(missing)} {hint}".strip()
    elif shown.one != shown.other:
        apart, ratio = pairs.distance(store.pair, shown.one, shown.other)
        said = messages.engines_apart(
            shown.one, shown.other, float(store.pair["seconds"].sel(engine=shown.one)),
            (float(np.median(apart)), float(apart.max())),
            (float(np.median(ratio)), float(ratio.min()), float(ratio.max())))
    said = f"{said[0].upper()}{said[1:]}."
    return said, ". ".join(filter(None, [*rest, warned])), hint, None


def published(store: Store) -> tuple[str, str, str, None]:
    """How many published numbers are met."""
    return headline(store.state.paper), "", "", None


class Stage(View):
    """Tabs, the verdict, and what the open tab shows, as large as the window allows."""

    def __init__(self, store: Store, **params):
        super().__init__(store, **params)
        self.tab = pmui.RadioButtonGroup.from_param(
            store.state.param.tab, label="", size="small", margin=(4, 5),
            sizing_mode="stretch_width", max_width=620)
        self.numbers = Numbers(store)
        self.charts = self.maps = self.engines = self.papers = None
        self._tabs, self._loaded = {tab: stretched() for tab in (MODELS, BETWEEN, PAPERS)}, False
        self.room = Room(sizing_mode="stretch_width", height=1, margin=0)
        self._panel = stretched(
            wrapping(self.tab), self.room, self.numbers,
            ByTab(store.state, {tab: [column] for tab, column in self._tabs.items()}),
            Exports(store), styles=LOOSE)
        self._open()
        when_loaded(self._complete)
        self.room.param.watch(self._arrange, "room")
        store.state.param.watch(self._open, "tab")

    def _open(self, *events) -> None:
        """Make what a tab shows when it is first opened: every figure costs the browser time."""
        store, column = self.store, self._tabs[self.store.state.tab]
        if not len(column):
            if store.state.tab == MODELS:
                self.charts, self.maps = Charts(store), Maps(store)
                column[:] = [self.charts]
            elif store.state.tab == BETWEEN:
                self.engines = Engines(store)
                column.append(self.engines)
            else:
                self.papers = papers.Papers(store)
                column.append(self.papers)
        self._arrange()

    def _complete(self) -> None:
        self._loaded = True
        self._arrange()

    def _arrange(self, *events) -> None:
        across, down = self.room.room
        if not across:
            return
        with pn.io.hold():
            self._panel.styles = {**LOOSE, "max-width": f"{across + 8}px"}
            if self.store.state.tab == MODELS:      # what is not seen need not be laid out
                self.charts.fit_into(across - 8)
                self.maps.fit_into(across - 8, down)
                column = self._tabs[MODELS]
                # Maps of another size would be laid out twice, and hold up what stands above them.
                if len(column) == 1 and self._loaded:
                    column.extend([self.maps, self.charts.table])
            elif self.store.state.tab == BETWEEN:
                self.engines.fit_into(across - 8, down)
            else:
                self.papers.fit_into(across - 8)


def _stored_board(run: Run) -> None:
    background.ready_board(State().setting)


APP = App(messages.TITLE, State, Store, Controls, (Stage,), _stored_board)
