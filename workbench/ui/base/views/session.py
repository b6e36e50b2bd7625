"""Saving a session as one file, and opening it again."""

from __future__ import annotations

import io

import panel as pn
import panel_material_ui as pmui

from workbench.ui.base import messages
from workbench.ui.base.session import SUFFIX
from workbench.ui.base.store import Store, in_words
from workbench.ui.base.views.controls import title
from workbench.ui.base.views.layout import View, stretched
from workbench.ui.base.views.text import note


class SessionFile(View):
    """Two buttons of the sidebar: save and open.

    Parameters
    ----------
    store : Store
        Whose session it is.
    """

    def __init__(self, store: Store, **params):
        super().__init__(store, **params)
        plain = {"variant": "outlined", "size": "small", "margin": (4, 10),
                 "sizing_mode": "stretch_width"}
        self.save = pmui.FileDownload(
            label=messages.SAVE_SESSION, callback=lambda: io.BytesIO(store.save()),
            filename=store.app + SUFFIX, embed=False, **plain)
        self.open = pmui.FileInput(label=messages.OPEN_SESSION, accept=SUFFIX, **plain)
        self.open.param.watch(self._open, "value")
        self._panel = stretched(title(messages.SESSION, 8), self.save, self.open,
                                note(messages.SESSION_NOTE, inset=10))

    def _open(self, event) -> None:
        if not event.new:
            return
        try:
            with pn.io.hold():
                problems = self.store.open(event.new)
        except ValueError as error:
            self.store.error = in_words(error)
        else:
            if problems and pn.state.notifications:
                pn.state.notifications.warning(messages.not_offered(problems))
        self.open.clear()
