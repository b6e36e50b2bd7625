"""A check as a table of text, a hundred columns wide."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence

from workbench.bagging.findings import Finding

WIDTH = 100
_HEADS = ("", "how many", "where", "what, and what will happen", "how to fix")
_WIDTHS = (7, 8, 17, 34, 30)        # and a space between: 100
_NAMED = 4                          # names of areas, covariates and files that a cell lists


def as_text(check) -> str:
    """The table of findings, totals before and after, and the cost of a fit.

    Parameters
    ----------
    check : Check
        What was found.

    Returns
    -------
    str
        Lines of at most 100 columns.
    """
    parts = [f"Check of {check.title}"]
    if check.findings:
        rule = " ".join("-" * width for width in _WIDTHS)
        rows = [_row(_HEADS), rule, *(_row(_cells(finding)) for finding in check.findings)]
        parts.append("\n".join(rows))
    if check.totals is not None:
        parts.append(_totals(check.totals))
    if check.cost():
        parts.append(textwrap.fill(check.cost(), WIDTH))
    parts.append(check.summary())
    return "\n\n".join(parts)


def listed(names: Sequence[str], most: int = _NAMED) -> str:
    """The first names, and how many more there are."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def figure(value: float) -> str:
    """A number of a total, or a dash where nobody knows."""
    if math.isnan(value):
        return "-"
    return f"{value:,.0f}" if value == round(value) or abs(value) >= 1000 else f"{value:,.4g}"


def _cells(finding: Finding) -> tuple[str, ...]:
    said = finding.what if not finding.effect else f"{finding.what}\n> {finding.effect}"
    count = "" if finding.count is None else f"{finding.count:,}"
    return finding.severity, count, listed(finding.where), said, finding.told


def _row(cells: Sequence[str]) -> str:
    """Cells beside each other, each broken to its width."""
    wrapped = [[piece for line in cell.split("\n")
                for piece in textwrap.wrap(line, width, break_on_hyphens=False) or [""]]
               for cell, width in zip(cells, _WIDTHS, strict=True)]
    lines = []
    for row in range(max(map(len, wrapped))):
        pieces = [column[row] if row < len(column) else "" for column in wrapped]
        shown = [piece.rjust(width) if place == 1 else piece.ljust(width)
                 for place, (piece, width) in enumerate(zip(pieces, _WIDTHS, strict=True))]
        lines.append(" ".join(shown).rstrip())
    return "\n".join(lines)


def _totals(totals) -> str:
    shown = totals.map(figure)
    shown["kept %"] = ["-" if math.isnan(read) or not read else f"{kept / read:.1%}"
                       for kept, read in zip(totals["kept"], totals["read"], strict=True)]
    return f"Totals before and after\n{shown.to_string()}"
