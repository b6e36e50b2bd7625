"""Figures whose sources are pushed to: charts, maps, legends, bars of colours."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from html import escape

import panel as pn
from bokeh.events import Pan, PanEnd, PanStart
from bokeh.models import (
    BasicTicker,
    BasicTickFormatter,
    ColorBar,
    ColumnDataSource,
    CrosshairTool,
    CustomJS,
    CustomJSTickFormatter,
    GlyphRenderer,
    HoverTool,
    Legend,
    LegendItem,
    LinearColorMapper,
    LogColorMapper,
    Range1d,
    Span,
    Ticker,
)
from bokeh.plotting import figure
from holoviews.plotting.util import process_cmap

from workbench.plots.theme import NEUTRAL

HERE = "#E69F00"        # the present setting
LETTER = 6.6            # pixels of a title's letter
ITEM, MARK = 5.8, 30    # of a letter in a legend, and of a mark beside it
_SMALL = "12px"
# The page's theme sets a legend in the type of the window, which is larger than that of the chart.
_LEGEND = ":host {font-size: 13px;}"
_MAP_TOOLS = "pan,wheel_zoom,box_zoom,reset,save"
# Bokeh's own writes 50,000 as 5.000e+4. As many decimals as tell ticks apart, and no more.
_WRITTEN = """
const most = Math.max(...ticks.map(Math.abs))
let gap = most
for (let k = 1; k < ticks.length; k++)
  if (ticks[k] !== ticks[k - 1]) gap = Math.min(gap, Math.abs(ticks[k] - ticks[k - 1]))
let decimals = 0
const exact = one => Math.abs(one) < gap / 1e6    // a zero of floating point
  || Math.abs(one - Number(one.toFixed(decimals))) <= Math.min(gap, Math.abs(one)) / 100
while (decimals < 9 && !ticks.every(exact)) decimals += 1
if (Math.abs(tick) < gap / 1e6) return '0'
const digits = Math.min(17, Math.max(4, Math.ceil(Math.log10(most / gap)) + 2))
const far = most >= 1e15 || decimals >= 9
const text = far ? String(Number(tick.toPrecision(digits)))
  : (tick || 0).toLocaleString('en-US', {maximumFractionDigits: decimals})
return text.replace('-', '\u2212')
"""


def chart(title: str, x: str, y: str, width: int, height: int, **options) -> figure:
    """An empty figure that does not move unless asked to."""
    plot = figure(
        title=title, x_axis_label=x, y_axis_label=y, frame_width=width, frame_height=height,
        width=None, height=None, output_backend="canvas", min_border=4,
        **{"tools": "", "toolbar_location": None, **options})
    plot.title.text_font_style, plot.title.text_font_size = "normal", "14px"
    plot.axis.axis_label_text_font_size = plot.axis.major_label_text_font_size = _SMALL
    plot.axis.axis_label_text_font_style = "normal"
    plot.grid.grid_line_color, plot.grid.grid_line_alpha = NEUTRAL, 0.25
    plot.toolbar.logo = None
    for axis in plot.axis:
        if type(axis.formatter) is BasicTickFormatter:      # else of dates, logs or names
            axis.formatter = plain_numbers()
    return plot


def plain_numbers() -> CustomJSTickFormatter:
    """What writes ticks as one reads numbers: 50,000 and 0.25."""
    return CustomJSTickFormatter(code=_WRITTEN)


def map_chart(title: str, x: str, y: str, width: int, height: int, **options) -> figure:
    """An empty map that can be panned, zoomed and saved."""
    plot = chart(title, x, y, width, height, tools=_MAP_TOOLS, toolbar_location="above", **options)
    plot.toolbar.autohide, plot.grid.visible = True, False
    return plot


def widen(plot: figure, width: int, title: str = "") -> None:
    """Give a figure a frame of so many pixels, its title and legend as many lines as they need."""
    plot.update(frame_width=width)
    if title:
        plot.title.text = broken(title, width)
    for made in plot.legend:
        if made.orientation == "horizontal":
            made.ncols = columns_of([item.label.value for item in made.items if item.visible],
                                    width)


def columns_of(names: list[str], width: int) -> int:
    """How many names of a legend stand in each row, so that so many pixels hold it."""
    across = [MARK + ITEM * len(name) for name in names]
    return next((count for count in range(len(names), 1, -1) if sum(
        max(across[k::count]) for k in range(count)) <= width), 1)


def broken(title: str, width: int) -> str:
    """A title in lines that so many pixels hold."""
    return "\n".join(textwrap.wrap(title, max(12, int(width / LETTER))))


def source(**columns) -> ColumnDataSource:
    """A source with columns, empty ones by default."""
    return ColumnDataSource({name: list(value) for name, value in columns.items()})


def empty(*names: str) -> ColumnDataSource:
    """A source with empty columns."""
    return source(**dict.fromkeys(names, ()))


def push(where: ColumnDataSource, columns: Mapping) -> None:
    """Replace all columns at once: their lengths may change together."""
    where.data = dict(columns)


def shown(*parts, **options) -> pn.Column:
    """Figures and texts below each other, as part of a page."""
    return pn.Column(*(pn.pane.Bokeh(part, margin=(0, 2)) if isinstance(part, figure) else part
                       for part in parts), **{"margin": 0} | options)


def legend(plot: figure, items: Mapping[str, list], location: str = "top_right",
           side: str | None = None) -> None:
    """Names beside their marks, inside the figure or above it."""
    made = Legend(items=[LegendItem(label=name, renderers=marks)
                         for name, marks in items.items()],
                  location=location, label_text_font_size=_SMALL, spacing=1, padding=4,
                  background_fill_alpha=0.0, border_line_alpha=0, glyph_height=14, margin=2,
                  orientation="horizontal" if side else "vertical", stylesheets=[_LEGEND])
    plot.add_layout(made, side or "center")


def hideable_legend(plot: figure, items: Mapping[str, list]) -> None:
    """A legend above a figure; a click on a name hides its marks."""
    legend(plot, items, "top_left", side="above")
    plot.legend.click_policy = "hide"
    plot.legend.inactive_fill_color, plot.legend.inactive_fill_alpha = NEUTRAL, 0.35


def hover(plot: figure, drawn: GlyphRenderer | list, tips: list[tuple[str, str]],
          **options) -> None:
    """Say numbers where the pointer is; what is no number, such as a unit, is shown as it is."""
    renderers = drawn if isinstance(drawn, list) else [drawn]
    plain = [(label, escape(value, quote=False)) for label, value in tips]    # Bokeh takes HTML
    plot.add_tools(HoverTool(renderers=renderers, tooltips=plain, **options))


def on_drag(plot: figure, grab: CustomJS, pull: CustomJS) -> None:
    """Run scripts when something is taken hold of in a figure, and while it is moved."""
    for event, script in ((PanStart, grab), (Pan, pull), (PanEnd, pull)):
        plot.js_on_event(event, script)


def crosshair(plots: list[figure]) -> None:
    """One crosshair across all maps."""
    lines = [Span(dimension=d, line_color=NEUTRAL, line_dash="dotted") for d in ("width", "height")]
    for plot in plots:
        plot.add_tools(CrosshairTool(overlay=lines))


def colours(palette: str, log: bool = False, **options) -> LinearColorMapper | LogColorMapper:
    """What colours numbers, by the name of a palette."""
    kind = LogColorMapper if log else LinearColorMapper
    return kind(process_cmap(palette, 256, categorical=False), **options)


def colour_bar(mapper: LinearColorMapper | LogColorMapper, width: int, **options) -> ColorBar:
    """A thin bar of colours, so many pixels long."""
    return ColorBar(color_mapper=mapper, height=9, width=width, padding=4, margin=0,
                    background_fill_alpha=0, major_label_text_font_size="11px",
                    formatter=plain_numbers(), **options)


def value_map(title: str, side: int, ranges: tuple[Range1d, Range1d], name: str,
              mapper: LinearColorMapper | LogColorMapper, ticks: Ticker | None = None) -> figure:
    """An empty map with a bar of colours below it, whose title is to be filled in.

    Parameters
    ----------
    title, name : str
    side : int
        Pixels across the frame.
    ranges : (Range1d, Range1d)
        Share them to link panning and zooming.
    mapper : ColorMapper
    ticks : Ticker or None
        Of the bar of colours.
    """
    plot = map_chart(title, "", "", side, side, x_range=ranges[0], y_range=ranges[1], name=name)
    plot.add_layout(colour_bar(
        mapper, side - 12, title=" ", title_text_font_size=_SMALL,
        title_text_font_style="normal", ticker=ticks or BasicTicker(desired_num_ticks=4)), "below")
    plot.xaxis.ticker.desired_num_ticks = plot.yaxis.ticker.desired_num_ticks = 4
    return plot
