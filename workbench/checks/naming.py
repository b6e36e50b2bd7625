"""Options in messages, named as whoever reads them writes them: in Python, or as flags."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from numbers import Real

# how messages name options, what flags begin with, other names
_WAY: ContextVar[tuple[str, str, dict]] = ContextVar("way", default=("python", "", {}))
_OPEN, _OR, _CLOSE = "\x1d", "\x1f", "\x1e"      # around an option in both ways: see `one_way`
_BOTH = re.compile(f"{_OPEN}(.*?){_OR}(.*?){_CLOSE}", re.DOTALL)


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
    >>> with named_as_flags():
    ...     option("information", True)
    '--information'
    >>> with named_as_flags():
    ...     option("draws", 1)
    '--draws 1'
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
        written = f"--{(prefix + name).replace('_', '-')}"
        alone = len(values) == 1 and values[0] is True
        return written if alone else f"{written} {listed or 'VALUE'}"
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
        value = ",".join(f"{k}={v}" for k, v in value.items())
    return shlex.quote(str(value))      # names of columns have blanks
