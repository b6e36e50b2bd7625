"""The leaderboard: distance from the simple map, coverage, the map's own score, and time."""

from __future__ import annotations

import numpy as np
import panel as pn
from bokeh.models import FactorRange, FixedTicker, LabelSet, NumeralTickFormatter, Range1d, Span
from bokeh.plotting import figure

from workbench.plots.theme import CATEGORIES, NEUTRAL
from workbench.ui.base.messages import signed
from workbench.ui.base.views.figures import broken, chart, empty, hover, push
from workbench.ui.base.views.layout import View, dim, stretched, wrapping
from workbench.ui.base.views.text import block, note, paragraph, table
from workbench.ui.compare import messages
from workbench.ui.compare.engine import Board
from workbench.ui.compare.ranking import (
    BETTER,
    FAILED,
    LEVELS,
    SIMPLE,
    UNSURE,
    WORSE,
    Row,
    map_score,
    ranking,
    score_of,
    title_of,
)
from workbench.ui.compare.store import Store

COLOURS = {BETTER: CATEGORIES[0], WORSE: CATEGORIES[1], UNSURE: NEUTRAL, SIMPLE: NEUTRAL,
           FAILED: NEUTRAL}
#: The same for numbers, which need more contrast than marks: on a light page and on a dark one.
INK = {False: {BETTER: "#00609A", WORSE: "#A84900"}, True: {BETTER: "#56B4E9", WORSE: "#F59A52"}}
PALE = {False: "#5F5F5F", True: "#B8B8B8"}
COVERED = dict(zip(LEVELS, (CATEGORIES[3], CATEGORIES[5], CATEGORIES[2]), strict=True))
LINE, HEAD = 23, 54         # pixels of a model, and of what is above and below them
TITLE = 17                  # pixels of a further line of a title
NAMES, EDGE = 132, 6        # pixels of the names, and beside each chart
AT_FIRST = 950              # pixels of a page whose room is not known yet
BESIDE = 700                # pixels from which charts stand beside each other
SHARES = (0.47, 0.21, 0.16, 0.16)
FIGURES, FIGURED = 0.36, 126    # share of the first chart that figures take; pixels at least
WORST = 0.75                # from where a difference is drawn as an arrow, where others are smaller
HEADS = ("model", "score ranked by", "change from the simple map (95 % interval)", "standing",
         "CRPS", "map",
         "50 % coverage", "80 % coverage", "95 % coverage", "seconds")


def ink(standing: str, dark: bool) -> str:
    """Colour of the numbers of a model.

    Parameters
    ----------
    standing : str
    dark : bool
        Whether the page is dark.
    """
    return INK[dark].get(standing, PALE[dark])


class Charts(View):
    """Four charts side by side, one line for each model, best on top; the numbers below them."""

    def __init__(self, store: Store, **params):
        super().__init__(store, **params)
        self.models = FactorRange(factors=[])
        self.rows = empty("name", "change", "lower", "upper", "colour", "fill", "marker", "told",
                          "score", "crps", "at", "end", "ink")
        self.covered = empty("name", "share", "colour", "level")
        self.costs = empty("name", "map_score", "seconds", "colour", "fill", "start")
        self.gap, self.coverage = self._gaps(), self._coverage()
        self.fit, self.time = self._costs("map_score"), self._costs("seconds")
        self.figures = (self.gap, self.coverage, self.fit, self.time)
        self.table, self.told = block(), note()
        self._panes = [pn.pane.Bokeh(plot, margin=(0, 2)) for plot in self.figures]
        self._row = wrapping(*self._panes, gap=0)
        self.fit_into(AT_FIRST)
        self._panel = stretched(self._row, self.told)
        self.follow(self._update, "board")
        self.follow(self._wait, "stale")
        store.state.param.watch(self._update, "score")
        store.param.watch(self._update, "dark")

    def _wait(self, *events) -> None:
        for part in (self._panel, self.table):      # which may stand below the maps
            dim(part, self.store.stale)

    def fit_into(self, across: int) -> None:
        """Fill a width: beside each other where there is room, else below each other."""
        beside = self._beside = across >= BESIDE
        spare = across - NAMES - len(self.figures) * EDGE
        for plot, pane, share in zip(self.figures, self._panes, SHARES, strict=True):
            named = not beside or plot is self.gap
            plot.yaxis.visible = named
            plot.min_border_left = NAMES if named else 4
            pane.width = (int(spare * share) if beside else across - NAMES - EDGE) + (
                NAMES if named else 0)
        if self.store.board is not None:
            self._name(self.store.board)

    def _gaps(self) -> figure:
        plot = lined("", y_range=self.models, x_range=Range1d(-1, 1),
                     name="gap")
        plot.add_layout(Span(location=0, dimension="height", line_color=NEUTRAL, line_width=2,
                             line_dash="dashed"))
        plot.segment("lower", "name", "upper", "name", source=self.rows, line_color="colour",
                     line_width=3)
        drawn = plot.scatter("at", "name", source=self.rows, marker="marker", size=11,
                             line_color="colour", fill_color="fill", line_width=2)
        plot.add_layout(LabelSet(x="end", y="name", text="told", source=self.rows, x_offset=-4,
                                 y_offset=-8, text_font_size="12px", text_color="ink",
                                 text_align="right"))
        hover(plot, drawn, [("model", "@name"), ("score", "@score"), ("CRPS", "@crps"),
                            ("change from the simple map", "@told")])
        plot.ygrid.visible = False
        return plot

    def _coverage(self) -> figure:
        plot = lined(messages.COVERAGE, y_range=self.models,
                     x_range=Range1d(-0.03, 1.03), name="coverage")
        for level, colour in COVERED.items():
            plot.add_layout(Span(location=level / 100, dimension="height", line_color=colour,
                                 line_width=1.5, line_dash="dotted"))
        drawn = plot.scatter("share", "name", source=self.covered, size=9, color="colour",
                             fill_alpha=0.9)
        plot.xaxis.ticker = FixedTicker(ticks=[level / 100 for level in LEVELS])
        plot.xaxis.major_label_overrides = {level / 100: str(level) for level in LEVELS}
        hover(plot, drawn, [("model", "@name"), ("interval", "@level %"),
                            ("covers", "@share{0.0 %}")])
        return plot

    def _costs(self, column: str) -> figure:
        plot = lined("", y_range=self.models, x_axis_type="log",
                     x_range=Range1d(0.1, 10), name=column)
        plot.segment("start", "name", column, "name", source=self.costs, line_color="colour",
                     line_width=2, line_alpha=0.5)
        plot.xaxis.formatter = NumeralTickFormatter(format="0,0.[000]")
        drawn = plot.scatter(column, "name", source=self.costs, size=9, line_color="colour",
                             fill_color="fill", line_width=2)
        hover(plot, drawn, [("model", "@name"), (column.replace("_", " "), f"@{column}{{0,0.0}}")])
        return plot

    def _update(self, *events) -> None:
        board = self.store.board
        if board is None:
            return
        rows = ranking(board, self.store.state.score)
        with pn.io.hold():
            self._push(board, rows)
            self._name(board)
            self.table.object = numbers(board, rows)

    def _push(self, board: Board, rows: list[Row]) -> None:
        self.models.factors = [row.name for row in rows][::-1]
        _, _, cut = span(rows)
        colours = [COLOURS[row.standing] for row in rows]
        fills = ["#00000000" if row.standing in (UNSURE, SIMPLE) else colour
                 for row, colour in zip(rows, colours, strict=True)]
        away = [row.change > cut for row in rows]
        push(self.rows, {
            "name": [row.name for row in rows], "change": [row.change for row in rows],
            "lower": [np.nan if far else row.lower for row, far in zip(rows, away, strict=True)],
            "upper": [np.nan if far else row.upper for row, far in zip(rows, away, strict=True)],
            "at": [cut if far else row.change for row, far in zip(rows, away, strict=True)],
            "marker": ["triangle_dot" if far else "diamond" if row.standing == SIMPLE else "circle"
                       for row, far in zip(rows, away, strict=True)],
            "colour": colours, "fill": fills, "told": [told(row) for row in rows],
            "ink": [ink(row.standing, self.store.dark) for row in rows],
            "score": [written(row.score) for row in rows],
            "crps": [written(row.crps) for row in rows], "end": [0.0] * len(rows)})
        push(self.covered, {
            "name": [row.name for row in rows for _ in LEVELS],
            "share": [share for row in rows for share in row.coverage],
            "colour": [COVERED[level] for _ in rows for level in LEVELS],
            "level": [level for _ in rows for level in LEVELS]})
        push(self.costs, {
            "name": [row.name for row in rows], "map_score": [row.map_score for row in rows],
            "seconds": [max(row.seconds, 1e-3) for row in rows], "colour": colours, "fill": fills,
            "start": [1e-12] * len(rows)})
        for plot, name in ((self.fit, "map_score"), (self.time, "seconds")):
            values = np.array([v for v in self.costs.data[name] if np.isfinite(v) and v > 0])
            if values.size:
                low, high = float(values.min()) / 1.6, float(values.max()) * 1.6
                plot.x_range.update(start=low, end=high)
                plot.xaxis.ticker = FixedTicker(ticks=decades(low, high))

    def _name(self, board: Board) -> None:
        rows = ranking(board, self.store.state.score)
        low, high, cut = span(rows)
        figures = max(FIGURES, FIGURED / (self._panes[0].width - NAMES))
        end = high + (high - low) * figures / (1 - figures)
        self.gap.x_range.update(start=low, end=end)
        self.rows.data["end"] = [end] * len(self.rows.data["name"])
        by = title_of(board, score_of(board, self.store.state.score))
        base = board.result.attrs["baseline"]
        title = f"{by}, beside the {base}"
        self.gap.title.text = title if self._beside else broken(
            title, self._panes[0].width - NAMES)
        for pane in self._panes:
            pane.height = LINE * len(self.models.factors) + HEAD
        self._panes[0].height += TITLE * self.gap.title.text.count("\n")
        self.gap.xaxis.axis_label = None
        self.fit.title.text = title_of(board, map_score(board))
        self.time.title.text = "seconds to fit"
        ticks = ticks_of(low, high, 6 if self._beside else 3)
        self.gap.xaxis.ticker = FixedTicker(ticks=ticks)
        self.gap.xaxis.major_label_overrides = {t: messages.percent(t) if t else "0" for t in ticks}
        beyond = any(row.change > cut for row in rows)
        failed = [messages.model_failed(row.name, row.said) for row in rows
                  if row.standing == FAILED]
        self.told.object = paragraph(" ".join([*failed, messages.CHART_NOTE.format(
            base=base), *([messages.BEYOND] if beyond else [])]))


def lined(title: str, **options) -> figure:
    """A chart whose size is that of the whole, its axes and titles included."""
    plot = chart(title, None, None, 200, 200, **options)
    plot.title.text_font_size = "13px"
    plot.update(frame_width=None, frame_height=None, width=220, height=200,
                min_border_right=10, min_border_bottom=24, sizing_mode="fixed")
    return plot


def told(row: Row) -> str:
    """A difference and its interval in figures, or why there is none."""
    if row.standing in (SIMPLE, FAILED):
        return row.standing
    return messages.gap({"difference": row.change, "lower": row.lower, "upper": row.upper})


def span(rows: list[Row]) -> tuple[float, float, float]:
    """Ends of the chart of differences, and from where they are drawn as arrows."""
    known = [row for row in rows if np.isfinite(row.change)]
    low = min([row.lower for row in known if np.isfinite(row.lower)] + [0.0])
    highs = [row.upper for row in known if np.isfinite(row.upper) and row.upper <= WORST]
    high = max([*highs, -low / 3, 0.05])
    cut = high if any(row.change > high for row in known) else np.inf
    wide = high - low
    return low - 0.05 * wide, high + 0.06 * wide, float(cut)


def ticks_of(low: float, high: float, most: int = 6) -> list[float]:
    """Round shares between two ends, about so many."""
    step = next(s for s in (0.05, 0.1, 0.2, 0.25, 0.5, 1.0, 2.0, 5.0, 10.0, 50.0)
                if (high - low) / s <= most)
    return [round(k * step, 4) for k in range(int(np.ceil(low / step)), int(high / step) + 1)]


def decades(low: float, high: float, most: int = 3) -> list[float]:
    """Few round values between two positive ends, far apart."""
    for steps, every in (((1, 2, 3, 5), 1), ((1, 2, 5), 1), ((1, 3), 1), ((1,), 1), ((1,), 2),
                         ((1,), 3), ((1,), 5)):
        found = [step * 10.0**power for power in range(-6, 12) if power % every == 0
                 for step in steps if low <= step * 10.0**power <= high]
        if len(found) <= most:
            return found
    return found[:most]


def numbers(board: Board, rows: list[Row]) -> str:
    """The table of a board."""
    used = board.result.attrs["recommended"]
    heads = [*HEADS[:5], title_of(board, map_score(board)), *HEADS[6:]]
    return table(heads, [
        ([row.name, written(row.score), told(row), row.standing, written(row.crps),
          written(row.map_score), *(written(100 * share, ".0f", " %") for share in row.coverage),
          written(row.seconds, ".1f")], "font-weight: 600" if row.name == used else "")
        for row in rows])


def written(value: float, form: str = ".4g", unit: str = "") -> str:
    """A number of a model; a dash where the model failed."""
    return f"{signed(value, form)}{unit}" if np.isfinite(value) else "–"
