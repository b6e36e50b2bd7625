"""What a long fit is at, for whoever shows its progress: `Auto` names the model at work.

A callback of ``fit`` gets numbers of one search. Of a fit that is made of many, a listener gets
`Stage`s beside them.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from dataclasses import dataclass

FITTING, WEIGHING = "fitting", "weighing"


@dataclass(frozen=True)
class Stage:
    """A part of the work.

    Parameters
    ----------
    what : {"fitting", "weighing"}
        Models are fitted, or tested on areas recovered or held out.
    done, total : int
        Number of parts that are finished, and of all.
    name : str
        The model that is fitted; empty where several are at once, and while they are tested.
    """

    what: str
    done: int
    total: int
    name: str = ""


_listener: ContextVar[Callable[[Stage], None] | None] = ContextVar("listener", default=None)


@contextlib.contextmanager
def heard_by(listener: Callable[[Stage], None]) -> Iterator[None]:
    """Within it each stage of a fit that is begun in this thread is given to ``listener``.

    Parameters
    ----------
    listener : callable
        Of a `Stage`, in the thread of the fit.

    Examples
    --------
    >>> import workbench as wb
    >>> ds, seen = wb.load("swiss-roll", n_bags=10, mean_size=8, size_std=3), []
    >>> with heard_by(seen.append):
    ...     fit = wb.Auto(effort="quick", workers=1).fit(ds)
    >>> seen[0]
    Stage(what='fitting', done=0, total=3, name='flat')
    """
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


def at(what: str, done: int, total: int, name: str = "") -> None:
    """Give a `Stage` to who listens; parameters as its own."""
    listener = _listener.get()
    if listener is not None:
        listener(Stage(what, done, total, name))
