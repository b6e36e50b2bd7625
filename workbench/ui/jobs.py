"""Long work off the event loop: a pool, progress, cancelling, and results of the latest run only.

Worker threads never touch widgets: everything a run reports goes through ``hop``, which an app
sets to schedule on its document and a test leaves to call at once.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from workbench.training import Cancelled

TICK_SECONDS = 0.1
_POOL = ThreadPoolExecutor(4, thread_name_prefix="workbench-job")


class Superseded(Exception):
    """Raised inside a run whose results nobody waits for any more."""


class Run:
    """What running work may call: `tick` at every step, `send` for each result."""

    def __init__(self, job: Job, generation: int):
        self._job, self._generation = job, generation
        self._stop, self._last = threading.Event(), -TICK_SECONDS

    def stop(self) -> None:
        """Ask the run to stop at its next step."""
        self._stop.set()

    @property
    def current(self) -> bool:
        """Whether this is still the latest run of its job."""
        return self._generation == self._job.generation

    def check(self) -> None:
        """Raise if the run was superseded; `Cancelled` if it was asked to stop."""
        if not self.current:
            raise Superseded
        if self._stop.is_set():
            raise Cancelled

    def rest(self, seconds: float) -> None:
        """Wait before work that is only worth doing if nothing newer is asked for meanwhile."""
        self._stop.wait(seconds)
        self.check()

    def tick(self, step: int, objective: float, fraction: float) -> None:
        """Report progress, at most ten times a second; it is the callback of ``model.fit``.

        Raises
        ------
        Cancelled
            If the run was cancelled or superseded: the fit then stops with its best state.
        """
        if not self.current or self._stop.is_set():
            raise Cancelled
        now = time.monotonic()
        if now - self._last >= TICK_SECONDS:
            self._last = now
            self._tell("ticked", step, objective, fraction)

    def send(self, name: str, result: Any) -> None:
        """Hand over a result; dropped if the run was superseded, now or before it arrives."""
        if not self.current:
            raise Superseded
        self._tell("received", name, result)

    def _tell(self, event: str, *values: Any) -> None:
        self._job.hop(lambda: self.current and self._job.listener(event, *values))


class Job:
    """One line of work of one session; starting a run supersedes the one before.

    Parameters
    ----------
    listener : callable
        ``listener(event, *values)`` with ``("ticked", step, objective, fraction)``,
        ``("received", name, result)``, ``("failed", error)``, ``("ended", cancelled)``.
    hop : callable
        Runs a function in the session's own thread.
    together : int
        Most runs at work at once: superseded ones may need a moment to notice. Beyond that the
        latest waits and those between are never started, so that dragging a slider cannot
        queue up work.
    """

    def __init__(self, listener: Callable, hop: Callable = lambda function: function(),
                 together: int = 2):
        self.listener, self.hop, self.generation = listener, hop, 0
        self._together, self._lock = together, threading.Lock()
        self._working, self._waiting, self._latest = 0, None, None

    def start(self, work: Callable[[Run], None]) -> None:
        """Run ``work(run)`` in a thread; any former run is superseded."""
        self.drop()
        with self._lock:
            self.generation += 1
            self._latest = Run(self, self.generation)
            if self._working >= self._together:
                self._waiting = (self._latest, work)
                return
            self._working += 1
        _POOL.submit(self._do, self._latest, work)

    def cancel(self) -> None:
        """Ask the present run to stop at its next step and keep its best state."""
        if self._latest is not None:
            self._latest.stop()

    def drop(self) -> None:
        """Make whatever runs superseded, with nothing in its place."""
        with self._lock:
            self.generation += 1
            self._waiting = None
            if self._latest is not None:
                self._latest.stop()

    def _do(self, run: Run, work: Callable[[Run], None]) -> None:
        try:
            run.check()
            work(run)
            run._tell("ended", run._stop.is_set())
        except Superseded:
            pass
        except Cancelled:
            run._tell("ended", True)
        except Exception as error:    # whatever it is, the user must see it
            run._tell("failed", error)
        finally:
            self._next()

    def _next(self) -> None:
        with self._lock:
            waiting, self._waiting = self._waiting, None
            if waiting is None:
                self._working -= 1
                return
        _POOL.submit(self._do, *waiting)
