"""Two engines on one problem: both means, their difference, and all of it in words."""

from __future__ import annotations

import numpy as np
import panel as pn
import xarray as xr
from bokeh.models import Range1d

from workbench.plots.scales import colour_scale, rate_unit
from workbench.ui.base.views.figures import empty, push
from workbench.ui.base.views.layout import View, dim, stretched, wrapping
from workbench.ui.base.views.text import block, note, table
from workbench.ui.compare import messages
from workbench.ui.compare.catalogue import ENGINES
from workbench.ui.compare.grid import Grid, grid_of
from workbench.ui.compare.pairs import distance, unfinished
from workbench.ui.compare.state import Pair
from workbench.ui.compare.store import Store
from workbench.ui.compare.views.images import (
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

NAMES = {label: engine for engine, label in ENGINES.items()}
MAPS = ("one", "other", "apart")
HEADS = ("engine", "seconds", "difference of means, median", "largest", "ratio of sds, median",
         "smallest", "largest ratio")
GAP, LARGEST, ABOVE = 20, 620, 420
_LEAST = 0.5            # sds at an end of the scale of differences: a tenth of one is to look small


class Engines(View):
    """Mean, mean, and difference in standard deviations of the second."""

    def __init__(self, store: Store, **params):
        super().__init__(store, **params)
        self.source = empty("left", "bottom", "width", "height", *MAPS)
        self.ranges = Range1d(0, 1), Range1d(0, 1)
        unit = colour_scale(np.array([0.0, 1.0]), label="mean")
        self.rate, self.apart = mapper_of(unit), mapper_of(
            colour_scale(np.array([0.0, 1.0]), label="difference", kind="difference"))
        self.cells = [Cell(name, self.source, self.apart if name == "apart" else self.rate,
                           self.ranges) for name in MAPS]
        self.room, self._grid = (950, 800), None
        self._row, self.numbers = wrapping(*(cell.panel for cell in self.cells), gap=2), block()
        self._panel = stretched(self._row, note(messages.SAME_SCALE), self.numbers)
        self.follow(self._update, "pair")
        self.follow(lambda *_: dim(self._panel, store.stale_pair), "stale_pair")

    def fit_into(self, across: int, high: int) -> None:
        """Fill a width, in the height of the window if that can be."""
        self.room = across, high
        if self._grid is not None:
            self._size(self._grid)

    def _update(self, *events) -> None:
        found, pair = self.store.pair, self.store.shown
        self._panel.visible = found is not None
        if found is None:
            return
        factor, unit = rate_unit(found)         # as the maps of models have it
        missing = unfinished(found)
        found = found.reindex(engine=[*found["engine"].values, *missing])      # unknown there
        one, other = (factor * found["mean"].sel(engine=e).values for e in (pair.one, pair.other))
        sd = factor * found["std"].sel(engine=pair.other).values
        apart = (one - other) / sd
        with pn.io.hold():
            known = [v for v in (one, other) if np.isfinite(v).any()]
            rate = colour_scale(*known or [np.zeros(1)], label="mean", unit=unit)
            difference = colour_scale(np.r_[0.0 if missing else apart, _LEAST], label="difference",
                                      unit="sd of the second", kind="difference",
                                      quantiles=(0.0, 1.0))
            recolour(self.rate, rate)
            recolour(self.apart, difference)
            self._grid = grid_of(found, ("x", "y"))
            push(self.source, columns(self._grid, {"one": one, "other": other, "apart": apart}))
            framed(self._grid, self.ranges)
            titles = [f"{NAMES[e][0].upper()}{NAMES[e][1:]}: "
                      + (messages.UNFINISHED if e in missing else "mean")
                      for e in (pair.one, pair.other)]
            last = f"First − second{f': {messages.UNFINISHED}' if missing else ''}"
            for cell, text, scale in zip(self.cells, [*titles, last],
                                         (rate, rate, difference), strict=True):
                cell.say(text, scale_bar(scale))
            say_values(self.cells, [(titles[0], "@one{0.000}"), (titles[1], "@other{0.000}"),
                                      ("difference", "@apart{0.000} sd")])
            self.numbers.object = numbers(found, pair)
            self._size(self._grid)

    def _size(self, grid: Grid) -> None:
        width, height = side(grid, self.room[0], len(MAPS), GAP, LARGEST,
                             max(260, self.room[1] - ABOVE))
        for cell in self.cells:
            cell.fit(width, height, 2 if width < WORDY else 1)


def numbers(found: xr.Dataset, pair: Pair) -> str:
    """The table of engines: seconds, and how far each is from the second."""
    rows, missing = [], unfinished(found)
    for engine in dict.fromkeys([pair.one, pair.other]):
        one = found.sel(engine=engine)
        apart, ratio = distance(found, engine, pair.other)
        cells = [NAMES[engine], messages.UNFINISHED if engine in missing
                 else f"{float(one['seconds']):.1f}"]
        cells += ["–"] * 5 if engine == pair.other or missing else [
            f"{np.median(apart):.3f} sd", f"{apart.max():.3f} sd",
            f"{np.median(ratio):.3f}", f"{ratio.min():.3f}", f"{ratio.max():.3f}"]
        rows.append((cells, ""))
    return table(HEADS, rows)
