"""Looks shared by the figures: one colour for each posterior wherever it is drawn."""

from __future__ import annotations

from collections.abc import Mapping

from bokeh.models import ColumnDataSource, Legend, LegendItem
from bokeh.plotting import figure

from workbench.plots.theme import CATEGORIES, NEUTRAL

COMPLETE, SUMMARY = CATEGORIES[0], CATEGORIES[1]
BOUND, CERTIFICATE = CATEGORIES[3], CATEGORIES[2]
TRUTH = NEUTRAL
HERE = "#E69F00"        # the present setting


def chart(title: str, x: str, y: str, width: int, height: int, **options) -> figure:
    """An empty figure that does not move unless asked to."""
    plot = figure(
        title=title, x_axis_label=x, y_axis_label=y, frame_width=width, frame_height=height,
        width=None, height=None, output_backend="canvas", min_border=4,
        **{"tools": "", "toolbar_location": None, **options})
    plot.title.text_font_style, plot.title.text_font_size = "normal", "14px"
    plot.axis.axis_label_text_font_size = plot.axis.major_label_text_font_size = "12px"
    plot.axis.axis_label_text_font_style = "normal"
    plot.grid.grid_line_color, plot.grid.grid_line_alpha = NEUTRAL, 0.25
    plot.toolbar.logo = None
    return plot


def source(**columns) -> ColumnDataSource:
    """A source with columns, empty ones by default."""
    return ColumnDataSource({name: list(value) for name, value in columns.items()})


def push(where: ColumnDataSource, columns: Mapping) -> None:
    """Replace all columns at once: their lengths may change together."""
    where.data = dict(columns)


def legend(plot: figure, items: Mapping[str, list], location: str = "top_right",
           side: str | None = None) -> None:
    """Names beside their marks, inside the figure or above it."""
    made = Legend(items=[LegendItem(label=name, renderers=marks)
                         for name, marks in items.items()],
                  location=location, label_text_font_size="12px", spacing=1, padding=4,
                  background_fill_alpha=0.0, border_line_alpha=0, glyph_height=14, margin=2,
                  orientation="horizontal" if side else "vertical")
    plot.add_layout(made, side or "center")
