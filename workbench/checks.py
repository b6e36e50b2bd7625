"""Raisers of errors that say what was expected, what came, and what to do about it."""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Iterable
from types import ModuleType


class InputError(ValueError):
    """The user's data or options cannot be used; the message says what to change."""


def reject(expected: str, got: str, remedy: str) -> InputError:
    """Build the error ``expected; got; remedy`` (to be raised by the caller)."""
    return InputError(f"expected {expected}, got {got}; {remedy}")


def require(condition: bool, message: str) -> None:
    """Raise `InputError` with ``message`` unless the condition holds."""
    if not condition:
        raise InputError(message)


def choose(name: str, value: str, choices: Iterable[str]) -> str:
    """Return ``value`` if it is one of ``choices``, else name the nearest choice.

    Raises
    ------
    InputError
        If the value is not a choice; the message lists the choices and the nearest one.
    """
    options = list(choices)
    if value in options:
        return value
    near = difflib.get_close_matches(str(value), options, n=1, cutoff=0.3)
    hint = f"did you mean {near[0]!r}? " if near else ""
    raise InputError(f"{name} {value!r} is unknown; {hint}choose from {', '.join(options)}")


def package(name: str, extra: str) -> ModuleType:
    """Import an optional package, or say which extra brings it.

    Raises
    ------
    ImportError
        If the package is not installed; the message gives the pip command.
    """
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise ImportError(
            f"this needs {name}: pip install 'aggregate-workbench[{extra}]'"
        ) from error
