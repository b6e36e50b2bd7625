"""Shapes as drawn: simplified to the screen, with holes, in a frame of equal aspect."""

from __future__ import annotations

import holoviews as hv
import numpy as np
import shapely
import xarray as xr

from workbench.plots.theme import NEUTRAL
from workbench.schema import GEOMETRY

SLIMMEST = 0.7  # least ratio of a map's sides
FINEST = 5  # digits of a coordinate, counted from that of the map's extent


def simplified(ds: xr.Dataset, pixels: int = 900) -> xr.Dataset:
    """Copy of a dataset whose geometries keep only what a screen can show.

    Neighbours keep their common border (no slivers). Thousands of detailed polygons draw some
    fifteen times faster; simplify once when the same areas are drawn again and again.

    Parameters
    ----------
    ds : xr.Dataset
        Bagged dataset with bag_geometry or individual_geometry.
    pixels : int
        Resolution along the longer side of the map.

    Returns
    -------
    xr.Dataset
        The same data.
    """
    for name in GEOMETRY:
        if name in ds.coords:
            simple = np.empty(ds[name].size, dtype=object)
            simple[:] = simplify(ds[name].values, pixels)
            ds = ds.assign_coords({name: (ds[name].dims, simple, ds[name].attrs)})
    return ds


def simplify(geometries: np.ndarray, pixels: int = 900) -> np.ndarray:
    """Simplify a coverage of polygons to a screen of so many pixels."""
    left, bottom, right, top = shapely.total_bounds(geometries)
    tolerance = max(right - left, top - bottom) / pixels
    if shapely.geos_version >= (3, 12, 0):
        return shapely.coverage_simplify(geometries, tolerance)
    return shapely.simplify(geometries, tolerance)


def rings(geometries: np.ndarray) -> tuple[list, list]:
    """Coordinates of polygons as Bokeh nests them: geometry > part > exterior and its holes.

    As lists, rounded to what a screen can show: a server sends every array as a message of its
    own, and a browser takes a millisecond for each of the tens of thousands.
    """
    left, bottom, right, top = shapely.total_bounds(geometries)
    decimals = _decimals(max(right - left, top - bottom))
    nested = [
        [
            [shapely.get_coordinates(ring).round(decimals) for ring in
             (part.exterior, *part.interiors)]
            for part in shapely.get_parts(geometry)
            if part.geom_type == "Polygon"  # a line left by make_valid has no inside to colour
        ]
        for geometry in geometries
    ]
    return tuple(
        [[[r[:, k].tolist() for r in part] for part in g] for g in nested] for k in (0, 1)
    )


def lines(geometries: np.ndarray) -> np.ndarray:
    """Outlines of polygons as one line with gaps of NaN between its pieces, (points, 2)."""
    gap = np.full((1, 2), np.nan)
    pieces = shapely.get_parts(shapely.boundary(geometries))
    drawn = [p for piece in pieces for p in (shapely.get_coordinates(piece), gap)]
    return np.concatenate(drawn or [gap[:0]])       # points have no outline


def _decimals(extent: float) -> int:
    """Decimal places that tell points of a map apart, even when it is zoomed into."""
    return FINEST - int(np.floor(np.log10(extent))) if extent > 0 else 12


def areas(geometries: np.ndarray, columns: dict[str, np.ndarray]) -> hv.Polygons:
    """Polygons coloured by the first column, drawn fast.

    HoloViews takes tens of milliseconds per polygon, minutes for a map of thousands. It is given
    one empty shape to lay out axes, colours and hover by; a hook then puts the real shapes and
    columns straight into Bokeh's data source.
    """
    xs, ys = rings(geometries)
    data = {"xs": xs, "ys": ys, **columns}

    def fill(plot, element) -> None:
        plot.handles["source"].data = data

    left, bottom, right, top = shapely.total_bounds(geometries)
    inner = [(left + t * (right - left), bottom + t * (top - bottom)) for t in (0.4, 0.6)]
    (x0, y0), (x1, y1) = inner
    empty = {
        "x": [left, right, right, left],
        "y": [bottom, bottom, top, top],
        "holes": [[[(x0, y0), (x1, y0), (x1, y1)]]],  # makes HoloViews draw holes
        **{name: column[0] for name, column in columns.items()},
    }
    return hv.Polygons([empty], ["x", "y"], list(columns)).opts(hooks=[fill])


def borders(ds: xr.Dataset, axes: tuple[str, str]) -> hv.Path | None:
    """Outlines of the bags, or None where the dataset has no shapes."""
    if "bag_geometry" not in ds.coords:
        return None
    shapes = ds["bag_geometry"].values
    # one path with gaps: HoloViews takes milliseconds for every separate one
    return hv.Path([lines(shapes)], kdims=list(axes)).opts(
        color=NEUTRAL, line_width=0.6 if shapes.size < 150 else 0.35, alpha=0.7, tools=[]
    )


def frame(bounds: tuple[float, float, float, float], unit: str, size: int,
          flattest: float = SLIMMEST) -> dict:
    """Limits and frame in pixels that give both axes the same scale on the ground.

    Long thin countries get room at their sides, so that titles and colour bars still fit; maps
    in metres or kilometres get room below for the scale bar. Wide countries get room above and
    below up to a least ratio of height to width.
    """
    left, bottom, right, top = (float(end) for end in bounds)
    stretch = np.cos(np.deg2rad((top + bottom) / 2)) if unit == "degree" else 1.0
    if unit in ("m", "km"):
        bottom -= 0.13 * max(right - left, top - bottom)
    wide, high = max((right - left) * stretch, 1e-12), max(top - bottom, 1e-12)
    margin = 0.02 * max(wide, high)
    wide, high = wide + 2 * margin, high + 2 * margin
    across, up = max(wide, SLIMMEST * high), max(high, flattest * wide)
    x, y = (left + right) / 2, (bottom + top) / 2
    pixels = size / max(across, up)
    return {
        "frame_width": round(across * pixels),
        "frame_height": round(up * pixels),
        "xlim": (x - across / stretch / 2, x + across / stretch / 2),
        "ylim": (y - up / 2, y + up / 2),
    }
