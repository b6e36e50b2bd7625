"""Land of a simulated country: coast, mountains, rivers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import ndimage
from scipy.sparse import coo_array
from scipy.sparse.csgraph import breadth_first_order, minimum_spanning_tree


@dataclass(frozen=True)
class Terrain:
    """Fields on the grid; outside the land they mean nothing."""

    land: np.ndarray            # bool
    elevation: np.ndarray       # m
    drained: np.ndarray         # km2 upstream of, and including, a pixel
    river_distance: np.ndarray  # km
    coast_distance: np.ndarray  # km
    cell: float                 # side of a pixel, km


def noise(shape: tuple[int, int], roughness: float, scale: float, rng: np.random.Generator
          ) -> np.ndarray:
    """Draw a field with noise in many octaves, of mean 0 and standard deviation 1.

    Parameters
    ----------
    shape : (int, int)
        Rows and columns.
    roughness : float
        Amplitude falls as wavelength to the power of this; larger is smoother.
    scale : float
        Longest wavelength as a fraction of the longer side.
    rng : np.random.Generator
        Source of randomness.

    Returns
    -------
    np.ndarray
        The field.
    """
    # Synthesised on a larger torus, so that opposite sides of the map are unrelated.
    wide = tuple(int(1.5 * n) for n in shape)
    frequency = np.hypot(np.fft.fftfreq(wide[0])[:, None], np.fft.rfftfreq(wide[1])[None])
    longest = 1 / (scale * max(shape))
    amplitude = (frequency**2 + longest**2) ** (-(roughness + 1) / 2)
    amplitude[0, 0] = 0
    field = np.fft.irfft2(np.fft.rfft2(rng.standard_normal(wide)) * amplitude, s=wide)
    field = field[: shape[0], : shape[1]]
    return (field - field.mean()) / field.std()


def make_terrain(pixels: int, cell: float, rng: np.random.Generator) -> Terrain:
    """Raise a country of exactly ``pixels`` land pixels of ``cell`` km out of the sea.

    Parameters
    ----------
    pixels : int
        Pixels of land.
    cell : float
        Side of a pixel in km.
    rng : np.random.Generator
        Source of randomness.

    Returns
    -------
    Terrain
        The land with its fields.
    """
    rows = int(np.ceil(np.sqrt(pixels * 1.9 / 0.8)))
    columns = int(np.ceil(0.8 * rows))
    shape = (rows, columns)
    v, u = np.meshgrid(np.linspace(-1, 1, rows), np.linspace(-1, 1, columns), indexing="ij")
    relief = 1.1 - 1.6 * (u**2 + v**2) + 0.42 * noise(shape, 1.2, 0.5, rng)
    # The sea surrounds the country: the rim of the map sinks.
    relief -= 4 * np.clip(np.maximum(np.abs(u), np.abs(v)) - 0.93, 0, None) / 0.07
    land = _largest_land(relief, pixels)
    coast = ndimage.distance_transform_edt(land)
    ridges = 1 - np.abs(noise(shape, 1.1, 0.35, rng)) / 1.2
    hills = noise(shape, 1.0, 0.12, rng)
    inland = np.clip(coast / (0.22 * np.sqrt(pixels)), 0, 1) ** 0.8
    elevation = inland * (350 + 1100 * np.clip(ridges, 0, None) ** 2 + 130 * hills)
    # A gentle seaward fall everywhere, so that plains drain too.
    elevation = np.clip(elevation, 0, None) + 3 * np.minimum(coast, 60) + 1
    drained = _drainage(np.where(land, elevation, 0), land) * cell**2
    rivers = land & (drained > max(0.0025 * pixels, 12) * cell**2)
    return Terrain(
        land=land,
        elevation=elevation,
        drained=drained,
        river_distance=ndimage.distance_transform_edt(~rivers) * cell,
        coast_distance=coast * cell,
        cell=cell,
    )


def _largest_land(relief: np.ndarray, pixels: int) -> np.ndarray:
    """The connected, hole-free part above a sea level that leaves exactly ``pixels``."""
    peak = np.unravel_index(relief.argmax(), relief.shape)

    def above(level: float) -> np.ndarray:
        parts, _ = ndimage.label(relief > level)
        return ndimage.binary_fill_holes(parts == parts[peak])

    low, high = relief.min(), relief.max()
    for _ in range(40):
        level = (low + high) / 2
        if above(level).sum() >= pixels:
            low = level
        else:
            high = level
    land = above(low)
    while (excess := int(land.sum()) - pixels) > 0:
        shore = np.flatnonzero(land & ~ndimage.binary_erosion(land))
        lowest = shore[np.argsort(relief.ravel()[shore], kind="stable")[:excess]]
        land.ravel()[lowest] = False
    return land


def _drainage(elevation: np.ndarray, land: np.ndarray) -> np.ndarray:
    """Count the pixels upstream of each pixel, itself included.

    Water leaves by the path to the sea whose highest point is lowest: the minimum spanning tree
    under ``max(elevation)`` of neighbours holds these paths, so no pit is left undrained.
    """
    number = np.cumsum(land.ravel()).reshape(land.shape) * land  # 0 is the sea
    steps = [(0, 1), (1, 0), (1, 1), (1, -1)]
    edges = [_neighbours(number, elevation, step) for step in steps]
    left, right, height = (np.concatenate(part) for part in zip(*edges, strict=True))
    count = int(land.sum()) + 1
    # One edge per pair: parallel edges to the sea would be added up.
    _, first = np.unique(left.astype(np.int64) * count + right, return_index=True)
    graph = coo_array(
        (height[first] + 1.0, (left[first], right[first])), shape=(count, count)
    ).tocsr()
    tree = minimum_spanning_tree(graph)
    order, downstream = breadth_first_order(tree, 0, directed=False)
    # Nodes come level by level, and so do their parents: walk the levels from the springs.
    position = np.empty(count, dtype=np.int64)
    position[order] = np.arange(count)
    parent = position[downstream[order[1:]]]
    bounds = [0, 1]
    while bounds[-1] < count:
        bounds.append(1 + int(np.searchsorted(parent, bounds[-1])))
    water = np.ones(count)
    for begin, end in zip(bounds[-2:0:-1], bounds[:1:-1], strict=True):
        nodes = order[begin:end]
        np.add.at(water, downstream[nodes], water[nodes])
    return np.where(land, water[number], 0.0)


def _neighbours(
    number: np.ndarray, elevation: np.ndarray, step: tuple[int, int]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Edges between pixels one step apart, weighted by the higher of the two."""
    down, right = step
    here = (slice(None, -down or None), slice(max(0, -right), -right if right > 0 else None))
    there = (slice(down, None), slice(max(0, right), right if right < 0 else None))
    a, b = number[here].ravel(), number[there].ravel()
    e, g = elevation[here].ravel(), elevation[there].ravel()
    joined = (a != b) & ((a > 0) | (b > 0))
    a, b, e, g = a[joined], b[joined], e[joined], g[joined]
    # Among ways that go down, the steepest: the lower neighbour breaks ties.
    diagonal = 1e-7 * (down and right)
    return np.minimum(a, b), np.maximum(a, b), np.maximum(e, g) + 1e-4 * np.minimum(e, g) + diagonal
