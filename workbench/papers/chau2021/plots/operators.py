"""Heat maps of conditional mean operators, standard beside shrinkage."""

from __future__ import annotations

import numpy as np

from workbench.papers.chau2021.ablation import RIDGES, OperatorValues, operator_values
from workbench.plots.svg import BLANK, FAINT, element, indices, label, picture, png, told

_SIDE, _GAP, _TOP, _BELOW, _LEFT = 145, 22, 40, 64, 44
_DOTS = 120             # pixels of the picture of the data, so that 25,000 points are one image
_SEVERAL = 3_000        # points that are drawn each


def operator_maps(bags: int, points: int, *, ridge: str = "scaled", seed: int = 0,
                  title: str = "") -> str:
    """Data and the embeddings μ̂_y(x) by both estimators, and their difference, as SVG.

    Parameters
    ----------
    bags, points : int
        B, and n of each.
    ridge : {"scaled", "unscaled", "shrinkage scaled", "naive scaled"}
        Whether ridges are multiplied by N and by B, see `workbench.papers.chau2021.ablation`.
    seed : int
        Of the sample.
    title : str
        Begins the line above.

    Returns
    -------
    str
        An ``<svg>`` element.

    Raises
    ------
    InputError
        On an unknown reading of the ridge.

    References
    ----------
    Chau et al. 2021, figures 4 to 7.

    Examples
    --------
    >>> operator_maps(5, 10).startswith("<svg")
    True
    """
    found = operator_values(bags, points, ridge=ridge, seed=seed)
    both = np.stack([found.standard, found.shrinkage])
    low, high = both.min(), both.max()
    apart = found.shrinkage - found.standard
    widest = max(float(np.abs(apart).max()), 1e-3)
    scaled, shrunk = RIDGES[ridge]
    panels = [
        _Panel(f"data: {bags} × {points}", _data(found)),
        _Panel(f"standard, ridge {'Nλ' if scaled else 'λ'}",
               _image(found.standard, low, high, "rate"), (low, high), "rate"),
        _Panel(f"shrinkage, ridge {'Bλ' if shrunk else 'λ'}",
               _image(found.shrinkage, low, high, "rate"), (low, high), "rate"),
        _Panel("shrinkage − standard", _image(apart, -widest, widest, "difference"),
               (-widest, widest), "difference")]
    parts = [part for k, panel in enumerate(panels) for part in panel.drawn(
        _LEFT + k * (_SIDE + _GAP), found, k == 0)]
    said = (f"{title}{bags} bags of {points}: root mean square difference "
            + told(found.difference if found.difference > 1e-9 else 0.0))
    return picture(_LEFT + 4 * (_SIDE + _GAP), _TOP + _SIDE + _BELOW, said,
                   label(said, _LEFT, 14, 12, font_weight="bold"), *parts)


class _Panel:
    """One square: an image, a title, and a bar of its colours."""

    def __init__(self, title: str, inside: list[str], ends: tuple[float, float] | None = None,
                 kind: str = ""):
        self.title, self.inside, self.ends, self.kind = title, inside, ends, kind

    def drawn(self, left: float, found: OperatorValues, first: bool) -> list[str]:
        """All of it at this place."""
        bottom = _TOP + _SIDE
        parts = [label(self.title, left, _TOP - 6, 11),
                 element("g", *self.inside, transform=f"translate({left} {_TOP})"),
                 element("rect", x=left, y=_TOP, width=_SIDE, height=_SIDE, fill="none",
                         stroke=FAINT),
                 label(told(found.at_y[0]), left, bottom + 13, 10),
                 label(told(found.at_y[-1]), left + _SIDE, bottom + 13, 10, "end"),
                 label("y", left + _SIDE / 2, bottom + 13, 11, "middle")]
        if first:
            parts += [label(told(found.at_x[-1]), left - 4, _TOP + 9, 10, "end"),
                      label(told(found.at_x[0]), left - 4, bottom, 10, "end"),
                      label("x", left - 8, _TOP + _SIDE / 2, 11, "end")]
        if self.ends is not None:
            strip = png(np.arange(BLANK, dtype=np.uint8)[None], self.kind)
            parts += [element("image", href=strip, x=left, y=bottom + 24, width=_SIDE, height=8,
                              preserveAspectRatio="none"),
                      label(told(self.ends[0]), left, bottom + 45, 10),
                      label(told(self.ends[1]), left + _SIDE, bottom + 45, 10, "end")]
        return parts


def _image(values: np.ndarray, low: float, high: float, kind: str) -> list[str]:
    shown = indices(values[::-1], low, high, False)
    return [element("image", href=png(shown, kind), width=_SIDE, height=_SIDE,
                    preserveAspectRatio="none", style="image-rendering: pixelated")]


def _data(found: OperatorValues) -> list[str]:
    """Points; where they are many, an image of where there are any."""
    across = (found.y - found.at_y[0]) / (found.at_y[-1] - found.at_y[0])
    down = (found.at_x[-1] - found.x) / (found.at_x[-1] - found.at_x[0])
    if len(across) <= _SEVERAL:
        return [element("circle", cx=float(_SIDE * u), cy=float(_SIDE * v), r=1.3, fill="#0072b2",
                        fill_opacity=0.5) for u, v in zip(across, down, strict=True)]
    index = np.full((_DOTS, _DOTS), BLANK, dtype=np.uint8)
    index[tuple(np.minimum((_DOTS * part).astype(int), _DOTS - 1) for part in (down, across))] = 60
    return [element("image", href=png(index, "rate"), width=_SIDE, height=_SIDE,
                    preserveAspectRatio="none", style="image-rendering: pixelated")]
