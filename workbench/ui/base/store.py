"""Results of a state, worked on in threads and heard of in the session's own."""

from __future__ import annotations

import logging
import threading
from abc import abstractmethod
from collections import deque
from collections.abc import Callable
from contextlib import nullcontext
from functools import wraps
from typing import Any, ClassVar

import param
from param.parameterized import ParameterizedABC

from workbench.ui.base import messages, session
from workbench.ui.base.jobs import Job, at_once
from workbench.ui.base.state import State


def alone(method: Callable) -> Callable:
    """Let only one thread at a time into a session's store: widgets' events come in several."""
    @wraps(method)
    def locked(self, *args):
        with self._lock:
            return method(self, *args)

    return locked


class Store(ParameterizedABC):
    """State in, results out; no widgets.

    A subclass says which choices matter, in ``watched``, what to do when one has changed, in
    `_changed`, and where results of its work go, in `_receive`.

    Parameters
    ----------
    state : State
        What to answer.
    schedule : callable
        Runs a function in the session's thread; by default at once.
    together : callable
        Gives a context within which all changes of the page are sent as one.
    """

    work = param.String("", doc="what is being worked on; empty if nothing")
    fraction = param.Number(0.0, doc="share of the work that is done; 0 if that is not known")
    error = param.String("", doc="what went wrong last; empty if nothing")
    dark = param.Boolean(False, doc="whether the page is dark")
    unsaved = param.Boolean(False, doc="whether the session holds what only a file of it keeps")

    watched: ClassVar[tuple[str, ...]] = ()
    #: What a file of the session holds, in words.
    session_note: ClassVar[str] = messages.SESSION_NOTE

    def __init__(self, state: State, schedule: Callable = at_once,
                 together: Callable = nullcontext):
        super().__init__()
        self.state, self._schedule, self._together = state, schedule, together
        self._lock, self._jobs = threading.RLock(), []
        self.costs = deque(maxlen=500)          # milliseconds of the last answers
        self._job = self._line(self._hear)
        self._farewells: list[Callable[[], None]] = []
        self._set_up()
        state.listen(self._changed, self.watched)

    def _set_up(self) -> None:
        """Make what a subclass keeps besides."""

    def _line(self, listener: Callable, **options) -> Job:
        """A line of work, in which each run supersedes the one before."""
        self._jobs.append(Job(listener, self._schedule, **options))
        return self._jobs[-1]

    def refresh(self) -> None:
        """Answer the state as it is."""
        self._changed()

    def close(self) -> None:
        """Drop all work."""
        for job in self._jobs:
            job.drop()

    def leave(self) -> None:
        """Drop all work, and what is kept elsewhere: the session is over."""
        self.close()
        for function in self._farewells:
            function()

    def on_leave(self, function: Callable[[], None]) -> None:
        """Call a function when the session is over."""
        self._farewells.append(function)

    def cancel(self) -> None:
        """Stop all work at its next step; what came of it so far, if anything, is shown."""
        for job in self._jobs:
            job.cancel()

    @property
    def stoppable(self) -> bool:
        """Whether there is work that the user may stop."""
        return bool(self.work)

    def escape(self) -> None:
        """Stop what the user may stop, if there is anything."""
        if self.stoppable:
            self.cancel()

    @property
    def app(self) -> str:
        """Name of the app, after its folder."""
        return type(self).__module__.split(".")[-2]

    @property
    def subject(self) -> str:
        """What the page is about, such as its dataset, for names of files."""
        return ""

    def save(self) -> bytes:
        """The session as one file."""
        return session.pack(self.app, session.Session(self.state.query(), {}, {}))

    def open(self, content: bytes) -> list[str]:
        """Go on with a session that was saved.

        Parameters
        ----------
        content : bytes
            Of the file.

        Returns
        -------
        list of str
            Choices that could not be used.

        Raises
        ------
        InputError
            If it is no session of this app.
        """
        return self.state.read(session.unpack(content, self.app).query)

    @abstractmethod
    def _changed(self, *events) -> None:
        """Answer the state, or have it worked on."""

    @abstractmethod
    def _receive(self, name: str, result: Any) -> None:
        """Put a result of the work where it belongs."""

    def _tick(self, step: int, objective: float, fraction: float) -> None:
        """Show how far the work is."""
        self.fraction = float(fraction)

    def _end(self) -> None:
        """All that was asked for is there."""
        self.param.update(work="", fraction=0.0)

    def _spend(self, what: str, milliseconds: float) -> None:
        """Note what an answer cost."""
        self.costs.append(milliseconds)
        self._log().info("%s: %.1f ms", what, milliseconds)

    @alone
    def _hear(self, event: str, *values) -> None:
        if event == "ticked":
            self._tick(*values)
        elif event == "received":
            with self._together():
                self._receive(*values)
        elif event == "failed":
            self._log().warning("work failed", exc_info=values[0])
            self.param.update(work="", fraction=0.0, error=in_words(values[0]))
        elif event == "ended":
            self._end()

    def _log(self) -> logging.Logger:
        return logging.getLogger(type(self).__module__)


def in_words(error: Exception) -> str:
    """What went wrong: the text alone of an error that is meant for users, else its type too."""
    text = str(error) or type(error).__name__
    known = isinstance(error, (ValueError, ImportError))
    return text if known else f"{type(error).__name__}: {text}"
