"""The directive ``stored``: one table of `data/results`, with the command that made it.

```{stored} korea-district
```
"""

from __future__ import annotations

import json
from collections.abc import Sequence

import all_tables  # noqa: F401  registers them
import tables
from docutils import nodes
from docutils.parsers.rst import Directive

from workbench.papers import experiment_named, read_results


def provenance(known: tables.Stored) -> tuple[str, str]:
    """The command that makes the table's file, and the packages it was made with, if stored."""
    if known.experiment is None:
        return known.command, ""
    results = read_results(tables.RESULTS / known.files[0])
    packages = json.loads(results.attrs["versions"])
    used = ", ".join(f"{name} {packages[name]}" for name in ("torch", "numpy") if name in packages)
    experiment = experiment_named(known.experiment)
    done = f"{results.sizes['run']} runs of {len(experiment.runs('paper'))}"
    return known.command, f"{done}, {used}"


class StoredTable(Directive):
    """A table of stored results, made when the site is built."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """The table in a box that scrolls, and a line on its origin."""
        known = tables.TABLES[self.arguments[0]]
        frame = known.make()
        self.state.document.settings.env.note_dependency(__file__)
        for name in known.files:
            self.state.document.settings.env.note_dependency(str(tables.RESULTS / name))
        box = nodes.container(classes=["stored-table"])
        box += table_of([frame.index.name or "", *map(str, frame.columns)],
                        [[[str(name)], *([str(cell)] for cell in row)]
                         for name, row in zip(frame.index, frame.to_numpy(), strict=True)])
        command, made = provenance(known)
        line = nodes.paragraph(classes=["stored-origin"])
        files = ", ".join(f"data/results/{name}" for name in known.files)
        line += [nodes.Text("Stored in "), nodes.literal(text=files), nodes.Text("; made by "),
                 nodes.literal(text=command), nodes.Text(f" ({made})." if made else ".")]
        return [box, line]


def table_of(head: Sequence[str], rows: list[list[list[str]]],
             widths: Sequence[int] | None = None) -> nodes.table:
    """A table whose cells are lists of lines."""
    table = nodes.table(classes=["stored"])
    group = nodes.tgroup(cols=len(head))
    group += [nodes.colspec(colwidth=width) for width in widths or [1] * len(head)]
    group += nodes.thead("", _row([[title] for title in head]))
    group += nodes.tbody("", *map(_row, rows))
    table += group
    return table


def _row(cells: list[list[str]]) -> nodes.row:
    return nodes.row("", *(nodes.entry("", *(nodes.paragraph(text=line) for line in lines))
                           for lines in cells))


def setup(app):
    """Register the directive."""
    app.add_directive("stored", StoredTable)
    return {"parallel_read_safe": True}
