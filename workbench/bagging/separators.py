"""What separates the columns of a table in text: found, and said."""

from __future__ import annotations

import re
from pathlib import Path

SEPARATORS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar"}


def separator(path: str | Path) -> str:
    """What separates the columns of a CSV file: the commonest of ``, ; tab |`` in its first line.

    Parameters
    ----------
    path : str or Path
        A text file; names of columns in quotes may hold separators.
    """
    with Path(path).open(encoding="utf-8-sig", errors="replace") as file:
        head = re.sub(r'"[^"]*"', "", file.readline())
    return max(SEPARATORS, key=head.count)


def separated(table: object) -> str:
    """In brackets, how the columns of a CSV file were told apart; nothing of other tables."""
    if not isinstance(table, str | Path) or Path(table).suffix.lower() != ".csv":
        return ""
    return f" (columns separated by {SEPARATORS[separator(table)]}s)"
