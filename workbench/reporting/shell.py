"""Flags and lines of a command as a shell takes them."""

from __future__ import annotations

import shlex
from typing import Any


def flag_of(name: str, value: Any) -> str | None:
    """A flag with its value.

    Parameters
    ----------
    name : str
        Of the option, with underscores.
    value : object
        Plain, as of JSON.

    Returns
    -------
    str or None
        As a shell takes it; None of a value that would be read back as another.
    """
    flag = f"--{name.replace('_', '-')}"
    if value is True:
        return flag
    if value is None or value is False:
        return f"{flag} {'none' if value is None else 'false'}"
    if isinstance(value, dict):
        if any(isinstance(v, list | dict) or "," in str(v) for v in value.values()):
            return None
        value = ",".join(f"{k}={v}" for k, v in value.items())
    elif isinstance(value, list):
        if any(isinstance(v, list | dict) or "," in str(v) for v in value):
            return None
        value = ",".join(map(str, value))
    return f"{flag} {shlex.quote(str(value))}"


def numbers(value: Any) -> str | None:
    """The value of a pair NAME=VALUE, which may be several numbers.

    Parameters
    ----------
    value : object
        Plain, as of JSON.

    Returns
    -------
    str or None
        With commas; None of a value that would be read back as another.

    Examples
    --------
    >>> numbers([2.5, 3.0])
    '2.5,3.0'
    """
    if isinstance(value, dict):
        return None
    if isinstance(value, list):
        plain = len(value) > 1 and all(isinstance(one, int | float) for one in value)
        return ",".join(map(str, value)) if plain else None
    return str(value)


def in_lines(parts: list[str], width: int = 96) -> str:
    """A command in lines that a shell takes as one.

    Parameters
    ----------
    parts : list of str
        Words that stay together.
    width : int, optional
        Columns.

    Returns
    -------
    str
        Its lines but the first are indented.
    """
    lines = [parts[0]]
    for part in parts[1:]:
        if len(lines[-1]) + len(part) + 3 > width:
            lines[-1] += " \\"
            lines.append(f"    {part}")
        else:
            lines[-1] += f" {part}"
    return "\n".join(lines)
