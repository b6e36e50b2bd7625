"""Sentences that every app shows."""

from __future__ import annotations

import re

from workbench.checks.figures import figure

READY = "ready"
CANCEL = "Cancel"
UNEXPECTED = "Unexpected error"
LOST = ("The connection to the server is lost: what you see stays, but nothing can be changed. "
        "Start the server again and reload this page; its address keeps your settings.")
RELOAD = "Reload"
LOADING_WORDS = {
    "loading": "Loading …",
    "missing": "The page's scripts could not be loaded. Reload the page.",
    "unconnected": "The server does not answer. Start it again and reload this page.",
}
NO_HYPERPARAMETERS = "not hyperparameters; ignored"
NOT_THERE = "the sliders do not match that fit; preview shown"
BY_HAND = "Preview, not fitted: hyperparameters are those of the sliders."
STOPPED = " Cancelled: best state so far, not converged."
UNDO, REDO, RESET = "Undo", "Redo", "Reset to the example"
GLOSSARY, SEARCH_WORDS = "Glossary", "Search the glossary"
NO_SUCH_WORD, MORE_IN_DOCUMENTATION = "No matching word.", "More in the documentation"
SESSION, SAVE_SESSION, OPEN_SESSION = "Session", "Save session", "Open session"
EXPORT, COPY_PYTHON, NOTEBOOK = "Export:", "Copy as Python", "Open as notebook"
ROWS_CSV = "These rows (CSV)"
ROWS_TOLD = "Each row with the address that makes it again."
ROWS_NOTE = ("The rows belong to this session alone and end with it: the CSV keeps them, each with "
             "the address that makes it again.")
NOTHING_THERE = "There is nothing to export yet: wait until the page shows what you chose."
COPY, COPIED, CLOSE, DOWNLOAD_PY = "Copy", "Copied", "Close", "Download .py"
AS_PYTHON = "Runs as it is where workbench is installed, and computes what the page shows."
NO_PLOT = "no plot of the page is in view"
NO_PICTURE = "The browser could not draw the picture"
SESSION_NOTE = "One file with all settings."
TOLD = 3        # values of a URL that are named when they cannot be used


def plainly(value: float, digits: int = 3) -> str:
    """A number as a text has it: of `figure`, with a true minus.

    Parameters
    ----------
    value : float
    digits : int
        How many are shown of a number that is not whole.

    Examples
    --------
    >>> plainly(2400.0), plainly(-12.345)
    ('2,400', '−12.3')
    """
    return figure(value, digits).replace("-", "−")


def signed(value: float, form: str) -> str:
    """A number with a true minus.

    Parameters
    ----------
    value : float
    form : str
        How it is written, such as ".1f".

    Examples
    --------
    >>> signed(-1.25, ".1f")
    '−1.2'
    """
    return f"{value:{form}}".replace("-", "−")


def true_minus(text: str) -> str:
    """Text in which numbers below zero have a true minus.

    Parameters
    ----------
    text : str

    Examples
    --------
    >>> true_minus("objective -77.2, 5-fold")
    'objective −77.2, 5-fold'
    """
    return re.sub(r"(?<!\w)-(?=\d)", "−", text)


def sentence(text: str) -> str:
    """A text that begins with a capital letter; the others stay, as those of units must."""
    return text[:1].upper() + text[1:]


def not_offered(problems: list[str]) -> str:
    """What of a URL could not be used, in one line."""
    more = f"; and {len(problems) - TOLD} more" if len(problems) > TOLD else ""
    return f"Not offered here: {'; '.join(problems[:TOLD])}{more}."


def rows_shown(shown: int, count: int) -> str:
    """How much of a table a report shows; empty if all."""
    return "" if shown == count else (f"The first {shown:,} of {count:,} rows; all are in the CSV "
                                      "file, and in what the program makes.")
