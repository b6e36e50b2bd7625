"""What the stores of the apps share: results of a state, worked on in a thread and heard of."""

from __future__ import annotations

import logging
from abc import abstractmethod
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any, ClassVar

import param
from param.parameterized import ParameterizedABC

from workbench.ui.jobs import Job
from workbench.ui.urls import Linked


class Results(ParameterizedABC):
    """State in, results out; no widgets.

    A subclass says which choices matter, in ``watched``, what to do when one has changed, in
    `_changed`, and where results of its work go, in `_take`.

    Parameters
    ----------
    state : Linked
        What to answer.
    hop : callable
        Runs a function in the session's thread; by default at once.
    together : callable
        Gives a context within which all changes of the page are sent as one.
    """

    work = param.String("", doc="what is being worked on; empty if nothing")
    fraction = param.Number(0.0, doc="share of the work that is done; 0 if that is not known")
    error = param.String("", doc="what went wrong last; empty if nothing")

    watched: ClassVar[tuple[str, ...]] = ()

    def __init__(self, state: Linked, hop: Callable = lambda function: function(),
                 together: Callable = nullcontext):
        super().__init__()
        self.state, self._together = state, together
        self._job = Job(self._hear, hop)
        state.param.watch(self._changed, list(self.watched))

    def refresh(self) -> None:
        """Answer the state as it is."""
        self._changed()

    def close(self) -> None:
        """Drop all work: the session is over."""
        self._job.drop()

    def cancel(self) -> None:
        """Stop the work at its next step; what came of it so far, if anything, is shown."""
        self._job.cancel()

    @abstractmethod
    def _changed(self, *events) -> None:
        """Answer the state, or have it worked on."""

    @abstractmethod
    def _take(self, name: str, result: Any) -> None:
        """Put a result of the work where it belongs."""

    def _hear(self, event: str, *values) -> None:
        if event == "ticked":
            self.fraction = float(values[2])
        elif event == "received":
            with self._together():
                self._take(*values)
        elif event == "failed":
            logging.getLogger(type(self).__module__).warning("work failed", exc_info=values[0])
            self.param.update(work="", fraction=0.0, error=in_words(values[0]))
        elif event == "ended":
            self.param.update(work="", fraction=0.0)


def in_words(error: Exception) -> str:
    """What went wrong: the text alone of an error that is meant for users, else its type too."""
    text = str(error) or type(error).__name__
    known = isinstance(error, (ValueError, ImportError))
    return text if known else f"{type(error).__name__}: {text}"
