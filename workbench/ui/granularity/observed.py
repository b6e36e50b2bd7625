"""How the map's observations are distributed: what the app does differently for each likelihood."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

NOISE = 0.3                 # sd of the simulated map's Normal observations
LEAST = 1e-3                # of positive outputs


@dataclass(frozen=True)
class Normal:
    """Observations with a noise of their own; a cell reports their mean."""

    noisy: bool = True              # whether there is a noise to choose and to learn
    how: str = "exact"              # how posteriors are computed
    quantity: str = "value"         # of the simulated map
    offset: float = 0.0             # of its process

    def statistic(self, means: np.ndarray, least: float | np.ndarray = 0.0) -> np.ndarray:
        """Means on the scale of the process."""
        return means

    def errors(self, statistic: np.ndarray, counts: np.ndarray, noise: float) -> np.ndarray:
        """Variance of a statistic of so many observations around the process."""
        return noise**2 / counts

    def draw(self, process: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Observations of the process."""
        return process + NOISE * rng.standard_normal(process.size)

    def possible(self, outputs: np.ndarray) -> np.ndarray:
        """Outputs as they can be observed."""
        return outputs

    def told(self, label: str, unit: str) -> str:
        """What is mapped of an output."""
        return f"{label} ({unit})"


@dataclass(frozen=True)
class Poisson(Normal):
    """Counts; a cell reports the log of their mean, with variance 1 / total count."""

    noisy: bool = False
    how: str = "Laplace for complete data"
    quantity: str = "log count per point"
    offset: float = 1.0

    def statistic(self, means: np.ndarray, least: float | np.ndarray = 0.0) -> np.ndarray:
        """Log of the means, which count as ``least`` at least."""
        return np.log(np.maximum(means, least))

    def errors(self, statistic: np.ndarray, counts: np.ndarray, noise: float) -> np.ndarray:
        """Variance of a log mean: 1 / total count."""
        return np.exp(-statistic) / counts

    def draw(self, process: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Counts at the rate exp(process)."""
        return rng.poisson(np.exp(process)).astype(float)

    def possible(self, outputs: np.ndarray) -> np.ndarray:
        """Outputs above zero."""
        return np.maximum(outputs, LEAST)

    def told(self, label: str, unit: str) -> str:
        """What is mapped of an output, its log."""
        return f"log of {super().told(label, unit)}"


#: By name of the likelihood.
OBSERVED = {"normal": Normal(), "poisson": Poisson()}
