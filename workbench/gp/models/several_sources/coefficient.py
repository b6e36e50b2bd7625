"""Coefficients of pairs of values, their standard errors, and what is clear of them."""

from __future__ import annotations

import numpy as np
import scipy.stats

CLEAR = 4.0         # standard errors, at least
_CHANCE = 0.001     # of Student's t, with as many degrees of freedom as groups leave
_PLACES = 4         # groups below which scatter between them is not known
_LEAST = 0.05       # of a value's own variance that is taken to be left

Found = tuple[float, float, float]


def regression(value: np.ndarray, columns: list[np.ndarray], groups: list[np.ndarray],
               of: int = 0, shares: np.ndarray | None = None) -> Found | None:
    """A coefficient of least squares with a constant, its standard error, and what is clear of it.

    The latter two are the largest over ways to group what may go together: errors of a group count
    as one. Clear are so many standard errors, and more where few groups say how large these are.

    Parameters
    ----------
    value : array (n,)
    columns : list of array (n,)
        Beside the constant.
    groups : list of array of int (n,)
        Ways to group.
    of : int
        Which coefficient; 0 is the constant.
    shares : array (n,), optional
        What each value counts for. Uneven ones leave fewer degrees of freedom.

    Returns
    -------
    tuple of float or None
        None if the columns depend on each other, or groups are too few.
    """
    shares = np.ones(len(value)) if shares is None else shares
    root = np.sqrt(shares)
    design = root[:, None] * np.column_stack([np.ones(len(value)), *columns])
    if np.linalg.matrix_rank(design) < design.shape[1]:
        return None
    inverse = np.linalg.pinv(design)
    weight = inverse[of]
    # Little is left of values that draw the fit to themselves: as if each were left out (HC3).
    left = root * value - design @ (inverse @ (root * value))
    left = left / (1 - (design * inverse.T).sum(1)).clip(_LEAST)
    even = shares.sum()**2 / (shares**2).sum() / len(shares)
    errors, clear = [], []
    for group in groups:
        count = int(group.max()) + 1
        if count >= _PLACES + len(columns):
            sums = np.bincount(group, weight * left)
            few = count / (count - 1) * (1 - 1 / len(value))       # of groups, beside single values
            errors.append(np.sqrt((sums**2).sum() * few))
            free = max(even * count - design.shape[1], 1.0)
            clear.append(errors[-1] * max(CLEAR, scipy.stats.t.isf(_CHANCE / 2, free)))
    coefficient = float(weight @ (root * value))
    return (coefficient, float(max(errors)), float(max(clear))) if errors else None


def log_ratio(fine: np.ndarray, coarse: np.ndarray, columns: list[np.ndarray],
              groups: list[np.ndarray], shares: np.ndarray) -> Found | None:
    """Logarithm of the ratio of two means of positive values, as `regression` gives a level.

    Of skewed values a mean of few is mostly too small, and then so is its standard error. The mean
    logarithm is not skewed, and half the variance leads from it to the logarithm of the mean: so
    Cox for lognormal values. Values whose logarithms are skewed to the left, as those of a gamma
    distribution, get a mean too large by it.

    Parameters
    ----------
    fine, coarse : array (n,)
        Pairs.
    columns, groups, shares
        As for `regression`.
    """
    ratio, freedom = np.log(fine) - np.log(coarse), len(fine) - 1 - len(columns)
    design = np.sqrt(shares)[:, None] * np.column_stack([np.ones(len(ratio)), *columns])
    mean = np.column_stack([np.ones(len(ratio)), *columns]) @ np.linalg.lstsq(
        design, np.sqrt(shares) * ratio, rcond=None)[0]
    squares = (ratio - mean)**2 * len(fine) / freedom
    found = regression(ratio + squares / 2, columns, groups, shares=shares)
    if found is None:
        return None
    # What lognormal scatter makes of it: that of few squares says too little.
    variance = float(shares @ squares / shares.sum())
    number = shares.sum()**2 / (shares**2).sum()
    least = np.sqrt((variance + variance**2 / 2) / number)
    more = max(least / found[1], 1.0) if found[1] > 0 else 1.0
    return found[0], found[1] * more, found[2] * more
