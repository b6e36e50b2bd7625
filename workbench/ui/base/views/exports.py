"""The row of what can be taken away from a page, and a dialog with the Python of it."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from typing import IO

import panel as pn
import panel_material_ui as pmui

from workbench.checks import require
from workbench.ui.base import messages
from workbench.ui.base.store import Store
from workbench.ui.base.views.bundle import MAPS, Bundle
from workbench.ui.base.views.controls import small_button
from workbench.ui.base.views.layout import View, wrapping
from workbench.ui.base.views.pictures import Pictures
from workbench.ui.base.views.text import note

_LOOK = {"variant": "text", "size": "small", "embed": False, "margin": (2, 2)}


class Program(pn.viewable.Viewer):
    """A dialog that shows a program, to be copied or downloaded.

    Parameters
    ----------
    title, said : str
        Of the dialog, and what it says above the program.
    """

    def __init__(self, title: str, said: str, **params):
        super().__init__(**params)
        self.text = pmui.TextAreaInput(label="Python", value="", rows=14, max_rows=24,
                                       sizing_mode="stretch_width",
                                       sx={"& textarea": {"fontFamily": "monospace"}})
        self.download = pmui.FileDownload(
            label=messages.DOWNLOAD_PY, callback=lambda: io.StringIO(self.text.value),
            filename="export.py", **_LOOK | {"variant": "outlined", "margin": (4, 5)})
        self.copy = small_button(messages.COPY, lambda: None, margin=(4, 5))
        # What a widget of these shows is in the data of its model in the browser.
        self.copy.js_on_click(
            args={"text": self.text, "button": self.copy, "copied": messages.COPIED},
            code="navigator.clipboard.writeText(text.data.value); button.data.label = copied")
        self.dialog = pmui.Dialog(
            pn.Column(note(said), self.text, wrapping(
                self.copy, self.download, small_button(messages.CLOSE, self._close,
                                                       margin=(4, 5)))),
            title=title, title_variant="h6", close_on_click=True, width_option="md", open=False)

    def show(self, program: str, filename: str) -> None:
        """Open with a program, and what its download is called."""
        self.copy.label = messages.COPY
        self.text.value, self.download.filename = program, filename
        self.dialog.open = True

    def _close(self) -> None:
        self.dialog.open = False

    def __panel__(self):
        return self.dialog


def download(label: str, make: Callable[[], tuple[str, IO]]) -> pmui.FileDownload:
    """A button that downloads what is made when it is pressed, under a name that is made then.

    Parameters
    ----------
    label : str
    make : callable
        Makes the name of the file, and its content.
    """
    def made() -> IO:
        button.filename, content = make()
        return content

    button = pmui.FileDownload(label=label, callback=made, filename="export", **_LOOK)
    return button


class Exports(View):
    """Pictures, maps, table, report, program and notebook of what a store shows.

    Parameters
    ----------
    store : Store
    bundle : callable
        What can be taken away of the store; None where there is nothing yet.
    watched : mapping of Store to tuple of str
        Results on which it depends whether there is something.
    kinds : sequence of str
        Suffixes of the files of maps that there may be.
    """

    def __init__(self, store: Store, bundle: Callable[[], Bundle | None], watched: dict,
                 kinds: Sequence[str] = (".tif", ".gpkg"), **params):
        super().__init__(store, **params)
        self._bundle, self.pictures = bundle, Pictures(height=1, width=1, margin=0)
        self.program = Program(messages.COPY_PYTHON, messages.AS_PYTHON)
        plain = {"variant": "text", "margin": (2, 2)}
        self.drawn = [small_button(kind.upper(), lambda kind=kind: self._draw(kind), **plain)
                      for kind in ("png", "svg")]
        self.maps = {suffix: self._file(MAPS[suffix], suffix,
                                        lambda found, suffix=suffix: found.file(suffix))
                     for suffix in kinds}
        self.csv = self._file("CSV", ".csv", Bundle.csv)
        self.report = small_button("Report (HTML)", lambda: self._draw("html"), **plain)
        self.python = small_button(messages.COPY_PYTHON, self._show, **plain)
        self.notebook = self._file(messages.NOTEBOOK, ".ipynb",
                                   lambda found: io.StringIO(found.notebook()))
        self._all = [*self.drawn, *self.maps.values(), self.csv, self.report, self.python,
                     self.notebook]
        label = pmui.Typography(messages.EXPORT, variant="body2", margin=(7, 2, 0, 5))
        self.row = wrapping(label, *self._all, gap=0)
        self._panel = pn.Column(self.row, self.program, self.pictures,
                                sizing_mode="stretch_width", margin=0)
        self.pictures.param.watch(self._failed, "failed")
        for each, names in watched.items():
            each.param.watch(self._available, list(names))
        self.follow(self._available, "work")

    def _file(self, label: str, suffix: str, make: Callable) -> pmui.FileDownload:
        def made() -> tuple[str, IO]:
            found = self._now()
            return f"{found.stem}{suffix}", make(found)

        return download(label, made)

    def add(self, button: pmui.FileDownload, always: bool = False) -> None:
        """Put a download of the app's own at the end of the row.

        Parameters
        ----------
        button : FileDownload
            Of `download`.
        always : bool
            Whether it is offered also while there is nothing else.
        """
        self.row.append(button)
        if not always:
            self._all.append(button)
            self._available()

    def _available(self, *events) -> None:
        found = self._bundle()
        for each in self._all:
            each.disabled = found is None
        for suffix, each in self.maps.items():
            each.visible = found is None or found.maps is not None and suffix in found.kinds

    def _now(self) -> Bundle:
        """What can be taken away; it may have gone since it was offered."""
        found = self._bundle()
        require(found is not None, messages.NOTHING_THERE)
        return found

    def _draw(self, kind: str) -> None:
        found = self._now()
        self.pictures.ask(kind, f"{found.stem}.{kind}", found.report() if kind == "html" else "",
                          found.caption)

    def _show(self) -> None:
        found = self._now()
        self.program.show(found.program, f"{found.stem}.py")

    def _failed(self, event) -> None:
        if event.new:
            self.store.error = f"{messages.NO_PICTURE}: {event.new}"
