"""What a fit that is stopped does: it keeps its best so far, unless all around it is to stop."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from workbench.checks.errors import Cancelled

_KEEPS: ContextVar[bool] = ContextVar("whether a fit keeps its best when it is interrupted",
                                      default=True)


def stops(*kinds: type[BaseException]) -> tuple[type[BaseException], ...]:
    """What a fit catches to return the best state so far.

    Parameters
    ----------
    *kinds : type of BaseException
        By default `Cancelled` and Ctrl-C.

    Returns
    -------
    tuple
        Without Ctrl-C inside `interrupts_pass`.

    Examples
    --------
    >>> [kind.__name__ for kind in stops()]
    ['Cancelled', 'KeyboardInterrupt']
    >>> with interrupts_pass():
    ...     [kind.__name__ for kind in stops()]
    ['Cancelled']
    """
    kinds = kinds or (Cancelled, KeyboardInterrupt)
    return kinds if _KEEPS.get() else tuple(k for k in kinds if k is not KeyboardInterrupt)


@contextmanager
def interrupts_pass() -> Iterator[None]:
    """Inside, Ctrl-C ends fits without their best so far.

    Where scores are made of fits, one that was stopped half way would be scored, and stored, as if
    it had ended by itself, and what comes after it would go on.
    """
    token = _KEEPS.set(False)
    try:
        yield
    finally:
        _KEEPS.reset(token)
