"""Directives of the page "Reproduction status", made of the stored files when the site is built.

``status KEY`` is the audit of a paper, ``status-summary`` counts its rows, ``status-numbers KEY``
has every printed number beside ours. KEY is one of `workbench.papers.status.page.PAPERS`.
"""

from __future__ import annotations

import tables
from docutils import nodes
from docutils.parsers.rst import Directive
from stored import table_of

from workbench.papers.status import page

HEAD = ("where", "paper; ours ± standard error (runs)", "size, reason, command")
MARKS = {True: "✓", False: "✗", None: "?"}


def cells(row: page.Row) -> list[list[str]]:
    """A row's cells, each of lines."""
    item = row.item
    return [[item.where, item.shows, row.state],
            [f"{MARKS[f.holds]} {f.says} – " + (f"paper: {f.paper}; " if f.paper else "")
             + f"ours: {f.ours}"
             for f in row.findings],
            [*row.sizes, *filter(None, [item.why, item.made_by, "; ".join(row.runs)])]]


class _Made(Directive):
    """Depends on all stored results."""

    def depend(self) -> None:
        env = self.state.document.settings.env
        for path in [*tables.RESULTS.iterdir(), *map(_file, (page, page.law2018))]:
            env.note_dependency(str(path))


class Status(_Made):
    """The audit of one paper."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """A table in a box that scrolls."""
        self.depend()
        found = [cells(row) for row in page.rows(tables.results(), self.arguments[0])]
        box = nodes.container(classes=["stored-table", "status-table"])
        box += table_of(HEAD, found, (3, 5, 6))
        return [box]


class StatusSummary(_Made):
    """How many rows are in which state."""

    def run(self) -> list[nodes.Node]:
        """A small table."""
        self.depend()
        return [_boxed(page.summary(tables.results()).T.rename_axis("rows"))]


class StatusNumbers(_Made):
    """All printed numbers of one paper."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """A table in a box that scrolls."""
        self.depend()
        return [_boxed(page.numbers(tables.results(), self.arguments[0]))]


def _boxed(frame) -> nodes.container:
    box = nodes.container(classes=["stored-table"])
    box += table_of([frame.index.name, *map(str, frame.columns)],
                    [[[str(name)], *([str(cell)] for cell in row)]
                     for name, row in zip(frame.index, frame.to_numpy(), strict=True)])
    return box


def _file(module) -> str:
    return module.__file__


def setup(app):
    """Register the directives."""
    for name, directive in (("status", Status), ("status-summary", StatusSummary),
                            ("status-numbers", StatusNumbers)):
        app.add_directive(name, directive)
    return {"parallel_read_safe": True}
