"""Small maps on one grid: their frames, their colours, and what is said where the pointer is."""

from __future__ import annotations

from html import escape

import panel as pn
from bokeh.models import ColumnDataSource, HoverTool, LinearColorMapper, Range1d
from holoviews.plotting.util import process_cmap

from workbench.plots.scales import ColourScale
from workbench.plots.theme import PALETTES
from workbench.ui.base.views.figures import chart, colours, hover
from workbench.ui.base.views.pictures import DRAWN
from workbench.ui.compare.grid import Grid

NOWHERE = "#00000000"       # where there is nobody
LEAST, TITLE = 90, 46       # pixels across the smallest map, and above each
WORDY = 200         # pixels from which a title takes one line
#: Style of a bar of colours; a narrow one has its ends and its middle alone.
SCALE = """.wb-scale {font-size: 12px; line-height: 1.3; container-type: inline-size;}
@container (max-width: 240px) {.wb-scale span:nth-child(even) {display: none;}}"""


def mapper_of(scale: ColourScale) -> LinearColorMapper:
    """What colours the values of a scale."""
    return colours(PALETTES[scale.kind], low=scale.lower, high=scale.upper, nan_color=NOWHERE)


def recolour(mapper: LinearColorMapper, scale: ColourScale) -> None:
    """Give all that a mapper colours another scale."""
    mapper.update(low=scale.lower, high=scale.upper)


class Cell:
    """A map of one column, with its title, without axes; it zooms with those of the same ranges.

    Parameters
    ----------
    name : str
        Of the column.
    source : ColumnDataSource
    mapper : LinearColorMapper
    ranges : (Range1d, Range1d)
    """

    def __init__(self, name: str, source: ColumnDataSource, mapper: LinearColorMapper,
                 ranges: tuple[Range1d, Range1d]):
        plot = chart("", None, None, 160, 160, x_range=ranges[0], y_range=ranges[1],
                     tools="pan,box_zoom,wheel_zoom,reset,save", active_scroll=None,
                     toolbar_location="right", toolbar_inner=True, name=name)
        # The size is that of the whole, which is all frame: its title stands above it.
        plot.update(frame_width=None, frame_height=None, width=160, height=160, min_border=0,
                    sizing_mode="fixed", outline_line_color=None, title=None)
        plot.toolbar.logo, plot.toolbar.autohide = None, True
        plot.axis.visible = plot.grid.visible = False
        plot.image(name, source=source, x="left", y="bottom", dw="width", dh="height",
                   color_mapper=mapper)
        self.plot = plot
        wide = {"sizing_mode": "stretch_width", "css_classes": [DRAWN]}
        self.title = pn.pane.HTML("", margin=(4, 0, 2, 0), **wide)
        self.foot = pn.pane.HTML("", margin=(4, 0), visible=False, stylesheets=[SCALE], **wide)
        self.pane = pn.pane.Bokeh(plot, margin=0, width=160, height=160)
        self.panel = pn.Column(self.title, self.pane, self.foot, margin=(0, 4), width=160)

    def say(self, title: str, foot: str = "") -> None:
        """Put a title above the map, and HTML below it."""
        self.title.object = f"<div style='font-size: 13px; line-height: 1.2'>{escape(title)}</div>"
        self.foot.param.update(object=foot, visible=bool(foot))

    def fit(self, width: int, height: int, lines: int = 1) -> None:
        """Give the map a size, and its title room for so many lines.

        Each property that changes has the browser lay out the whole page: no more than needed.
        """
        self.pane.param.update(width=width, height=height)
        self.panel.width, self.title.height = width, 18 * lines


def say_values(cells: list[Cell], tips: list[tuple[str, str]]) -> None:
    """Tell the values of all maps wherever the pointer is on one of them."""
    for plot in (cell.plot for cell in cells):
        plot.tools = [tool for tool in plot.tools if not isinstance(tool, HoverTool)]
        hover(plot, plot.renderers[0], tips, point_policy="follow_mouse")


def scale_bar(scale: ColourScale) -> str:
    """A bar of colours as HTML, with its ends, its middle and its unit."""
    stops = ", ".join(process_cmap(PALETTES[scale.kind], 24, categorical=False))
    ends = (scale.lower + share * (scale.upper - scale.lower) for share in (0, .25, .5, .75, 1))
    marks = "".join(f"<span>{end:.3g}</span>".replace("-", "−") for end in ends)
    return (f"<div class='wb-scale'>{escape(scale.unit)}"
            f"<div style='height: 10px; background: linear-gradient(to right, {stops})'></div>"
            f"<div style='display: flex; justify-content: space-between'>{marks}</div></div>")


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
