"""The estimate, and beside it the map that is chosen: linked, and as large as the window allows."""

from __future__ import annotations

import panel as pn
import panel_material_ui as pmui
from bokeh.events import Tap

from workbench.ui.base.messages import sentence
from workbench.ui.base.views.controls import small_button
from workbench.ui.base.views.layout import WRAPS, View, dim, stretched, wrapping
from workbench.ui.base.views.text import note, paragraph
from workbench.ui.disaggregate import comparison, labels, messages
from workbench.ui.disaggregate.kinds import in_words_of
from workbench.ui.disaggregate.layers import COMPONENTS, LAYERS
from workbench.ui.disaggregate.quantity import exceeded
from workbench.ui.disaggregate.store import Store
from workbench.ui.disaggregate.views.atlas import DIFFERENCE, SPLIT, SWIPED, Atlas
from workbench.ui.disaggregate.views.colours import scales
from workbench.ui.disaggregate.views.swipe import Divider, swiped
from workbench.ui.disaggregate.views.verdict import evidence_of, verdict_of

ESTIMATE, TRUTH, OBSERVED = "mean", "known", "observed"
SIDE = 12       # pixels beside a frame


class Maps(View):
    """The maps of a store: the estimate, and one beside it; the tabs that choose stand above."""

    def __init__(self, store: Store, **params):
        super().__init__(store, **params)
        self.atlas: Atlas | None = None
        self._panes, self._room, self._pair, self._second = {}, None, None, None
        self.tabs = pmui.RadioButtonGroup.from_param(
            store.state.param.beside, label="Beside the estimate", size="small",
            margin=(4, 5, 0, 5), sx=WRAPS)
        self.part = pmui.RadioButtonGroup(label="Summand", options=["none"], value="none",
                                          size="small", margin=(4, 5, 0, 5), visible=False,
                                          sx=WRAPS)
        self.choice, self._between = wrapping(self.tabs, self.part), False
        self.told, self._picking = note(), False
        self.highest = small_button(labels.EXPLAIN_HIGHEST, self._explain_highest,
                                    margin=(0, 5, 6, 5))
        self._left = pn.Column(note(messages.MAKING_MAPS), margin=0)
        self._right = pn.Column(margin=0)
        self._row, self._caption = wrapping(self._left, self._right, gap=10), note()
        self._panel = stretched(self._row, self._caption)
        store.state.param.watch(lambda *_: self._colour(), ["colours", "log_colours"])
        self.part.param.watch(self._picked, "value")
        store.state.param.watch(self._layer, "summand")
        self.follow(self._update, "scene", "answer", "exceedance")
        self.follow(self._look, "beside", of=store.state)
        self.follow(self._layer, "layer")
        self.follow(self._mark, "marked", "pointed")
        self.follow(self._point, "spot", "scene")
        store.param.watch(self._back, "led")
        self.follow(self._layer, "scores", "recovered", "testing", "untested")
        store.state.param.watch(self._swiped, "swipe")
        self.follow(self._dim, "work", "answer")
        self.follow(self._former, "work", "scene")

    @property
    def beside(self) -> str:
        """The map that stands beside the estimate; without a truth the areas' own."""
        chosen = self.store.state.beside
        return OBSERVED if chosen == TRUTH and self.store.scene.known is None else chosen

    def fits(self, width: int, height: int) -> int:
        """How wide each map would be in so many pixels; 0 before there are maps."""
        return 0 if self.atlas is None else self.atlas.fits(width, height)

    def fit_into(self, width: int, height: int, across: int, stacked: bool = False) -> int:
        """Make each map as large as fits, the two no wider than said; returns what they need.

        Stacked, they stand below each other.
        """
        self._room = width, height
        if self.atlas is None:
            return across
        with pn.io.hold():
            self._resize()
            needed = self._left.width + 10 if stacked else 2 * self._left.width + 20
            self._panel.param.update(sizing_mode="fixed", width=min(across, needed))
        return needed

    def _update(self, *events) -> None:
        scene, answer, state = self.store.scene, self.store.answer, self.store.state
        if scene is None:
            return
        with pn.io.hold():
            if self.atlas is None or self.atlas.scene is not scene:
                self.atlas, self._panes = Atlas(scene, state.choice.axes), {}
                self._pair = None
                self._resize()
                self._look()
            if answer is not None:
                self.atlas.push(answer.mean, answer.std, self.store.exceedance,
                                answer.extrapolation)
            if "exceedance" in self.atlas.figures:
                self._title_exceedance()
            self._colour()
            self._dim()

    def _look(self, *events) -> None:
        if self.atlas is None:
            return
        with pn.io.hold():
            split = self.beside == SPLIT
            left = self._divided() if split else self._pane(ESTIMATE)
            self._left.objects = [left, note(self._caption_of(SWIPED if split else ESTIMATE)),
                                  self.highest]
            self._second = self._pane(DIFFERENCE if split else self.beside)
            self._right.objects = self._below()
            self.atlas.figure("mean")
            if split:
                self._colour()
            if self.beside == "exceedance":
                self._title_exceedance()
            self._layer()

    def _title_exceedance(self) -> None:
        scene, former = self.store.scene, messages.FORMER if self.atlas.former else ""
        self.atlas.figures["exceedance"].title.text = former + exceeded(
            scene.noun, self.store.threshold, scene.unit)

    def _layer(self, *events) -> None:
        if self.atlas is None:
            return
        name, layer = self.beside, self.store.layer
        shown = layer if layer is not None and layer.name == name else None
        with pn.io.hold():
            self.part.visible = name == COMPONENTS and shown is not None and bool(shown.maps)
            if self.part.visible:
                options, wanted = list(shown.maps), self.store.state.summand
                picked = wanted if wanted in options else options[0]
                if (self.part.options, self.part.value) != (options, picked):
                    self._picking = True
                    self.part.param.update(options=options, value=picked)
                    self._picking = False
            if shown is not None and shown.maps:
                self.atlas.push_layer(shown, self.part.value)
            self.told.object = paragraph(self._words(name, shown))
            if name in LAYERS:
                self._second.visible = shown is not None and bool(shown.maps)

    def _picked(self, event) -> None:
        """A summand that the user picks is in the address; the first one is there anyhow."""
        if not self._picking:
            self.store.state.summand = event.new
            self._layer()

    def _words(self, name: str, shown) -> str:
        if self.store.reading:
            return messages.READ
        if name in LAYERS:
            if self.store.answer is None or shown is None:
                return messages.WORKING_LAYER
            return shown.told
        if name == SPLIT:
            found = evidence_of(self.store)
            said = comparison.sentence(found) if found else verdict_of(self.store).sentence
            return f"{said} {messages.MAPS[DIFFERENCE][1]}"
        absent = name == OBSERVED and self.store.state.beside == TRUTH
        return messages.NO_TRUTH if absent else self._caption_of(name)

    def _caption_of(self, name: str) -> str:
        return in_words_of(self.store.state.choice.kind, messages.MAPS[name][1])

    def alone(self, across: int) -> bool:
        """Whether one map fills so many pixels, so that the second stands below it."""
        return 2 * (self._left.width or across) + 20 > across

    def choose_between(self, between: bool) -> None:
        """Have what chooses the second map stand right above it, or leave it to the page."""
        if between != self._between:
            self._between = between
            if self._second is not None:
                self._right.objects = self._below()

    def _below(self) -> list:
        """The second map with what is said of it, and what chooses it if that stands there."""
        return [*([self.choice] if self._between else []), self._second, self.told]

    def _divided(self) -> pn.Column:
        """Estimate and population split over each other, with the divider between them."""
        if self._pair is None:
            self.divider = Divider(value=self.store.state.swipe, inset=self.atlas.margin,
                                   label=labels.DIVIDER, told=labels.DIVIDED, margin=0)
            self.divider.param.watch(
                lambda event: self.store.state.param.update(swipe=event.new), "value")
            self._pair = swiped(self._pane(SWIPED), self._pane(SPLIT), self.divider)
        return self._pair

    def _swiped(self, *events) -> None:
        if self._pair is not None:
            self.divider.value = self.store.state.swipe

    def _mark(self, *events) -> None:
        if self.atlas is not None:
            self.atlas.mark(self.store.marked, self.store.pointed)

    def _point(self, *events) -> None:
        if self.atlas is not None:
            with pn.io.hold():
                self.atlas.point(self.store.spot)

    def _resize(self) -> None:
        if self._room is None:
            width = self.atlas.figure(ESTIMATE).frame_width
        else:
            width = self.atlas.resize(*self._room)
        self._left.width = self._right.width = width + SIDE + self.atlas.margin

    def _pane(self, name: str) -> pn.pane.Bokeh:
        if name not in self._panes:
            plot = self.atlas.figure(name)
            plot.on_event(Tap, self._tapped)
            self._panes[name] = pn.pane.Bokeh(plot, margin=(0, 2))
        return self._panes[name]

    def _explain_highest(self) -> None:
        with pn.io.hold():
            self.store.explain_highest()
            self.store.led += 1

    def _back(self, event) -> None:
        """Whoever was led to the explanation by key comes back when it is closed."""
        if event.old and not event.new:
            self.highest.focus()

    def _tapped(self, event: Tap) -> None:
        self.store.explain(event.x, event.y)

    def _colour(self) -> None:
        if self.atlas is None:
            return
        state = self.store.state
        stretched = self.store.answer if state.colours == "auto" else None
        rate, spread = scales(self.store.scene, stretched, state.log_colours)
        self.atlas.rescale(rate, spread)
        second = spread
        if self.beside == SPLIT and self.store.answer is not None:
            second = self.atlas.compare(self.store.answer.mean, stretched is not None)
        self._caption.object = paragraph(
            f"{sentence(rate.caption)} {sentence(second.caption)}")

    def _former(self, *events) -> None:
        """Say of maps that they are of former data, while others are being read."""
        if self.atlas is not None and self.atlas.former != self.store.reading:
            with pn.io.hold():
                self.atlas.former = self.store.reading
                self._layer()

    def _dim(self, *events) -> None:
        self.highest.disabled = self.store.answer is None
        dim(self._row, self.store.stale)
