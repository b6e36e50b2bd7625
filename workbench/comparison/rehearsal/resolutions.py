r"""How finely a map can be believed: truth and prediction averaged over ever coarser cells.

For a partition of the individuals into cells c of weight :math:`W_c`, with true mean rates
:math:`t_c`, predicted ones :math:`p_c` and those :math:`b_c` of a map without any model, the
*skill* is

.. math:: 1 - \sum_c W_c (t_c - p_c)^2 / \sum_c W_c (t_c - b_c)^2 .

For cells finer than areas :math:`b_c` is the rate observed of the cell's area, so that only what
happens inside areas counts; for areas and groups of them it is the overall rate observed. A
resolution is *identifiable* if the skill reaches a threshold, 0.5 unless told otherwise, in at
least half of the truths: the map then explains half of what the simple map leaves open.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import xarray as xr

from workbench.bagging import contiguous_groups, periods_of
from workbench.bagging.assemble import located
from workbench.schema import BAG, aggregation

_FEWEST_GROUPS = 4
_PIECES = 4         # cells are cut into so many from one resolution to the next


class Resolution(NamedTuple):
    """A partition of the individuals.

    Parameters
    ----------
    name : str
        Such as "pixels", "1/16 of an area", "areas" or "8 groups of areas".
    cell : int array (N,)
        Cell of each individual, from 0.
    inside : bool
        Whether cells are finer than areas.
    """

    name: str
    cell: np.ndarray
    inside: bool


def resolutions(ds: xr.Dataset) -> list[Resolution]:
    """Ever coarser partitions: individuals, parts of areas, areas, groups of neighbouring areas.

    Parts halve an area along the longer side of its places (of its covariates, where there are no
    coordinates), again and again: a quarter of an area, a sixteenth and so on.

    Parameters
    ----------
    ds : xr.Dataset
        Bagged dataset.

    Returns
    -------
    list of Resolution
        The finest first; areas of one individual each have no finer one.
    """
    area, areas = ds["membership"].values, ds.sizes[BAG]
    found, groups = [Resolution("areas", area, False)], areas // _PIECES
    periods = periods_of(ds)
    fewest = max(_FEWEST_GROUPS, 0 if periods is None else np.unique(periods).size)
    while located(ds) and groups >= fewest:
        found.append(Resolution(f"{groups} groups of areas", contiguous_groups(ds, groups)[area],
                                False))
        groups //= _PIECES
    at = (np.column_stack([ds["x"].values, ds["y"].values]) if "x" in ds
          else ds["covariates"].values).astype(float)
    spread = at.std(0)
    at = at if "x" in ds else at / np.where(spread > 0, spread, 1)
    cell, parts = area, 1
    while True:
        cell, parts = _halved(_halved(cell, at), at), parts * _PIECES
        cells = cell.max() + 1
        if cells > 0.8 * area.size:         # hardly coarser than the individuals
            break
        found.insert(0, Resolution(f"1/{parts} of an area", cell, True))
    if areas < area.size:
        found.insert(0, Resolution("individuals", np.arange(area.size), True))
    return found


def skill(one: Resolution, truth: np.ndarray, predicted: np.ndarray, ds: xr.Dataset
          ) -> tuple[float, float]:
    """Skill of a prediction at one resolution, and its correlation with the truth.

    Parameters
    ----------
    one : Resolution
        From `resolutions`.
    truth, predicted : array (N,)
        Rates.
    ds : xr.Dataset
        The bagged dataset whose values the prediction was learnt from.

    Returns
    -------
    skill : float
        At most 1; NaN if the truth is as the simple map has it.
    correlation : float
        Weighted; inside areas of what differs from the area's own mean.
    """
    weight, area = ds["weight"].values, ds["membership"].values
    total = np.bincount(one.cell, weights=weight)

    def mean(values: np.ndarray) -> np.ndarray:
        return np.bincount(one.cell, weights=weight * values) / total

    t, p, observed = mean(truth), mean(predicted), _observed_rate(ds)
    flat = observed[area] if one.inside else np.full(
        area.size, np.average(observed, weights=np.bincount(area, weights=weight)))
    left, open_ = (total * (t - p)**2).sum(), (total * (t - mean(flat))**2).sum()
    if one.inside:
        t, p = t - mean(_area_mean(truth, ds)), p - mean(_area_mean(predicted, ds))
    return (1 - left / open_ if open_ > 0 else np.nan), _correlation(t, p, total)


def _halved(cell: np.ndarray, at: np.ndarray) -> np.ndarray:
    """Cells cut in two of equal counts along their longest side; those of one place stay."""
    count, ends = cell.max() + 1, []
    for column in at.T:
        low, high = np.full(count, np.inf), np.full(count, -np.inf)
        np.minimum.at(low, cell, column)
        np.maximum.at(high, cell, column)
        ends.append(high - low)
    longest = np.argmax(ends, axis=0)[cell]
    along = np.take_along_axis(at, longest[:, None], 1)[:, 0]
    order = np.lexsort((along, cell))
    sizes = np.bincount(cell, minlength=count)
    rank = np.empty(cell.size, dtype=np.int64)
    rank[order] = np.arange(cell.size) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    second = rank >= (sizes[cell] + 1) // 2
    return np.unique(2 * cell + second, return_inverse=True)[1]


def _observed_rate(ds: xr.Dataset) -> np.ndarray:
    value = ds["value"].values.astype(float)
    if "trials" in ds:
        return value / ds["trials"].values
    if aggregation(ds) == "mean":
        return value
    return value / np.bincount(ds["membership"].values, weights=ds["weight"].values)


def _area_mean(values: np.ndarray, ds: xr.Dataset) -> np.ndarray:
    area, weight = ds["membership"].values, ds["weight"].values
    return (np.bincount(area, weights=weight * values) / np.bincount(area, weights=weight))[area]


def _correlation(a: np.ndarray, b: np.ndarray, weight: np.ndarray) -> float:
    a, b = a - np.average(a, weights=weight), b - np.average(b, weights=weight)
    scale = np.sqrt((weight * a * a).sum() * (weight * b * b).sum())
    return float((weight * a * b).sum() / scale) if scale > 0 else float("nan")
