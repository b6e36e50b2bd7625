"""How much areas' values may differ beside a smooth map: an upper limit by restricted likelihood.

Values are a regression, a map (a Matérn 3/2 process of the areas' centres, as of `workbench.Auto`)
and independent noise of variance τ². The limit is the largest τ at which the restricted likelihood,
at the best lengthscale and variance of the map, is `CLEAR` nats below its maximum: one of 95 % on
one side, where there are many areas and the field is a Matérn 3/2 process. Of a smoother one the
map follows some of the noise, and it is about the noise itself: down to a half of it, in a test.
All three are on grids, so that nothing is searched for.

References
----------
Patterson and Thompson 1971, Recovery of inter-block information when block sizes are unequal.
"""

from __future__ import annotations

import math

import numpy as np

CLEAR = 1.353           # nats: half of the 90 % quantile of χ² with one degree of freedom
_TOGETHER = 200         # areas of which all covariances are looked at
_MOST = 2000            # areas that are looked at
_FEWEST = 10            # fewer say nothing of a lengthscale
_STEPS, _FINER = 60, 26     # of the noise, and of lengthscales about the best one
_LENGTHS = np.geomspace(0.003, 10, 20)          # of the extent of the places
_RATIOS = np.geomspace(1e-9, 1e3, 80)           # of noise to map


def upper_noise(y: np.ndarray, basis: np.ndarray, place: np.ndarray, period: np.ndarray) -> float:
    """The upper limit of the standard deviation of noise, in the units of the values.

    Areas of one period that lie together are looked at together, up to 200 of them; groups of
    them, and periods, are taken as independent, so that they say less.

    Parameters
    ----------
    y : array (area,)
        Values.
    basis : array (area, column)
        Columns of the regression.
    place : array (area, axis)
        Centres.
    period : array (area,)
        Areas of different periods tell nothing of each other.

    Returns
    -------
    float
        At most twice the values' standard deviation about the regression; infinite where there are
        too few areas, or all are at one place or on the regression.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> place = rng.uniform(size=(100, 2))
    >>> smooth, constant = np.sin(6 * place).sum(1), np.ones((100, 1))
    >>> upper_noise(smooth, constant, place, np.zeros(100)) < 0.1
    True
    >>> upper_noise(smooth + rng.normal(0, 0.5, 100), constant, place, np.zeros(100)) > 0.5
    True
    """
    from scipy.linalg import orth

    groups = [rows for time in np.unique(period)
              for rows in _divided(np.flatnonzero(period == time), place)]
    groups = groups[::-(-len(y) // _MOST)]
    seen = np.concatenate(groups)
    place, groups = place[seen], np.split(np.arange(len(seen)), np.cumsum([*map(len, groups)])[:-1])
    basis = orth(basis[seen])
    left = y[seen] - basis @ (basis.T @ y[seen])
    free, extent = len(seen) - basis.shape[1], float(np.ptp(place, axis=0).max())
    variance = float(left @ left) / max(free, 1)
    if free < _FEWEST or not (extent > 0 and variance > np.finfo(float).eps * float(y @ y)):
        return math.inf
    noise = variance * np.logspace(-8, 0.6, _STEPS)

    def profile(length: float) -> np.ndarray:
        turned = [_turned(left[rows], basis[rows], place[rows], length) for rows in groups]
        return np.min([_misfit(turned, ratio, noise, free) for ratio in _RATIOS], axis=0)

    found = [profile(length) for length in extent * _LENGTHS]
    best = int(np.argmin([one.min() for one in found]))
    ends = _LENGTHS[max(best - 1, 0)], _LENGTHS[min(best + 1, len(_LENGTHS) - 1)]
    found += [profile(length) for length in extent * np.geomspace(*ends, _FINER)[1:-1]]
    least = np.min(found, axis=0)
    last = np.flatnonzero(least <= least.min() + CLEAR)[-1]
    ends = slice(last, last + 2)        # between the last that is near enough, and the next
    return math.exp(0.5 * float(np.interp(least.min() + CLEAR, least[ends], np.log(noise[ends]))))


def _divided(rows: np.ndarray, place: np.ndarray) -> list[np.ndarray]:
    """Areas in groups that lie together."""
    if len(rows) <= _TOGETHER:
        return [rows]
    order = rows[np.argsort(place[rows, np.ptp(place[rows], axis=0).argmax()], kind="stable")]
    half = len(rows) // 2
    return _divided(order[:half], place) + _divided(order[half:], place)


def _turned(y: np.ndarray, basis: np.ndarray, place: np.ndarray, length: float
            ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Eigenvalues of a group's correlations, and values and columns along the eigenvectors."""
    from scipy.spatial.distance import cdist

    apart = math.sqrt(3) * cdist(place, place) / length
    values, vectors = np.linalg.eigh((1 + apart) * np.exp(-apart))
    return np.maximum(values, 0), vectors.T @ y, vectors.T @ basis


def _misfit(turned: list, ratio: float, noise: np.ndarray, free: int) -> np.ndarray:
    """Minus the restricted log likelihood, at noise of variances τ² and a map of τ² / ratio."""
    spread = [values + ratio for values, _, _ in turned]
    logs = sum(float(np.log(one).sum()) for one in spread)
    inner = sum(w.T @ (w / one[:, None]) for one, (_, _, w) in zip(spread, turned, strict=True))
    cross = sum(w.T @ (z / one) for one, (_, z, w) in zip(spread, turned, strict=True))
    square = sum(float(z @ (z / one)) for one, (_, z, _) in zip(spread, turned, strict=True))
    explained = float(cross @ np.linalg.solve(inner, cross))
    size = noise / ratio
    return 0.5 * (logs + np.linalg.slogdet(inner)[1] + free * np.log(size)
                  + (square - explained) / size)
