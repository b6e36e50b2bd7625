"""Seven linked maps: data, estimate and truth large, and below them what leads to them."""

from __future__ import annotations

import numpy as np
import panel as pn
from bokeh.models import ColorBar, CustomJSHover, FixedTicker, Range1d
from bokeh.plotting import figure

from workbench.plots.theme import NEUTRAL
from workbench.ui.base.views.figures import colours, crosshair, empty, hover, push, shown, value_map
from workbench.ui.base.views.layout import View, dim, lower, stretched, wrapping
from workbench.ui.base.views.room import Room
from workbench.ui.base.views.text import note
from workbench.ui.mediated import messages
from workbench.ui.mediated.background import Answer
from workbench.ui.mediated.data import Data
from workbench.ui.mediated.store import Store
from workbench.ui.mediated.views.charts import Calibration

LARGE, SMALL = ("target", "mean", "truth"), ("covariate", "mediator", "width", "error")
ROOM = (958, 800)               # pixels of a laptop's page, until the browser says how many
AXIS, GAP = 62, 12              # pixels of an axis, and beside each map
EDGE = 24                       # pixels beside a map that is alone in its row
BEFORE, LEAST = 345, 120        # pixels of a window above and below large maps; across any map
READABLE = 220                  # pixels across a map whose title is large
LETTER = 7                      # pixels of a letter of a title, on average
NARROW_PAGE, ONE_ROW = 800, 480     # pixels below which small maps stand three in a row, and all
                                    # below each other, as on a phone
TEMPERATURES = ("target", "truth", "mean")
SPARSE = ("target", "covariate")        # not known everywhere
COARSE = ("target", "covariate", "mediator")
PALETTES = {"value": "viridis", "covariate": "YlOrBr", "mediator": "YlGnBu", "width": "cividis",
            "error": "magma"}
NARROW, WIDEST = 20, 1          # widths span so much of the range of temperatures
WIDTHS = [0.03, 0.1, 0.3, 1, 3, 10, 30, 100]
SHARP = 5                       # share of the range of temperatures that is a large error


class Maps(View):
    """Two rows of maps as wide as the page, and calibration at the end of the second."""

    def __init__(self, store: Store, **params):
        super().__init__(store, **params)
        self.ranges = Range1d(0, 1), Range1d(0, 1)
        self.mappers = {name: colours(palette, name == "width", low=0.1, high=1,
                                      nan_color=messages.UNKNOWN)
                        for name, palette in PALETTES.items()}
        self.pixels = empty("left", "bottom", "across", "up", *messages.MAPS,
                            *map(pointed_at, SPARSE))
        self.blocks = empty("left", "right", "bottom", "top")
        units = dict.fromkeys((*TEMPERATURES, "width"), " K") | {"error": " K²"}
        self._known = {name: known(units.get(name, "")) for name in messages.MAPS}
        self.figures = {name: self._figure(name, title) for name, title in messages.MAPS.items()}
        crosshair(list(self.figures.values()))
        self.calibration = Calibration(store)
        self._data: Data | None = None
        self._room, self._ratio = ROOM, 1.0
        parts = {name: shown(plot) for name, plot in self.figures.items()}
        for name in LARGE:              # a phone shows the answer first
            if name != "mean":
                lower(parts[name])
        self._rows = (
            wrapping(*(parts[name] for name in LARGE), gap=0),
            wrapping(*(parts[name] for name in SMALL), shown(self.calibration), gap=0))
        self.room = Room(sizing_mode="stretch_width", height=1, margin=0)
        below = stretched(self._rows[1], note(messages.MAPS_NOTE))
        lower(below)
        # Axes of nothing would be seen until there are data, and move when these come.
        self._empty = [*self._rows[0], below]
        for part in self._empty:
            part.visible = False
        self._keep()
        self._parts = [self.room, self._rows[0], below]
        self._panel = stretched(*self._parts)
        self.room.param.watch(lambda event: self.fit_into(*event.new), "room")
        self._size()
        store.state.param.watch(self._covariate, "covariate")
        self.follow_answer(self._update)
        self.follow(self._dim, "stale")
        store.param.watch(self._keep, "error")

    @property
    def parts(self) -> list:
        """Large maps and what is below them, between which a phone has words."""
        return self._parts

    def fit_into(self, across: int, down: int) -> None:
        """Fill the page: three large maps in the window, below them four small ones and a chart."""
        if (across, down) != self._room:
            self._room = across, down
            with pn.io.hold():
                self._size()
                self._keep()

    def _keep(self, *events) -> None:
        """Keep room for maps that are still to come, if they will."""
        waits = self._empty and not self.store.error
        self._rows[0].min_height = self._room[1] if waits else 0

    def _size(self) -> None:
        across, down = self._room
        phone = across < ONE_ROW
        if phone:
            large = small = across - EDGE
        else:
            beside = 5 if across >= NARROW_PAGE else 3
            large = (across - AXIS) // 3 - GAP
            large = max(min(large, int((down - BEFORE) / self._ratio)), LEAST)
            small = max((across - AXIS) // beside - GAP, LEAST)
        for name, plot in self.figures.items():
            side = large if name in LARGE else small
            plot.title.text_font_size = "14px" if side >= READABLE else "12px"
            if name in LARGE:           # before the size: else the title is not drawn anew
                title = messages.MAPS[name]
                plot.title.text = title if side >= LETTER * len(title) else title.partition(":")[0]
            plot.frame_width, plot.frame_height = side, round(side * self._ratio)
            plot.yaxis.visible = name == LARGE[0] and not phone
            plot.xaxis.visible = name in LARGE or phone
            plot.select_one({"type": ColorBar}).width = side - 12
        self.calibration.fit(small, round(small * min(self._ratio, 1)))

    def _figure(self, name: str, title: str) -> figure:
        mapper = self.mappers["value" if name in TEMPERATURES else name]
        plot = value_map(title, LEAST, self.ranges, name, mapper,
                         FixedTicker(ticks=WIDTHS) if name == "width" else None)
        plot.outline_line_color = None
        drawn = plot.image(name, source=self.pixels, x="left", y="bottom", dw="across", dh="up",
                           color_mapper=mapper)
        plot.quad("left", "right", "top", "bottom", source=self.blocks, fill_color=None,
                  line_color=NEUTRAL, line_width=0.4,
                  line_alpha=0.6 if name in COARSE else 0.25)
        hover(plot, drawn, [(messages.MAPS[n].split(":")[0].split(",")[0].lower(),
                             f"@{pointed_at(n)}{{custom}}") for n in messages.MAPS],
              point_policy="follow_mouse",
              formatters={f"@{pointed_at(n)}": self._known[n] for n in messages.MAPS})
        plot.xaxis.axis_label_standoff = 0
        return plot

    def _update(self, answer) -> None:
        with pn.io.hold():
            if answer.data is not self._data:
                self._enter(answer)
            columns = {"mean": answer.posterior.mean, "width": answer.width,
                       "error": answer.squared_error}
            self.pixels.data.update({name: [image(answer.data, v)]
                                     for name, v in columns.items()})
            while self._empty:
                self._empty.pop().visible = True
            self._keep()

    def _dim(self, *events) -> None:
        for row in self._rows:
            dim(row, self.store.stale and self.store.answer is not None)

    def _enter(self, answer: Answer) -> None:
        """Other bags and targets: their frame, and what does not depend on the model."""
        data, pixels = answer.data, answer.data.pixels
        moved = self._data is None or self._data.world is not data.world
        self._data = data
        left, bottom, width, height = extent(data)
        self._frame(left, bottom, width, height, moved or not self._inside(data))
        members = pixels["membership"].values
        covariate, mediator = self._chosen(data), self._mediator(data)
        columns = {"target": data.observed[members], "covariate": covariate[1],
                   "mediator": mediator[1], "truth": pixels["truth"].values}
        nothing = np.full(members.size, np.nan)
        columns |= {name: nothing for name in messages.MAPS if name not in columns}
        push(self.pixels, {"left": [left], "bottom": [bottom], "across": [width],
                           "up": [height]} | {n: [image(data, v)] for n, v in columns.items()}
             | {pointed_at(n): [told(image(data, columns[n]))] for n in SPARSE})
        corners = np.array([g.bounds for g in pixels["bag_geometry"].values])
        push(self.blocks, dict(zip(("left", "bottom", "right", "top"), corners.T, strict=True)))
        self._colour(data, {"covariate": covariate, "mediator": mediator})

    def _inside(self, data: Data) -> bool:
        _, bottom, width, height = extent(data)
        x, y = self.ranges
        return x.reset_end - x.reset_start >= width * 0.999 and (
            y.reset_end - y.reset_start >= height * 0.999)

    def _frame(self, left, bottom, width, height, moved: bool) -> None:
        if moved:           # else panning and zooming stay as they are
            for axis, low, high in ((0, left, left + width), (1, bottom, bottom + height)):
                self.ranges[axis].update(start=low, end=high, reset_start=low, reset_end=high)
        x, y = self.ranges
        self._ratio = (y.reset_end - y.reset_start) / (x.reset_end - x.reset_start)
        if moved:
            self._size()

    def _colour(self, data: Data, shown: dict) -> None:
        world = data.world
        low, high = world.colours
        self.mappers["value"].update(low=low, high=high)
        self.mappers["width"].update(low=(high - low) / NARROW,
                                     high=(high - low) * WIDEST)
        self.mappers["error"].update(low=0.0, high=((high - low) / SHARP) ** 2)
        titles = {name: "temperature (K)" for name in TEMPERATURES}
        titles |= {"width": "width (K), log colours", "error": "squared error (K²)"}
        for name, (title, values) in shown.items():
            finite = values[np.isfinite(values)]
            ends = np.quantile(finite, (0.01, 0.99)) if finite.size else (0, 1)
            self.mappers[name].update(low=float(ends[0]), high=float(max(ends[1],
                                                                         ends[0] + 1e-9)))
            titles[name] = title
        degrees = world.place.unit == "degree"
        for name, plot in self.figures.items():
            plot.select_one({"type": ColorBar}).title = titles[name]
            plot.xaxis.axis_label = "longitude (°)" if degrees else "east (km)"
            plot.yaxis.axis_label = "latitude (°)" if degrees else "north (km)"
        for name in ("covariate", "mediator"):
            what, unit = titles[name].removesuffix(")").rsplit(" (", 1)
            self.figures[name].title.text = f"{messages.MAPS[name]} {what}"
            self._known[name].args = self._known[name].args | {"unit": f" {unit}"}

    def _covariate(self, *events) -> None:
        if self._data is None or self.store.state.covariate not in self._data.world.covariates:
            return
        with pn.io.hold():
            title, values = self._chosen(self._data)
            self.pixels.data.update({
                "covariate": [image(self._data, values)],
                pointed_at("covariate"): [told(image(self._data, values))]})
            self._colour(self._data, {"covariate": (title, values),
                                      "mediator": self._mediator(self._data)})

    def _chosen(self, data: Data) -> tuple[str, np.ndarray]:
        """The covariate that is drawn, of bags alone."""
        names = list(data.world.covariates)
        name = self.store.state.covariate if self.store.state.covariate in names else names[0]
        values = data.pixels["covariates"].values[:, names.index(name)].copy()
        values[~data.has_bag[data.pixels["membership"].values]] = np.nan
        return f"{name.replace('_', ' ')} ({data.world.covariates[name]})", values

    def _mediator(self, data: Data) -> tuple[str, np.ndarray]:
        """The mediating field of all blocks; where places alone mediate, how far north."""
        pixels = data.pixels
        name = str(pixels["mediator"].values[0])
        by_place = name in ("x", "y")
        name = "y" if by_place else name
        values = pixels["mediators"].sel(mediator=name).values[pixels["membership"].values]
        if by_place:
            return f"place alone, northing ({data.world.place.unit})", values
        title, unit, _ = data.world.place.mediators[name]
        return f"{title} ({unit})", values


def pointed_at(name: str) -> str:
    """The column that a tooltip reads of a map."""
    return f"{name}_told" if name in SPARSE else name


def told(values: np.ndarray) -> np.ndarray:
    """An image for tooltips: Bokeh says NaN by itself, whatever is to be said of it."""
    return np.where(np.isnan(values), np.float32(np.inf), values)


def known(unit: str) -> CustomJSHover:
    """A number with its unit, or that there is none: targets and bags are not known everywhere."""
    return CustomJSHover(args={"unit": unit, "unknown": messages.UNKNOWN_HERE}, code="""
        if (!Number.isFinite(value)) return unknown
        const small = value > 0 && value < 1e-4
        return `${small ? 'below 0.0001' : Number(value.toPrecision(value < 1 ? 3 : 5))}${unit}`""")


def extent(data: Data) -> tuple[float, float, float, float]:
    """Left, bottom, width and height of all pixels."""
    rows, columns = data.pixels.attrs["grid_shape"]
    dx, _, left, _, dy, top = (float(v) for v in data.pixels.attrs["grid_transform"])
    return left, top + dy * rows, dx * columns, -dy * rows


def image(data: Data, values: np.ndarray) -> np.ndarray:
    """Values of pixels as an image in Bokeh's order, first row at the bottom."""
    out = np.full(data.pixels.attrs["grid_shape"], np.nan, dtype=np.float32)
    out[data.pixels["row"].values, data.pixels["column"].values] = values
    return out[::-1].copy()
