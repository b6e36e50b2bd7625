"""The app, and what a server makes ahead of its first page."""

from __future__ import annotations

import panel_material_ui as pmui

from workbench.ui.base.jobs import PAGE_DRAWN, Run, load_models
from workbench.ui.base.shell import App
from workbench.ui.disaggregate import engine, messages
from workbench.ui.disaggregate.state import State
from workbench.ui.disaggregate.store import Store
from workbench.ui.disaggregate.views.controls import Controls
from workbench.ui.disaggregate.views.screen import Screen

QUIET = 15.0    # seconds; then nobody waits for the first page, and its scores can be made
SOON = 3.0      # seconds in which a browser is opened that is opened at once


def _first_maps(run: Run) -> None:
    PAGE_DRAWN.wait(SOON)       # the browser has its own work with the page, on another core
    run.check()
    load_models()
    spec = State().spec()
    engine.scene(spec)
    run.check()
    engine.quick(spec)


def _first_scores(run: Run) -> None:
    run.rest(QUIET)
    run.give_way()
    engine.scores(engine.quick(State().spec()))


def _frame(page: pmui.Page, store: Store) -> None:
    """Open the controls where a step leads to them: on a phone they are closed."""
    def show(*events) -> None:
        if store.state.step in ("areas", "model"):
            page.sidebar_open = True

    store.state.param.watch(show, "step")


APP = App(messages.TITLE, State, Store, Controls, (Screen,), _first_maps, _first_scores,
          frame=_frame)
