"""Stopping a fit, also by Ctrl-C: the first keeps what was learnt, the second stops at once."""

from __future__ import annotations

import signal
import sys
from types import FrameType, TracebackType


class Cancelled(Exception):
    """Raised by a callback to stop a fit; the best state so far is kept."""


class Interrupt:
    """Context in which Ctrl-C stops a fit through its callback instead of killing the process.

    Before the first step there is nothing to keep, so Ctrl-C raises KeyboardInterrupt as usual;
    so does a second one.
    """

    def __init__(self) -> None:
        self.asked = False
        self.fitting = False

    def __enter__(self) -> Interrupt:
        self._former = signal.signal(signal.SIGINT, self._note)
        return self

    def __exit__(
        self, kind: type | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        signal.signal(signal.SIGINT, self._former)

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
        if self.asked or not self.fitting:
            raise KeyboardInterrupt
        self.asked = True
        print("\nstopping, the best so far is kept; Ctrl-C again stops at once", file=sys.stderr)
