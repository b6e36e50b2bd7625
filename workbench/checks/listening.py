"""Warnings of a block of code, recorded or left out, without those of other threads.

Filters of Python's ``warnings`` module are the whole process's: of two fits in threads of a server
each would record, or silence, what the other warns of, and whichever ends last leaves the other's
filters behind. This package's own warnings go through `deliver`, which knows its context.
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_LISTENERS: ContextVar[tuple[tuple[type[Warning], list], ...]] = ContextVar(
    "listeners to warnings, the innermost last", default=())


@contextmanager
def recorded_warnings(kind: type[Warning] = Warning) -> Iterator[list[warnings.WarningMessage]]:
    """Record the warnings of a block instead of showing them.

    Those of other packages are recorded where the block is in the main thread; in other threads
    the process's filters decide about them. What other threads are warned of meanwhile is shown as
    without the block, and so is what they were to ignore, as filters are the whole process's.

    Parameters
    ----------
    kind : type of Warning
        Class of those that are recorded; others go where they would go without the block.

    Yields
    ------
    list of WarningMessage
        In the order in which they are issued.

    Examples
    --------
    >>> from workbench.checks import DataWarning, warn
    >>> with recorded_warnings() as issued:
    ...     warn("two areas have one name", DataWarning)
    >>> [(one.category.__name__, str(one.message)) for one in issued]
    [('DataWarning', 'two areas have one name')]
    """
    issued: list[warnings.WarningMessage] = []
    token = _LISTENERS.set((*_LISTENERS.get(), (kind, issued)))
    try:
        if kind is Warning and threading.current_thread() is threading.main_thread():
            own, shown = threading.get_ident(), warnings.showwarning

            def take(*one, **more) -> None:
                if threading.get_ident() == own:
                    issued.append(warnings.WarningMessage(*one, **more))
                else:
                    shown(*one, **more)

            with warnings.catch_warnings():
                warnings.simplefilter("always")
                warnings.showwarning = take
                yield issued
        else:
            yield issued
    finally:
        _LISTENERS.reset(token)


@contextmanager
def without_warnings(kind: type[Warning] = Warning) -> Iterator[None]:
    """Leave out the warnings of a block, as `recorded_warnings` records them.

    Parameters
    ----------
    kind : type of Warning
        Class of those that are left out.

    Examples
    --------
    >>> from workbench.checks import warn
    >>> with without_warnings():
    ...     warn("the fit did not converge")
    """
    with recorded_warnings(kind):
        yield


def deliver(message: str, category: type[Warning], file: str, line: int) -> bool:
    """Give a warning to the innermost block that listens to its class.

    Parameters
    ----------
    message : str
    category : type of Warning
    file, line : str, int
        Where it is said to come from.

    Returns
    -------
    bool
        Whether there is such a block; else the warning is to be shown.
    """
    for kind, issued in reversed(_LISTENERS.get()):
        if issubclass(category, kind):
            issued.append(warnings.WarningMessage(category(message), category, file, line))
            return True
    return False
