"""Requirements on what is given: a condition, a choice, a number, an installed package."""

from __future__ import annotations

import difflib
import importlib
import math
from collections.abc import Iterable
from numbers import Real
from types import ModuleType

from workbench.checks.errors import InputError


def reject(expected: str, got: str, remedy: str) -> InputError:
    """Build the error ``expected; got; remedy`` (to be raised by the caller)."""
    return InputError(f"expected {expected}, got {got}; {remedy}")


def require(condition: bool, message: str) -> None:
    """Raise `InputError` with ``message`` unless the condition holds."""
    if not condition:
        raise InputError(message)


_LISTED, _NEAREST = 20, 3       # choices that a message lists, else of them the nearest


def choose(name: str, value: str, choices: Iterable[str], instead: str = "") -> str:
    """Return ``value`` if it is one of ``choices``, else name the nearest choice.

    Parameters
    ----------
    name, value : str
        What is chosen, for the message, and the choice.
    choices : iterable of str
        All there are.
    instead : str
        Where more than 20 choices are listed; the message says this in the place of a list.

    Raises
    ------
    InputError
        If the value is not a choice; the message lists the choices and the nearest one.
    """
    options = list(choices)
    if value in options:
        return value
    near = difflib.get_close_matches(str(value), options, n=1, cutoff=0.3)
    if instead and len(options) > _LISTED:      # dashes make everything alike
        bare = {one.lstrip("-"): one for one in options}
        near = [bare[found] for found in difflib.get_close_matches(
            str(value).lstrip("-"), list(bare), n=_NEAREST)]
        hint = f"did you mean {' or '.join(map(repr, near))}? " if near else ""
        raise InputError(f"{name} {value!r} is unknown; {hint}{instead}")
    hint = f"did you mean {near[0]!r}? " if near else ""
    raise InputError(f"{name} {value!r} is unknown; {hint}choose from {', '.join(options)}")


def meant(names: Iterable[str], known: Iterable[object]) -> str:
    """A question for messages about columns that are not there: which of those that are is near.

    Parameters
    ----------
    names : iterable of str
        What was asked for.
    known : iterable
        What there is, text or not.

    Returns
    -------
    str
        Such as ``"did you mean 'cases'? "``; empty if nothing is near.

    Examples
    --------
    >>> meant(["Case", "persons"], ["CASES", "people", "geometry"])
    "did you mean 'CASES', 'people'? "
    """
    there = {str(one).casefold(): str(one) for one in known}
    near = dict.fromkeys(there[found] for name in names for found in
                         difflib.get_close_matches(str(name).casefold(), list(there), n=1))
    return f"did you mean {', '.join(map(repr, near))}? " if near else ""


def number(name: str, value: object) -> float:
    """Return ``value`` as a float if it is a finite real number.

    Raises
    ------
    InputError
        If it is something else; text and truth values are not numbers.
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
        If it is not a whole number or out of bounds.
    """
    bounds = (f" from {least} to {most}" if None not in (least, most) else
              f" of {least} or more" if least is not None else
              f" of {most} or less" if most is not None else "")
    expected = f"{name} must be a whole number{bounds}, got {value!r}"
    require(_finite(value) and value == int(value), expected)
    require((least is None or value >= least) and (most is None or value <= most), expected)
    return int(value)


def _finite(value: object) -> bool:
    return (isinstance(value, Real) and not isinstance(value, bool)
            and bool(-math.inf < value < math.inf) and int(abs(value)) < 2**1024)   # as floats are


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
        told = f"this needs {name}: pip install 'aggregate-workbench[{extra}]'"
        raise ImportError(told) from error
