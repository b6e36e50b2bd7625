"""How models compare as groups shrink, and where that leads at the step from areas to individuals.

A model's standing at one level is its mean score over that of the average model, as a logarithm
(for the log score: the difference). A straight line in log(areas per group) is carried on to
log(individuals per area). Its slope is shrunk by max(0, 1 - 1/t^2), t its t-value (positive-part
James-Stein), because a few levels close together tell little about it: a slope that is within its
standard error of zero counts as zero.
"""

from __future__ import annotations

import numpy as np


def extrapolate(standing: np.ndarray, error: np.ndarray, at: np.ndarray, to: float
                ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Carry standings of models at several levels on to another.

    Parameters
    ----------
    standing : array (model, level)
        Of each model at each level; NaN is left out.
    error : array (model, level)
        Standard errors.
    at : array (level,)
        log(areas per group).
    to : float
        log(individuals per area).

    Returns
    -------
    standing, error, slope : arrays (model,)
        At ``to``; the slope is the shrunk one. Standard errors take the error of the mean as wide
        as at a single level (levels share their areas), and levels as independent for the slope
        (which is then too wide, if anything).
    """
    rows = [_one(standing[m], error[m], np.asarray(at, dtype=float), to)
            for m in range(len(standing))]
    return tuple(np.array(column) for column in zip(*rows, strict=True))


def _one(y: np.ndarray, se: np.ndarray, x: np.ndarray, to: float) -> tuple[float, float, float]:
    there = np.isfinite(y)
    y, se, x = y[there], se[there], x[there]
    if y.size == 0:
        return np.nan, np.nan, np.nan
    known = np.isfinite(se).all() and (se > 0).all()
    weight = 1 / se**2 if known else np.ones(y.size)
    weight = weight / weight.sum()
    centre, mean = weight @ x, weight @ y
    spread = weight @ (x - centre) ** 2
    base = float(np.sqrt(weight @ se**2)) if known else np.nan
    if not known or spread < 1e-12:
        return float(mean), base, 0.0
    slope = weight @ ((x - centre) * y) / spread
    slope_error = np.sqrt((weight**2 * (x - centre) ** 2 * se**2).sum()) / spread
    shrunk = max(0.0, 1 - (slope_error / slope) ** 2) if slope else 0.0
    reach = to - centre
    return (float(mean + shrunk * slope * reach),
            float(np.hypot(base, shrunk * slope_error * reach)), float(shrunk * slope))
