"""Small texts under and beside plots, styled to read on white and on dark pages."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

import panel as pn

from workbench.ui.base.words import explained

NOTE = """
p.wb-note {margin: 0 0 8px; font-size: 13px; line-height: 1.4; opacity: 0.8;}
abbr.wb-word {text-decoration: underline dotted; text-underline-offset: 3px; cursor: help;}
p.wb-about {margin: 2px 0 4px; font-size: 16px; line-height: 1.4;}
p.wb-legend {margin: 0 0 4px; font-size: 12px;}
p.wb-legend span {display: inline-block; margin-right: 12px; white-space: nowrap;}
p.wb-legend i {display: inline-block; width: 22px; margin-right: 5px; vertical-align: middle;}
pre {white-space: pre-wrap; font-size: 12.5px; line-height: 1.45; margin: 4px 0;}
div.wb-scroll {overflow-x: auto;}
table.wb-table {border-collapse: collapse; font-size: 13px; color: inherit;}
table.wb-table th, table.wb-table td {padding: 4px 14px 4px 0; text-align: right;
  border-bottom: 1px solid rgba(128, 128, 128, 0.35); color: inherit; background: none;}
table.wb-table th:first-child {text-align: left;}
@media (max-width: 599.95px) {
  table.wb-table, .wb-table tbody, .wb-table tr, .wb-table tbody th, .wb-table td {display: block;}
  table.wb-table thead {display: none;}
  table.wb-table tr {padding: 6px 0; border-bottom: 1px solid rgba(128, 128, 128, 0.35);}
  table.wb-table tbody th, table.wb-table td {border: none; padding: 1px 0;}
  table.wb-table tbody th {font-weight: 600 !important;}
  table.wb-table td {display: flex; justify-content: space-between; gap: 16px;}
  table.wb-table td:empty {display: none;}
  table.wb-table tr:has(td[data-head='']) {display: flex; justify-content: space-between;
    gap: 16px; align-items: baseline;}
  table.wb-table td[data-head='']::before {content: none;}
  table.wb-table td::before {content: attr(data-head); text-align: left; opacity: 0.8;}
}
"""
# Panel leaves the least width of a pane at what its width was before.
NARROWS = ":host, :host > div {min-width: 0 !important;}"
# Panel shows a text once it is set, also in a page that is not yet to be seen.
HIDES = ":host > div {visibility: inherit !important;}"


def note(text: str = "", width: int | None = None, html: bool = False, inset: int = 5
         ) -> pn.pane.HTML:
    """One quiet sentence, as wide as said or as the page, so many pixels from its sides."""
    size = {"width": width} if width else {"sizing_mode": "stretch_width"}
    return pn.pane.HTML(paragraph(text, html), margin=(0, inset),
                        stylesheets=[NOTE, NARROWS, HIDES], **size)


def block(content: str = "") -> pn.pane.HTML:
    """A piece of HTML, such as a table."""
    return pn.pane.HTML(content, margin=(0, 5), stylesheets=[NOTE, HIDES],
                        sizing_mode="stretch_width")


def paragraph(text: str, html: bool = False) -> str:
    """The HTML of a quiet sentence, which explains its technical words where it is no HTML."""
    return f"<p class='wb-note'>{text if html else explained(escape(text))}</p>" if text else ""


def table(heads: Sequence[str], rows: Iterable[tuple[Sequence[str], str]]) -> str:
    """The HTML of a table; on a phone each row is a block with a line for each cell.

    Parameters
    ----------
    heads : sequence of str
    rows : iterable of (sequence of str, str)
        Cells of each row, of which the first is its head, and its style.
    """
    top = "".join(f"<th>{escape(head)}</th>" for head in heads)
    body = ""
    for (first, *others), style in rows:
        cells = "".join(f"<td data-head='{escape(head)}'>{escape(cell)}</td>"
                        for head, cell in zip(heads[1:], others, strict=True))
        body += (f"<tr style='{style}'><th scope='row' style='font-weight: inherit'>"
                 f"{escape(first)}</th>{cells}</tr>")
    return (f"<div class='wb-scroll'><table class='wb-table'><thead><tr>{top}</tr></thead>"
            f"<tbody>{body}</tbody></table></div>")
