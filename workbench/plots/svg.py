"""Pictures as text: SVG elements, axes with round ticks, and images in few colours as PNG."""

from __future__ import annotations

import base64
import io
import math
from collections.abc import Sequence
from html import escape

import bokeh.palettes
import numpy as np

from workbench.plots.theme import PALETTES

_NAMED = {"viridis": "Viridis256", "cividis": "Cividis256", "RdBu_r": "RdBu11"}
INK, FAINT, BLANK = "#222222", "#bbbbbb", 255      # text, grid lines, index of no colour


def element(tag: str, *children: str, **attributes: object) -> str:
    """One SVG element; values of attributes are escaped, children are markup already.

    Parameters
    ----------
    tag : str
        Name of the element.
    *children : str
        Markup inside it; plain text goes through `label` or `html.escape`.
    **attributes
        By name, with ``_`` for ``-``; None leaves one out.

    Returns
    -------
    str
        Markup.
    """
    told = "".join(f' {name.rstrip("_").replace("_", "-")}="{escape(_number(value))}"'
                   for name, value in attributes.items() if value is not None)
    return f"<{tag}{told}>{''.join(children)}</{tag}>" if children else f"<{tag}{told}/>"


def label(text: object, x: float, y: float, size: float = 11, anchor: str = "start",
          **attributes: object) -> str:
    """Text at a place.

    Parameters
    ----------
    text : object
        Any text; it is escaped.
    x, y : float
        Of the baseline, in pixels.
    size : float
        Of the letters, in pixels.
    anchor : {"start", "middle", "end"}
        What of the text is at x.
    **attributes
        Further ones.

    Returns
    -------
    str
        Markup.
    """
    return element("text", escape(str(text)), x=x, y=y, font_size=size, text_anchor=anchor,
                   **({"fill": INK} | attributes))


def picture(width: float, height: float, title: str, *children: str) -> str:
    """A whole picture that shrinks with its page.

    Parameters
    ----------
    width, height : float
        Pixels.
    title : str
        What a screen reader says.
    *children : str
        Markup.

    Returns
    -------
    str
        An ``<svg>`` element.
    """
    return element(
        "svg", element("title", escape(title)), *children, xmlns="http://www.w3.org/2000/svg",
        role="img", viewBox=f"0 0 {width:.0f} {height:.0f}", width=f"{width:.0f}",
        height=f"{height:.0f}", font_family="system-ui, sans-serif",
        style="max-width:100%;height:auto")


def ticks(low: float, high: float, count: int = 4) -> list[float]:
    """Round values from low to high, about so many.

    Parameters
    ----------
    low, high : float
        Ends of an axis.
    count : int
        How many are wanted.

    Returns
    -------
    list of float
        Multiples of 1, 2, 2.5 or 5 times a power of ten.

    Examples
    --------
    >>> ticks(0, 1)
    [0.0, 0.25, 0.5, 0.75, 1.0]
    """
    if not high > low:
        return [low]
    rough = (high - low) / max(1, count)
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(m * power for m in (1, 2, 2.5, 5, 10) if m * power >= 0.999 * rough)
    first = math.ceil(low / step - 1e-9)
    return [round(k * step, 12) for k in range(first, math.floor(high / step + 1e-9) + 1)]


def told(value: float) -> str:
    """A number as an axis has it: short, with thousands set apart.

    Parameters
    ----------
    value : float
        The number.

    Returns
    -------
    str
        Such as "12,000" or "0.05".
    """
    return f"{value:,.0f}" if 1000 <= abs(value) < 1e7 else f"{value:.3g}".replace("-", "−")


def colours_of(kind: str) -> np.ndarray:
    """The colours of a palette.

    Parameters
    ----------
    kind : str
        Of a `ColourScale`.

    Returns
    -------
    array (255, 3)
        Red, green and blue, 0 to 255, from the lower end of the scale to the upper.
    """
    named = PALETTES[kind]
    # Bokeh's RdBu runs from blue to red, as "RdBu_r" does elsewhere.
    hexes = getattr(bokeh.palettes, _NAMED[named])
    rgb = np.array([[int(h[i:i + 2], 16) for i in (1, 3, 5)] for h in hexes], dtype=float)
    at, own = np.linspace(0, 1, BLANK), np.linspace(0, 1, len(rgb))
    return np.column_stack([np.interp(at, own, rgb[:, c]) for c in range(3)]).round().astype(int)


def indices(values: np.ndarray, lower: float, upper: float, log: bool) -> np.ndarray:
    """Where values lie on a scale of colours, whole numbers; ends take what lies beyond.

    Parameters
    ----------
    values : array
        In the unit of the scale; what is not finite has no colour.
    lower, upper : float
        Ends of the scale.
    log : bool
        Whether it is logarithmic.

    Returns
    -------
    array of uint8
        0 to 254, and 255 for none.
    """
    values = np.asarray(values, dtype=float)
    if log:
        lower, upper = math.log(lower), math.log(upper)
        with np.errstate(invalid="ignore", divide="ignore"):
            values = np.log(values)
    share = np.clip((values - lower) / (upper - lower), 0, 1)
    found = np.full(values.shape, BLANK, dtype=np.uint8)
    seen = ~np.isnan(share)
    found[seen] = np.round(share[seen] * (BLANK - 1)).astype(np.uint8)
    return found


def png(index: np.ndarray, kind: str) -> str:
    """An image of indices as a PNG inside the text.

    Parameters
    ----------
    index : array (rows, columns) of uint8
        From `indices`.
    kind : str
        The palette.

    Returns
    -------
    str
        A ``data:`` address.
    """
    from PIL import Image

    rows, columns = index.shape
    image = Image.frombytes("P", (columns, rows), np.ascontiguousarray(index).tobytes())
    image.putpalette([*colours_of(kind).ravel().tolist(), 255, 255, 255])
    content = io.BytesIO()
    image.save(content, "PNG", transparency=BLANK, optimize=True)
    return "data:image/png;base64," + base64.b64encode(content.getvalue()).decode()


def path_of(pieces: Sequence[np.ndarray]) -> str:
    """The ``d`` of a path through points in pixels, one piece after the other.

    Parameters
    ----------
    pieces : sequence of array (points, 2)
        Each is a line of its own.

    Returns
    -------
    str
        Rounded to tenths of a pixel.
    """
    return "".join("M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in piece) for piece in pieces)


def _number(value: object) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)
