"""Long work off the event loop: a pool, progress, cancelling, and results of the latest run only.

Worker threads never touch widgets: everything a run reports goes through ``schedule``,
which an app sets to run it in its session and a test leaves to call at once.

Work imports the models, not this module: a server is to listen before that is done.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from workbench.checks import Cancelled
from workbench.ui.base.memory import TIDY

TICK_SECONDS = 0.1
LOOK_SECONDS = 0.1
SHOWN_SECONDS = 10.0        # most that a run waits for a page to show what it was sent
_POOL = ThreadPoolExecutor(4, thread_name_prefix="workbench-job")
_SPARE_POOL = ThreadPoolExecutor(1, thread_name_prefix="workbench-spare")
_AT_WORK: set[Run] = set()          # of all sessions
_LOCK, _LOADING = threading.Lock(), threading.Lock()
#: Whether a page has been drawn; until the first one is, loading the models gives way to it.
PAGE_DRAWN = threading.Event()


TIDY.at_work = lambda: bool(_AT_WORK)


def load_models() -> None:
    """Import all models, one thread at a time: two that meet half-way see modules half made."""
    with _LOADING:
        import workbench.gp.models.registry
        import workbench.labelled.classes.loading  # noqa: F401
        from workbench.gp.fields.residual import forget_roots

        TIDY.also(forget_roots)


def at_once(function: Callable) -> None:
    """Run a function here and now."""
    function()


class Superseded(Exception):
    """Raised inside a run whose results nobody waits for any more."""


class Run:
    """What running work may call: `tick` at every step, `send` for each result."""

    def __init__(self, job: Job, generation: int):
        self.job, self._generation = job, generation
        self._stop, self._last = threading.Event(), -TICK_SECONDS

    def stop(self) -> None:
        """Ask the run to stop at its next step."""
        self._stop.set()

    @property
    def stopped(self) -> bool:
        """Whether the run was asked to stop."""
        return self._stop.is_set()

    @property
    def current(self) -> bool:
        """Whether this is still the latest run of its job."""
        return self._generation == self.job.generation

    def check(self) -> None:
        """Raise if the run was superseded; `Cancelled` if it was asked to stop."""
        if not self.current:
            raise Superseded
        if self.stopped:
            raise Cancelled

    def rest(self, seconds: float) -> None:
        """Wait before work that is only worth doing if nothing newer is asked for meanwhile."""
        self._stop.wait(seconds)
        self.check()

    def give_way(self) -> None:
        """Wait until no run is at work, in any session, whose result somebody waits for."""
        self.check()
        while _awaited():
            self.rest(LOOK_SECONDS)

    def wait_for_page(self, seconds: float) -> None:
        """Wait until what was sent has been heard, and then as `rest`.

        A page that is being loaded hears later; Python's threads take turns, and work that nobody
        waits for would hold it up.
        """
        heard = threading.Event()
        self.job.schedule(heard.set)
        deadline = time.monotonic() + SHOWN_SECONDS
        while not heard.wait(LOOK_SECONDS) and time.monotonic() < deadline:
            self.check()
        self.rest(seconds)

    def tick(self, step: int, objective: float, fraction: float) -> None:
        """Report progress, at most ten times a second; it is the callback of ``model.fit``.

        Raises
        ------
        Cancelled
            If the run was cancelled or superseded: the fit then stops with its best state.
        """
        if not self.current or self.stopped:
            raise Cancelled
        now = time.monotonic()
        if now - self._last >= TICK_SECONDS:
            self._last = now
            self.tell("ticked", step, objective, fraction)

    def send(self, name: str, result: Any) -> None:
        """Hand over a result; dropped if the run was superseded, now or before it arrives."""
        if not self.current:
            raise Superseded
        self.tell("received", name, result)

    def tell(self, event: str, *values: Any) -> None:
        """Call the job's listener, unless the run is superseded by then."""
        self.job.schedule(lambda: self.current and self.job.listener(event, *values))


class Job:
    """One line of work of one session; starting a run supersedes the one before.

    Parameters
    ----------
    listener : callable
        ``listener(event, *values)`` with ``("ticked", step, objective, fraction)``,
        ``("received", name, result)``, ``("failed", error)``, ``("ended", cancelled)``.
    schedule : callable
        Runs a function in the session's own thread.
    together : int
        Most runs at work at once: superseded ones may need a moment to notice. Beyond that the
        latest waits and those between are never started, so that dragging a slider cannot
        queue up work.
    spare : bool
        Whether nobody waits for the results: such runs take turns, one at a time in the whole
        process, and can give way to all others.
    """

    def __init__(self, listener: Callable, schedule: Callable = at_once,
                 together: int = 2, spare: bool = False):
        self.listener, self.schedule, self.generation, self.spare = listener, schedule, 0, spare
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
        self._submit(self._latest, work)

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

    def _submit(self, run: Run, work: Callable[[Run], None]) -> None:
        # At work from now on: until a thread takes it up, spare work must give way to it too.
        with _LOCK:
            _AT_WORK.add(run)
        try:
            future = (_SPARE_POOL if self.spare else _POOL).submit(self._do, run, work)
        except RuntimeError:        # shut down
            _leave(run)
            raise
        future.add_done_callback(lambda _: _leave(run))     # also of one that never began

    def _do(self, run: Run, work: Callable[[Run], None]) -> None:
        try:
            run.check()
            work(run)
            run.tell("ended", run.stopped)
        except Superseded:
            pass
        except Cancelled:
            run.tell("ended", True)
        except Exception as error:    # whatever it is, the user must see it
            run.tell("failed", error)
        finally:
            _leave(run)
            self._next()

    def _next(self) -> None:
        with self._lock:
            waiting, self._waiting = self._waiting, None
            if waiting is None:
                self._working -= 1
                return
        self._submit(*waiting)


def shut_down(seconds: float) -> bool:
    """Drop all work of all sessions; no other can be started.

    Python waits for its threads before it ends, and a fit may take minutes: call this first.

    Parameters
    ----------
    seconds : float
        How long to wait for runs to notice, which they do between two steps.

    Returns
    -------
    bool
        Whether all runs ended in time.
    """
    deadline = time.monotonic() + seconds
    for pool in (_POOL, _SPARE_POOL):
        pool.shutdown(wait=False, cancel_futures=True)
    with _LOCK:
        for run in _AT_WORK:
            run.job.drop()
            run.stop()
    while _AT_WORK and time.monotonic() < deadline:
        time.sleep(0.02)
    return not _AT_WORK


def _leave(run: Run) -> None:
    with _LOCK:
        _AT_WORK.discard(run)
        over = not _AT_WORK
    if over:
        TIDY.soon()


def _awaited() -> bool:
    with _LOCK:
        return any(run.current and not run.job.spare for run in _AT_WORK)
