"""Probabilities to exceed one threshold or several, as labelled arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import xarray as xr

from workbench.checks import require

Thresholds = float | Sequence[float] | None


def levels_of(threshold: Thresholds) -> list[float]:
    """Thresholds in ascending order; none of None.

    Parameters
    ----------
    threshold : float or sequence of float, optional
        As given.

    Returns
    -------
    list of float

    Raises
    ------
    InputError
        If one is not a finite number or given twice, or the sequence is empty.

    Examples
    --------
    >>> levels_of([50, 20.5])
    [20.5, 50.0]
    """
    given = [] if threshold is None else np.atleast_1d(np.asarray(threshold, dtype=float)).tolist()
    require(bool(np.isfinite(given).all()), f"thresholds must be finite numbers, got {given}")
    require(threshold is None or 0 < len(given) == len(set(given)), "give each threshold once, and "
            f"at least one, got {given}")
    return sorted(given)


def exceedance_map(values: np.ndarray, threshold: Thresholds, name: str, coords: Mapping,
                   dim: str, attrs: Mapping | None = None) -> xr.DataArray:
    """P(name > threshold) of units.

    Parameters
    ----------
    values : array (threshold, unit)
        Probabilities, in the order of `levels_of`.
    threshold : float or sequence of float
        As given.
    name : str
        What exceeds it.
    coords : mapping
        Coordinates of the units.
    dim : str
        Their dimension.
    attrs : mapping, optional
        Further attributes.

    Returns
    -------
    xr.DataArray
        (unit,) of one number, which is the attribute ``threshold``; else (threshold, unit).
    """
    levels, attrs = levels_of(threshold), {**(attrs or {}), "units": "probability"}
    if np.ndim(threshold) == 0:
        attrs |= {"long_name": f"P({name} > {levels[0]:g})", "threshold": levels[0]}
        return xr.DataArray(values[0], dims=dim, attrs=attrs).assign_coords(coords)
    attrs |= {"long_name": f"P({name} > threshold)"}
    return xr.DataArray(values, dims=("threshold", dim), attrs=attrs).assign_coords(
        {**coords, "threshold": levels})
