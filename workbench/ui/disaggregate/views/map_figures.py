"""Maps as Bokeh figures that share one geometry: new values are pushed, nothing is redrawn.

HoloViews would take some hundred milliseconds for each map and each update; here all fine maps
read columns of one source, so that an update is one message with the new columns.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import numpy as np
import shapely
import xarray as xr
from bokeh.models import ColorBar, ColumnDataSource, Range1d, ScaleBar
from bokeh.plotting import figure

from workbench.bagging.cells import Cells
from workbench.plots.maps import map_unit, ticker
from workbench.plots.outlines import frame, lines, rings
from workbench.plots.scales import ColourScale
from workbench.plots.theme import NEUTRAL
from workbench.ui.base.views.figures import chart, colour_bar, hover
from workbench.ui.disaggregate.views.colours import mapper

LENGTHS = ("m", "km")       # a scale bar tells them; other maps have labelled axes
AXIS = 44                   # pixels that an axis takes
FLATTEST = 0.25             # least ratio of a map's height to its width
INDIVIDUAL, BAG = "individual", "bag"
MARKED = "#E6007E"          # told from all palettes


@dataclass
class Place:
    """Where the units of one dimension are: a source of shapes, and how values become columns."""

    source: ColumnDataSource
    glyph: str                              # patches, image or circle
    index: np.ndarray | None = None         # image: flat position of each individual
    shape: tuple[int, int] = (0, 0)
    share: np.ndarray | None = None         # image: weight of each individual in its pixel

    def column(self, values: np.ndarray):
        """Values of the units as a column of the source."""
        if self.glyph != "image":
            return np.asarray(values, dtype=np.float32)
        pixels = np.full(self.shape[0] * self.shape[1], np.nan, dtype=np.float32)
        summed = np.bincount(self.index, weights=self.share * values, minlength=pixels.size)
        there = np.bincount(self.index, minlength=pixels.size) > 0
        pixels[there] = summed[there]
        return [pixels.reshape(self.shape)]

    def push(self, columns: Mapping[str, np.ndarray]) -> None:
        """Replace columns by new values, all in one message."""
        self.source.data.update({name: self.column(v) for name, v in columns.items()})


def place(ds: xr.Dataset, dim: str, axes: tuple[str, str]) -> Place:
    """Where the units of a dimension are drawn: as polygons, pixels or points.

    Parameters
    ----------
    ds : xr.Dataset
        Bagged dataset, its outlines simplified to the screen.
    dim : {"bag", "individual"}
    axes : (str, str)
        Coordinates that make the map, for points.
    """
    if f"{dim}_geometry" in ds.coords:
        xs, ys = rings(ds[f"{dim}_geometry"].values)
        names = ds[f"{dim}_name" if f"{dim}_name" in ds.coords else dim].values.astype(str)
        return Place(ColumnDataSource({"xs": xs, "ys": ys, "name": names}), "multi_polygons")
    if all(name in ds.coords for name in ("row", "column")) and axes == ("x", "y"):
        return _pixels(ds)
    x, y = (np.asarray(ds[name].values, dtype=np.float32) for name in axes)
    names = ds[INDIVIDUAL].values.astype(str)
    return Place(ColumnDataSource({"x": x, "y": y, "name": names}), "scatter")


def map_figure(where: Place, column: str, scale: ColourScale, title: str, bar_title: str,
               frame_options: Mapping, ranges: tuple[Range1d, Range1d], tips: list,
               unit: str, name: str = "") -> figure:
    """One map of one column of a place.

    Parameters
    ----------
    where : Place
    column : str
        Column of its source.
    scale : ColourScale
        Of the colours; `colours.recolour` changes it.
    title, bar_title : str
        Above the map, and beside the colour bar.
    frame_options : Mapping
        ``frame_width`` and ``frame_height``.
    ranges : (Range1d, Range1d)
        Share them to link panning and zooming.
    tips : list of (str, str)
        Shown on hover.
    unit : str
        Unit of the axes: km, m, degree, or "" for none.
    name : str
        Of the figure; by default the column.
    """
    plot = chart(title, None, None, frame_options["frame_width"], frame_options["frame_height"],
                 x_range=ranges[0], y_range=ranges[1], tools="pan,wheel_zoom,reset,save",
                 active_scroll=None, toolbar_location="above", name=name or column)
    plot.toolbar.autohide = True
    colours = mapper(scale)
    paint = {"field": column, "transform": colours}
    if where.glyph == "image":
        drawn = plot.image(column, source=where.source, x="left", y="bottom", dw="width",
                           dh="height", color_mapper=colours)
    elif where.glyph == "multi_polygons":
        thin = 0.5 if len(where.source.data["name"]) < 600 else 0.1
        drawn = plot.multi_polygons("xs", "ys", source=where.source, fill_color=paint,
                                    line_color=NEUTRAL, line_width=thin)
    else:
        size = float(np.clip(250 / np.sqrt(len(where.source.data["x"])), 2, 9))
        drawn = plot.scatter("x", "y", source=where.source, fill_color=paint, line_color=None,
                             size=size)
    hover(plot, drawn, tips, point_policy="follow_mouse")
    bar = colour_bar(colours, bar_length(frame_options), title=bar_title,
                     title_text_font_size="12px", title_text_font_style="normal",
                     ticker=ticker(scale))
    bar.height = 10
    plot.add_layout(bar, "below")
    plot.grid.visible, plot.outline_line_color = False, None
    _dress(plot, unit)
    return plot


def add_borders(plot: figure, source: ColumnDataSource) -> None:
    """Outline the areas over a map of individuals."""
    plot.line("x", "y", source=source, line_color=NEUTRAL, line_width=0.6, line_alpha=0.8)


def add_marks(plot: figure, around: ColumnDataSource, spot: ColumnDataSource) -> None:
    """Areas to look at, outlined, and the place that was clicked."""
    plot.line("x", "y", source=around, line_color=MARKED, line_width=2.5)
    plot.scatter("x", "y", source=spot, marker="circle_cross", size=16, line_color=MARKED,
                 fill_alpha=0, line_width=2)


def add_cells(plot: figure, cells: ColumnDataSource) -> None:
    """Pixels to look at, hatched."""
    plot.patches("xs", "ys", source=cells, fill_color=MARKED, fill_alpha=0.35, line_color=MARKED,
                 line_width=1, hatch_pattern="/", hatch_color=MARKED, hatch_scale=6)


def cornered(cells: Cells | None, crs: str = "") -> dict[str, list]:
    """Corners of pixels on a map of some CRS, as columns."""
    if cells is None:
        return {"xs": [], "ys": []}
    return {name: list(np.asarray(corners, dtype=np.float32)) for name, corners in zip(
        ("xs", "ys"), cells.corners(crs), strict=True)}


def outlined(ds: xr.Dataset, names: Collection[str]) -> dict[str, np.ndarray]:
    """Outlines of some areas, as columns."""
    wanted = np.isin(ds["bag"].values.astype(str), list(names))
    if "bag_geometry" not in ds.coords or not wanted.any():
        return {"x": np.empty(0), "y": np.empty(0)}
    points = lines(ds["bag_geometry"].values[wanted]).astype(np.float32)
    return {"x": points[:, 0], "y": points[:, 1]}


def border_source(ds: xr.Dataset) -> ColumnDataSource | None:
    """Outlines of the areas, None without shapes."""
    if "bag_geometry" not in ds.coords:
        return None
    points = lines(ds["bag_geometry"].values).astype(np.float32)
    return ColumnDataSource({"x": points[:, 0], "y": points[:, 1]})


def bounds(ds: xr.Dataset, axes: tuple[str, str]) -> tuple[float, float, float, float]:
    """Extent of the map."""
    for name in ("bag_geometry", "individual_geometry"):
        if name in ds.coords:
            return tuple(shapely.total_bounds(ds[name].values))
    x, y = (ds[name].values for name in axes)
    return float(x.min()), float(y.min()), float(x.max()), float(y.max())


def sized(ds: xr.Dataset, axes: tuple[str, str], width: int, height: int) -> dict[str, int]:
    """Frame of a map in pixels, as large as fits, with equal aspect on the ground."""
    unit = map_unit(ds, axes)
    if unit not in LENGTHS:
        width, height = width - AXIS, height - AXIS
    found = frame(bounds(ds, axes), unit, 1000, FLATTEST)
    scale = min(width / found["frame_width"], height / found["frame_height"])
    return {name: max(60, round(found[name] * scale)) for name in ("frame_width", "frame_height")}


def linked(ds: xr.Dataset, axes: tuple[str, str]) -> tuple[Range1d, Range1d]:
    """Ranges that all maps share."""
    found = frame(bounds(ds, axes), map_unit(ds, axes), 1000, FLATTEST)
    return Range1d(*found["xlim"]), Range1d(*found["ylim"])


def resize(plot: figure, size: Mapping[str, int]) -> None:
    """Give a map another frame, and its bar of colours the length of it."""
    plot.update(**size)
    plot.select_one({"type": ColorBar}).width = bar_length(size)


def bar_length(size: Mapping[str, int]) -> int:
    """Pixels along a bar of colours under a map."""
    return int(0.94 * size["frame_width"])


def _dress(plot: figure, unit: str) -> None:
    if unit in LENGTHS:
        plot.axis.visible = False
        bar = ScaleBar(range=plot.x_range, unit=unit, location="bottom_right", padding=2,
                       background_fill_alpha=0, border_line_alpha=0, length_sizing="adaptive",
                       bar_length=0.2, label_text_font_size="11px",
                       label_text_color=NEUTRAL, bar_line_color=NEUTRAL)
        plot.add_layout(bar)
        return
    plot.axis.axis_label_text_font_size = "11px"
    plot.xaxis.ticker.desired_num_ticks = plot.yaxis.ticker.desired_num_ticks = 4
    if unit == "degree":
        plot.xaxis.axis_label, plot.yaxis.axis_label = "longitude (degree)", "latitude (degree)"


def _pixels(ds: xr.Dataset) -> Place:
    """The smallest grid that holds all individuals; pixels cut by a border average their parts."""
    width, _, left, _, height, top = (float(v) for v in ds.attrs["grid_transform"])
    row, column = ds["row"].values, ds["column"].values
    first_row, first_column = row.min(), column.min()
    shape = int(row.max() - first_row + 1), int(column.max() - first_column + 1)
    row, column = row - first_row, column - first_column
    if height < 0:                          # rows run southwards, Bokeh's image upwards
        row = shape[0] - 1 - row
    index = row * shape[1] + column
    part = ds["coverage"].values if "coverage" in ds.coords else np.ones(index.size)
    share = part / np.bincount(index, weights=part)[index]
    ends = top + height * np.array([first_row, first_row + shape[0]])
    data = {"left": [left + first_column * width], "bottom": [ends.min()],
            "width": [shape[1] * abs(width)], "height": [shape[0] * abs(height)]}
    return Place(ColumnDataSource(data), "image", index, shape, share)
