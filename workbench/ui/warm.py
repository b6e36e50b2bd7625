"""Work ahead while a server starts: imports, and what the first page shows.

Imports of the models, geography and plots take some seconds, and so do the first maps: begun with
the server, they are done, or nearly, when somebody opens the page.
"""

from __future__ import annotations

import gc
import logging
import threading
from collections.abc import Collection
from functools import partial
from typing import TYPE_CHECKING

from workbench.ui.jobs import Job, Run

if TYPE_CHECKING:
    from workbench.ui.answers import Answer

QUIET = 15.0    # seconds; then nobody waits for the first page, and its scores can be made
SOON = 3.0      # seconds in which a browser is opened that is opened at once

_LOG = logging.getLogger("workbench.ui")
_DRAWN = threading.Event()
_PAGES = frozenset({"disaggregate", "mediated", "sources"})


def start(apps: Collection[str] = ()) -> Job:
    """Begin in a thread of its own; the results wait in the caches of the apps.

    Parameters
    ----------
    apps : collection of str
        Those that are served; all if empty. Of several, *mediated* and *sources* give way to what
        pages wait for.
    """
    job = Job(_hear)
    job.start(partial(_first_pages, frozenset(apps) or _PAGES))
    return job


def drawn() -> None:
    """Say that a page has been drawn; until the first one is, loading the models gives way."""
    _DRAWN.set()


def pause_collection() -> None:
    """Collect no garbage while starting; `start` resumes it when it is done.

    Imports make a million objects that stay: to look through them again and again takes a second.
    """
    gc.disable()


def _first_pages(apps: Collection[str], run: Run) -> None:
    answer = None
    try:
        if "disaggregate" in apps:
            answer = _disaggregate(run)
        elif "mediated" in apps:
            _import_mediated()
        elif "sources" in apps:
            _import_sources()
    finally:
        gc.freeze()             # nor need they be looked through ever after
        gc.enable()
    if "mediated" in apps:
        Job(_hear, spare=True).start(_mediated)
    if "sources" in apps:
        Job(_hear, spare=True).start(lambda run: _import_sources())
    if answer is not None:
        Job(_hear, spare=True).start(partial(_first_scores, answer))


def _disaggregate(run: Run) -> Answer:
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
    return answers.quick(spec)


def _import_sources() -> None:
    import workbench.multisource.mr_gp
    import workbench.ui.sources.views.controls
    import workbench.ui.sources.views.frame  # noqa: F401


def _import_mediated() -> None:
    import workbench.models.registry
    import workbench.ui.mediated.engine
    import workbench.ui.mediated.views.charts
    import workbench.ui.mediated.views.controls
    import workbench.ui.mediated.views.frame
    import workbench.ui.mediated.views.maps  # noqa: F401


def _mediated(run: Run) -> None:
    """The fields of the first setting, and one answer; benches belong to sessions."""
    _import_mediated()
    from workbench.ui.mediated import background
    from workbench.ui.mediated.state import State
    from workbench.ui.mediated.store import setting_of
    from workbench.ui.mediated.worlds import world

    state = State()
    setting = setting_of(state)
    run.give_way()
    world(*setting.world)
    run.give_way()
    bench = setting.build()
    run.give_way()
    background.answer(setting, bench, state.chosen)


def _first_scores(answer: Answer, run: Run) -> None:
    from workbench.ui import answers

    run.rest(QUIET)
    run.give_way()
    answers.scores(answer)


def _hear(event: str, *values) -> None:
    if event == "failed":       # the page meets the same error, and says it where it is seen
        _LOG.warning("the first page could not be prepared", exc_info=values[0])
