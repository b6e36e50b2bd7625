"""The figures of one scene: each drawn when it is first looked at, new maps pushed into them."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
from bokeh.models import ColumnDataSource, CrosshairTool, Span
from bokeh.plotting import figure

from workbench.bagging.cells import Cells
from workbench.plots import ColourScale, colour_scale
from workbench.plots.maps import map_unit
from workbench.plots.theme import NEUTRAL
from workbench.ui.disaggregate import comparison, messages
from workbench.ui.disaggregate.engine import Scene
from workbench.ui.disaggregate.layers import COMPONENTS, EXPOSURE, INFORMATION, RANKS, Layer
from workbench.ui.disaggregate.quantity import with_unit
from workbench.ui.disaggregate.views import map_figures
from workbench.ui.disaggregate.views.colours import recolour

RANGES = "ranges of area means"
SPLIT, SWIPED, DIFFERENCE = "split", "swiped", "difference"
RATES = ("observed", "mean", "known", SWIPED, SPLIT)    # on one locked scale
#: Columns of figures that are called otherwise.
_COLUMN = {COMPONENTS: "component", RANKS: "top", SWIPED: "mean", SPLIT: "observed"}
_SIZE = (440, 400)                                  # pixels, until the page tells its own
_NUMBER = "{0,0.[000]}"


class Atlas:
    """The figures of one scene.

    Parameters
    ----------
    scene : Scene
        The data shown.
    axes : (str, str)
        Coordinates that make the map.
    """

    def __init__(self, scene: Scene, axes: tuple[str, str]):
        self.scene, self.axes, drawn = scene, axes, scene.drawn
        self.fine = map_figures.place(drawn, map_figures.INDIVIDUAL, axes)
        self._shaped = "bag_geometry" in drawn.coords
        self.areas = map_figures.place(drawn, map_figures.BAG, axes) if self._shaped else self.fine
        membership = scene.data["membership"].values
        rates = scene.observed * scene.factor
        fixed = {"observed": rates[membership], "weight": scene.data["weight"].values}
        if scene.known is not None:
            fixed["known"] = scene.known * scene.factor
        self.fine.push(fixed)
        self._blank("mean", "std", "exceedance", "beyond")
        if self._shaped:
            total = np.bincount(membership, weights=scene.data["weight"].values)
            self.areas.push({"observed": rates, "value": scene.data["value"].values,
                             "weight": total})
        self._borders = map_figures.border_source(drawn) if self._shaped else None
        self._around = ColumnDataSource({"x": [], "y": []})
        self._spot = ColumnDataSource({"x": [], "y": []})
        self._cells = ColumnDataSource(map_figures.cornered(None))
        self._ranges = map_figures.linked(drawn, axes)
        self._cross = [Span(dimension=d, line_color=NEUTRAL, line_dash="dotted")
                       for d in ("width", "height")]
        self._size = map_figures.sized(drawn, axes, *_SIZE)
        share = ColourScale("share of variance", "", 0.0, 1.0, "spread")
        above = colour_scale(label="probability", kind="probability")
        self._scales = {
            "std": scene.spread, "exceedance": above, RANKS: above, INFORMATION: share,
            COMPONENTS: ColourScale("component of f", "", -1.0, 1.0, "difference"),
            "beyond": ColourScale("extrapolation", RANGES, 0.0, 1.0, "spread"),
            DIFFERENCE: comparison.scale(scene)}
        self.figures: dict[str, figure] = {}
        self._former = False
        self.rescale(scene.rate, scene.spread)

    @property
    def names(self) -> tuple[str, ...]:
        """The figures there can be."""
        return tuple(n for n in messages.MAPS if n != "known" or self.scene.known is not None)

    @property
    def margin(self) -> int:
        """Pixels beside a frame that its axis takes."""
        return 0 if map_unit(self.scene.drawn, self.axes) in map_figures.LENGTHS else (
            map_figures.AXIS)

    @property
    def former(self) -> bool:
        """Whether the titles say that others are chosen than these data."""
        return self._former

    @former.setter
    def former(self, whether: bool) -> None:
        self._former = whether
        for plot in self.figures.values():
            text = plot.title.text.removeprefix(messages.FORMER)
            plot.title.text = f"{messages.FORMER}{text}" if whether else text

    def figure(self, name: str) -> figure:
        """A figure, drawn if it was not yet."""
        if name not in self.figures:
            self.figures[name] = self._drawn(name)
        return self.figures[name]

    def push(self, mean: np.ndarray, std: np.ndarray, exceedance: np.ndarray,
             beyond: np.ndarray) -> None:
        """Show other maps of the same scene, natural units; the last in ranges of area means."""
        factor = self.scene.factor
        self.fine.push({"mean": mean * factor, "std": std * factor, "exceedance": exceedance,
                        "beyond": beyond})

    def compare(self, mean: np.ndarray, stretched: bool) -> ColourScale:
        """Show by how much a map, natural units, differs from the split; returns its scale."""
        scene = self.scene
        values = comparison.difference(scene, mean)
        self.fine.push({DIFFERENCE: values * scene.factor})
        self._scales[DIFFERENCE] = comparison.scale(scene, values if stretched else None)
        recolour([self.figure(DIFFERENCE)], self._scales[DIFFERENCE])
        return self._scales[DIFFERENCE]

    def push_layer(self, layer: Layer, part: str = "") -> None:
        """Show a layer, of components one part, on colours of its own."""
        if layer.name != COMPONENTS:
            self.fine.push(layer.maps)
            return
        values = layer.maps[part]
        if part == EXPOSURE:
            unit = str(self.scene.data["weight"].attrs.get("units", "weight"))
            scale = colour_scale(values[values > 0], label=EXPOSURE, unit=unit, log=True)
        else:               # one scale for all summands: the larger has the stronger colours
            others = [v for name, v in layer.maps.items() if name != EXPOSURE]
            scale = colour_scale(*others, label=part, unit="link scale", kind="difference")
        self.fine.push({"component": values})
        self._scales[COMPONENTS] = scale
        plot = self.figure(COMPONENTS)
        recolour([plot], scale)
        plot.title.text = part[0].upper() + part[1:]
        plot.below[-1].title = scale.unit

    def rescale(self, rate: ColourScale, spread: ColourScale) -> None:
        """Change the colours; all maps of the rate share one scale."""
        if (self._scales.get("mean"), self._scales.get("std")) == (rate, spread):
            return          # new tickers would have Bokeh look through the whole page
        self._scales |= {"std": spread, **dict.fromkeys(RATES, rate)}
        rates = [self.figures[name] for name in RATES if name in self.figures]
        if rates:
            recolour(rates, rate)
        if "std" in self.figures:
            recolour([self.figures["std"]], spread)

    def resize(self, width: int, height: int) -> int:
        """Let every frame fit into so many pixels; returns how wide it then is."""
        self._size = map_figures.sized(self.scene.drawn, self.axes, width, height)
        for plot in self.figures.values():
            map_figures.resize(plot, self._size)
        return self._size["frame_width"]

    def fits(self, width: int, height: int) -> int:
        """How wide every frame would be if it had to fit into so many pixels."""
        return map_figures.sized(self.scene.drawn, self.axes, width, height)["frame_width"]

    def mark(self, areas: Collection[str], cells: Cells | None = None) -> None:
        """Outline some areas on all maps, and hatch some pixels."""
        drawn = self.scene.drawn
        self._around.data = map_figures.outlined(drawn, areas)
        self._cells.data = map_figures.cornered(cells, str(drawn.attrs.get("crs", "")))

    def point(self, at: tuple[float, float] | None) -> None:
        """Mark a place on all maps, or none."""
        self._spot.data = {"x": [], "y": []} if at is None else {"x": [at[0]], "y": [at[1]]}

    def _blank(self, *columns: str) -> None:
        empty = np.full(self.scene.data.sizes["individual"], np.nan)
        self.fine.push(dict.fromkeys(columns, empty))

    def _drawn(self, name: str) -> figure:
        scene = self.scene
        where = self.areas if name == "observed" else self.fine
        column = _COLUMN.get(name, name)
        if column not in where.source.data:
            self._blank(column)
        title = scene.known_title if name == "known" else messages.MAPS[name][0]
        scale = self._scales[name]
        bar = {"exceedance": "probability", RANKS: "probability", "beyond": RANGES,
               INFORMATION: "share of variance removed", COMPONENTS: scale.unit or " "}
        plot = map_figures.map_figure(
            where, column, scale, title, bar.get(name, scene.unit), self._size, self._ranges,
            self._tips(where, name), map_unit(scene.drawn, self.axes), name)
        if self._borders is not None and name != "observed":
            map_figures.add_borders(plot, self._borders)
        map_figures.add_cells(plot, self._cells)
        map_figures.add_marks(plot, self._around, self._spot)
        mates = [self.figures[one] for one in RATES if one in self.figures]
        if name in RATES and mates:
            recolour([*mates, plot], scale)
        plot.add_tools(CrosshairTool(overlay=self._cross))
        return plot

    def _tips(self, where: map_figures.Place, name: str) -> list[tuple[str, str]]:
        scene = self.scene
        weight = scene.data["weight"].attrs.get("units", "weight")
        tips = [] if where.glyph == "image" else [("name", "@name")]
        observed = ("area, observed", with_unit(f"@observed{_NUMBER}", scene.unit))
        if where is self.areas and self._shaped:
            value = scene.data["value"].attrs.get("units", "value")
            return [*tips, observed, (value, "@value{0,0.[0]}"), (weight, "@weight{0,0}")]
        own = {DIFFERENCE: [("estimate − split", with_unit(f"@{DIFFERENCE}{_NUMBER}", scene.unit))],
               COMPONENTS: [("component", "@component{0.[000]}")],
               INFORMATION: [("information", "@information{0.00}")],
               RANKS: [("P(among the highest)", "@top{0.00}"),
                       ("rank", "@rank{0} (@highest{0} to @lowest{0})")]}
        tips += [*own.get(name, []), ("estimate", f"@mean{_NUMBER}"), ("sd", f"@std{_NUMBER}"),
                 ("P(above threshold)", "@exceedance{0.00}"), observed,
                 ("beyond the area means", "@beyond{0.00} × their range")]
        known = [("known", f"@known{_NUMBER}")] if scene.known is not None else []
        return [*tips, *known, (weight, "@weight{0,0.[0]}")]
