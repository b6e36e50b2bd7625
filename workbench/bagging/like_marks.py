"""Values that look like marks of missing ones, such as -9999 among temperatures: told, not changed.

A map of means or measured totals takes any number for an observation, and one mark rules it all.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from workbench.bagging.findings import Finding, suspicious
from workbench.checks import option

_FEW_VALUES = 5         # others, below which nothing is said of how values are distributed
_MOST = 0.2             # share of the values that are the same mark, at most
# Ranges of the others by which nines lie beyond them: below, above, and of counts.
_BELOW, _ABOVE, _OF_COUNTS = 0.5, 2.0, 5.0
_SPREAD, _FAR = 5.0, 30.0   # sds of the others from their mean, of zero or -1, and of any number


def like_marks(names: ArrayLike, values: ArrayLike, counts: bool, what: str = "area"
               ) -> list[Finding]:
    """One finding for the number that looks like a mark, if there is one.

    Parameters
    ----------
    names : array of str (n,)
        Of the areas.
    values : array (n,)
        What was observed there.
    counts : bool
        Whether values are counts, among which zero is none, and large numbers are no rarity.
    what : str
        What has a value.

    Returns
    -------
    list of Finding

    Examples
    --------
    >>> found = like_marks(list("abcdef"), [288.2, 290, 287, -9999, 289, 288], False)
    >>> str(found[0])[:47]
    "1 of 6 values is -9,999 (first: area 'd'), whil"
    >>> like_marks(list("abcdef"), [3.1, 2.9, -0.4, 0, 1.5, 2.2], False)
    []
    """
    names, values = np.asarray(names).astype(str), np.asarray(values, dtype=float)
    for mark in dict.fromkeys((values[values.argmin()], values[values.argmax()])):
        same = values == mark
        others = values[~same]
        if others.size < _FEW_VALUES or same.mean() > _MOST or not _strange(mark, others, counts):
            continue
        count = int(same.sum())
        return [suspicious(
            "value-mark", f"{count} of {values.size} values {'are' if count > 1 else 'is'} "
            f"{mark:,.6g} (first: {what} {str(names[same][0])!r}), while all others lie between "
            f"{others.min():,.4g} and {others.max():,.4g}: it looks like a mark of missing values",
            f"If it is one, empty these cells of the table, and choose what becomes of them by "
            f"{option('missing_value', 'drop')}", names[same], count,
            "it is taken for an observation, and rules the whole map", ". ")]
    return []


def _strange(mark: float, others: np.ndarray, counts: bool) -> bool:
    low, high = others.min(), others.max()
    beyond = max(low - mark, mark - high)
    if _nines(mark):
        ranges = _OF_COUNTS if counts else _BELOW if mark < 0 else _ABOVE
        return mark < 0 <= low or beyond > ranges * (high - low)
    if counts:
        return False
    away = abs(mark - others.mean())
    if mark in (0, -1):
        return low > 0 and away > _SPREAD * others.std()
    return away > _FAR * others.std() and beyond > (high - low)


def _nines(mark: float) -> bool:
    """Whether a number is written in nines alone, two of them at least, as -99 and 99999 are."""
    digits = f"{abs(mark):.0f}"
    return mark == round(mark) and len(digits) > 1 and set(digits) == {"9"}
