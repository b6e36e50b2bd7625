"""The check of files of one's own: cards with remedies to press, and where each finding is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import numpy as np
import panel as pn
from bokeh.models import ColumnDataSource, Range1d

from workbench.bagging.cells import Cells
from workbench.bagging.findings import NOTE, Finding
from workbench.plots.outlines import lines
from workbench.plots.theme import NEUTRAL
from workbench.ui.base.views.figures import chart
from workbench.ui.base.views.layout import dim, stretched
from workbench.ui.disaggregate import labels
from workbench.ui.disaggregate.pixels import in_parts
from workbench.ui.disaggregate.remedies import Remedy, remedies
from workbench.ui.disaggregate.views.finding import button, card
from workbench.ui.disaggregate.views.map_figures import MARKED, add_cells, cornered

if TYPE_CHECKING:
    from geopandas import GeoSeries

    from workbench.preflight import Check

SIDE = 230      # pixels along the longer side of the small map


class Corrections(pn.viewable.Viewer):
    """Cards of a check, each with its remedies, beside a small map of the areas.

    Parameters
    ----------
    apply, undo : callable
        Called with a `Remedy`.
    """

    def __init__(self, apply: Callable[[Remedy], None], undo: Callable[[Remedy], None], **params):
        super().__init__(**params)
        self._apply, self._undo, self._shapes = apply, undo, None
        self.marked: list[str] = []
        self.cells = ColumnDataSource(cornered(None))
        self._around, self._borders = (ColumnDataSource({"x": [], "y": []}) for _ in range(2))
        self.column = stretched(styles={"flex": "1 1 280px"})
        # Ranges of nothing, as it is until there is a file, would be a warning at each drawing.
        self._figure = chart("Areas of the file", None, None, SIDE, SIDE, name="areas",
                             x_range=Range1d(0, 1), y_range=Range1d(0, 1))
        self._figure.axis.visible = self._figure.grid.visible = False
        self._figure.outline_line_color = None
        self._figure.line("x", "y", source=self._borders, line_color=NEUTRAL, line_width=0.7)
        add_cells(self._figure, self.cells)
        self._figure.line("x", "y", source=self._around, line_color=MARKED, line_width=2.5)
        self.map = pn.Column(pn.pane.Bokeh(self._figure), margin=(0, 6), visible=False,
                             styles={"position": "sticky", "top": "0"})

    def __panel__(self):
        return pn.Row(self.column, self.map, sizing_mode="stretch_width",
                      stylesheets=[":host {flex-wrap: wrap-reverse;}"])

    def clear(self) -> None:
        """Show nothing."""
        self.column.objects, self.map.visible, self.marked = [], False, []

    def wait(self) -> None:
        """Let nothing be pressed until the next check is there."""
        with pn.io.hold():
            for one in self.column:
                dim(one, True)
                for each in one[1:]:
                    each.disabled = True

    def show(self, check: Check, options: Mapping, done: list[Remedy], *,
             shapes: GeoSeries | None = None, people: tuple[str, ...] = (),
             columns: tuple[str, ...] = ()) -> None:
        """Show the cards of a check.

        Parameters
        ----------
        check : Check
        options : Mapping
            What the files were read with.
        done : list of Remedy
            What was applied before.
        shapes : GeoSeries, optional
            Of the areas, by id.
        people : tuple of str
            Paths of rasters that look like a population.
        columns : tuple of str
            Columns of the areas that do.
        """
        self._draw(shapes)
        crs = str(check.data.attrs.get("crs", "")) if check.data is not None else ""
        cards, traced, parts = [], set(), in_parts(check.data)
        for found in check.findings:
            mine = [one for one in done if one.code == found.code and found.severity != "error"]
            traced |= set(map(id, mine))
            buttons = [button(labels.UNDO, lambda one=one: self._undo(one)) for one in mine]
            if not mine:
                buttons = [button(one.label, lambda one=one: self._apply(one))
                           for one in remedies(found, options, crs, people, columns,
                                               _in_degrees(shapes))]
            here = self._here(found)
            there = here or (found.cells is not None and self._shapes is not None)
            cards.append(card(found, *buttons,
                              press=self._pointer(here, found.cells) if there else None,
                              parts=parts,
                              done=" and ".join(one.label for one in mine)))
        for one in done:
            if id(one) in traced:
                continue            # else what it was applied to is gone without a trace
            gone = Finding(one.code, "", severity=NOTE)
            cards.insert(0, card(gone, button(labels.UNDO, lambda one=one: self._undo(one)),
                                 done=one.label))
        self.column.objects, self.marked = cards, []
        self.column.visible = bool(cards)       # else the map would stand beside nothing

    def _here(self, found: Finding) -> list[str]:
        known = set() if self._shapes is None else set(self._shapes.index)
        return [one for one in found.where if one in known]

    def _pointer(self, areas: list[str], cells: Cells | None) -> Callable[[], None]:
        def mark() -> None:
            self.marked = areas
            crs = self._shapes.crs
            self.cells.data = cornered(cells, crs.to_string() if crs is not None else "")
            self._around.data = _outlines(self._shapes[self._shapes.index.isin(areas)])

        return mark

    def _draw(self, shapes: GeoSeries | None) -> None:
        self._shapes = shapes
        self.map.visible = shapes is not None
        self._around.data = {"x": [], "y": []}
        self.cells.data = cornered(None)
        if shapes is not None:
            self._borders.data = found = _outlines(shapes)
            self._surround(found["x"], found["y"])

    def _surround(self, x: np.ndarray, y: np.ndarray) -> None:
        """Let the square map show all points, with one scale along both axes."""
        ends = [(float(np.nanmin(one)), float(np.nanmax(one))) if np.isfinite(one).any()
                else (0.0, 1.0) for one in (x, y)]
        half = max(0.54 * max(high - low for low, high in ends), 1e-9)
        for shown, (low, high) in zip((self._figure.x_range, self._figure.y_range), ends,
                                      strict=True):
            shown.update(start=(low + high) / 2 - half, end=(low + high) / 2 + half)


def _in_degrees(shapes: GeoSeries | None) -> bool:
    """Whether shapes can lie in longitude and latitude, as far as is known."""
    return shapes is None or bool((np.abs(shapes.total_bounds) <= [360, 90, 360, 90]).all())


def _outlines(shapes: GeoSeries) -> dict[str, np.ndarray]:
    there = shapes[~(shapes.isna() | shapes.is_empty)]
    points = lines(there.to_numpy()).astype(np.float32) if len(there) else np.empty((0, 2))
    return {"x": points[:, 0], "y": points[:, 1]}
