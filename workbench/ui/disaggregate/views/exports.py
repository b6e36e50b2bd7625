"""What can be taken away from the page: the row of every app, and settings that can be run."""

from __future__ import annotations

import io
from typing import IO

import panel_material_ui as pmui

from workbench.ui.base import handover
from workbench.ui.base.views import exports as base
from workbench.ui.base.views.layout import wrapping
from workbench.ui.base.views.text import note, paragraph
from workbench.ui.disaggregate import exporting, exports, labels, totals
from workbench.ui.disaggregate.catalogue import OWN
from workbench.ui.disaggregate.portable import needed, portable
from workbench.ui.disaggregate.store import Store
from workbench.ui.disaggregate.views.stepper import target
from workbench.ui.disaggregate.views.verdict import verdict_of


class Exports(base.Exports):
    """Pictures, maps, table, report, program and notebook of the map, and its settings."""

    def __init__(self, store: Store, **params):
        super().__init__(
            store, lambda: exporting.bundle(store, verdict_of(store)),
            {store: ("answer", "exceedance")}, kinds=(".tif", ".gpkg", ".nc"), **params)
        self._panel.param.update(margin=(6, 0), css_classes=[target("report")])
        self.settings = base.download("Settings (JSON)", self._settings)
        self.add(self.settings, always=True)
        self.compare = pmui.Button(label=labels.COMPARE, variant="text", size="small",
                                   target="_blank", margin=(2, 2), visible=False,
                                   on_click=lambda _: self._offer())
        self.row.append(self.compare)
        self.rescale = pmui.Checkbox.from_param(
            store.state.param.rescale, label=labels.RESCALE, size="small", margin=(0, 5),
            width=170)
        self.told = note()
        self.told.styles = {"flex": "1 1 300px", "min-width": "0"}
        self.totals = wrapping(self.rescale, self.told, visible=False)
        self.totals.styles = {"align-items": "center"}
        self._panel.insert(1, self.totals)
        self._names: list[str] = []
        self._of = None
        self.follow(self._offer, "scene", "work")
        self.follow(self._add_up, "scene", "answer", "work")
        store.state.param.watch(self._add_up, "rescale")
        store.on_leave(self._withdraw)

    def _add_up(self, *events) -> None:
        """Say whether exports add up to the areas' totals, where these can be added up."""
        # It is said of the maps that are shown, also while others are worked on: to hide it would
        # have the page arranged anew at every step of a slider.
        store = self.store
        told = "" if store.of_other_data else totals.said(
            store.answer, store.scene, store.state.rescale)
        self.told.object = paragraph(told)
        self.totals.visible = bool(told)

    def _offer(self, *events) -> None:
        """Offer own data to the app that compares models, under a name that is good for one use."""
        store, spec = self.store, self.store.state.spec()
        own = store.scene is not None and not store.reading and store.state.dataset.startswith(OWN)
        if events and own and self._names and self._of is store.scene:
            return
        if events or not own:       # not after a click: the browser is opening the last one
            self._withdraw()
        self._of = store.scene
        if own:
            from workbench.reporting.code import steps_of  # the models, which pages do not need

            self._names.append(handover.offer(handover.Handed(
                store.state.choice.title, store.scene.data,
                steps_of(portable(spec)).data, needed(spec))))
            self.compare.href = f"compare?dataset={self._names[-1]}"
        self.compare.visible = own

    def _withdraw(self) -> None:
        for name in self._names:
            handover.withdraw(name)
        self._names = []

    def _settings(self) -> tuple[str, IO]:
        answer, state = self.store.answer, self.store.state
        about = exports.subject(state.spec() if answer is None else answer.spec)
        return (exports.file_name("settings", about, answer, ".json"),
                io.StringIO(exports.settings(answer, state)))
