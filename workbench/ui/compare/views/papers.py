"""What papers print, left, and what the experiments here found, right."""

from __future__ import annotations

import numpy as np
import pandas as pd
import panel as pn
from bokeh.models import Range1d

from workbench.plots.theme import CATEGORIES, NEUTRAL
from workbench.ui.base.views.figures import chart, empty, hover, push, shown
from workbench.ui.base.views.layout import View, stretched
from workbench.ui.base.views.text import block, note, paragraph, table
from workbench.ui.compare import messages, stored
from workbench.ui.compare.store import Store

HEADS = ("what", "published", "ours", "gap", "likely cause")
SIDE = 330


class Papers(View):
    """A chart of published against ours, and a table for each table of the paper."""

    def __init__(self, store: Store, **params):
        super().__init__(store, **params)
        self.source = empty("published", "ours", "what", "table", "colour", "gap")
        self.figure = chart("", "published", "ours", SIDE, SIDE, x_range=Range1d(0, 1),
                            y_range=Range1d(0, 1), name="papers", x_axis_type="log",
                            y_axis_type="log")
        self.same = empty("at")
        self.figure.line("at", "at", source=self.same, line_color=NEUTRAL, line_width=1.5,
                         line_dash="dashed")
        drawn = self.figure.scatter("published", "ours", source=self.source, size=8,
                                    color="colour", fill_alpha=0.6)
        hover(self.figure, drawn, [("", "@table"), ("", "@what"), ("published", "@published"),
                                   ("ours", "@ours"), ("gap", "@gap")])
        self.tables = block()
        self._chart = shown(self.figure)
        self._panel = stretched(note(messages.PAPERS_NOTE), self.tables, self._chart)
        self.follow(self._update, "paper", of=store.state)

    def fit_into(self, across: int) -> None:
        """Fill a width, to a limit: the chart is a square."""
        side = int(np.clip(across - 90, 200, 420))
        self.figure.update(frame_width=side, frame_height=side)

    def _update(self, *events) -> None:
        rows = of_paper(self.store.state.paper)
        known = rows.dropna(subset=["published_value", "ours_value"])
        names = list(dict.fromkeys(known["table"]))
        colour = {name: CATEGORIES[k % len(CATEGORIES)] for k, name in enumerate(names)}
        with pn.io.hold():
            push(self.source, {
                "published": known["published_value"].to_numpy(),
                "ours": known["ours_value"].to_numpy(), "what": known["what"].tolist(),
                "table": known["table"].tolist(), "colour": [colour[n] for n in known["table"]],
                "gap": [gap(row) for _, row in known.iterrows()]})
            values = known[["published_value", "ours_value"]].to_numpy()
            values = values[values > 0]
            self._chart.visible = bool(values.size)
            if values.size:
                low, high = float(values.min()) / 1.2, float(values.max()) * 1.2
                push(self.same, {"at": [low, high]})
                for axis in (self.figure.x_range, self.figure.y_range):
                    axis.update(start=low, end=high)
            self.tables.object = tables(rows, colour)


def of_paper(paper: str) -> pd.DataFrame:
    """The stored rows of a paper."""
    found = stored.papers()
    found = found[found["paper"] == paper]
    return found.assign(**{column: [messages.method(str(text)) for text in found[column]]
                           for column in ("what", "published", "ours", "cause")})


def gap(row: pd.Series) -> str:
    """Ours less what was published, also relative to it; empty where either is no number."""
    published, ours = row["published_value"], row["ours_value"]
    if not np.isfinite(published) or not np.isfinite(ours):
        return ""
    told = f"{ours - published:+.3g}"
    return (told + (f" ({messages.percent(ours / published - 1)})" if published else "")).replace(
        "-", "−")


def tables(rows: pd.DataFrame, colour: dict[str, str]) -> str:
    """The HTML of a paper's tables, each with the command that makes its numbers again."""
    found = ""
    for name, part in rows.groupby("table", sort=False):
        mark = f"<i style='background: {colour[name]}; height: 10px'></i>" if name in colour else ""
        cells = [([row["what"], row["published"], row["ours"], gap(row), row["cause"]], "")
                 for _, row in part.iterrows()]
        made = ", ".join(dict.fromkeys(part["made_by"]))
        found += (f"<p class='wb-legend' style='margin-top: 14px; font-size: 15px'><b>{mark}"
                  f"{name}</b></p>{table(HEADS, cells)}"
                  f"{paragraph(f'Ours: {made}')}")
    return found
