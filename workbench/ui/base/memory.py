"""Memory that work has freed, or can make again, is given back to the machine.

The C library keeps what is freed for what is asked for next, in a pool of its own for every
thread: after the arrays of a fit that was hundreds of megabytes, which nothing used again. What a
page is made of refers to itself in circles, which Python looks for only when much else is made: a
server at rest would keep every page that it has shown last.
"""

from __future__ import annotations

import ctypes
import gc
import sys
import threading
from collections.abc import Callable

REST = 5.0          # seconds without work after which memory is given back


class Tidy:
    """Gives memory back some seconds after it was last asked to.

    What is freed goes back to the machine on Linux with the GNU C library.

    Parameters
    ----------
    rest : float
        Seconds to wait for more work.
    at_work : callable, optional
        Whether there is work: it may still use what is otherwise gone, such as the page that it
        was for, so that circles are looked for once more at the first rest after it.
    """

    def __init__(self, rest: float = REST, at_work: Callable[[], bool] = lambda: False):
        self._rest, self._lock, self._timer, self.at_work = rest, threading.Lock(), None, at_work
        self._library, self._forgetful, self._circles = _gnu(), set(), False

    def also(self, forget: Callable[[], None]) -> None:
        """Call a function at rest, too, which lets go of what can be made again."""
        self._forgetful.add(forget)

    def soon(self, circles: bool = False) -> None:
        """Give memory back once nothing has asked for that for a while; the end of work asks, too.

        Parameters
        ----------
        circles : bool
            Whether objects that refer to themselves in circles may be without use: looking for
            them takes a moment in which nothing else is done.
        """
        with self._lock:
            self._circles |= circles
            if self._timer is not None:
                self._timer.cancel()
            self._timer = threading.Timer(self._rest, self.now)
            self._timer.daemon = True
            self._timer.start()

    def now(self) -> None:
        """Give memory back."""
        for forget in tuple(self._forgetful):
            forget()
        at_work = self.at_work()
        with self._lock:
            circles, self._circles = self._circles, self._circles and at_work
        if circles:
            gc.collect()
        if self._library is not None:
            self._library.malloc_trim(0)


def _gnu() -> ctypes.CDLL | None:
    if not sys.platform.startswith("linux"):
        return None
    library = ctypes.CDLL(None)
    return library if hasattr(library, "malloc_trim") else None


TIDY = Tidy()
