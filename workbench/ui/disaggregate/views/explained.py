"""Why the map says what it says at one place: a drawer with numbers, bars and nearby areas."""

from __future__ import annotations

from html import escape

import panel as pn
import panel_material_ui as pmui
import xarray as xr
from bokeh.models import FactorRange
from bokeh.plotting import figure

from workbench.plots.maps import map_unit
from workbench.plots.theme import CATEGORIES, NEUTRAL
from workbench.ui.base.messages import plainly, signed
from workbench.ui.base.views.controls import small_button
from workbench.ui.base.views.figures import chart, push, source
from workbench.ui.base.views.layout import View
from workbench.ui.base.views.text import block, note, table
from workbench.ui.disaggregate import messages, names
from workbench.ui.disaggregate.quantity import with_unit
from workbench.ui.disaggregate.store import Store
from workbench.ui.disaggregate.views.arrows import Arrows

WIDTH, BARS, TALL = 400, 170, 210       # pixels: across the drawer and its bars, and down these
#: Pixels down to where the drawer begins: below the header, the bar, and the steps.
BELOW = 147
#: Share of a phone's window that it takes, from below: the map is seen above it.
PART = 42
LIES = {"top": f"{BELOW}px", "height": f"calc(100% - {BELOW}px)", "boxShadow": 3,
        "@media (max-width: 599.95px)": {"top": "auto", "bottom": 0, "width": "100%",
                                         "height": f"{PART}%"}}
#: What moves and closes it stays in view while the rest is scrolled.
HEAD = {"position": "sticky", "top": "0", "z-index": "2", "background":
        "var(--mui-palette-background-paper, var(--panel-background-color, white))"}


class Explained(View):
    """A drawer that opens when a place of the map was clicked, or the highest was asked for."""

    def __init__(self, store: Store, **params):
        super().__init__(store, **params)
        self._numbers, self._areas = block(), block()
        self._bars = source(name=[], length=[], low=[], high=[], colour=[])
        self._figure = self._drawn()
        self._plot = pn.pane.Bokeh(self._figure, height=TALL, width=WIDTH - 30,
                                   sizing_mode="fixed", styles={"flex": "none"})
        self._told, self._chart = note(), pn.Column(margin=0)   # drawn once there is something
        close = small_button("Close the explanation", self._close, margin=(8, 10, 4, 10))
        self.arrows = Arrows(margin=(0, 10), sizing_mode="stretch_width")
        self.arrows.param.watch(self._moved, "asked")
        self.arrows.param.watch(lambda _: self._close(), "closes")
        self.drawer = pmui.Drawer(
            pn.Column(pn.Column(close, self.arrows, margin=0, styles=HEAD,
                                sizing_mode="stretch_width"),
                      self._numbers, self._chart, self._told, self._areas,
                      sizing_mode="stretch_width", max_width=WIDTH - 20, margin=(0, 10)),
            anchor="right", size=WIDTH, variant="persistent", open=False, sx=LIES)
        self._panel = self.drawer
        self.follow(self._update, "explained")
        store.param.watch(self._lead, "led")

    def _close(self) -> None:
        """Close it; whoever was led here by key goes back to where the way began."""
        with pn.io.hold():
            self.store.explain_no_more()
            self.store.led = 0

    def _lead(self, event) -> None:
        if event.new:
            self.arrows.leads += 1

    def _moved(self, event) -> None:
        with pn.io.hold():
            self.store.explain_beside(*event.new[:3])

    def _update(self, *events) -> None:
        found = self.store.explained
        if found is None:
            self.drawer.open = False        # whose content would still be read aloud
            self._numbers.object = self._areas.object = ""
            return
        scene = self.store.scene
        found = named(found, scene.data)
        with pn.io.hold():
            self._numbers.object = numbers(found, scene.factor, scene.unit)
            self._summands(found)
            self._areas.object = areas(found, scene.factor, scene.unit,
                                       map_unit(scene.drawn, self.store.state.choice.axes))
            self.drawer.open = True

    def _summands(self, found: xr.Dataset) -> None:
        there = "component_mean" in found
        if there != bool(len(self._chart)):
            self._chart.objects = [self._plot] if there else []
        link = found["component_mean"].attrs.get("link", "") if there else ""
        self._told.object = f"<p class='wb-note'>{escape(messages.summands(link, there))}</p>"
        if not there:
            return
        part = found.isel(component=found["component"].values != "intercept")
        names = [_named(name, role) for name, role in zip(
            part["component"].values, part["role"].values, strict=True)]
        mean = part["component_mean"].values
        push(self._bars, {
            "name": names, "length": mean, "low": part["component_lower"].values,
            "high": part["component_upper"].values,
            "colour": [CATEGORIES[1] if value > 0 else CATEGORIES[0] for value in mean]})
        self._figure.y_range.factors = names[::-1]

    def _drawn(self) -> figure:
        plot = chart("What makes the estimate", messages.SUMMAND_AXIS, None, BARS, 105,
                     y_range=FactorRange(), name="summands")
        plot.hbar(y="name", left=0, right="length", height=0.6, source=self._bars,
                  fill_color="colour", line_color=None)
        plot.segment(x0="low", x1="high", y0="name", y1="name", source=self._bars,
                     line_color=NEUTRAL, line_width=2)
        # A drawer that is closed when it is drawn would give it no height at all.
        plot.update(width=WIDTH - 30, height=TALL, frame_width=None, frame_height=None,
                    sizing_mode="fixed")
        return plot


def _named(name: str, role: str) -> str:
    """A summand by what it looks at, and by its term."""
    return str(role) if name == role else f"{role} ({names.term(str(name))})"


def numbers(found: xr.Dataset, factor: float, unit: str) -> str:
    """Estimate, interval, exposure, information and extrapolation of one place, as HTML.

    Parameters
    ----------
    found : xr.Dataset
        From ``Fit.explain``.
    factor : float
        Rates are multiplied by it to be in the unit shown.
    unit : str

    Returns
    -------
    str
    """
    title = messages.place_of([(c, float(found[c])) for c in "xy" if c in found.coords],
                              str(found["bag"].values[0]) if "bag" in found.dims else "")
    ends = [plainly(end, 4) for end in found["rate_quantile"].values * factor]
    levels = 100 * found["rate_quantile"]["quantile"].values
    rows = [("Estimate", with_unit(plainly(float(found["rate"]) * factor, 4), unit)),
            (f"{levels[0]:g} % to {levels[-1]:g} %", f"{ends[0]} to {ends[-1]}"),
            ("Exposure", f"{plainly(float(found['weight']), 4)} "
             f"{found['weight'].attrs.get('units', '')}")]
    if "expected_count" in found:
        rows.append(("Expected", f"{plainly(float(found['expected_count']), 4)} "
                     f"{found['expected_count'].attrs.get('units', '')}"))
    if "information" in found:
        rows.append(("Information", f"{100 * float(found['information']):.0f} % of the prior "
                     "variance removed"))
    beyond = float(found.get("extrapolation", 0.0))
    rows.append(("Extrapolation", f"{beyond:.3g} × the range of the area means, beyond it"
                 if beyond > 0 else "none"))
    return (f"<div aria-live='polite'><h3 style='margin: 4px 0'>{escape(title)}</h3>"
            f"{table(('', ''), ((row, '') for row in rows))}</div>")


def named(found: xr.Dataset, data: xr.Dataset) -> xr.Dataset:
    """An explanation with the names of areas in place of their codes, where the data have names.

    Parameters
    ----------
    found : xr.Dataset
        From ``Fit.explain``.
    data : xr.Dataset
        What was fitted.
    """
    if "bag_name" not in data.coords:
        return found
    told = dict(zip(data["bag"].values.astype(str), data["bag_name"].values.astype(str),
                    strict=True))
    codes = [one for one in ("bag", "influential") if one in found.variables]
    return found.assign_coords({
        one: (found[one].dims, [told.get(str(code), str(code)) for code in found[one].values])
        for one in codes})


def areas(found: xr.Dataset, factor: float, unit: str, length: str = "") -> str:
    """The own area, those nearest, and those with most influence, as HTML.

    Parameters
    ----------
    found, factor, unit
        As of `numbers`.
    length : str
        Unit of distances.

    Returns
    -------
    str
    """
    text = ""
    if "bag" in found.dims:
        rows = [((str(name), plainly(rate * factor, 4), plainly(gap, 4)), "")
                for name, rate, gap in zip(found["bag"].values, found["rate_observed"].values,
                                           found["distance"].values, strict=True)]
        text += "<h4>Its area and the nearest</h4>" + table(
            ("area", f"observed ({unit})", f"distance ({length})" if length else "distance"), rows)
    if "influence" in found:
        rows = [((str(name), signed(float(value), "+.3f")), "") for name, value in zip(
            found["influential"].values, found["influence"].values, strict=True)]
        text += f"<h4>{escape(messages.INFLUENCE)}</h4>" + table(("area", "influence on f"), rows)
    return text
