"""A dialog for files of one's own: drop them, say what is what, have them checked, use them."""

from __future__ import annotations

import re
from html import escape
from typing import TYPE_CHECKING

import panel as pn
import panel_material_ui as pmui

from workbench.checks import InputError
from workbench.ui.base.messages import sentence
from workbench.ui.base.store import in_words
from workbench.ui.base.views.controls import small_button
from workbench.ui.base.views.layout import View, stretched, wrapping
from workbench.ui.base.views.text import block, note, paragraph
from workbench.ui.disaggregate import labels, messages, own
from workbench.ui.disaggregate.columns import likely
from workbench.ui.disaggregate.remedies import Remedy, stated
from workbench.ui.disaggregate.roles import taken_as
from workbench.ui.disaggregate.store import Store
from workbench.ui.disaggregate.views.asking import ACROSS, Asking, select
from workbench.ui.disaggregate.views.corrections import Corrections
from workbench.ui.disaggregate.views.emptied import Emptied
from workbench.ui.disaggregate.views.periods import OnePeriod
from workbench.ui.disaggregate.views.values import Values

if TYPE_CHECKING:
    from workbench.bagging.findings import Finding
    from workbench.preflight import Check

AREA, NUMBERS = labels.NO_RASTER, labels.NUMBERED
#: The field of a browser that takes files is hidden in a button, which shows its focus instead.
FOCUSED = {"&:focus-within": {"outline": "3px solid #E6007E", "outlineOffset": "2px"}}
REFUSED = ("border-left: 4px solid rgb(198, 40, 40); border-radius: 4px; padding: 8px 10px; "
           "background: rgba(198, 40, 40, 0.10)")


class Own(View):
    """The dialog, and the button that opens it, which stands elsewhere."""

    def __init__(self, store: Store, **params):
        super().__init__(store, **params)
        self._files: own.Files | None = None
        self._held: dict[str, bytes] = {}       # all that was dropped, by name
        self._people: dict[str, str] = {}
        self._layers: dict[str, tuple[str, str]] = {}
        self._asking = Asking()
        self.drop = pmui.FileInput(label=labels.DROP, uploaded_label=labels.DROP, multiple=True,
                                   sizing_mode="stretch_width", sx=FOCUSED)
        self.values = Values(self._asking, self._other)
        self.period = OnePeriod(self._asking, lambda: self._hold(self._held))
        self.weight = select("Population (weight)", options=[AREA])
        self.key = select("Table joined by")
        self.names = select("Names of the areas", options=[NUMBERS])
        self.check = small_button("Check", self._check, variant="contained", disabled=True)
        self.use = small_button("Use these data", self._use, color="success", variant="contained",
                                visible=False)
        self.crs = pmui.TextInput(label="", width=ACROSS, visible=False)
        self.taken, self.told, self.held = block(), block(), wrapping(visible=False)
        self.corrections = Corrections(self._apply, self._undo)
        self._done: list[Remedy] = []
        self.dialog = pmui.Dialog(
            stretched(note(labels.OWN), self.drop, self.held, self.period.row,
                      self.values.row, wrapping(self.weight, self.names, self.key), self.taken,
                      self.told, self.crs,
                      wrapping(self.check, self.use, small_button("Close", self._close)),
                      self.corrections,
                      styles={"padding-right": "14px", "box-sizing": "border-box"}),
            title="Your own data", title_variant="h6", width_option="md", open=False,
            close_on_click=True)        # beside it, and by Escape: what it has stays
        self.open = small_button("Your own data", self._show, margin=(4, 8))
        self._panel = stretched(self.dialog, Emptied(
            lambda names: self._take(dict.fromkeys(names, b"")), height=1, margin=0))
        self.drop.param.watch(self._dropped, "value")
        for each in (self.weight, self.names, self.key):
            each.param.watch(self._other, "value")
        self.crs.param.watch(self._state_crs, "value")
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
        self.drop.clear()           # else the same files again would be no event
        self._take(dict(zip(names, contents, strict=True)))

    def _take(self, contents: dict[str, bytes]) -> None:
        """Add files to those that were dropped before, unless they are too large together."""
        held = self._held | contents
        try:
            own.require_room(held)
        except InputError as error:
            self._refuse(str(error))
        else:
            self._hold(held)

    def _hold(self, held: dict[str, bytes]) -> None:
        """Look at all files at once: what one of them is for depends on the others."""
        self._held, self._files = held, None
        self._list()
        self.store.own, self._done = None, []
        self.corrections.clear()
        self._say("")
        try:
            self.period.forget()
            self._files = self.period.read(held, self.store.keep_own) if held else None
        except InputError as error:
            self._refuse(str(error))
        if self._files is not None:
            self._offer(self._files)
        if self._files is None:
            for each in (*self.values.row, self.weight, self.names, self.key):
                each.visible = False
        self._say_taken()
        self.check.disabled = self._files is None

    def _list(self) -> None:
        """A button for each file that removes it, and one for all."""
        def button(label: str, *gone: str):
            # of what is there when it is pressed: further files may have come since it was drawn
            return small_button(label, lambda: self._hold(
                {name: content for name, content in self._held.items() if name not in gone}),
                icon="close", margin=(3, 0, 6, 10))

        held = self._held
        self.held[:] = [button(labels.REMOVE.format(name), name) for name in held] + (
            [button(labels.REMOVE_ALL, *held)] if len(held) > 1 else [])
        self.held.visible = bool(held)
        # In the browser a field that was ever used says this, also once all files are gone.
        self.drop.uploaded_label = labels.DROPPED if held else labels.DROP
        if not held:
            self._asking.forget()
            self.values.forget()

    def _offer(self, files: own.Files) -> None:
        """Say what is what, as far as names tell, where nobody has chosen otherwise."""
        polygons, table = files.polygons is not None, files.table
        ask = self._asking.ask
        self.values.offer(files.numbers, polygons, [key[0] for key in table.keys] if table else [],
                          files.surveys)
        ask(self.names, [NUMBERS, *files.names], [*files.names, NUMBERS][0],
            polygons and table is None)
        self._people = {labels.OF_AREAS.format(name): name for name in files.numbers}
        self._layers = {labels.OF_PIXELS.format(one, name): (name, one)
                        for name, layers in files.layers.items() if len(layers) > 1
                        for one in layers}
        rasters = [name for name in files.rasters if len(files.layers.get(name, ())) < 2]
        rasters += self._layers
        guessed = [*likely(rasters), *likely(self._people), AREA]
        ask(self.weight, [AREA, *rasters, *self._people], guessed[0], polygons)
        keys = {labels.KEY.format(*key): key[:2] for key in table.keys} if table else {}
        ask(self.key, keys, next(iter(keys.values()), None), bool(keys))

    def _weight(self) -> tuple[str, str]:
        """The raster chosen as population, and which of its columns; empty where there is none."""
        chosen = self.weight.value
        if self._files is None or chosen in self._people or chosen == AREA:
            return "", ""
        return self._layers.get(chosen, (chosen, ""))

    def _say_taken(self) -> None:
        """Say what each file is taken for, and what in them only looks like numbers."""
        files = self._files
        self.taken.object = "" if files is None else paragraph(
            " ".join([taken_as(files, *self._weight()),
                      *(f"{sentence(one)}." for one in files.texts)]))

    def _other(self, *events) -> None:
        """What was checked is not what is chosen now."""
        self._say_taken()
        if self.store.own is not None or self.told.object:
            self.store.forget_check()
            self.corrections.clear()
            self._say("")

    def _say(self, text: str, style: str = "") -> None:
        role = "alert" if style else "status"
        marked = re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text))     # commands
        said = f"<p role='{role}' style='margin: 4px 0; {style}'>{marked}</p>"
        self.told.object = text and said

    def _refuse(self, text: str) -> None:
        """Say in red why files are not taken."""
        self._say(text, REFUSED)

    def _check(self) -> None:
        files, weight = self._files, self.weight.value
        name = "" if self.names.value == NUMBERS else self.names.value
        raster, layer = self._weight()
        dataset, options = own.options_of(
            files, self.values.column.value, raster, name, layer=layer, key=self.key.value,
            population=self._people.get(weight, ""), read=self.values.options)
        for one in self._done:
            options = one.applied(options)
        self._given = dataset, options
        self._say(messages.CHECKING)
        self.corrections.wait()
        self.store.check_own(dataset, options, own.unused(files, options))

    def _apply(self, remedy: Remedy) -> None:
        if not self.values.take(remedy):        # what the values are is chosen above
            self._done = [*self._done, remedy]
        self._check()

    def _state_crs(self, event) -> None:
        """Check again with the CRS that was typed, unless there is no such one."""
        from workbench.geo.shapes import usable_crs

        check, typed = self.store.own, event.new.strip()
        if check is None or not typed:
            return
        typed = f"EPSG:{typed}" if typed.isdigit() else typed
        try:
            usable_crs(typed, "polygon_crs")
        except InputError:
            self._refuse(labels.no_such_crs(typed))
            return
        self._apply(stated(_without_crs(check)[0], typed))

    def _undo(self, remedy: Remedy) -> None:
        self._done = [one for one in self._done if one is not remedy]
        self._check()

    def _correct(self, remedy: Remedy) -> None:
        """Correct data that are in use: check their files again, to be used under another name."""
        self._show()
        self._apply(remedy)

    def _checked(self, *events) -> None:
        check = self.store.own
        lacking = [] if check is None else _without_crs(check)
        self.crs.param.update(visible=bool(lacking), value="", label="".join(
            labels.CRS_FIELD.format(one.where[0]) for one in lacking[:1]))
        if check is None:
            self.use.visible = False
            return
        try:
            self._show_found(check)
        except Exception as error:      # else the check would be under way for ever
            self.corrections.clear()
            self.use.visible = False
            self._refuse(messages.not_checked(in_words(error)))
            raise

    def _show_found(self, check: Check) -> None:
        name, rasters = self._given[1].get("id", ""), self._files.rasters
        with pn.io.hold():
            self.corrections.show(
                check, self._given[1], self._done, shapes=self._files.shapes(name),
                people=tuple(str(rasters[one]) for one in likely(rasters)),
                columns=tuple(likely(self._files.numbers)))
            self.use.visible = check.ok
            self._say(messages.checked(check.summary()))

    def _refused(self, *events) -> None:
        if self.store.own_refused:
            self._refuse(messages.not_checked(self.store.own_refused))

    def _use(self) -> None:
        found = self.store.own.data
        try:
            choice = own.choice_of(found, own.title_of(self._files) + self.period.suffix,
                                   *self._given)
        except InputError as error:
            self._refuse(messages.refused(str(error)))
            return
        self.store.use_own(choice, self._files)
        self.dialog.open = False


def _without_crs(check: Check) -> list[Finding]:
    """What in a check has no CRS."""
    return [one for one in check.of("error") if one.code == "crs-missing"]
