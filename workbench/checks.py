"""Errors and warnings that say what was expected, what came, and what to do about it."""

from __future__ import annotations

import difflib
import importlib
import math
import re
import sys
import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from numbers import Real
from pathlib import Path
from types import ModuleType

# how messages name options, what flags begin with, other names
_WAY: ContextVar[tuple[str, str, dict]] = ContextVar("way", default=("python", "", {}))
_OPEN, _OR, _CLOSE = "\x1d", "\x1f", "\x1e"      # around an option in both ways: see `one_way`
_BOTH = re.compile(f"{_OPEN}(.*?){_OR}(.*?){_CLOSE}", re.DOTALL)


class InputError(ValueError):
    """The user's data or options cannot be used; the message says what to change."""


class NotExact(InputError):
    """A model does not know a distribution exactly, but can be asked for draws instead."""


class WorkbenchWarning(UserWarning):
    """Any warning of this package, so that all of them can be filtered by one class."""


class ConvergenceWarning(WorkbenchWarning):
    """An optimisation ended before its optimum; what was found so far is returned."""


class ExtrapolationWarning(WorkbenchWarning):
    """Much of a map rests on covariates beyond the range in which totals were seen."""


class FitWarning(WorkbenchWarning):
    """A fit disagrees with the data it was given, or claims more than they can support."""


class TotalsWarning(FitWarning):
    """The totals that a fit expects, all together, are far from those that it was given."""


class SimpleMapWarning(FitWarning):
    """A simple map may be as good as the mixture of `workbench.Auto`, or nothing was tested."""


class FewAreasWarning(FitWarning):
    """There are too few areas to test what a map shows inside them."""


class DataWarning(WorkbenchWarning):
    """Data that can be used look as if they were something else than what they are taken for."""


class ApproximationWarning(WorkbenchWarning):
    """A result is less accurate than it should be; the message says how much and what to do."""


def warn(message: str, category: type[Warning] = FitWarning) -> None:
    """Warn at the line of the user's code that called the package, however deep the cause lies.

    Parameters
    ----------
    message : str
        What happened, and what to do about it.
    category : type of Warning
        One of the classes of this module.
    """
    frame = caller = sys._getframe(1)
    while frame is not None:
        # torch's decorators stand between the user and our methods
        if frame.f_globals.get("__name__", "").partition(".")[0] in ("workbench", "torch"):
            caller = frame.f_back or frame
        frame = frame.f_back
    warnings.warn_explicit(
        message, category, caller.f_code.co_filename, caller.f_lineno,
        caller.f_globals.get("__name__"), caller.f_globals.setdefault("__warningregistry__", {}))


@contextmanager
def options_named(way: str = "", prefix: str = "", **names: str) -> Iterator[None]:
    """Inside, messages name options as "python", "flags" or "both", or by other names."""
    before = _WAY.get()
    token = _WAY.set((way or before[0], prefix or before[1], before[2] | names))
    try:
        yield
    finally:
        _WAY.reset(token)


def named_as_flags() -> AbstractContextManager[None]:
    """Inside, messages name options as the command line does: ``--empty drop``."""
    return options_named("flags")


def one_way(text: str, way: str | None = None) -> str:
    """A message made inside ``options_named("both")``, with its options named in one way.

    Parameters
    ----------
    text : str
        The message; one made elsewhere comes back as it is.
    way : {"python", "flags", "both"}, optional
        Both is the one and, in parentheses, the other; by default as messages here name options.

    Examples
    --------
    >>> with options_named("both"):
    ...     message = f"pass {option('empty', 'drop')}"
    >>> one_way(message, "python"), one_way(message, "both")
    ("pass empty='drop'", "pass empty='drop' (--empty drop)")
    """
    forms = {"python": r"\1", "flags": r"\2", "both": r"\1 (\2)"}
    return _BOTH.sub(forms[way or _WAY.get()[0]], text)


def option(name: str, *values: object) -> str:
    """An option as whoever reads the message writes it: ``empty='drop'``, or ``--empty drop``.

    Parameters
    ----------
    name : str
        Name of the Python argument.
    *values
        What it may be; none where the reader has to fill it in. A mapping or tuple is one value.

    Examples
    --------
    >>> option("align", "nearest", "average")
    "align='nearest' or 'average'"
    >>> with named_as_flags():
    ...     option("missing_value", "drop")
    '--missing-value drop'
    """
    way = _WAY.get()[0]
    if way == "both":
        return f"{_OPEN}{_option(name, values, False)}{_OR}{_option(name, values, True)}{_CLOSE}"
    return _option(name, values, way == "flags")


def _option(name: str, values: tuple, flags: bool) -> str:
    _, prefix, names = _WAY.get()
    name = names.get(name, name)
    told = [_told(value, flags) for value in values]
    listed = " or ".join(filter(None, (", ".join(told[:-1]), *told[-1:])))
    if flags:
        return f"--{(prefix + name).replace('_', '-')} {listed or 'VALUE'}"
    return f"{name}={listed or '...'}"


def _told(value: object, flags: bool) -> str:
    if isinstance(value, Real) and not isinstance(value, bool):
        return f"{float(value):.10g}"
    if isinstance(value, tuple):
        listed = [_told(v, flags) for v in value]
        return ",".join(listed) if flags else f"({', '.join(listed)})"
    if not flags:
        return repr(value)
    if isinstance(value, Mapping):
        return ",".join(f"{k}={v}" for k, v in value.items())
    return str(value)


@contextmanager
def reading(path: str | Path, kind: str, remedy: str) -> Iterator[None]:
    """Turn whatever a reader raises into one line: cannot read FILE as KIND: reason; try REMEDY.

    Parameters
    ----------
    path : str or Path
        The file.
    kind : str
        What it was read as.
    remedy : str
        What follows "try".

    Raises
    ------
    InputError
        For any exception but `InputError` itself, missing packages and too little memory.
    """
    try:
        yield
    except (InputError, ImportError, MemoryError):
        raise
    except Exception as error:
        raise unreadable(path, kind, _reason(path, error), remedy) from error


def unreadable(path: str | Path, kind: str, reason: str, remedy: str) -> InputError:
    """The error of a file that cannot be read as what it was given for (raised by the caller)."""
    return InputError(f"cannot read {str(path)!r} as {kind}: {reason}; try {remedy}")


def _reason(path: str | Path, error: Exception) -> str:
    """What a reader's exception says, in a line; a file without bytes needs no exception to say."""
    if Path(path).is_file() and Path(path).stat().st_size == 0:
        return "the file is empty (0 bytes)"
    if isinstance(error, UnicodeDecodeError):
        byte = error.object[error.start]
        return f"it is not {error.encoding.upper()} text (byte 0x{byte:02x})"
    deepest = error
    while deepest.__cause__ is not None and isinstance(deepest.__cause__, Exception):
        deepest = deepest.__cause__         # GDAL's own words lie below "see previous exception"
    text = " ".join(str(deepest).split()).partition("; It might help")[0] or type(error).__name__
    return (text if len(text) <= 200 else f"{text[:197]}...").rstrip(".;")


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
