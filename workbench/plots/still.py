"""Maps as small still pictures in SVG: no browser to make them, and no script to see them."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import shapely
import xarray as xr

from workbench.checks import require
from workbench.plots.maps import AXES, gridded, map_unit, places
from workbench.plots.outlines import frame, simplified
from workbench.plots.panels import map_scales, single, threshold_told
from workbench.plots.scales import ColourScale, colour_scale, observed_rate, rate_unit
from workbench.plots.svg import (
    BLANK,
    FAINT,
    element,
    indices,
    label,
    path_of,
    picture,
    png,
    ticks,
    told,
)
from workbench.schema import BAG, INDIVIDUAL

SIZE = 330                  # pixels along the longer side of a map
_FINE = 2                   # pixels of an image for each on the page
_LEFT, _TOP, _BELOW, _RIGHT = 46, 24, 66, 14
_MOST_BORDERS = 1500
_MANY = 0.05                # share of individuals beyond a scale that is worth a word
_SMALLEST = 2.0             # pixels below which a ring of islands is not drawn


@dataclass(frozen=True)
class StillMap:
    """One map as a picture.

    Parameters
    ----------
    title, caption : str
        What it shows, and what its colours mean.
    svg : str
        The picture.
    """

    title: str
    caption: str
    svg: str


def still_maps(maps: xr.Dataset, *, log: bool = False, size: int = SIZE,
               axes: tuple[str, str] = AXES) -> list[StillMap]:
    """Observed areas, mean, sd, exceedance and extrapolation of a map, each as a still picture.

    What the map lacks is left out. Observed values and mean share one scale.

    Parameters
    ----------
    maps : xr.Dataset
        From ``fit.to_dataset``, or `workbench.read` of a stored one.
    log : bool
        Logarithmic colours of the rate.
    size : int
        Pixels along the longer side of a map.
    axes : (str, str)
        Coordinates of the individuals that make the map.

    Returns
    -------
    list of StillMap
        In the order in which one reads them.

    Raises
    ------
    InputError
        If the dataset is no map of individuals, or nothing says where they are.
    """
    require("mean" in maps and maps["mean"].dims == (INDIVIDUAL,),
            "there is no map to draw: the dataset has no 'mean' of individuals; "
            "give what `workbench disaggregate` or fit.to_dataset made")
    maps, found = simplified(maps, 2 * size), []

    def add(values, scale: ColourScale, title: str, said: str = "") -> None:
        told = scale.caption.partition(": ")[2]
        found.append(StillMap(title, f"{told} {said}".strip(),
                              still_map(maps, values, scale, title, size=size, axes=axes)))

    if {"value", "weight", "membership"} <= set(maps.variables):
        factor, unit = rate_unit(maps)
        scales = map_scales(maps, maps, log)
        add(observed_rate(maps), scales["rate"], "Observed areas")
    else:
        factor, unit = 1.0, {"1": ""}.get(given := str(maps["mean"].attrs.get("units", "")), given)
        scales = {"rate": colour_scale(maps["mean"], label="mean", unit=unit, log=log),
                  "exceedance": colour_scale(label="probability", kind="probability")}
        if "std" in maps:
            scales["spread"] = colour_scale(maps["std"], label="standard deviation", unit=unit,
                                            kind="spread")
    add(maps["mean"], scales["rate"], "Posterior mean", _beyond(maps["mean"], scales["rate"]))
    if "std" in maps:
        add(maps["std"], scales["spread"], "Standard deviation")
    if "exceedance" in maps:
        above = replace(scales["exceedance"],
                        unit=threshold_told(maps["exceedance"], factor, unit))
        add(single(maps["exceedance"]), above, "Exceedance")
    beyond = maps.get("extrapolation")
    if beyond is not None and bool((beyond > 0).any()):
        scale = colour_scale(beyond.where(beyond > 0), label="extrapolation", kind="spread",
                             unit="ranges of the area means")
        add(beyond.where(beyond > 0), replace(scale, lower=0.0, upper=max(scale.upper, 1e-6)),
            "Extrapolation", f"{float((beyond > 0).mean()):.1%} of the individuals lie beyond "
            "what the areas have seen; blank where none is.")
    return found


def still_map(ds: xr.Dataset, values: xr.DataArray, scale: ColourScale, title: str = "", *,
              size: int = SIZE, axes: tuple[str, str] = AXES) -> str:
    """Map values of bags or individuals as SVG, with a colour bar, and a scale bar or ticks.

    Parameters
    ----------
    ds : xr.Dataset
        Bagged dataset that knows where its individuals are.
    values : xr.DataArray (bag,) or (individual,)
        Values before the scale's factor.
    scale : ColourScale
        From `colour_scale`.
    title : str
        Written above.
    size : int
        Pixels along the longer side.
    axes : (str, str)
        Coordinates of the individuals to use as a map.

    Returns
    -------
    str
        An ``<svg>`` element of some 20 kB.

    Examples
    --------
    >>> import workbench as wb
    >>> from workbench.plots import colour_scale, still_map
    >>> ds = wb.load("swiss-roll", n_bags=5, mean_size=4, size_std=3)
    >>> scale = colour_scale(ds["weight"], label="weight")
    >>> still_map(ds, ds["weight"], scale, axes=("roll_1", "roll_3")).startswith("<svg")
    True
    """
    dim = str(values.dims[0])
    require(values.dims in ((BAG,), (INDIVIDUAL,)),
            f"expected values over bag or individual, got dims {values.dims}")
    shown = indices(np.asarray(values.values, dtype=float) * scale.factor, scale.lower,
                    scale.upper, scale.log)
    on_grid = all(n in ds.coords for n in ("row", "column")) and "grid_transform" in ds.attrs
    if f"{dim}_geometry" in ds.coords:
        shapes = ds[f"{dim}_geometry"].values
        view = _View(frame(tuple(shapely.total_bounds(shapes)), map_unit(ds, axes), size))
        image = _of_shapes(view, shapes, shown)
    elif on_grid and axes == AXES:
        each = np.asarray(values.values, dtype=float)
        if dim == BAG:
            each = each[ds["membership"].values]
        grids, extent, bounds = gridded(ds, {"value": each * scale.factor})
        view = _View(frame(bounds, map_unit(ds, axes), size))
        image = _of_grid(view, indices(grids["value"], scale.lower, scale.upper, scale.log), extent)
    else:
        x, y = places(ds, axes)
        if dim == BAG:
            shown = shown[ds["membership"].values]
        view = _View(frame((x.min(), y.min(), x.max(), y.max()), map_unit(ds, axes), size))
        image = _of_points(view, x, y, shown)
    parts = [label(title, _LEFT, 15, 13, font_weight="bold"),
             element("image", href=png(image, scale.kind), x=_LEFT, y=_TOP, width=view.width,
                     height=view.height, preserveAspectRatio="none",
                     style="image-rendering:pixelated")]
    if "bag_geometry" in ds.coords and ds.sizes[BAG] <= _MOST_BORDERS:
        parts.append(_borders(view, ds["bag_geometry"].values))
    parts += [_bar(view, scale), *_where(view, map_unit(ds, axes), axes)]
    return picture(_LEFT + view.width + _RIGHT, _TOP + view.height + _BELOW,
                   f"{title}: {scale.caption}", *parts)


def _beyond(values: xr.DataArray, scale: ColourScale) -> str:
    """Of how many the end colours are all that is seen."""
    shown = values.values * scale.factor
    share = float(((shown < scale.lower) | (shown > scale.upper)).mean())
    return "" if share < _MANY else (f"{share:.0%} of the individuals lie beyond these ends and "
                                     "have the end colours.")


class _View:
    """A frame on the page, and the way from coordinates to its pixels."""

    def __init__(self, framed: dict) -> None:
        self.width, self.height = framed["frame_width"], framed["frame_height"]
        self.xlim, self.ylim = framed["xlim"], framed["ylim"]

    def to(self, points: np.ndarray, fine: float = 1.0) -> np.ndarray:
        """Coordinates (points, 2) in pixels from the frame's upper left corner."""
        (left, right), (bottom, top) = self.xlim, self.ylim
        return fine * np.column_stack([
            (points[:, 0] - left) / (right - left) * self.width,
            (top - points[:, 1]) / (top - bottom) * self.height])

    def canvas(self):
        """An empty image of the frame, and what draws into it."""
        from PIL import Image, ImageDraw

        image = Image.new("L", (_FINE * self.width, _FINE * self.height), BLANK)
        return image, ImageDraw.Draw(image)


def _of_shapes(view: _View, shapes: np.ndarray, shown: np.ndarray) -> np.ndarray:
    image, brush = view.canvas()
    for k in np.argsort(-shapely.area(shapes)):         # enclaves after what is around them
        for part in shapely.get_parts(shapes[k]):
            if part.geom_type == "Polygon" and not part.is_empty:
                ring = view.to(shapely.get_coordinates(part.exterior), _FINE)
                brush.polygon([tuple(p) for p in ring], fill=int(shown[k]))
                for hole in part.interiors:
                    inner = view.to(shapely.get_coordinates(hole), _FINE)
                    brush.polygon([tuple(p) for p in inner], fill=BLANK)
    return np.asarray(image)


def _of_points(view: _View, x: np.ndarray, y: np.ndarray, shown: np.ndarray) -> np.ndarray:
    image, brush = view.canvas()
    radius = _FINE * float(np.clip(125 / np.sqrt(x.size), 1, 4.5))
    for (across, down), index in zip(view.to(np.column_stack([x, y]), _FINE), shown, strict=True):
        if index != BLANK:
            brush.ellipse((across - radius, down - radius, across + radius, down + radius),
                          fill=int(index))
    return np.asarray(image)


def _of_grid(view: _View, index: np.ndarray, extent: tuple) -> np.ndarray:
    """The nearest pixel of the grid for each of the image; the northernmost row comes first."""
    left, bottom, right, top = extent
    rows, columns = index.shape
    x = np.linspace(*view.xlim, 2 * _FINE * view.width + 1)[1::2]
    y = np.linspace(*view.ylim[::-1], 2 * _FINE * view.height + 1)[1::2]
    c = np.floor((x - left) / (right - left) * columns).astype(int)
    r = np.floor((top - y) / (top - bottom) * rows).astype(int)
    out = np.full((y.size, x.size), BLANK, dtype=np.uint8)
    ok_r, ok_c = (r >= 0) & (r < rows), (c >= 0) & (c < columns)
    out[np.ix_(ok_r, ok_c)] = index[np.ix_(r[ok_r], c[ok_c])]
    return out


def _borders(view: _View, shapes: np.ndarray) -> str:
    lines = shapely.boundary(shapes)
    if shapely.coverage_is_valid(shapes):       # a border of two areas is then drawn once
        lines = shapely.line_merge(shapely.union_all(lines))
    pieces = [view.to(shapely.get_coordinates(piece)) + (_LEFT, _TOP)
              for piece in shapely.get_parts(lines)]
    pieces = [piece for piece in pieces if np.ptp(piece, axis=0).max() > _SMALLEST]
    return element("path", d=path_of(pieces), fill="none", stroke="#555555", stroke_opacity=0.7,
                   stroke_width=0.6 if len(shapes) < 150 else 0.35)


def _bar(view: _View, scale: ColourScale) -> str:
    """The colour bar below the map, its ticks, and the unit."""
    top, width = _TOP + view.height + 22, view.width
    strip = png(np.arange(BLANK, dtype=np.uint8)[None], scale.kind)
    parts = [element("image", href=strip, x=_LEFT, y=top, width=width, height=9,
                     preserveAspectRatio="none")]
    shown = scale.ticks or ticks(scale.lower, scale.upper, 4)
    ends = (np.log([scale.lower, scale.upper]) if scale.log
            else np.array([scale.lower, scale.upper]))
    for value in shown:
        share = ((np.log(value) if scale.log else value) - ends[0]) / (ends[1] - ends[0])
        at = _LEFT + float(share) * width
        parts += [element("line", x1=at, x2=at, y1=top + 9, y2=top + 12, stroke="#222222"),
                  label(told(value), at, top + 22, 10, "middle")]
    parts.append(label(scale.unit or scale.label, _LEFT + width / 2, top + 36, 11, "middle"))
    return "".join(parts)


def _where(view: _View, unit: str, axes: tuple[str, str]) -> list[str]:
    """A scale bar where lengths have a meaning, ticks elsewhere."""
    left, right = view.xlim
    base = _TOP + view.height
    if unit in ("m", "km"):
        length = max(ticks(0, (right - left) / 3, 2))
        wide = length / (right - left) * view.width
        text = f"{told(length / 1000)} km" if unit == "m" and length >= 1000 else (
            f"{told(length)} {unit}")
        return [element("path", d=f"M{_LEFT + 6} {base - 10}v5h{wide:.1f}v-5", fill="none",
                        stroke="#222222"), label(text, _LEFT + 6 + wide / 2, base - 9, 10,
                                                 "middle")]
    found = [element("rect", x=_LEFT, y=_TOP, width=view.width, height=view.height, fill="none",
                     stroke=FAINT)]
    mark = "°" if unit == "degree" else ""
    for value in ticks(left, right, 3):
        at = _LEFT + (value - left) / (right - left) * view.width
        found.append(label(f"{told(value)}{mark}", at, base + 12, 9, "middle", fill="#555555"))
    bottom, top = view.ylim
    for value in ticks(bottom, top, 4):
        at = _TOP + (top - value) / (top - bottom) * view.height
        found.append(label(f"{told(value)}{mark}", _LEFT - 4, at + 3, 9, "end", fill="#555555"))
    return found

