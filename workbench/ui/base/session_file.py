"""Saving a session as one file, and opening it again."""

from __future__ import annotations

import io

import panel as pn
import panel_material_ui as pmui

from workbench.ui.base import messages
from workbench.ui.base.session import SUFFIX, file_stem
from workbench.ui.base.store import Store, in_words


class SessionFile(pn.viewable.Viewer):
    """Two buttons of the sidebar: save and open.

    Parameters
    ----------
    store : Store
        Whose session it is.
    """

    def __init__(self, store: Store, **params):
        super().__init__(**params)
        self.store = store
        plain = {"variant": "outlined", "size": "small", "margin": (4, 10),
                 "sizing_mode": "stretch_width"}
        self.save = pmui.FileDownload(
            label=messages.SAVE_SESSION, callback=self._save, filename=store.app + SUFFIX,
            embed=False, **plain)
        self.open = pmui.FileInput(label=messages.OPEN_SESSION, accept=SUFFIX, **plain)
        self.open.param.watch(self._open, "value")
        self._panel = pn.Column(
            pmui.Typography(messages.SESSION, variant="overline", margin=(8, 10, 0, 10)),
            self.save, self.open,
            pmui.Typography(store.session_note, variant="body2", margin=(2, 10, 10, 10),
                            sx={"opacity": 0.8}),
            sizing_mode="stretch_width", margin=0)

    def _save(self) -> io.BytesIO:
        packed = io.BytesIO(self.store.save())
        self.save.filename = file_stem(self.store.app, self.store.subject) + SUFFIX
        return packed

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

    def __panel__(self):
        return self._panel
