"""Ranks of places from joint draws: which are certainly high, and which only seem to be.

References
----------
Goldstein and Spiegelhalter 1996; Laird and Louis 1989.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import xarray as xr

from workbench.checks import require

_ENTRIES = 20_000_000       # ranks that are held at once


def ranks(draws: xr.DataArray, *, top: int | float = 0.1, level: float = 0.9) -> xr.Dataset:
    """Posterior of the rank of each unit among all, 1 the highest, from joint draws.

    Ranks of posterior means say nothing of how sure they are, and spread too little: here every
    draw is ranked. Units that tie share the mean of their ranks.

    Parameters
    ----------
    draws : xr.DataArray (sample, unit)
        Joint draws of rates or totals: ``fit.over(ds).sample(1000)``, the ``draw`` of a map or of
        `workbench.aggregate`.
    top : int or float
        How many units are the top, or a share of them below 1.
    level : float
        Of the central intervals.

    Returns
    -------
    xr.Dataset
        ``rank_median``, ``rank_mean``, ``rank_lower``, ``rank_upper`` and ``top_probability``
        (unit): that it is among the top ones. Attribute ``top``: how many these are.

    Raises
    ------
    InputError
        If draws are fewer than two, not finite, or of single units (not joint).

    Examples
    --------
    >>> import workbench as wb
    >>> ds = wb.load("simulated-country", pixels=300, districts=12, regions=4, provinces=2)
    >>> fit = wb.VBAgg(kernel="rbf", inducing=10, max_steps=5).fit(ds)
    >>> found = wb.ranks(fit.over(ds).sample(200), top=3)
    >>> round(float(found["top_probability"].sum()), 6)
    3.0
    """
    from scipy.stats import rankdata

    require(len(draws.dims) == 2 and draws.dims[0] == "sample",
            f"expected draws (sample, unit), got dims {draws.dims}")
    require(draws.attrs.get("draws", "joint") == "joint", "these draws are of single units, "
            "independent of each other, so that ranks of one draw mean nothing; take joint ones")
    samples, count = draws.shape
    require(samples > 1 and count > 1, f"ranks need at least 2 draws of 2 units, got {samples} of "
            f"{count}")
    require(bool(np.isfinite(draws.values).all()), "some draws are not finite; leave out units "
            "that the map does not cover")
    require(0 < level < 1, f"level must lie between 0 and 1, got {level}")
    most = max(1, round(top * count)) if isinstance(top, float) and top < 1 else int(top)
    require(1 <= most < count, f"top must be 1 to {count - 1} units or a share of them, got {top}")
    unit, rows = str(draws.dims[1]), np.empty(draws.shape, dtype=np.float32)
    for start in range(0, samples, step := max(1, _ENTRIES // count)):
        part = slice(start, start + step)
        rows[part] = rankdata(-draws.values[part], axis=1)
    tails = np.quantile(rows, [(1 - level) / 2, 0.5, (1 + level) / 2], axis=0)
    # Of those that tie at the last place each is in with its share of the places left.
    inside = _among(draws.values, most)
    said = {"units": "1"}

    def one(values: np.ndarray, name: str, **attrs) -> tuple:
        return unit, values, {**said, "long_name": name, **attrs}

    return xr.Dataset({
        "rank_median": one(tails[1], "posterior median of the rank, 1 the highest"),
        "rank_mean": one(rows.mean(0, dtype=float), "posterior mean of the rank, 1 the highest"),
        "rank_lower": one(tails[0], "lower end of the rank's interval", level=level),
        "rank_upper": one(tails[2], "upper end of the rank's interval", level=level),
        "top_probability": one(inside, f"P(among the {most} highest)", units="probability"),
    }, coords={name: c for name, c in draws.coords.items() if c.dims == (unit,)},
        attrs={"top": most, "level": level, "samples": samples})


def exceedances(draws: xr.DataArray, thresholds: Iterable[float]) -> xr.DataArray:
    """P(unit > threshold) for several thresholds at once, from draws.

    Parameters
    ----------
    draws : xr.DataArray (sample, unit)
        Of rates or totals; they need not be joint.
    thresholds : iterable of float
        In their units.

    Returns
    -------
    xr.DataArray
        (threshold, unit).
    """
    levels = np.atleast_1d(np.asarray(list(thresholds), dtype=float))
    require(bool(np.isfinite(levels).all()) and levels.size > 0,
            f"thresholds must be finite numbers, got {levels.tolist()}")
    parts = [(draws > level).mean("sample") for level in levels]
    return xr.concat(parts, "threshold").assign_coords(threshold=levels).assign_attrs(
        units="probability", long_name="P(unit > threshold)")


def _among(draws: np.ndarray, most: int) -> np.ndarray:
    """Probability of each unit to be among the ``most`` highest; ties share what is left."""
    found = np.zeros(draws.shape[1])
    for row in draws:
        last = np.partition(row, -most)[-most]
        above, level = row > last, row == last
        found += above + level * (most - above.sum()) / level.sum()
    return found / len(draws)
