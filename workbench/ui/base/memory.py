"""Memory that work has freed is given back to the machine.

The C library keeps what is freed for what is asked for next, in a pool of its own for every
thread: after the arrays of a fit that was hundreds of megabytes, which nothing used again.
"""

from __future__ import annotations

import ctypes
import sys
import threading

REST = 5.0          # seconds without work after which memory is given back


class Tidy:
    """Gives freed memory back some seconds after it was last asked to.

    Elsewhere than on Linux with the GNU C library it does nothing.

    Parameters
    ----------
    rest : float
        Seconds to wait for more work.
    """

    def __init__(self, rest: float = REST):
        self._rest, self._lock, self._timer = rest, threading.Lock(), None
        self._library = _gnu()

    def soon(self) -> None:
        """Give memory back once nothing has asked for that for a while."""
        if self._library is None:
            return
        with self._lock:
            if self._timer is not None:
                self._timer.cancel()
            self._timer = threading.Timer(self._rest, self.now)
            self._timer.daemon = True
            self._timer.start()

    def now(self) -> None:
        """Give memory back."""
        if self._library is not None:
            self._library.malloc_trim(0)


def _gnu() -> ctypes.CDLL | None:
    if not sys.platform.startswith("linux"):
        return None
    library = ctypes.CDLL(None)
    return library if hasattr(library, "malloc_trim") else None


TIDY = Tidy()
