"""The plane of error: granularity across, lengthscale up; coarse first, finer where one looks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

import numpy as np

LOOK = (3, 3)       # stops to either side of the present setting that are computed exactly


class Plane:
    """Errors over cell sizes and lengthscales; what is not computed yet is interpolated.

    Parameters
    ----------
    sizes, lengthscales : arrays
        The stops, increasing, in the unit of the places.
    every : (int, int)
        Of how many sizes and of how many lengthscales one is computed at first; even numbers, for
        of half as many one is computed where that matters.
    """

    def __init__(self, sizes: np.ndarray, lengthscales: np.ndarray, every: tuple[int, int]):
        self.sizes, self.lengthscales = np.asarray(sizes), np.asarray(lengthscales)
        self.error = np.full((self.lengthscales.size, self.sizes.size), np.nan)
        self.columns = _coarse(self.sizes.size, every[0])
        self.rows = _coarse(self.lengthscales.size, every[1])
        self._finer = (_coarse(self.lengthscales.size, every[1] // 2),
                       _coarse(self.sizes.size, every[0] // 2))

    @property
    def ready(self) -> bool:
        """Whether the coarse plane is complete."""
        return bool(np.isfinite(self.error[np.ix_(self.rows, self.columns)]).all())

    @property
    def share(self) -> float:
        """Share of the coarse plane that is done."""
        return float(np.isfinite(self.error[np.ix_(self.rows, self.columns)]).mean())

    def nearest(self, size: float, lengthscale: float) -> tuple[int, int]:
        """Row and column of the stop nearest on the log axes."""
        return (int(np.abs(np.log(self.lengthscales / lengthscale)).argmin()),
                int(np.abs(np.log(self.sizes / size)).argmin()))

    def around(self, size: float, lengthscale: float) -> list[tuple[int, int]]:
        """Stops near a setting."""
        row, column = self.nearest(size, lengthscale)
        rows = range(max(row - LOOK[1], 0), min(row + LOOK[1] + 1, self.lengthscales.size))
        columns = range(max(column - LOOK[0], 0), min(column + LOOK[0] + 1, self.sizes.size))
        return [(i, j) for i in rows for j in columns]

    def crossed(self, levels: Sequence[float]) -> list[tuple[int, int]]:
        """Stops of a finer plane where errors of the coarse one pass one of some levels."""
        found = []
        for bottom, top in pairwise(self.rows):
            for left, right in pairwise(self.columns):
                corners = self.error[np.ix_((bottom, top), (left, right))]
                if any(corners.min() <= level <= corners.max() for level in levels):
                    found += [(int(i), int(j)) for i in self._finer[0] if bottom <= i <= top
                              for j in self._finer[1] if left <= j <= right]
        return list(dict.fromkeys(found))

    def fill(self, compute: Callable[[int, int], float],
             where: list[tuple[int, int]] | None = None) -> Iterator[None]:
        """Compute what is missing, of the coarse plane or where said; yields after each column.

        The largest cells come first: they are fewest, and take least time.
        """
        wanted = ([(i, j) for i in self.rows for j in self.columns] if where is None else where)
        for column in sorted({j for _, j in wanted}, reverse=True):
            missing = [i for i, j in wanted if j == column and np.isnan(self.error[i, j])]
            for row in missing:
                self.error[row, column] = compute(row, column)
            if missing:
                yield

    def filled(self) -> np.ndarray:
        """Errors everywhere: computed where they are, between them interpolated on log axes."""
        finer = np.ix_(*self._finer)
        coarse = self._between(self.rows, self.columns, self.error[np.ix_(self.rows, self.columns)])
        known = np.where(np.isfinite(self.error[finer]), self.error[finer], coarse[finer])
        every = self._between(*self._finer, known)
        return np.where(np.isfinite(self.error), self.error, every)

    def _between(self, rows: np.ndarray, columns: np.ndarray, known: np.ndarray) -> np.ndarray:
        """Errors that are known at some stops, interpolated at all."""
        logs = np.log(np.maximum(known, 1e-12))
        across = np.array([np.interp(np.arange(self.sizes.size), columns, row) for row in logs])
        every = np.arange(self.lengthscales.size)
        return np.exp(np.column_stack([np.interp(every, rows, column) for column in across.T]))

    def contour(self, level: float) -> tuple[np.ndarray, np.ndarray]:
        """Line along which the error has a level; pieces are separated by NaN."""
        return contour(self.sizes, self.lengthscales, self.filled(), level)


def contour(sizes: np.ndarray, lengthscales: np.ndarray, values: np.ndarray, level: float,
            ) -> tuple[np.ndarray, np.ndarray]:
    """Line at a level of positive values over log axes; pieces are separated by NaN."""
    from contourpy import contour_generator

    logs = np.ma.masked_invalid(np.log(np.maximum(values, 1e-12)))
    pieces = contour_generator(np.log(sizes), np.log(lengthscales), logs).lines(np.log(level))
    if not pieces:
        return np.empty(0), np.empty(0)
    gap = np.full((1, 2), np.nan)
    joined = np.exp(np.vstack([part for piece in pieces for part in (piece, gap)]))
    return joined[:, 0], joined[:, 1]


def edges(stops: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Where the rectangle of each stop begins and ends on a log axis."""
    middle = np.sqrt(stops[:-1] * stops[1:])
    first, last = stops[0] ** 2 / middle[0], stops[-1] ** 2 / middle[-1]
    return np.append(first, middle), np.append(middle, last)


def _coarse(count: int, every: int) -> np.ndarray:
    return np.unique(np.append(np.arange(0, count, every), count - 1))
