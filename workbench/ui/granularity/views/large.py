"""Figures that can be read from the last row: large type and thick lines, and back again."""

from __future__ import annotations

from collections.abc import Iterable

import panel_material_ui as pmui
from bokeh.models import GlyphRenderer, Line, Span
from bokeh.plotting import figure
from panel_material_ui.base import MaterialComponent

TYPE, LINE = "20px", 3.0
#: The page's type with which that of widgets of a kind is of 20 pixels.
_THEME = {pmui.Button: 23.2, pmui.RadioButtonGroup: 23.2, pmui.Chip: 23.2, pmui.Typography: 21.5}
_ELSE = 19


def enlarge(widgets: Iterable[MaterialComponent], large: bool) -> None:
    """Show the type of widgets large, or in the size of the page.

    The page's own theme stays: to change it would lay out all figures anew, several times.
    """
    for widget in widgets:
        size = _THEME.get(type(widget), _ELSE)
        widget.theme_config = {"typography": {"fontSize": size}} if large else None


class Large:
    """One figure with two looks.

    Parameters
    ----------
    plot : figure
    """

    def __init__(self, plot: figure):
        self._is = False
        lines = [r.glyph for r in plot.renderers
                 if isinstance(r, GlyphRenderer) and isinstance(r.glyph, Line)]
        lines += [r for r in plot.renderers if isinstance(r, Span)]
        self._lines = [(line, line.line_width) for line in lines]
        self._type = [(model, name, getattr(model, name)) for model in _written(plot)
                      for name in model.properties() if name.endswith("font_size")]
        # The page's theme sets the type of figures in the browser, whenever they come onto it.
        for model, name, _ in self._type:
            model.on_change(name, self._keep)

    def _keep(self, attr: str, old: str, new: str) -> None:
        """Stay large whatever else sets the type."""
        for model, name, _ in self._type if self._is else ():
            if getattr(model, name) != TYPE:
                setattr(model, name, TYPE)

    def show(self, large: bool) -> None:
        """Show the large look or the other one."""
        if not large and not self._is:  # the page's theme changes small type a little: let it be
            return
        self._is = large
        for model, name, small in self._type:
            setattr(model, name, TYPE if large else small)
        for line, width in self._lines:
            line.line_width = max(LINE, width) if large else width


def _written(plot: figure) -> list:
    """What of a figure has text."""
    parts = [*plot.above, *plot.below, *plot.left, *plot.right, *plot.center]
    return [plot.title, *(part for part in parts if part is not plot.title)]
