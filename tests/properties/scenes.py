"""Strategies of polygons and rasters that are as odd as files are, with what each pixel holds."""

from __future__ import annotations

from dataclasses import dataclass, field

import geopandas as gpd
import numpy as np
import rioxarray  # noqa: F401 (registers .rio)
import shapely
import xarray as xr
from hypothesis import strategies as st
from rasterio.transform import Affine
from shapely.affinity import affine_transform

#: CRS of the raster, west, north, and side of a pixel.
GRIDS = (("EPSG:32633", 400_000.0, 5_400_000.0, 100.0), ("EPSG:4326", 10.0, 50.0, 0.25),
         ("EPSG:4326", 355.0, 2.0, 1.0), ("EPSG:4326", 178.0, -10.0, 0.5),
         ("EPSG:3035", 4_300_000.0, 3_200_000.0, 1000.0), ("EPSG:3031", -4e5, 4e5, 1e5))
TYPES = ("float64", "float64", "float32", "int16", "uint8")
PLAIN = "plain"
TURNS = (PLAIN,) * 6 + ("south up", "turned east to west", "rotated", "uneven", "no coordinates")
PIXELS = (PLAIN,) * 6 + ("NaN", "infinite", "declared mark", "all missing", "zeros", "one alone",
          "huge", "tiny", "absurd", "undeclared mark", "negative")
SHAPES = ("box", "slanted", "sliver", "hole", "islands", "bow tie", "hole at the rim", "spike",
          "repeated corners", "beyond", "whole", "corner of a pixel")
BROKEN = ("empty", "absent", "line", "collection", "broken corner", "flat")
NAMES = ("n", "<b>n</b>", "../../etc/n", "ñ/&\"'", "1.0", " ", "")
LENIENT = {"empty": "drop", "overlap": "keep"}
COUNTS = (0.0, 1.0, 7.0, 1e9)
ODD_COUNTS = (np.nan, np.inf, -1.0, 2.5, "many", True, None)


@dataclass
class Scene:
    """Areas over a raster of weights and one of a covariate, and arguments to bag them.

    Of both rasters also what each pixel holds, north up, NaN where nothing does.
    """

    areas: gpd.GeoDataFrame
    weight: xr.DataArray | str
    height: xr.DataArray
    affine: Affine
    known: dict[str, np.ndarray]
    options: dict = field(default_factory=dict)

    def bagged(self, bag):
        """What ``bag`` makes of it."""
        return bag(self.areas, [self.height], self.weight, "cases", id="code", **self.options)


def _rarely(draw, usual, odd, once_in: int = 8):
    """The usual, and now and then something odd."""
    return draw(st.sampled_from(odd)) if draw(st.integers(1, once_in)) == 1 else usual


@st.composite
def scenes(draw) -> Scene:
    """Areas and rasters, most of them usable, each with its oddities."""
    crs, west, north, side = draw(st.sampled_from(GRIDS))
    rows, columns = draw(st.integers(1, 7)), draw(st.integers(1, 7))
    affine = Affine(side, 0, west, 0, -side, north)
    seed = draw(st.integers(0, 2**20))
    rng = np.random.default_rng(seed)
    known = {}
    weight, height = (
        raster(rng, name, (rows, columns), affine, crs, draw(st.sampled_from(TYPES)),
               draw(st.sampled_from(PIXELS)), draw(st.sampled_from(TURNS)), known)
        for name in ("people", "height"))
    count = draw(st.integers(1, 4))
    kinds = [_rarely(draw, draw(st.sampled_from(SHAPES)), BROKEN, 20) for _ in range(count)]
    to_map = (side, 0, 0, -side, west, north)       # from columns and rows to the CRS
    with np.errstate(invalid="ignore"):             # of corners that are no numbers
        shapes = [shape if shape is None else affine_transform(shape, to_map) for shape in (
            outline(rng, kind, rows, columns) for kind in kinds)]
    if draw(st.integers(0, 5)) == 0:
        shapes[-1] = shapes[0]
    name = draw(st.sampled_from(NAMES))
    codes = [f"{name}{k}" for k in range(count)]
    if draw(st.integers(0, 5)) == 0:
        codes[-1] = draw(st.sampled_from([codes[0], None]))
    values = [_rarely(draw, draw(st.sampled_from(COUNTS)), ODD_COUNTS, 16) for _ in codes]
    areas = gpd.GeoDataFrame({"code": codes, "cases": values}, geometry=shapes, crs=crs)
    if draw(st.integers(0, 3)) == 0 and not {"empty", "absent", "broken corner"} & set(kinds):
        other = "EPSG:4326" if crs != "EPSG:4326" else "EPSG:3857"
        areas = areas.to_crs(other)
    if draw(st.integers(0, 12)) == 0:
        areas = gpd.GeoDataFrame(areas.assign(more=3.0).rename(columns={"more": "cases"}))
    options = draw(st.sampled_from([{}, LENIENT, LENIENT | {
        "duplicates": "merge", "missing": "drop", "missing_value": "drop", "marks": "mask"},
        LENIENT | {"duplicates": "once", "missing": "nearest", "missing_value": "drop",
                   "marks": "keep"}]))
    word = _rarely(draw, weight, ["area", "uniform"])
    if isinstance(word, str):
        known["people"] = np.where(np.isnan(known["height"]), np.nan, 1.0)
    return Scene(areas, word, height, affine, known, dict(options))


def raster(rng, name, shape, affine, crs, dtype, oddity, turn, known) -> xr.DataArray:
    """A raster with pixels that are odd in the named way, turned in the named way.

    What its pixels hold is put into ``known``: NaN for infinite, absurd and declared marks.
    """
    values = rng.integers(1, 100, shape).astype(float)
    if np.dtype(dtype).kind == "f":
        values += rng.uniform(size=shape).round(3)
    place = rng.uniform(size=shape) < 0.3
    mark = {"uint8": 255, "int16": -9999}.get(dtype, -9999.0)
    whole = np.dtype(dtype).kind != "f"
    put = {"NaN": np.nan, "infinite": np.inf, "declared mark": mark, "undeclared mark": mark,
           "zeros": 0, "huge": 1e9, "tiny": 1e-12, "absurd": -1e38 if dtype == "float32" else 1e300,
           "negative": -3}.get(oddity)
    if oddity == "all missing":
        values[:] = mark if whole else np.nan
    elif oddity == "one alone":
        values[:] = 0
        values.flat[0] = 5
    elif put is not None and np.can_cast(np.min_scalar_type(put) if whole else dtype, dtype):
        values[place] = put
    rows, columns = shape
    x = affine.c + affine.a * (np.arange(columns) + 0.5)
    y = affine.f + affine.e * (np.arange(rows) + 0.5)
    values = values.astype(dtype)
    array = xr.DataArray(values, dims=("y", "x"), coords={"y": y, "x": x}, name=name)
    array = array.rio.write_crs(crs)
    if oddity in ("declared mark", "all missing"):
        array = array.rio.write_nodata(mark)
    there = np.abs(values.astype(float)) < 1e30
    if oddity in ("declared mark", "all missing"):
        there &= values != mark
    if turn == "rotated":
        affine = affine @ Affine.rotation(20)
    array = array.rio.write_transform(affine)
    if turn == "south up":
        array = array.isel(y=slice(None, None, -1))
    elif turn == "turned east to west":
        array = array.isel(x=slice(None, None, -1))
    elif turn == "uneven" and rows > 2:
        array = array.assign_coords(y=y - 0.2 * affine.a * (np.arange(rows) == 1))
    if turn in ("rotated", "no coordinates"):
        array = array.drop_vars(["x", "y"])
    known[name] = np.where(there, values.astype(float), np.nan)
    return array


def outline(rng, kind: str, rows: int, columns: int):
    """A shape of the named kind over a grid of pixels, in columns and rows."""
    a, b = np.sort(rng.uniform(0, columns, 2)) + (0, 0.05)
    c, d = np.sort(rng.uniform(0, rows, 2)) + (0, 0.05)
    box = shapely.box(a, c, b, d)
    middle = [(a + b) / 2, (c + d) / 2]
    inner = shapely.box(*(0.5 * np.array([a, c]) + 0.5 * np.array(middle)),
                        *(0.5 * np.array([b, d]) + 0.5 * np.array(middle)))
    return {
        "box": lambda: box,
        "slanted": lambda: shapely.convex_hull(shapely.multipoints(
            rng.uniform(-0.5, 0.5 + max(rows, columns), (5, 2)))),
        "sliver": lambda: shapely.box(a, c, a + 1e-7, d),
        "hole": lambda: box.difference(inner),
        "islands": lambda: shapely.union_all([inner, shapely.box(b + 0.1, c, b + 0.4, d)]),
        "bow tie": lambda: shapely.Polygon([(a, c), (b, d), (b, c), (a, d)]),
        "hole at the rim": lambda: shapely.Polygon(box.exterior.coords, [
            [(a, c), middle, (a, d)]]),
        "spike": lambda: shapely.Polygon([(a, c), (b, c), (b + 2, c), (b, c), (b, d), (a, d)]),
        "repeated corners": lambda: shapely.Polygon([(a, c), (b, c), (b, c), (b, d), (a, d),
                                                     (a, d)]),
        "beyond": lambda: shapely.box(columns - 0.5, rows - 0.5, columns + 4, rows + 4),
        "whole": lambda: shapely.box(0, 0, columns, rows),
        "corner of a pixel": lambda: shapely.box(0.1, 0.1, 0.3, 0.2),
        "empty": lambda: shapely.Polygon(),
        "absent": lambda: None,
        "line": lambda: shapely.LineString([(a, c), (b, d)]),
        "collection": lambda: shapely.GeometryCollection([box, shapely.Point(a, c)]),
        "broken corner": lambda: shapely.Polygon([(a, c), (b, np.nan), (b, d)]),
        "flat": lambda: shapely.Polygon([(a, c), (b, d), (a, c)]),
    }[kind]()
