"""Work ahead while a server starts: imports, and what the first pages show.

Imports of the models, geography and plots take some seconds, and so do the first maps: begun with
the server, they are done, or nearly, when somebody opens the page. Each app says what is worth it.
"""

from __future__ import annotations

import gc
import importlib
import logging
from collections.abc import Callable, Collection
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from workbench.ui.base import leftovers
from workbench.ui.base.jobs import Job, Run

if TYPE_CHECKING:
    from workbench.ui.base.shell import App

_LOG = logging.getLogger("workbench.ui")
_LONGEST = "disaggregate"       # to be ready
_PAGES = tuple(sorted((path.parts[-3] for path in Path(__file__).parent.glob("*/views/page.py")),
                      key=lambda name: (name != _LONGEST, name)))


def start(apps: Collection[str] = ()) -> Job:
    """Begin in a thread of its own; the results wait in the caches of the apps.

    Parameters
    ----------
    apps : collection of str
        Those that are served; all if empty. The one that takes longest, else the first by name,
        is prepared at once; the others give way to what pages wait for.

    Returns
    -------
    Job
        The work on the first.
    """
    leftovers.remove()
    job = Job(_hear)
    job.start(partial(_prepare, [name for name in _PAGES if name in apps or not apps]))
    return job


def pause_collection() -> None:
    """Collect no garbage while starting; `start` resumes it when it is done.

    Imports make a million objects that stay: to look through them again and again takes a second.
    """
    gc.disable()


def _prepare(names: list[str], run: Run) -> None:
    try:
        for name in names[:1]:
            _work(name, ("first",), run)
    finally:
        gc.freeze()             # nor need they be looked through ever after
        gc.enable()
    for name in names[1:]:
        Job(_hear, spare=True).start(partial(_work, name, ("first", "later")))
    for name in names[:1]:      # at last: the page of this app is there already
        Job(_hear, spare=True).start(partial(_work, name, ("later",)))


def _work(name: str, steps: tuple[str, ...], run: Run) -> None:
    app: App = importlib.import_module(f"workbench.ui.{name}.views.page").APP
    for step in steps:
        work: Callable[[Run], None] | None = getattr(app, step)
        if work is not None:
            work(run)


def _hear(event: str, *values) -> None:
    if event == "failed":       # the page meets the same error, and says it where it is seen
        _LOG.warning("the first page could not be prepared", exc_info=values[0])
