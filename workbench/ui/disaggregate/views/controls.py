"""The sidebar: one widget per choice of the state, and what can be downloaded."""

from __future__ import annotations

import io
import tempfile
from dataclasses import replace
from pathlib import Path

import panel_material_ui as pmui

from workbench.ui.base.views.controls import SELECT, SLIDER, title, widget
from workbench.ui.base.views.layout import View, stretched
from workbench.ui.base.views.text import note
from workbench.ui.disaggregate import messages
from workbench.ui.disaggregate.store import Store

_LABELS = {
    "dataset": "Dataset", "granularity": "Areas seen", "model": "Model", "kernel": "Kernel",
    "link": "Link", "likelihood": "Likelihood", "overdispersion": "Overdispersion",
    "nugget": "Nugget (individual sd)", "lengthscale": "Lengthscale", "variance": "Variance",
    "threshold": "Threshold", "colours": "Colours", "log_colours": "Logarithmic colours",
    "area_effect": "Include area effect",
}
_SECTIONS = {
    "Data": ("dataset", "granularity"),
    "Model": ("model", "kernel", "link"),
    "Map term": ("lengthscale", "variance"),
    "Noise": ("likelihood", "overdispersion", "nugget"),
    "Shown": ("threshold", "area_effect", "colours", "log_colours"),
}
_KINDS = {
    "lengthscale": SLIDER, "variance": SLIDER,
    "colours": pmui.RadioButtonGroup, "log_colours": pmui.Switch, "area_effect": pmui.Switch,
}
_INSET = 10     # pixels left of the widgets
_HIDDEN = ("area_effect",)      # where they have no effect; the others are disabled


class Controls(View):
    """Widgets of a store's state, and the downloads."""

    def __init__(self, store: Store, **params):
        super().__init__(store, **params)
        state = store.state
        self.widgets = {name: widget(state, name, label, _KINDS.get(name, SELECT), (6, 10))
                        for name, label in _LABELS.items()}
        plain = {"variant": "outlined", "size": "small", "sizing_mode": "stretch_width",
                 "margin": (4, 10), "embed": False}
        self.maps = pmui.FileDownload(
            label="Maps (NetCDF)", callback=self._netcdf, filename="disaggregated.nc", **plain)
        self.spec = pmui.FileDownload(
            label="Settings (JSON)", callback=self._json, filename="spec.json", **plain)
        self._panel = stretched(*self._parts())
        self.follow(self._applicable, "model", "link", "likelihood", "overdispersion", "nugget",
                    "kernel", "dataset", of=state)
        self.follow(self._available, "answer")

    def _applicable(self, *events) -> None:
        for name, each in self.widgets.items():
            reason = self.store.state.inapplicable(name)
            if name in _HIDDEN:
                each.visible = not reason
                continue
            each.disabled = bool(reason)
            if hasattr(each, "description"):
                each.description = reason.capitalize() or self.store.state.param[name].doc

    def _available(self, *events) -> None:
        self.maps.disabled = self.store.answer is None

    def _netcdf(self) -> io.BytesIO:
        answer, scene = self.store.answer, self.store.scene
        from workbench.geo import write

        spec = replace(answer.spec, threshold=self.store.state.spec().threshold,
                       area_effect=answer.area_effect)
        maps = answer.fit.to_dataset(scene.data, threshold=spec.threshold,
                                     area_effect=spec.area_effect)
        maps.attrs |= {"spec": spec.to_json(indent=None), "spec_key": spec.key,
                       "summary": answer.summary}
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "maps.nc"
            write(maps, path)
            return io.BytesIO(path.read_bytes())

    def _json(self) -> io.StringIO:
        return io.StringIO(self.store.state.spec().to_json())

    def _parts(self) -> list:
        parts = [note(messages.ABOUT, inset=_INSET)]
        for text, names in _SECTIONS.items():
            parts += [title(text, 8), *(self.widgets[name] for name in names)]
        return [*parts, title("Download", 8), self.maps, self.spec]
