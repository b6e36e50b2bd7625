"""Counts below zero that are marks of missing ones: nobody counts -9999 of anything."""

from __future__ import annotations

import numpy as np

from workbench.bagging.like_marks import like_marks
from workbench.geo.marks import STRONG

_SURE = -999            # from which nines or eights alone can be nothing else


def marked_counts(values: np.ndarray, labels: np.ndarray, kept: np.ndarray) -> np.ndarray:
    """Which counts below zero are marks of missing ones.

    Parameters
    ----------
    values : array (area,)
    labels : array (area,)
        Names of the areas.
    kept : bool array (area,)
        Those that have a value.

    Returns
    -------
    bool array (area,)
        Of -999 and less, written in nines or in eights alone, and of the least numbers of common
        types, all, however many. Else, as of -99, those that look like a mark beside the others.

    Examples
    --------
    >>> marked_counts(np.array([-9999, -8888, 3, -3]), np.array(list("abcd")), np.ones(4, bool))
    array([ True,  True, False, False])
    """
    below = np.unique(values[kept & (values < 0)])
    sure = kept & np.isin(values, [one for one in below if _is_sure(one)])
    rest = kept & ~sure
    found = like_marks(labels[rest], values[rest], True)
    named = {name for one in found for name in one.where}
    return sure | rest & (values < 0) & np.isin(labels.astype(str), list(named)) & (
        values == values[rest].min(initial=0))


def named_marks(values: np.ndarray) -> str:
    """Marks as they are written, for a message.

    Parameters
    ----------
    values : array (n,)
        Of all areas that have one.

    Examples
    --------
    >>> named_marks(np.array([-9999, -8888, -9999]))
    '-9999 and -8888'
    """
    *others, last = (f"{one:.10g}" for one in np.unique(values))
    return f"{', '.join(others)} and {last}" if others else last


def _is_sure(value: float) -> bool:
    return value in STRONG or value <= _SURE and (
        set(f"{value:.10g}") - {"-", "."}) in ({"9"}, {"8"})
