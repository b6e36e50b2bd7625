"""Where two sources overlap: which observations of the finer lie in which of the coarser."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.spatial import cKDTree

from workbench.gp.data.bags import Bags, Source

_MOST = 20_000      # observations of the finer source that are looked at
_HALF = 0.51        # steps between individuals of a coarse observation, to its border


@dataclass(frozen=True)
class Meeting:
    """Finer observations that lie in coarser ones.

    Parameters
    ----------
    rows : array of int
        Observations of the finer source.
    cell : array of int
        Into which of ``met`` each falls.
    met : array of int
        Observations of the coarser source.
    others : list of int
        Columns of inputs that do not say where an observation is: covariates.
    groups : list of array of int
        Groups of ``met`` inside which errors may go together.
    weightings : list of pair of array
        Ways to average: a weight of each of ``rows``, and what each of ``met`` counts for.
    """

    rows: np.ndarray
    cell: np.ndarray
    met: np.ndarray
    others: list[int]
    groups: list[np.ndarray]
    weightings: list[tuple[np.ndarray, np.ndarray]]


def meeting(finer: Source, coarser: Source) -> Meeting | None:
    """Overlap of two sources, None where there is none.

    Parameters
    ----------
    finer, coarser : Source
    """
    x, of = numpy_of(coarser.bags.x), numpy_of(coarser.bags.membership)
    low, high = _range(x, of, coarser.bags.count)
    axes = _axes(coarser, low, high)
    step = _steps(low, high, of)[axes]
    tree = cKDTree(x[:, axes] / step)
    theirs = numpy_of(finer.bags.centres().x)
    rows = np.random.default_rng(0).permutation(len(theirs))[:_MOST]
    apart, nearest = tree.query(theirs[np.ix_(rows, axes)] / step, p=np.inf)
    inside = apart <= _HALF
    rows, cell = rows[inside], of[nearest[inside]]
    if not len(rows):
        return None
    met, cell = np.unique(cell, return_inverse=True)
    place = np.isin(axes, coarser.bags.columns.coordinates)
    groups = _groupings(low[np.ix_(met, axes)], high[np.ix_(met, axes)], step, place)
    totals = numpy_of(finer.bags.totals)[rows], np.ones(len(met))
    laid = _laid(finer.bags, coarser.bags, rows, cell, met, lambda at: tree.query(
        at[:, axes] / step, p=np.inf)[1])
    return Meeting(rows, cell, met, [c for c in range(x.shape[1]) if c not in axes],
                   list(groups), [totals, laid])


def _laid(finer: Bags, coarser: Bags, rows: np.ndarray, cell: np.ndarray, met: np.ndarray,
          nearest) -> tuple[np.ndarray, np.ndarray]:
    """Weights of finer observations by those of the coarser individuals that they lie on.

    A coarse observation counts for the weight where it was looked at, relative to its average: of
    places that are spread evenly over it differences are then nothing on average, be they one.
    """
    weight, of = numpy_of(coarser.weight), numpy_of(coarser.membership)
    average = numpy_of(coarser.totals / coarser.sizes)
    sizes = numpy_of(finer.sizes)
    if np.allclose(weight, average[of]):
        return sizes[rows], np.ones(len(met))
    member = numpy_of(finer.membership)
    seen = np.isin(member, rows)
    on = np.bincount(member[seen], weight[nearest(numpy_of(finer.x)[seen])], finer.count)[rows]
    shares = np.bincount(cell, on) / np.bincount(cell, sizes[rows]) / average[met]
    return on, shares


def numpy_of(values) -> np.ndarray:
    """A tensor as an array."""
    return values.detach().cpu().numpy()


def extent(source: Source) -> tuple[float, int]:
    """What makes one of two sources the finer: extent of its observations, then their number."""
    x, of = numpy_of(source.bags.x), numpy_of(source.bags.membership)
    low, high = _range(x, of, source.bags.count)
    places = list(source.bags.columns.coordinates) or list(range(x.shape[1]))
    return float((high - low)[:, places].sum(1).mean()), -source.bags.count


def _range(x: np.ndarray, of: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    low, high = np.full((count, x.shape[1]), np.inf), np.full((count, x.shape[1]), -np.inf)
    np.minimum.at(low, of, x)
    np.maximum.at(high, of, x)
    return low, high


def _axes(coarser: Source, low: np.ndarray, high: np.ndarray) -> list[int]:
    """Columns of where observations are: coordinates, and what has one value in each, as time.

    Of the others the means may differ between observations that overlap: these are covariates.
    """
    columns = coarser.bags.columns
    alike = (high == low).all(0)
    return [c for c in range(len(alike))
            if not columns.coordinates or c in columns.coordinates or alike[c]]


def _steps(low: np.ndarray, high: np.ndarray, of: np.ndarray) -> np.ndarray:
    """Distance of neighbouring individuals by axis: inside observations, else between them.

    Where neither makes a grid it is next to nothing, so that only equal places overlap.
    """
    extent, count = high - low, len(low)
    wide = (extent > 0).sum(1)
    along = np.bincount(of, minlength=count) ** (1 / np.maximum(wide, 1)) - 1
    out = np.empty(low.shape[1])
    for axis in range(low.shape[1]):
        inside = extent[:, axis] > 0
        values = np.unique(low[:, axis])
        if inside.any():
            out[axis] = np.median(extent[inside, axis] / np.maximum(along[inside], 1))
        elif len(values) > 1 and len(values) <= count / 2:
            out[axis] = np.median(np.diff(values))
        else:
            out[axis] = 1e-9 * (np.ptp(values) or np.abs(values).max() or 1.0)
    return out


def _groupings(low: np.ndarray, high: np.ndarray, step: np.ndarray, place: np.ndarray
               ) -> Iterator[np.ndarray]:
    """Groups inside which differences may go together: nothing, then one place, then one time.

    Weighted centres say neither: those of one cell differ where its weights change with time, and
    those of one hour by rounding. Places are recognised by their borders, to half a step.
    """
    yield np.arange(len(low))
    if place.any() and not place.all():
        borders = np.hstack([low, high])[:, np.tile(place, 2)]
        borders = np.rint(2 * (borders - borders.min(0)) / np.tile(step[place], 2))
        for same in (borders, low[:, ~place]):
            yield np.unique(same, axis=0, return_inverse=True)[1].reshape(-1)
