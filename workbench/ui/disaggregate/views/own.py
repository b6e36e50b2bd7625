"""A dialog for files of one's own: drop them, say what is what, have them checked, use them."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

import panel as pn
import panel_material_ui as pmui

from workbench.checks import InputError
from workbench.ui.base.views.controls import small_button
from workbench.ui.base.views.layout import View, stretched, wrapping
from workbench.ui.base.views.text import block, note
from workbench.ui.disaggregate import labels, messages, own
from workbench.ui.disaggregate.remedies import Remedy
from workbench.ui.disaggregate.store import Store
from workbench.ui.disaggregate.uploads import PARTS
from workbench.ui.disaggregate.views.corrections import Corrections

PEOPLE = ("pop", "people", "person", "weight", "exposure")       # in names of rasters
ACROSS = 250        # pixels of a choice, of which three are in a row
AREA, NUMBERS = "area (none given)", "numbers"


class Own(View):
    """The dialog, and the button that opens it, which stands elsewhere."""

    def __init__(self, store: Store, **params):
        super().__init__(store, **params)
        self._files: own.Files | None = None
        self.drop = pmui.FileInput(label=labels.DROP, multiple=True, sizing_mode="stretch_width",
                                   accept=",".join((*own.POLYGONS, *PARTS, *own.RASTERS)))
        self.value = pmui.Select(label="Column of the totals", width=ACROSS, options=[],
                                 visible=False)
        self.weight = pmui.Select(label="Population (weight)", width=ACROSS, options=[AREA],
                                  visible=False)
        self.names = pmui.Select(label="Names of the areas", width=ACROSS, options=[NUMBERS],
                                 visible=False)
        self.check = small_button("Check", self._check, variant="contained", disabled=True)
        self.use = small_button("Use these data", self._use, color="success", variant="contained",
                                visible=False)
        self.told, self.corrections = block(), Corrections(self._apply, self._undo)
        self._done: list[Remedy] = []
        self.dialog = pmui.Dialog(
            stretched(note(labels.OWN), self.drop, wrapping(self.value, self.names, self.weight),
                      self.told,
                      wrapping(self.check, self.use, small_button("Close", self._close)),
                      self.corrections,
                      styles={"padding-right": "14px", "box-sizing": "border-box"}),
            title="Your own data", title_variant="h6", width_option="md", open=False)
        self.open = small_button("Your own data", self._show, margin=(4, 8))
        self._panel = self.dialog
        self.drop.param.watch(self._dropped, "value")
        self.follow(self._step, "step", of=store.state)
        self.dialog.param.watch(self._opened, "open")
        self.follow(self._checked, "own")
        self.follow(self._refused, "own_refused")
        store.param.watch(lambda event: event.new and self._correct(event.new), "remedy")

    def _step(self, *events) -> None:
        self.dialog.open = self.store.state.step == "data"

    def _opened(self, *events) -> None:
        if self.dialog.open:
            self.store.state.step = "data"
        elif self.store.state.step == "data":
            self.store.state.step = "map"

    def _show(self) -> None:
        self.dialog.open = True

    def _close(self) -> None:
        self.dialog.open = False

    def _dropped(self, *events) -> None:
        names, contents = self.drop.filename, self.drop.value
        if not contents:
            return
        names, contents = ([names], [contents]) if isinstance(names, str) else (names, contents)
        self.store.own, self._done = None, []
        self.corrections.clear()
        try:
            self._files = self.store.keep_own(dict(zip(names, contents, strict=True)))
        except InputError as error:
            self._files = None
            self._say(str(error))
        else:
            self._say("")
            polygons = self._files.polygons is not None
            self.value.param.update(options=list(self._files.columns), visible=polygons,
                                    value=next(iter(self._files.columns), None))
            self.names.param.update(options=[NUMBERS, *self._files.names], visible=polygons,
                                   value=[*self._files.names, NUMBERS][0])
            rasters = list(self._files.rasters)
            self.weight.param.update(options=[AREA, *rasters], visible=polygons and bool(rasters),
                                     value=[*likely(rasters), AREA][0])
        self.check.disabled = self._files is None

    def _say(self, text: str) -> None:
        self.told.object = text and f"<p style='margin: 4px 0'>{escape(text)}</p>"

    def _check(self) -> None:
        weight = "" if self.weight.value == AREA else self.weight.value
        name = "" if self.names.value == NUMBERS else self.names.value
        dataset, options = own.options_of(self._files, self.value.value, weight, name)
        for one in self._done:
            options = one.applied(options)
        self._given = dataset, options
        self._say(messages.CHECKING)
        self.corrections.wait()
        self.store.check_own(dataset, options)

    def _apply(self, remedy: Remedy) -> None:
        self._done = [*self._done, remedy]
        self._check()

    def _undo(self, remedy: Remedy) -> None:
        self._done = [one for one in self._done if one is not remedy]
        self._check()

    def _correct(self, remedy: Remedy) -> None:
        """Correct data that are in use: check their files again, to be used under another name."""
        self._show()
        self._apply(remedy)

    def _checked(self, *events) -> None:
        check = self.store.own
        if check is None:
            self.use.visible = False
            return
        name, rasters = self._given[1].get("id", ""), self._files.rasters
        with pn.io.hold():
            self.corrections.show(
                check, self._given[1], self._done, shapes=self._files.shapes(name),
                people=tuple(str(rasters[one]) for one in likely(rasters)))
            self.use.visible = check.ok
            self._say(messages.checked(check.summary()))

    def _refused(self, *events) -> None:
        if self.store.own_refused:
            self._say(messages.not_checked(self.store.own_refused))

    def _use(self) -> None:
        found = self.store.own.data
        try:
            choice = own.choice_of(found, own.title_of(self._files), *self._given)
        except InputError as error:
            self._say(messages.refused(str(error)))
            return
        self.store.use_own(choice, self._files)
        self.dialog.open = False


def likely(rasters: Iterable[str]) -> list[str]:
    """Rasters that are called like a population.

    Parameters
    ----------
    rasters : iterable of str
        Names of files.
    """
    return [name for name in rasters if any(word in name.lower() for word in PEOPLE)]
