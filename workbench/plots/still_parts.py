"""Parts of a still map: the frame and its scale, what is drawn in it, and what stands beside it."""

from __future__ import annotations

import numpy as np
import shapely

from workbench.plots.scales import ColourScale
from workbench.plots.svg import (
    BLANK,
    FAINT,
    element,
    label,
    path_of,
    png,
    ticks,
    told,
)

FINE = 2                    # pixels of an image for each on the page
LEFT, TOP, BELOW, RIGHT = 46, 24, 66, 14    # pixels around the frame
_SMALLEST = 2.0             # pixels below which a ring of islands is not drawn


class View:
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

        image = Image.new("L", (FINE * self.width, FINE * self.height), BLANK)
        return image, ImageDraw.Draw(image)


def of_shapes(view: View, shapes: np.ndarray, shown: np.ndarray) -> np.ndarray:
    """Image of polygons, each with its index of colour."""
    image, brush = view.canvas()
    for k in np.argsort(-shapely.area(shapes)):         # enclaves after what is around them
        for part in shapely.get_parts(shapes[k]):
            if part.geom_type == "Polygon" and not part.is_empty:
                ring = view.to(shapely.get_coordinates(part.exterior), FINE)
                brush.polygon([tuple(p) for p in ring], fill=int(shown[k]))
                for hole in part.interiors:
                    inner = view.to(shapely.get_coordinates(hole), FINE)
                    brush.polygon([tuple(p) for p in inner], fill=BLANK)
    return np.asarray(image)


def of_points(view: View, x: np.ndarray, y: np.ndarray, shown: np.ndarray) -> np.ndarray:
    """Image of points, each with its index of colour."""
    image, brush = view.canvas()
    radius = FINE * float(np.clip(125 / np.sqrt(x.size), 1, 4.5))
    for (across, down), index in zip(view.to(np.column_stack([x, y]), FINE), shown, strict=True):
        if index != BLANK:
            brush.ellipse((across - radius, down - radius, across + radius, down + radius),
                          fill=int(index))
    return np.asarray(image)


def of_grid(view: View, index: np.ndarray, extent: tuple) -> np.ndarray:
    """The nearest pixel of the grid for each of the image; the northernmost row comes first."""
    left, bottom, right, top = extent
    rows, columns = index.shape
    x = np.linspace(*view.xlim, 2 * FINE * view.width + 1)[1::2]
    y = np.linspace(*view.ylim[::-1], 2 * FINE * view.height + 1)[1::2]
    c = np.floor((x - left) / (right - left) * columns).astype(int)
    r = np.floor((top - y) / (top - bottom) * rows).astype(int)
    out = np.full((y.size, x.size), BLANK, dtype=np.uint8)
    ok_r, ok_c = (r >= 0) & (r < rows), (c >= 0) & (c < columns)
    out[np.ix_(ok_r, ok_c)] = index[np.ix_(r[ok_r], c[ok_c])]
    return out


def borders(view: View, shapes: np.ndarray) -> str:
    """Borders of areas as one path of SVG."""
    lines = shapely.boundary(shapes)
    if shapely.coverage_is_valid(shapes):       # a border of two areas is then drawn once
        lines = shapely.line_merge(shapely.union_all(lines))
    pieces = [view.to(shapely.get_coordinates(piece)) + (LEFT, TOP)
              for piece in shapely.get_parts(lines)]
    pieces = [piece for piece in pieces if np.ptp(piece, axis=0).max() > _SMALLEST]
    return element("path", d=path_of(pieces), fill="none", stroke="#555555", stroke_opacity=0.7,
                   stroke_width=0.6 if len(shapes) < 150 else 0.35)


def bar(view: View, scale: ColourScale) -> str:
    """The colour bar below the map, its ticks, and the unit."""
    top, width = TOP + view.height + 22, view.width
    strip = png(np.arange(BLANK, dtype=np.uint8)[None], scale.kind)
    parts = [element("image", href=strip, x=LEFT, y=top, width=width, height=9,
                     preserveAspectRatio="none")]
    shown = scale.ticks or ticks(scale.lower, scale.upper, 4)
    ends = (np.log([scale.lower, scale.upper]) if scale.log
            else np.array([scale.lower, scale.upper]))
    for value in shown:
        share = ((np.log(value) if scale.log else value) - ends[0]) / (ends[1] - ends[0])
        at = LEFT + float(share) * width
        parts += [element("line", x1=at, x2=at, y1=top + 9, y2=top + 12, stroke="#222222"),
                  label(told(value), at, top + 22, 10, "middle")]
    parts.append(label(scale.unit or scale.label, LEFT + width / 2, top + 36, 11, "middle"))
    return "".join(parts)


def where(view: View, unit: str, axes: tuple[str, str]) -> list[str]:
    """A scale bar where lengths have a meaning, ticks elsewhere."""
    left, right = view.xlim
    base = TOP + view.height
    if unit in ("m", "km"):
        length = max(ticks(0, (right - left) / 3, 2))
        wide = length / (right - left) * view.width
        text = f"{told(length / 1000)} km" if unit == "m" and length >= 1000 else (
            f"{told(length)} {unit}")
        return [element("path", d=f"M{LEFT + 6} {base - 10}v5h{wide:.1f}v-5", fill="none",
                        stroke="#222222"), label(text, LEFT + 6 + wide / 2, base - 9, 10,
                                                 "middle")]
    found = [element("rect", x=LEFT, y=TOP, width=view.width, height=view.height, fill="none",
                     stroke=FAINT)]
    mark = "°" if unit == "degree" else ""
    for value in ticks(left, right, 3):
        at = LEFT + (value - left) / (right - left) * view.width
        found.append(label(f"{told(value)}{mark}", at, base + 12, 9, "middle", fill="#555555"))
    bottom, top = view.ylim
    for value in ticks(bottom, top, 4):
        at = TOP + (top - value) / (top - bottom) * view.height
        found.append(label(f"{told(value)}{mark}", LEFT - 4, at + 3, 9, "end", fill="#555555"))
    return found

