"""The sidebar: one widget per choice of the state, and what can be downloaded."""

from __future__ import annotations

import io
import tempfile
from dataclasses import replace
from pathlib import Path

import panel as pn
import panel_material_ui as pmui
import param

from workbench.ui import lang
from workbench.ui.store import Store
from workbench.ui.views.text import note

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
    "lengthscale": pmui.DiscreteSlider, "variance": pmui.DiscreteSlider,
    "colours": pmui.RadioButtonGroup, "log_colours": pmui.Switch, "area_effect": pmui.Switch,
}
_INSET = 10     # pixels left of the widgets
_HIDDEN = ("area_effect",)      # where they have no effect; the others are disabled


class Controls(pn.viewable.Viewer):
    """Widgets of a store's state, the Fit button and the downloads."""

    store = param.ClassSelector(class_=Store)

    def __init__(self, store: Store, **params):
        super().__init__(store=store, **params)
        state = store.state
        self.widgets = {name: self._widget(name) for name in _LABELS}
        self.fit = pmui.Button(
            label="Fit", icon="play_arrow", color="primary", variant="contained",
            margin=(12, 10, 2, 10), sizing_mode="stretch_width", on_click=lambda _: store.fit())
        plain = {"variant": "outlined", "size": "small", "sizing_mode": "stretch_width",
                 "margin": (4, 10), "embed": False}
        self.maps = pmui.FileDownload(
            label="Maps (NetCDF)", callback=self._netcdf, filename="disaggregated.nc", **plain)
        self.spec = pmui.FileDownload(
            label="Settings (JSON)", callback=self._json, filename="spec.json", **plain)
        state.param.watch(self._applicable, [
            "model", "link", "likelihood", "overdispersion", "nugget", "kernel", "dataset"])
        store.param.watch(self._available, "answer")
        self._applicable()
        self._available()

    def _widget(self, name: str):
        slot = self.store.state.param[name]
        kind = _KINDS.get(name, pmui.Select)
        more = {} if kind is pmui.RadioButtonGroup else {"description": slot.doc}
        if kind is pmui.DiscreteSlider:
            more["tooltips"] = False        # it would cover the label, which says the same
        return kind.from_param(slot, label=_LABELS[name], sizing_mode="stretch_width",
                               size="small", margin=(6, 10), **more)

    def _applicable(self, *events) -> None:
        for name, widget in self.widgets.items():
            reason = self.store.state.inapplicable(name)
            if name in _HIDDEN:
                widget.visible = not reason
                continue
            widget.disabled = bool(reason)
            if hasattr(widget, "description"):
                widget.description = reason.capitalize() or self.store.state.param[name].doc

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

    def __panel__(self):
        parts = []
        for title, names in _SECTIONS.items():
            parts.append(pmui.Typography(title, variant="overline", margin=(8, 10, 0, 10)))
            parts += [self.widgets[name] for name in names]
            if title == "Noise":
                parts += [self.fit, note(lang.FIT, inset=_INSET)]
        parts.append(pmui.Typography("Download", variant="overline", margin=(8, 10, 0, 10)))
        return pn.Column(note(lang.ABOUT, inset=_INSET), *parts, self.maps, self.spec,
                         sizing_mode="stretch_width")
