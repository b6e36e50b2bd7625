"""Stopping a fit, also by Ctrl-C: the first keeps what was learnt, the second stops at once.

SIGTERM (a scheduler's time limit, a container's end) and SIGHUP (a closed terminal) do the same.
"""

from __future__ import annotations

import signal
import sys
import threading
from types import FrameType, TracebackType

from workbench.checks import Cancelled

SIGNALS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP")
                if hasattr(signal, name))                   # Windows has no SIGHUP


class Stopped(KeyboardInterrupt):
    """A signal asked the process to stop; ``number`` says which."""

    def __init__(self, number: int) -> None:
        super().__init__(signal.Signals(number).name)
        self.number = number


class Interrupt:
    """Context in which Ctrl-C stops a fit through its callback instead of killing the process.

    Before the first step there is nothing to keep, so Ctrl-C raises KeyboardInterrupt as usual;
    so does a second one. SIGTERM and SIGHUP do the same, unless they are ignored (``nohup``).
    """

    def __init__(self) -> None:
        self.asked = False
        self.fitting = False
        self.number: int | None = None

    @property
    def code(self) -> int:
        """Exit code of the process: 128 and the number of the signal that stopped it, else 1."""
        return 1 if self.number is None else 128 + self.number

    def __enter__(self) -> Interrupt:
        self._former = {}
        if threading.current_thread() is threading.main_thread():
            for number in SIGNALS:
                if number == signal.SIGINT or signal.getsignal(number) != signal.SIG_IGN:
                    self._former[number] = signal.signal(number, self._note)
        return self

    def __exit__(
        self, kind: type | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, former in self._former.items():
            signal.signal(number, former if former is not None else signal.SIG_DFL)

    def callback(self, step: int, objective: float, fraction: float) -> None:
        """Called at every step of a fit; stops it if Ctrl-C was pressed.

        Raises
        ------
        Cancelled
            If Ctrl-C was pressed; the trainer then returns the best state so far.
        """
        self.fitting = True
        if self.asked:
            raise Cancelled

    def _note(self, number: int, frame: FrameType | None) -> None:
        self.number = number
        if self.asked or not self.fitting:
            raise Stopped(number)
        self.asked = True
        print("\nstopping, the best so far is kept; Ctrl-C again stops at once", file=sys.stderr)
