"""Small maps on one grid: their frames, their colours, and what is said where the pointer is."""

from __future__ import annotations

from bokeh.models import ColumnDataSource, LinearColorMapper, Range1d
from bokeh.plotting import figure

from workbench.plots.scales import ColourScale
from workbench.plots.theme import PALETTES
from workbench.ui.base.views.figures import chart, colour_bar, colours, hover
from workbench.ui.compare.grid import Grid

NOWHERE = "#00000000"       # where there is nobody
LEAST, TITLE = 90, 30       # pixels across the smallest map, and above each


def mapper_of(scale: ColourScale) -> LinearColorMapper:
    """What colours the values of a scale."""
    return colours(PALETTES[scale.kind], low=scale.lower, high=scale.upper, nan_color=NOWHERE)


def recolour(mapper: LinearColorMapper, scale: ColourScale) -> None:
    """Give all that a mapper colours another scale."""
    mapper.update(low=scale.lower, high=scale.upper)


def small_map(name: str, source: ColumnDataSource, mapper: LinearColorMapper,
              ranges: tuple[Range1d, Range1d]) -> figure:
    """A map of one column, without axes, which zooms with those that share its ranges."""
    plot = chart(" ", None, None, 160, 160, x_range=ranges[0], y_range=ranges[1],
                 tools="pan,box_zoom,wheel_zoom,reset,save", active_scroll=None,
                 toolbar_location="right", toolbar_inner=True, name=name)
    plot.min_border, plot.toolbar.logo = 0, None
    plot.toolbar.autohide, plot.axis.visible, plot.grid.visible = True, False, False
    plot.outline_line_color, plot.title.text_font_size = None, "13px"
    plot.image(name, source=source, x="left", y="bottom", dw="width", dh="height",
               color_mapper=mapper)
    return plot


def say_values(plots: list[figure], tips: list[tuple[str, str]]) -> None:
    """Tell the values of all maps wherever the pointer is on one of them."""
    for plot in plots:
        plot.tools = [tool for tool in plot.tools if type(tool).__name__ != "HoverTool"]
        hover(plot, plot.renderers[0], tips, point_policy="follow_mouse")


def bar(mapper: LinearColorMapper, title: str, width: int):
    """A bar of colours with what they mean."""
    return colour_bar(mapper, width, title=title, title_text_font_size="12px",
                      title_text_font_style="normal")


def framed(grid: Grid, ranges: tuple[Range1d, Range1d]) -> None:
    """Show a whole grid."""
    left, bottom, width, height = grid.extent
    for axis, low, high in ((ranges[0], left, left + width), (ranges[1], bottom, bottom + height)):
        axis.update(start=low, end=high, reset_start=low, reset_end=high)


def columns(grid: Grid, maps: dict) -> dict:
    """Maps (individual,) as columns of a source."""
    left, bottom, width, height = grid.extent
    return {"left": [left], "bottom": [bottom], "width": [width], "height": [height]} | {
        name: [grid.image(values)] for name, values in maps.items()}


def side(grid: Grid, across: int, count: int, gap: int, most: int, high: int) -> tuple[int, int]:
    """Frame of each of so many maps in a width: as large as lets them stand in few rows.

    Parameters
    ----------
    grid : Grid
    across : int
        Pixels for a row.
    count, gap : int
        Maps, and pixels beside each.
    most : int
        Largest side.
    high : int
        Pixels for all rows together, as far as maps then are not tiny.
    """
    found = (LEAST, round(LEAST * grid.ratio))
    for beside in range(count, 0, -1):          # the maps grow
        width = int(min(across // beside - gap, most, most / grid.ratio))
        tall = round(width * grid.ratio)
        if width < LEAST:
            continue
        fits = -(-count // beside) * (tall + TITLE) <= high
        if fits or found[0] == LEAST:
            found = (width, tall)
        if not fits and found[0] > LEAST:
            break
    return found
