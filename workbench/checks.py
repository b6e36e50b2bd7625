"""Raisers of errors that say what was expected, what came, and what to do about it."""

from __future__ import annotations

import difflib
import importlib
import math
from collections.abc import Iterable
from numbers import Real
from types import ModuleType


class InputError(ValueError):
    """The user's data or options cannot be used; the message says what to change."""


class NotExact(InputError):
    """A model does not know a distribution exactly, but can be asked for draws instead."""


class ConvergenceWarning(UserWarning):
    """An optimisation ended before its optimum; what was found so far is returned."""


class ExtrapolationWarning(UserWarning):
    """Much of a map rests on covariates beyond the range in which totals were seen."""


class FitWarning(UserWarning):
    """A fit disagrees with the data it was given, or says more than they can."""


class DataWarning(UserWarning):
    """Data that can be used look as if they were something else than what they are taken for."""


class ApproximationWarning(UserWarning):
    """A result is less accurate than it should be; the message says how much and what to do."""


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


def number(name: str, value: object) -> float:
    """Return ``value`` as a float if it is a finite real number.

    Raises
    ------
    InputError
        If it is something else; text and truth values are no numbers.
    """
    require(_finite(value), f"{name} must be a finite number, got {value!r}")
    return float(value)


def whole(name: str, value: object, least: int | None = None, most: int | None = None) -> int:
    """Return ``value`` as an int if it is a whole number within bounds; 2.0 is one.

    Parameters
    ----------
    name : str
        What it is, for the message.
    value : object
        Any number type.
    least, most : int, optional
        Bounds, both included.

    Raises
    ------
    InputError
        If it is no whole number or out of bounds.
    """
    bounds = (f" from {least} to {most}" if None not in (least, most) else
              f" of {least} or more" if least is not None else
              f" of {most} or less" if most is not None else "")
    expected = f"{name} must be a whole number{bounds}, got {value!r}"
    require(_finite(value) and value == int(value), expected)
    require((least is None or value >= least) and (most is None or value <= most), expected)
    return int(value)


def _finite(value: object) -> bool:
    try:
        return isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(value)
    except OverflowError:       # a whole number beyond all floats
        return False


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
