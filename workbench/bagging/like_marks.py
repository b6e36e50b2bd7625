"""Values that look like marks of missing ones, such as -9999 among temperatures: told, not changed.

A map of means or measured totals takes any number for an observation, and one mark rules it all.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from workbench.bagging.findings import Finding, suspicious
from workbench.checks import option

_FEW_VALUES, _DISTINCT = 5, 4   # others, and numbers among them, below which little is said
_MANY = 10              # others beside which zero is strange
_MOST = 0.2             # share of the values that are the same mark, at most
# Ranges of the others by which nines lie beyond them: below, above, and of counts.
_BELOW, _ABOVE, _OF_COUNTS = 0.5, 2.0, 5.0
_SPREAD = 5.0           # sds of the others that zero or -1 are from their mean
_FILL = 1e4             # times the largest of the others: a fill value, such as 1e20


def like_marks(names: ArrayLike, values: ArrayLike, counts: bool, what: str = "area",
               remedy: str = "") -> list[Finding]:
    """One finding for the number that looks like a mark, if there is one.

    Parameters
    ----------
    names : array of str (n,)
        Of the areas.
    values : array (n,)
        What was observed there; where some are not finite nothing is said of any.
    counts : bool
        Whether values are counts, among which zero is none, and large numbers are no rarity.
    what : str
        What has a value.
    remedy : str
        What to do if it is one; by default of a table of areas.

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
    if values.size <= _FEW_VALUES or not np.isfinite(values).all():
        return []
    remedy = remedy or ("If it is one, empty these cells of the table, and choose what becomes of "
                        f"them by {option('missing_value', 'drop')}")
    for mark in dict.fromkeys((float(values.min()), float(values.max()))):
        same = values == mark
        others = values[~same]
        if others.size < _FEW_VALUES or same.mean() > _MOST or not _strange(mark, others, counts):
            continue
        count = int(same.sum())
        return [suspicious(
            "value-mark", f"{count} of {values.size} values {'are' if count > 1 else 'is'} "
            f"{mark:,.6g} (first: {what} {str(names[same][0])!r}), while all others lie between "
            f"{others.min():,.4g} and {others.max():,.4g}: it looks like a mark of missing values",
            remedy, names[same], count, "it is taken for an observation, and rules the whole map",
            ". ")]
    return []


def _strange(mark: float, others: np.ndarray, counts: bool) -> bool:
    low, high, size = others.min(), others.max(), np.abs(others).max()
    beyond, few = max(low - mark, mark - high), np.unique(others).size < _DISTINCT
    if abs(mark) > _FILL * size > 0 and not counts:
        return True
    if _nines(mark):
        if mark <= -999 and low >= 0:
            return True
        ranges = _OF_COUNTS if counts else _BELOW if mark < 0 else _ABOVE
        return not few and beyond > ranges * (high - low)
    if mark not in (0, -1) or counts or few or others.size < _MANY:
        return False
    # Far from values that lie close together beside it.
    return low > high - low and low > 0 and others.mean() - mark > _SPREAD * others.std()


def _nines(mark: float) -> bool:
    """Whether a number is written in nines alone, as -99, -99.9 and 99999 are.

    Below zero they may be decimals; above it three at least, as shares of 99 % are no mark.
    """
    digits = f"{abs(mark):.10g}" if mark <= -99 else f"{mark:.0f}" if mark == round(mark) else ""
    return set(digits) - {"."} == {"9"} and (mark < 0 or len(digits) > 2)
