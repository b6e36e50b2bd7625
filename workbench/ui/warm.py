"""Work ahead while a server starts: imports, and what the first page shows.

Imports of the models, geography and plots take some seconds, and so do the first maps: begun with
the server, they are done, or nearly, when somebody opens the page.
"""

from __future__ import annotations

import gc
import logging
import threading
from functools import partial
from typing import TYPE_CHECKING

from workbench.ui.jobs import Job, Run

if TYPE_CHECKING:
    from workbench.ui.answers import Answer

QUIET = 15.0    # seconds; then nobody waits for the first page, and its scores can be made
SOON = 3.0      # seconds in which a browser is opened that is opened at once

_LOG = logging.getLogger("workbench.ui")
_DRAWN = threading.Event()


def start() -> Job:
    """Begin in a thread of its own; the results wait in the caches of `workbench.ui.answers`."""
    job = Job(_hear)
    job.start(_first_page)
    return job


def drawn() -> None:
    """Say that a page has been drawn; until the first one is, loading the models gives way."""
    _DRAWN.set()


def pause_collection() -> None:
    """Collect no garbage while starting; `start` resumes it when it is done.

    Imports make a million objects that stay: to look through them again and again takes a second.
    """
    gc.disable()


def _first_page(run: Run) -> None:
    try:
        import workbench.ui.views.charts
        import workbench.ui.views.controls
        import workbench.ui.views.maps
        import workbench.ui.views.report
        import workbench.ui.views.status  # noqa: F401
        from workbench.ui import answers
        from workbench.ui.state import State

        _DRAWN.wait(SOON)       # the browser has its own work with the page, on another core
        run.check()
        spec = State().spec()
        answers.scene(spec)
        run.check()
        answer = answers.quick(spec)
    finally:
        gc.freeze()             # nor need they be looked through ever after
        gc.enable()
    Job(_hear, spare=True).start(partial(_first_scores, answer))


def _first_scores(answer: Answer, run: Run) -> None:
    from workbench.ui import answers

    run.rest(QUIET)
    run.give_way()
    answers.scores(answer)


def _hear(event: str, *values) -> None:
    if event == "failed":       # the page meets the same error, and says it where it is seen
        _LOG.warning("the first page could not be prepared", exc_info=values[0])
