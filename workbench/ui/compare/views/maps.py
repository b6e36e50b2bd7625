"""The maps of all models on one colour scale, beside what they were given and the truth."""

from __future__ import annotations

import numpy as np
import panel as pn
from bokeh.models import Range1d

from workbench.plots.scales import colour_scale
from workbench.ui.base.browser import PHONE
from workbench.ui.base.views.controls import small_button
from workbench.ui.base.views.figures import empty, push
from workbench.ui.base.views.layout import View, dim, stretched, wrapping
from workbench.ui.base.views.pictures import DRAWN
from workbench.ui.base.views.text import note, paragraph
from workbench.ui.compare import messages
from workbench.ui.compare.catalogue import RIVALS
from workbench.ui.compare.engine import Board
from workbench.ui.compare.ranking import FAILED, ranking
from workbench.ui.compare.store import Store
from workbench.ui.compare.views.images import (
    SCALE,
    WORDY,
    Cell,
    columns,
    framed,
    mapper_of,
    recolour,
    say_values,
    scale_bar,
    side,
)

WRAP = ":host {flex-wrap: wrap; gap: 0 8px; align-items: center;}"
MOST = 3 + len(RIVALS)      # maps: observed, truth, the simple map, all its rivals
GAP, LARGEST, ABOVE = 12, 420, 530
FEW = 3             # maps that a phone draws until more are asked for


class Maps(View):
    """A map for each model, best first; those that there are no models for are not shown."""

    def __init__(self, store: Store, **params):
        super().__init__(store, **params)
        self.names = [f"map_{k}" for k in range(MOST)]
        self.source = empty("left", "bottom", "width", "height", *self.names)
        self.ranges = Range1d(0, 1), Range1d(0, 1)
        self.mapper = mapper_of(colour_scale(np.array([0.0, 1.0]), label="rate"))
        self.cells = [Cell(name, self.source, self.mapper, self.ranges) for name in self.names]
        self.legend = pn.pane.HTML("", margin=(4, 10), width=300, css_classes=[DRAWN],
                                   stylesheets=[SCALE])
        self.room = (950, 800)
        self.row, self._whole = wrapping(gap=2), False
        self.more = small_button("", self._all, margin=(6, 5), visible=False)
        self.note = note()
        self.note.styles = {"flex": "1 1 280px"}
        bar_and_note = pn.Row(self.legend, self.note, sizing_mode="stretch_width", margin=0,
                              stylesheets=[WRAP])
        self._panel = stretched(bar_and_note, self.row, self.more)
        self._board: Board | None = None
        self._count = 0
        self.follow(self._update, "board")
        self.follow(lambda *_: dim(self._panel, store.stale), "stale")
        store.state.param.watch(self._update, "score")

    def fit_into(self, across: int, high: int) -> None:
        """Fill a width, in the height of the window if that can be."""
        self.room = across, high
        if self._board is not None:
            self._size(self._board)

    def _all(self) -> None:
        self._whole = True
        with pn.io.hold():
            self._size(self._board)

    def _update(self, *events) -> None:
        board = self.store.board
        if board is None:
            return
        shown = panels(board, self.store.state.score)
        with pn.io.hold():
            scale = colour_scale(*(v for v in (board.observed, board.truth) if v is not None),
                                 label="rate", unit=board.unit)
            recolour(self.mapper, scale)
            self.legend.object = scale_bar(scale)
            nothing = np.full(board.observed.shape, np.nan, dtype=np.float32)
            filled = dict(zip(self.names, [values for _, values in shown], strict=False))
            push(self.source, columns(board.grid, {n: filled.get(n, nothing)
                                                   for n in self.names if n in filled}) | {
                n: [np.full((1, 1), np.nan, dtype=np.float32)] for n in self.names
                if n not in filled})
            if self._board is None or self._board.grid is not board.grid:
                framed(board.grid, self.ranges)
            self._board = board
            for cell, (title, _) in zip(self.cells, shown, strict=False):
                cell.say(title)
            tips = [(title, f"@{name}{{0.0000}}") for name, (title, _) in
                    zip(self.names, shown, strict=False)]
            say_values(self.cells[:len(shown)], tips)
            self.note.object = paragraph(messages.MAPS_NOTE.format(
                kept=messages.KEPT if board.setting.data.counts else ""))
            self._count = len(shown)
            self._size(board)

    def _size(self, board: Board) -> None:
        few = self.room[0] < PHONE and not self._whole      # each costs a phone a second
        count = min(self._count, FEW) if few else self._count
        self.more.param.update(label=messages.all_maps(self._count), visible=count < self._count)
        width, height = side(board.grid, self.room[0], count, GAP, LARGEST,
                             max(260, self.room[1] - ABOVE))
        for cell in self.cells[:count]:
            cell.fit(width, height, 2 if width < WORDY else 1)
        if len(self.row) != count:
            self.row[:] = [cell.panel for cell in self.cells[:count]]


def panels(board: Board, score: str) -> list[tuple[str, np.ndarray]]:
    """Title and values of each map, what was given and the truth first, then the models by rank.

    A model that has scores but, as all was stopped before it, no map, has an empty one that says
    so: the ranks are those of the table.
    """
    shown = [(messages.OBSERVED, board.observed)]
    shown += [] if board.truth is None else [(messages.TRUTH, board.truth)]
    used = board.result.attrs["recommended"]
    ranked = [row for row in ranking(board, score) if row.standing != FAILED]
    for k, row in enumerate(ranked, start=1):
        mark = " ✓" if row.name == used else ""
        title, values = f"{k} {row.name}{mark}", board.maps.get(row.name)
        if values is None:
            title, values = f"{title}: {messages.NO_MAP}", np.full_like(board.observed, np.nan)
        shown.append((title, values))
    return shown
