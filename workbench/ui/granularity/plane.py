"""The plane of error: granularity across, lengthscale up; coarse first, finer where one looks."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

LOOK = (3, 3)       # stops to either side of the present setting that are computed exactly


class Plane:
    """Errors over cell sizes and lengthscales; what is not computed yet is interpolated.

    Parameters
    ----------
    sizes, lengthscales : arrays
        The stops, increasing, in the unit of the places.
    every : (int, int)
        Of how many sizes and of how many lengthscales one is computed at first.
    """

    def __init__(self, sizes: np.ndarray, lengthscales: np.ndarray, every: tuple[int, int]):
        self.sizes, self.lengthscales = np.asarray(sizes), np.asarray(lengthscales)
        self.error = np.full((self.lengthscales.size, self.sizes.size), np.nan)
        self.columns = _coarse(self.sizes.size, every[0])
        self.rows = _coarse(self.lengthscales.size, every[1])

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

    def fill(self, compute: Callable[[int, int], float],
             where: list[tuple[int, int]] | None = None) -> Iterator[None]:
        """Compute what is missing, of the coarse plane or where said; yields after each row."""
        wanted = where or [(i, j) for i in self.rows for j in self.columns]
        for row in dict.fromkeys(i for i, _ in wanted):
            missing = [j for i, j in wanted if i == row and np.isnan(self.error[i, j])]
            for column in missing:
                self.error[row, column] = compute(row, column)
            if missing:
                yield

    def filled(self) -> np.ndarray:
        """Errors everywhere: computed where they are, between them interpolated on log axes."""
        coarse = np.log(np.maximum(self.error[np.ix_(self.rows, self.columns)], 1e-12))
        across = np.array([np.interp(np.arange(self.sizes.size), self.columns, row)
                           for row in coarse])
        every = np.arange(self.lengthscales.size)
        between = np.column_stack([np.interp(every, self.rows, column) for column in across.T])
        return np.where(np.isfinite(self.error), self.error, np.exp(between))

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
