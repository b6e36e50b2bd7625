"""Rows that a session put together one by one: no address has them all, so a file takes them."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Sequence

import panel_material_ui as pmui

from workbench.ui.base import messages
from workbench.ui.base.views.exports import download


def rows_button(name: str, heads: Sequence[str],
                rows: Callable[[], list[tuple[Sequence[str], str]]]) -> pmui.FileDownload:
    """A button that downloads the rows as CSV, each with the address that makes it again.

    Parameters
    ----------
    name : str
        Of the file, without its suffix.
    heads : sequence of str
        Of the columns.
    rows : callable
        Gives each row as it is shown, and its address.
    """
    button = download(messages.ROWS_CSV, lambda: (f"{name}.csv", as_csv(heads, rows())))
    button.description = messages.ROWS_TOLD
    return button


def as_csv(heads: Sequence[str], rows: list[tuple[Sequence[str], str]]) -> io.StringIO:
    """Rows as CSV, numbers with a plain minus.

    Parameters
    ----------
    heads, rows
        As of `rows_button`.
    """
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow([*heads, "address"])
    for cells, address in rows:
        writer.writerow([*(cell.replace("\N{MINUS SIGN}", "-") for cell in cells), address])
    file.seek(0)
    return file
