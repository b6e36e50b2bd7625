"""What is summarised: known functions, synthetic maps, California if its file is there."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from scipy.spatial.distance import cdist

from workbench.ui.granularity import california
from workbench.ui.granularity.observed import LEAST, OBSERVED

END = 2 * np.pi             # of the line; Shikuri 2025, figures 3 and 4
FINE = 240                  # places on the line at which posteriors are drawn
SIDE = 10.0                 # km, of the synthetic map
POINTS, PIXELS = 700, 40    # of the synthetic map
KNOWN = {
    "sine": ("sine", np.sin),
    "two": ("slow and fast waves", lambda x: np.sin(x) + 0.35 * np.sin(6 * x)),
    "rougher": ("rougher to the right", lambda x: np.sin(0.65 * x * x)),
    "step": ("a step", lambda x: np.tanh(8 * (x - np.pi))),
}
SYNTHETIC = {
    "both": "slow and fast waves",
    "smooth": "slow waves",
    "rough": "fast waves",
}


@dataclass(frozen=True, eq=False)
class World:
    """Complete data, where to predict, and the truth where it is known.

    Values are on the scale of the outputs divided by ``scale``; ``truth`` is on that of the
    Gaussian process, which under the Poisson likelihood is the log rate.
    """

    title: str
    unit: str                   # of places
    quantity: str               # what is mapped, with its unit
    bounds: tuple
    points: np.ndarray          # n x d
    values: np.ndarray
    places: np.ndarray          # pixels, then places of held-out outputs
    pixels: np.ndarray          # of the drawn grid, those that are places
    shape: tuple[int, int]
    likelihood: str
    truth: np.ndarray | None    # at the pixels
    held_out: np.ndarray        # outputs, empty where the truth is known
    scale: float = 1.0

    @cached_property
    def constant(self) -> float:
        """Mean of the process: g⁻¹ of the mean output."""
        return OBSERVED[self.likelihood].statistic(float(self.values.mean()))

    @cached_property
    def spread(self) -> float:
        """Standard deviation that errors are given as shares of."""
        observed = OBSERVED[self.likelihood]
        if observed.noisy or self.truth is None:
            return float(observed.statistic(self.values, LEAST).std())
        return float(self.truth.std())

    @property
    def scored(self) -> slice:
        """The places where posteriors are compared: the pixels, or those of held-out outputs."""
        drawn = self.pixels.size
        return slice(drawn, None) if self.truth is None else slice(0, drawn)

    @cached_property
    def probes(self) -> np.ndarray:
        """Places whose standard deviations calibration needs: of a map's pixels every fourth."""
        scored = np.arange(self.places.shape[0])[self.scored]
        if self.truth is None or self.shape[0] == 1:
            return scored
        return scored.reshape(self.shape)[::2, ::2].ravel()

    @property
    def extent(self) -> float:
        """The longer side."""
        return max(self.bounds[2] - self.bounds[0], self.bounds[3] - self.bounds[1])

    @cached_property
    def near(self) -> np.ndarray:
        """Distances between the points."""
        return cdist(self.points, self.points)

    @cached_property
    def far(self) -> np.ndarray:
        """Distances of the places (rows) from the points."""
        return cdist(self.places, self.points)


@lru_cache(8)
def line(known: str, count: int, noise: float, draw: int = 1) -> World:
    """A known function on a line, observed at equally spaced points.

    Parameters
    ----------
    known : str
        One of `KNOWN`.
    count : int
        Number of points n.
    noise : float
        Standard deviation of an observation.
    draw : int
        Seed of the noise.
    """
    title, function = KNOWN[known]
    x = np.linspace(0, END, count)
    y = function(x) + noise * np.random.default_rng(draw).standard_normal(count)
    fine = np.linspace(0, END, FINE)
    return World(title, "rad", "value", (0.0, 0.0, END, 0.0), x[:, None], y, fine[:, None],
                 np.arange(FINE), (1, FINE), "normal", function(fine), np.empty(0))


@lru_cache(6)
def synthetic_map(output: str, likelihood: str) -> World:
    """A synthetic map of waves, observed at points that crowd in towns."""
    rng = np.random.default_rng(3)
    towns = rng.uniform(1, SIDE - 1, (7, 2))
    crowd = towns[rng.integers(0, 7, POINTS)] + 0.9 * rng.standard_normal((POINTS, 2))
    points = np.where(rng.random((POINTS, 1)) < 0.45, crowd, rng.uniform(0, SIDE, (POINTS, 2)))
    points = np.clip(points, 0.001, SIDE - 0.001)
    observed = OBSERVED[likelihood]
    values = observed.draw(_waves(points, output) + observed.offset, rng)
    centres = (np.arange(PIXELS) + 0.5) * SIDE / PIXELS
    places = np.column_stack([a.ravel() for a in np.meshgrid(centres, centres)])
    truth = _waves(places, output) + observed.offset
    return World(f"Synthetic map: {SYNTHETIC[output]}", "km", observed.quantity,
                 (0.0, 0.0, SIDE, SIDE), points, values, places, np.arange(PIXELS**2),
                 (PIXELS, PIXELS), likelihood, truth, np.empty(0))


def _waves(places: np.ndarray, output: str) -> np.ndarray:
    x, y = places.T
    slow = 1.3 * np.sin(0.62 * x + 0.3) * np.cos(0.5 * y - 0.4)
    fast = 1.3 * np.sin(1.9 * x + 0.6 * np.sin(y)) * np.sin(2.1 * y + 0.4 * x)
    return {"smooth": slow, "rough": fast, "both": 0.8 * slow + 0.5 * fast}[output]


@lru_cache(8)
def california_map(output: str, likelihood: str) -> World:
    """California housing: 1,000 blocks as complete data, others held out for scores."""
    kept, others = california.folds(output)
    held_out = others[:california.HELD_OUT]
    observed = OBSERVED[likelihood]
    values = observed.possible(kept[:, 2])
    scale = float(values.std()) if observed.noisy else 1.0
    x0, y0, x1, y1 = california.BOUNDS
    columns, rows = PIXELS + 4, PIXELS + 1
    x = x0 + (np.arange(columns) + 0.5) * (x1 - x0) / columns
    y = y0 + (np.arange(rows) + 0.5) * (y1 - y0) / rows
    grid = np.column_stack([a.ravel() for a in np.meshgrid(x, y)])
    land = np.flatnonzero(cdist(grid, others[:, :2]).min(1) < california.REACH)
    label, unit = california.OUTPUTS[output]
    return World(f"California: {label}", "degrees", observed.told(label, unit),
                 california.BOUNDS, kept[:, :2], values / scale,
                 np.vstack([grid[land], held_out[:, :2]]), land, (rows, columns),
                 likelihood, None, held_out[:, 2] / scale, scale)
