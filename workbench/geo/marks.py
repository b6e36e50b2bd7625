"""Marks of missing pixels that a raster does not declare, recognised by the shape of its values."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

# Numbers that people and programs write for "missing". The strong ones are taken for marks even
# beside a constant; the weak ones are also codes, percentages and the ends of common types.
_NINES = [float("9" * n) for n in (3, 4, 5, 6)]
STRONG = frozenset(
    [s * v for v in (*_NINES, 1e20, float(np.float32(1e20)), 3.4e38) for s in (1.0, -1.0)]
    + [-32767.0, -32768.0, -2147483648.0, -2147483647.0]
) - {999.0}
WEAK = frozenset([99.0, -99.0, 999.0, 255.0, 254.0, -128.0, 32767.0, 65535.0, 2147483647.0,
                  4294967295.0])

_FEW = 3                # equal pixels: one alone may be the highest peak
_CLASSES = 10           # values that differ: with fewer, the raster may hold codes of classes
# Distance, in widths of the rest, of what is in no list; above, cities are far from villages.
_BELOW, _ABOVE = 2.0, 100.0
# Distance, in widest gaps of the near half of the rest: of the only negative value, of another
# that is repeated more often than the rest, and of one that is not.
_GAP_ALONE, _GAP, _CLEAR_GAP = 1.0, 4.0, 20.0
_REPEATED = 5           # times as many equal pixels as at any value of the near half


class Mark(NamedTuple):
    """A value that looks like a mark, how many pixels hold it, and the range of the others."""

    value: float
    pixels: int
    lowest: float
    highest: float

    @property
    def told(self) -> float:
        """The mark as people write it: 1e20 in single precision is 1.00000002e20."""
        short = float(f"{self.value:g}")
        return short if np.float32(short) == np.float32(self.value) else self.value


def undeclared_mark(values: np.ndarray) -> Mark | None:
    """The lowest or highest value of a raster, if it looks like a mark of missing pixels.

    A mark is a spike: many equal pixels at one end, apart from all others. How far apart depends
    on the value: one that is often used as a mark (9999, 255, 1e20) needs to be farther from the
    rest than the rest is wide, or than the rest's own gaps; any other needs to be several times
    as far, and the rest must hold more values than a list of classes does. Zero is never a mark,
    and neither is the end of a range that is filled up to it.

    Parameters
    ----------
    values : np.ndarray
        All pixels; NaN where missing.

    Returns
    -------
    Mark or None
        None if neither end looks like one.
    """
    values = values[np.isfinite(values)]
    if values.size == 0 or values.min() == values.max():
        return None
    ends = (float(values.min()), float(values.max()))
    for end, other in (ends, ends[::-1]):
        # A mark at the other end must not make this one look near.
        others = values[(values != end) & ((values != other) | (other not in STRONG | WEAK))]
        if others.size == 0:
            others = values[values != end]
        pixels = int((values == end).sum())
        if end != 0 and _is_mark(end, pixels, others):
            return Mark(end, pixels, float(others.min()), float(others.max()))
    return None


def _is_mark(end: float, pixels: int, others: np.ndarray) -> bool:
    low, high = float(others.min()), float(others.max())
    below = end < low
    gap, width = (low - end if below else end - high), high - low
    if end in STRONG and gap > width:
        return True
    if width == 0 or pixels < 2:
        return False
    if end in WEAK and gap > width:
        return True
    if pixels < _FEW:
        return False
    alone = below and low >= 0      # the only negative value
    if end in STRONG | WEAK:
        return _spike(gap, pixels, others, below, alone)
    far = gap > width * (1.0 if alone else _BELOW if below else _ABOVE)
    return far and np.unique(others).size >= _CLASSES


def _spike(gap: float, pixels: int, others: np.ndarray, below: bool, alone: bool) -> bool:
    """Whether an end stands apart from the half of the other values that is nearer to it."""
    found, counts = np.unique(others, return_counts=True)
    half = slice(None, max(2, found.size // 2)) if below else slice(-max(2, found.size // 2), None)
    steps = np.diff(found[half])
    if steps.size == 0 or found.size < _CLASSES:
        return False
    repeated = pixels >= _REPEATED * counts[half].max()
    times = _CLEAR_GAP if not repeated else _GAP_ALONE if alone else _GAP
    return gap > steps.max() * times
