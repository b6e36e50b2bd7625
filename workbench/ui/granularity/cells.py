"""Cells and what is left of data in them; intervals of a line can be moved, merged and split."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from workbench.ui.granularity.observed import OBSERVED

DIGITS = 3          # of a boundary in the URL
GAP = 0.02          # least width of an interval that is moved or split


@dataclass(frozen=True)
class Summaries:
    """All that is left of complete data: for each cell a place, a mean, a count, a variance."""

    places: np.ndarray          # m x d, the cells' centroids
    means: np.ndarray
    counts: np.ndarray
    spreads: np.ndarray         # variance of the outputs in each cell, divided by the count
    left: np.ndarray            # m x d, lower corners of the cells
    right: np.ndarray           # m x d, upper corners
    assignment: np.ndarray      # cell of each point
    rings: tuple = ()           # corners of each cell, k x 2; empty if cells are boxes

    @property
    def size(self) -> int:
        """Number of cells that hold data."""
        return self.means.size

    @property
    def extent(self) -> tuple[float, float]:
        """Width and length of the first cell of a map, which are those of all strips."""
        across, up = (self.right - self.left)[0]
        return float(across), float(up)

    @property
    def outlines(self) -> tuple[list, list]:
        """Corners of the cells of a map, across and up."""
        if self.rings:
            return [ring[:, 0] for ring in self.rings], [ring[:, 1] for ring in self.rings]
        (x0, y0), (x1, y1) = self.left.T, self.right.T
        return (list(np.column_stack([x0, x1, x1, x0])), list(np.column_stack([y0, y0, y1, y1])))

    def statistic(self, likelihood: str) -> np.ndarray:
        """The mean on the scale of the Gaussian process; a log mean of zero counts as half."""
        return OBSERVED[likelihood].statistic(self.means, 0.5 / self.counts)


def summarise(values: np.ndarray, cell: np.ndarray, left: np.ndarray, right: np.ndarray,
              centres: np.ndarray | None = None, rings: tuple = ()) -> Summaries:
    """Summarise points by cell; cells without points are left out.

    Parameters
    ----------
    values : array, n
    cell : array of int, n
        Cell of each point.
    left, right : arrays, cells x d
        Corners of all cells, or of the boxes around them.
    centres : array, cells x d, optional
        Centroids of all cells; by default those of the boxes.
    rings : tuple of arrays, k x 2
        Corners of all cells that are no boxes.
    """
    kept, assignment, counts = np.unique(cell, return_inverse=True, return_counts=True)
    means = np.bincount(assignment, weights=values) / counts
    spreads = np.bincount(assignment, weights=(values - means[assignment]) ** 2) / counts
    places = (left + right) / 2 if centres is None else centres
    return Summaries(places[kept], means, counts.astype(float), spreads, left[kept], right[kept],
                     assignment, tuple(rings[k] for k in kept) if rings else ())


def intervals(points: np.ndarray, values: np.ndarray, edges: np.ndarray) -> Summaries:
    """Summaries of points on a line between consecutive edges."""
    cell = np.clip(np.searchsorted(edges, points[:, 0], side="right") - 1, 0, edges.size - 2)
    return summarise(values, cell, edges[:-1, None], edges[1:, None])


def equal(end: float, count: int) -> np.ndarray:
    """Edges of equal intervals from 0 to an end."""
    edges = np.round(np.linspace(0, end, count + 1), DIGITS + 1)
    edges[-1] = end
    return edges


def written(edges: np.ndarray) -> str:
    """Inner edges as text for a URL."""
    return "_".join(f"{edge:.{DIGITS}f}".rstrip("0").rstrip(".") for edge in edges[1:-1])


def read(text: str, end: float) -> np.ndarray | None:
    """Edges from the text of inner ones; None if they are not numbers that increase within."""
    try:
        inner = [float(part) for part in text.split("_")] if text else []
    except ValueError:
        return None
    edges = np.array([0.0, *inner, end])
    return edges if np.isfinite(edges).all() and (np.diff(edges) >= GAP / 2).all() else None


def moved(edges: np.ndarray, which: int, to: float) -> np.ndarray:
    """Edges with an inner one put elsewhere, between its neighbours."""
    edges = edges.copy()
    edges[which] = np.clip(to, edges[which - 1] + GAP, edges[which + 1] - GAP)
    return edges


def merged(edges: np.ndarray, cell: int) -> np.ndarray:
    """Edges with a cell joined to its right neighbour, the last one to its left."""
    return np.delete(edges, min(cell + 1, edges.size - 2)) if edges.size > 3 else edges


def split(edges: np.ndarray, cell: int) -> np.ndarray:
    """Edges with a cell cut in half, unless it is too narrow."""
    if edges[cell + 1] - edges[cell] < 2 * GAP:
        return edges
    return np.insert(edges, cell + 1, (edges[cell] + edges[cell + 1]) / 2)
