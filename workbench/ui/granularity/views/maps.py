"""The map: cells, posterior means, and a last map that shows what one asks for; zoom is linked."""

from __future__ import annotations

import math

import numpy as np
import panel_material_ui as pmui
from bokeh.models import ColorBar, GlyphRenderer, Range1d
from bokeh.plotting import figure

from workbench.plots.theme import NEUTRAL, PALETTES
from workbench.ui.base.views.controls import small_button
from workbench.ui.base.views.figures import colours, crosshair, empty, hover, push, shown, value_map
from workbench.ui.base.views.layout import WRAPS, View, dim, stretched, wrapping
from workbench.ui.base.views.text import note, paragraph
from workbench.ui.granularity import messages
from workbench.ui.granularity.engine import NINETY, Answer
from workbench.ui.granularity.observed import LEAST, OBSERVED
from workbench.ui.granularity.state import GUESSES, MAP, TRUTH
from workbench.ui.granularity.store import Store
from workbench.ui.granularity.views.guess import Guess
from workbench.ui.granularity.views.large import Large, enlarge
from workbench.ui.granularity.views.moving import Moving
from workbench.ui.granularity.views.window import ASIDE, sizes
from workbench.ui.granularity.worlds import World

NOWHERE = "#00000000"   # pixels far from data are transparent
CELLS, SUMMARY, OTHER, LAST = "cells", "summary", "complete", "last"
COLUMNS = ("complete", "summary", "second", "difference", "sd", "truth")
QUANTILES = (0.02, 0.98)


class Maps(View):
    """Four linked maps on locked colour scales."""

    def __init__(self, store: Store, **params):
        super().__init__(store, **params)
        self.ranges = Range1d(0, 10), Range1d(0, 10)
        self.value = colours(PALETTES["rate"], nan_color=NOWHERE)
        self.change = colours(PALETTES["difference"], nan_color=NOWHERE)
        self.doubt = colours(PALETTES["spread"], nan_color=NOWHERE)
        self.zones, self.points = empty("xs", "ys", "mean", "count"), empty("x", "y")
        self.pixels = empty("left", "bottom", "width", "height", *COLUMNS)
        self._images: dict[str, dict[str, GlyphRenderer]] = {}
        self.figures = {name: self._figure(name) for name in (CELLS, SUMMARY, OTHER, LAST)}
        self._moving = Moving(self.figures[LAST], self.value)
        self.fields, self.moving = self._moving.fields, self._moving.moving
        crosshair(list(self.figures.values()))
        self._large = [Large(plot) for plot in self.figures.values()]
        self._world, self._revealed, self._guess = None, False, Guess(store)
        self._panes = {name: shown(plot, styles={"opacity": "1"})
                       for name, plot in self.figures.items()}
        self._guess._panel.visible = False
        self.choice = pmui.RadioButtonGroup.from_param(
            store.state.param.show, label="", size="small", margin=(0, 5), sx=WRAPS)
        self.hide = small_button(messages.HIDE, lambda: store.state.param.update(
            reveal=False, guess="none"), variant="text", margin=(0, 2), visible=False)
        self._note, self._shapes, self._clinic = note(), note(), note()
        self._over, self._under = wrapping(), stretched()
        self._aside = stretched(styles={"flex": f"1 1 {ASIDE}px"}, margin=(0, 5))
        self._panel = stretched(
            self._over, wrapping(*self._panes.values(), self._guess, self._aside, gap=4),
            self._under)
        self._place()
        self.follow_answer(self._update)
        self.follow(self._choose, "show", "guess", "reveal", "second", "lecture", "tab",
                    of=store.state)
        store.state.param.watch(self._place, "lecture")
        self.follow(self._fit, "room")
        self.follow(self._fit, "lecture", "tab", of=store.state)
        self.follow(self._move, "draws")
        self.follow(self._by_shape, "shapes")

    def _figure(self, name: str) -> figure:
        side = sizes(self.store.room, False).maps
        titles = messages.maps(self.store.state.show, 1.0, None, "km")
        plot = value_map(titles[name], side, self.ranges, name, self.value)
        plot.xaxis.axis_label, plot.yaxis.axis_label = messages.axes("km")
        plot.select_one({"type": ColorBar}).title = OBSERVED["normal"].quantity
        if name == CELLS:
            drawn = plot.patches("xs", "ys", source=self.zones, line_color=NEUTRAL, line_width=0.4,
                                 fill_color={"field": "mean", "transform": self.value})
            tips = [("mean", "@mean{0.[000]}"), ("points", "@count")]
        else:
            # One image for each scale: an image does not follow another mapper.
            of = {name: self.value} if name in COLUMNS else {
                "difference": self.change, "sd": self.doubt, TRUTH: self.value}
            self._images[name] = {column: plot.image(
                column, source=self.pixels, x="left", y="bottom", dw="width", dh="height",
                color_mapper=mapper) for column, mapper in of.items()}
            drawn = list(self._images[name].values())
            tips = [("complete", "@complete{0.[000]}"), ("summaries", "@summary{0.[000]}"),
                    ("difference", "@difference{0.[000]}"), ("sd", "@sd{0.[000]}")]
        if name == OTHER:
            self._dots = plot.scatter("x", "y", source=self.points, size=1.5, color="black",
                                      alpha=0.55)
        elif name != CELLS:
            plot.patches("xs", "ys", source=self.zones, fill_color=None, line_color=NEUTRAL,
                         line_width=0.4, line_alpha=0.8)
        hover(plot, drawn, tips, point_policy="follow_mouse")
        plot.yaxis.visible = name == CELLS
        return plot

    # updates

    def _update(self, answer: Answer) -> None:
        if self.store.state.tab != MAP:
            return
        if answer.world is not self._world:
            self._enter(answer.world)
        self._push(answer)
        self._choose()
        waits = answer.complete is None
        dim(self._panes[OTHER], waits and not answer.rival)

    def _push(self, answer: Answer) -> None:
        world, cells, rival = answer.world, answer.cells, answer.rival
        statistic = cells.statistic(world.likelihood) * world.scale
        xs, ys = cells.outlines
        push(self.zones, {"xs": xs, "ys": ys, "mean": statistic.astype(np.float32),
                          "count": cells.counts})
        maps = {"summary": image(world, answer.summary.mean)}
        if answer.complete is not None:
            maps["complete"] = image(world, answer.complete.mean)
        if rival is not None:
            maps["second"] = image(world, rival.mean)
            maps["difference"] = image(world, rival.mean - answer.summary.mean)
        elif answer.complete is not None:
            maps["difference"] = image(world, answer.summary.mean - answer.complete.mean)
        if answer.summary.sd is not None:
            maps["sd"] = image(world, answer.summary.sd)
        self.pixels.data.update({name: [picture] for name, picture in maps.items()})
        self.doubt.update(low=0.0, high=math.sqrt(answer.model.variance) * world.scale)

    def _choose(self, *events) -> None:
        """What each map is of, and what is said below them."""
        state, answer, world = self.store.state, self.store.answer, self._world
        if state.tab != MAP or world is None:
            return
        clinic, hidden = state.rival is not None, state.hidden and world.truth is not None
        covered = state.show == TRUTH and hidden
        names = messages.maps(state.show, state.model.lengthscale,
                              state.rival and state.rival.lengthscale, world.unit)
        for name, plot in self.figures.items():
            plot.title.text = names[name]
        self._images[OTHER][OTHER].glyph.image = "second" if clinic else "complete"
        self._dots.visible = not clinic         # that map knows the cells alone
        moves = state.show == "draws"
        mapper = {"difference": self.change, "sd": self.doubt}.get(state.show, self.value)
        self._moving.image.visible = moves
        for column, drawn in self._images[LAST].items():
            drawn.visible = column == state.show
        self.figures[LAST].select_one({"type": ColorBar}).update(
            color_mapper=mapper, title=messages.bar(state.show, world.quantity))
        self._panes[LAST].visible, self._guess._panel.visible = not covered, covered
        self._panes[OTHER].visible = clinic or not state.lecture
        self._panes[CELLS].visible = not (clinic and state.lecture)
        self.hide.visible = state.reveal
        if world.truth is not None and self._revealed == hidden:
            self._revealed = not hidden
            self.pixels.data["truth"] = [blank(world) if hidden else image(world, world.truth)]
        self._by_shape()
        text = "" if clinic and state.lecture else messages.MAP_NOTES[state.show]
        if state.show == TRUTH:
            text = "" if hidden else messages.HELD_OUT_NOTE if world.truth is None else text
            if not hidden and world.truth is not None and answer.against[0] is not None:
                text = messages.further(state.guess, GUESSES, answer.against)
        self._say(self._note, text)
        self._say(self._clinic, self._compared(answer, hidden) if clinic and answer.rival else "")

    def _compared(self, answer: Answer, hidden: bool) -> str:
        rival, covered = answer.rival, answer.coverage
        return messages.clinic(
            (answer.model.lengthscale, answer.evidence, answer.against[1],
             None if covered is None else covered[1][NINETY]),
            (rival.model.lengthscale, rival.evidence, rival.against,
             None if rival.coverage is None else rival.coverage[NINETY]),
            answer.world.unit, hidden)

    def _by_shape(self, *events) -> None:
        errors, state = self.store.shapes, self.store.state
        wanted = not state.lecture or (state.shape != messages.SQUARES and state.rival is None)
        self._say(self._shapes, messages.shapes(errors, state.shape) if errors and wanted else "")

    def _say(self, where, text: str) -> None:
        size = 20 if self.store.state.lecture else 13
        told = f"<span style='font-size: {size}px'>{text}</span>" if text else ""
        where.object = paragraph(told, html=True)

    def _move(self, *events) -> None:
        drawn, world = self.store.draws, self._world
        dim(self._panes[LAST], False)
        if drawn is not None and world is not None:
            self._moving.show(image(world, drawn.mean),
                              [image(world, one, np.float32(0)) for one in drawn.departures],
                              world.bounds)
        elif self.store.state.show != "draws":
            self._moving.rest()
        else:
            dim(self._panes[LAST], True)

    def _place(self, *events) -> None:
        """What is chosen and said around the maps; in a lecture beside them, without scrolling."""
        lecture = self.store.state.lecture
        chosen, said = [self.choice, self.hide], [self._clinic, self._shapes, self._note]
        if lecture == bool(len(self._aside)) and len(self._over) + len(self._aside):
            return
        for column in (self._over, self._under, self._aside):
            column.clear()              # a part is in one place at a time
        self.choice.orientation = "vertical" if lecture else "horizontal"
        if lecture:
            self._aside.extend([*chosen, *said])
        else:
            self._over.extend(chosen)
            self._under.extend(said)
        self._aside.visible = lecture

    def _fit(self, *events) -> None:
        """Fill the room, in large type if it is a lecture."""
        state, world = self.store.state, self._world
        if state.tab != MAP:                # the browser lays out all for each change
            return
        side = sizes(self.store.room, state.lecture).maps
        ratio = 1.0 if world is None else proportion(world)
        side = round(side / max(ratio, 1.0)) if state.lecture else side
        for plot, large in zip(self.figures.values(), self._large, strict=True):
            plot.update(frame_width=side, frame_height=round(side * ratio))
            plot.select_one({"type": ColorBar}).width = side - 12
            large.show(state.lecture)
        self._guess.fit(side)
        enlarge([self.choice, self.hide], state.lecture)
        self._choose()

    def _enter(self, world: World) -> None:
        """Another world: its frame, colours and points; old maps do not belong to it."""
        self._world, self._revealed = world, False
        x0, y0, x1, y1 = world.bounds
        for axis, low, high in ((0, x0, x1), (1, y0, y1)):
            self.ranges[axis].update(start=low, end=high, reset_start=low, reset_end=high)
        for plot in self.figures.values():
            plot.xaxis.axis_label, plot.yaxis.axis_label = messages.axes(world.unit)
            plot.select_one({"type": ColorBar}).title = world.quantity
        seen = world.values if world.truth is None else world.truth
        if world.truth is None:
            seen = OBSERVED[world.likelihood].statistic(seen, LEAST)
        low, high = (float(end) * world.scale for end in np.quantile(seen, QUANTILES))
        self.value.update(low=low, high=high)
        self.change.update(low=-(high - low) / 3, high=(high - low) / 3)
        push(self.points, {"x": world.points[:, 0], "y": world.points[:, 1]})
        push(self.pixels, {"left": [x0], "bottom": [y0], "width": [x1 - x0], "height": [y1 - y0],
                           **{name: [blank(world)] for name in COLUMNS}})
        self._moving.rest()
        self._fit()


def proportion(world: World) -> float:
    """Height of a map over its width, on the ground."""
    x0, y0, x1, y1 = world.bounds
    ground = math.cos(math.radians((y0 + y1) / 2)) if world.unit == "degrees" else 1.0
    return (y1 - y0) / (x1 - x0) / ground


def blank(world: World) -> np.ndarray:
    """An image of nothing."""
    return np.full(world.shape, np.nan, dtype=np.float32)


def image(world: World, values: np.ndarray, outside: float = np.nan) -> np.ndarray:
    """Values at the places as an image in Bokeh's order, first row at the bottom, natural units."""
    pixels = np.full(world.shape[0] * world.shape[1], outside, dtype=np.float32)
    pixels[world.pixels] = values[: world.pixels.size] * world.scale
    return pixels.reshape(world.shape)
