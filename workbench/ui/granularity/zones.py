"""Zones of a map: squares, strips and Voronoi cells, as many of one shape as of another."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from scipy.spatial import Voronoi, cKDTree

from workbench.ui.granularity.cells import Summaries, summarise

SQUARES, STRIPS, VORONOI = "squares", "strips", "voronoi"


def number(bounds: tuple, side: float) -> tuple[int, int]:
    """Squares of a side that cover a map, across and up."""
    x0, y0, x1, y1 = bounds
    return int(np.ceil((x1 - x0) / side - 1e-9)), int(np.ceil((y1 - y0) / side - 1e-9))


def squares(points: np.ndarray, values: np.ndarray, bounds: tuple, side: float) -> Summaries:
    """Summaries in squares from the lower left corner; the last ones end where the map does."""
    across, up = number(bounds, side)
    lowest, highest = np.array(bounds[:2]), np.array(bounds[2:])
    column, row = (np.clip(((points[:, k] - lowest[k]) / side).astype(int), 0, most - 1)
                   for k, most in enumerate((across, up)))
    index = np.arange(across * up)
    left = lowest + side * np.column_stack([index % across, index // across])
    return summarise(values, row * across + column, left,
                     np.minimum(left + side, highest))


def strips(points: np.ndarray, values: np.ndarray, bounds: tuple, side: float) -> Summaries:
    """Summaries in as many strips from south to north as there are squares of a side."""
    x0, y0, x1, y1 = bounds
    count = int(np.prod(number(bounds, side)))
    edges = np.linspace(x0, x1, count + 1)
    cell = np.clip(((points[:, 0] - x0) / (x1 - x0) * count).astype(int), 0, count - 1)
    left = np.column_stack([edges[:-1], np.full(count, y0)])
    return summarise(values, cell, left, np.column_stack([edges[1:], np.full(count, y1)]))


def voronoi(points: np.ndarray, values: np.ndarray, bounds: tuple, side: float) -> Summaries:
    """Summaries in as many Voronoi cells of places at random as there are squares of a side."""
    seeds, rings, centres = _diagram(bounds, int(np.prod(number(bounds, side))))
    left, right = (np.array([end(ring, axis=0) for ring in rings]) for end in (np.min, np.max))
    return summarise(values, cKDTree(seeds).query(points)[1], left, right, centres, rings)


#: By the name that a URL has for it.
SHAPES = {SQUARES: squares, STRIPS: strips, VORONOI: voronoi}


@lru_cache(40)
def _diagram(bounds: tuple, count: int) -> tuple[np.ndarray, tuple, np.ndarray]:
    """Seeds, corners and centroids of Voronoi cells, cut off where the map ends."""
    lowest, highest = np.array(bounds[:2]), np.array(bounds[2:])
    seeds = np.random.default_rng(count).uniform(lowest, highest, (count, 2))
    # Mirrored at a side of the map, seeds make that side the border of the cells along it.
    mirrored = [np.where(np.arange(2) == axis, 2 * end - seeds, seeds)
                for axis in (0, 1) for end in (lowest, highest)]
    diagram = Voronoi(np.vstack([seeds, *mirrored]))
    rings = tuple(_around(diagram.vertices[diagram.regions[region]], seed)
                  for region, seed in zip(diagram.point_region[:count], seeds, strict=True))
    return seeds, rings, np.array([_centroid(ring) for ring in rings])


def _around(corners: np.ndarray, middle: np.ndarray) -> np.ndarray:
    east, north = (corners - middle).T
    return corners[np.argsort(np.arctan2(north, east))]


def _centroid(ring: np.ndarray) -> np.ndarray:
    first = ring - ring[0]                      # near zero: areas are small differences
    after = np.roll(first, -1, axis=0)
    cross = first[:, 0] * after[:, 1] - after[:, 0] * first[:, 1]
    return ring[0] + (first + after).T @ cross / (3 * cross.sum())
