"""The linked maps of a disaggregation; those of rates are on one locked scale."""

from __future__ import annotations

import numpy as np
import panel as pn
from bokeh.plotting import figure

from workbench.plots import ColourScale, colour_scale
from workbench.plots.maps import map_unit
from workbench.ui.base.views.figures import crosshair, shown
from workbench.ui.base.views.layout import View, stretched, wrapping
from workbench.ui.base.views.text import note, paragraph
from workbench.ui.disaggregate import messages
from workbench.ui.disaggregate.engine import Scene
from workbench.ui.disaggregate.store import Store
from workbench.ui.disaggregate.views import map_figures
from workbench.ui.disaggregate.views.colours import recolour, scales

WIDTH, TALL_WIDTH = 330, 154    # pixels across a map: three in a row of a laptop, six if tall
DRAWN = ("mean", "std", "exceedance", "beyond")     # maps of an answer
RANGES = "ranges of area means"


class Atlas:
    """The figures of one scene; new maps are pushed into them.

    Parameters
    ----------
    scene : Scene
        The data shown.
    axes : (str, str)
        Coordinates that make the map.
    """

    def __init__(self, scene: Scene, axes: tuple[str, str]):
        self.scene, drawn = scene, scene.drawn
        self.fine = map_figures.place(drawn, map_figures.INDIVIDUAL, axes)
        shaped = "bag_geometry" in drawn.coords
        self.areas = map_figures.place(drawn, map_figures.BAG, axes) if shaped else self.fine
        membership = scene.data["membership"].values
        rates = scene.observed * scene.factor
        fixed = {"observed": rates[membership], "weight": scene.data["weight"].values}
        if scene.known is not None:
            fixed["known"] = scene.known * scene.factor
        empty = np.full(membership.size, np.nan)
        self.fine.push(fixed | {name: empty for name in DRAWN})
        if shaped:
            total = np.bincount(membership, weights=scene.data["weight"].values)
            self.areas.push({"observed": rates, "value": scene.data["value"].values,
                             "weight": total})
        above = colour_scale(label="probability", kind="probability")
        beyond = ColourScale("extrapolation", RANGES, 0.0, 1.0, "spread")
        self._scales = {"std": scene.spread, "exceedance": above, "beyond": beyond}
        self.figures = self._figures(axes, shaped)
        self.rescale(scene.rate, scene.spread)

    def push(self, mean: np.ndarray, std: np.ndarray, exceedance: np.ndarray,
             beyond: np.ndarray) -> None:
        """Show other maps of the same scene, natural units; the last in ranges of area means."""
        factor = self.scene.factor
        self.fine.push({"mean": mean * factor, "std": std * factor, "exceedance": exceedance,
                        "beyond": beyond})

    def rescale(self, rate: ColourScale, spread: ColourScale) -> None:
        """Change the colours; all maps of the rate share one scale."""
        recolour([plot for name, plot in self.figures.items() if name not in self._scales], rate)
        recolour([self.figures["std"]], spread)

    def _figures(self, axes: tuple[str, str], shaped: bool) -> dict[str, figure]:
        scene = self.scene
        options, ranges = map_figures.frames(scene.drawn, axes, WIDTH, TALL_WIDTH)
        borders = map_figures.border_source(scene.drawn) if shaped else None
        made = {}
        for name, (title, _) in messages.MAPS.items():
            if name == "known" and scene.known is None:
                continue
            where = self.areas if name == "observed" else self.fine
            bar = {"exceedance": "probability", "beyond": RANGES}.get(name, scene.unit)
            title = scene.known_title if name == "known" else title
            made[name] = map_figures.map_figure(
                where, name, self._scales.get(name, scene.rate), title, bar, options, ranges,
                self._tips(where, shaped), map_unit(scene.drawn, axes))
            if borders is not None and name != "observed":
                map_figures.add_borders(made[name], borders)
        crosshair(list(made.values()))
        return made

    def _tips(self, where: map_figures.Place, shaped: bool) -> list[tuple[str, str]]:
        scene, number = self.scene, "{0,0.[000]}"
        weight = scene.data["weight"].attrs.get("units", "weight")
        tips = [] if where.glyph == "image" else [("name", "@name")]
        observed = ("area, observed", f"@observed{number} {scene.unit}")
        if where is self.areas and shaped:
            value = scene.data["value"].attrs.get("units", "value")
            return [*tips, observed, (value, "@value{0,0.[0]}"), (weight, "@weight{0,0}")]
        tips += [observed, ("posterior mean", f"@mean{number}"), ("posterior sd", f"@std{number}"),
                 ("P(above threshold)", "@exceedance{0.00}"),
                 ("beyond area means", "@beyond{0.00} ranges"), (weight, "@weight{0,0.[0]}")]
        known = [("known", f"@known{number}")] if scene.known is not None else []
        return [*tips[:-1], *known, tips[-1]]


class Maps(View):
    """The maps of a store, in a row that wraps."""

    def __init__(self, store: Store, **params):
        super().__init__(store, **params)
        self.atlas: Atlas | None = None
        self._row, self._caption = wrapping(), note()
        self._panel = stretched(self._row, self._caption)
        store.state.param.watch(lambda *_: self._colour(), ["colours", "log_colours"])
        self.follow(self._update, "scene", "answer", "exceedance")
        self.follow(self._dim, "work")

    def _update(self, *events) -> None:
        scene, answer, state = self.store.scene, self.store.answer, self.store.state
        if scene is None:
            return
        with pn.io.hold():
            if self.atlas is None or self.atlas.scene is not scene:
                self.atlas = Atlas(scene, state.choice.axes)
                self._row.objects = self._cells(scene)
            if answer is not None:
                self.atlas.push(answer.mean, answer.std, self.store.exceedance,
                                answer.extrapolation)
            self.atlas.figures["exceedance"].title.text = f"P(rate > {state.threshold:g})"
            self._colour()
            self._dim()

    def _colour(self) -> None:
        if self.atlas is None:
            return
        state = self.store.state
        stretched = self.store.answer if state.colours == "auto" else None
        rate, spread = scales(self.store.scene, stretched, state.log_colours)
        self.atlas.rescale(rate, spread)
        self._caption.object = paragraph(
            f"{rate.caption.capitalize()} {spread.caption.capitalize()}")

    def _dim(self, *events) -> None:
        stale = self.store.work.startswith("updating") and self.store.answer is not None
        self._row.styles = {"opacity": "0.55" if stale else "1"}

    def _cells(self, scene: Scene) -> list:
        cells, width = [], self.atlas.figures["mean"].frame_width + 6
        for name, (title, what) in messages.MAPS.items():
            drawn = self.atlas.figures.get(name)
            cells.append(shown(drawn, note(what, width)) if drawn is not None else shown(
                note(f"<b>{title}</b><br>{messages.NO_TRUTH}", width, html=True)))
        return cells
