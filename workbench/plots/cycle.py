"""Looks of any number of series: colours first, then the same colours with other dashes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from workbench.checks import require

DASHES = ("solid", "dashed", "dotted", "dotdash")
MARKERS = ("x", "circle", "triangle", "square")
_ENTRY = 23                     # pixels of a legend's line


@dataclass(frozen=True)
class Look:
    """How one series is drawn.

    Parameters
    ----------
    colour : str
        Of its lines, areas and marks.
    turn : int
        How often all colours were used before; each turn has another dash and another mark.
    """

    colour: str
    turn: int = 0

    @property
    def dash(self) -> str:
        """Of lines."""
        return DASHES[self.turn]

    def mark(self) -> dict:
        """Options of points."""
        return {"color": self.colour, "marker": MARKERS[self.turn], "size": 5, "fill_alpha": 0.0,
                "line_width": 1.5}

    def line(self, width: float = 2) -> dict:
        """Options of curves and segments."""
        return {"color": self.colour, "line_dash": self.dash, "line_width": width}

    def area(self) -> dict:
        """Options of areas; later turns are pale with a dashed edge."""
        edge = {"line_color": self.colour, "line_dash": self.dash, "line_width": 1.5}
        return {"color": self.colour, "alpha": 0.7, "line_alpha": 0} if self.turn == 0 else {
            "fill_color": self.colour, "fill_alpha": 0.3, "line_alpha": 1.0, **edge}


def looks(names: Iterable[str], colours: Sequence[str]) -> dict[str, Look]:
    """A look for each series, no two alike.

    Parameters
    ----------
    names : iterable of str
        The series in their order.
    colours : sequence of str
        Those that are used first, and again with every further dash.

    Returns
    -------
    dict of str to Look
        By series.

    Raises
    ------
    InputError
        If there are more series than can be distinguished.
    """
    names = list(names)
    most = len(colours) * len(DASHES)
    require(len(names) <= most, f"{len(names)} series cannot be distinguished in one picture, "
            f"{most} can; draw them in several")
    return {name: Look(colours[k % len(colours)], k // len(colours))
            for k, name in enumerate(names)}


def room(height: int, entries: int) -> int:
    """Height of a frame in pixels, more than is wanted if its legend needs it."""
    return max(height, _ENTRY * entries)
