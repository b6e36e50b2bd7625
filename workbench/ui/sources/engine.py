"""MR-GP on a line for every composite weight at once, fast enough to follow a slider.

With the covariance G of all observations and their noise Λ = diag(σ²), Λ^-½ G Λ^-½ = U diag(s) Uᵀ
gives the posterior under the likelihood to the power of φ without another decomposition:

    mean = m + C φ/(1 + φ s) · Uᵀ Λ^-½ (y - m),     variance = k(0) - Σ_j C_j² φ/(1 + φ s_j),

where C = cov(f, A f) Λ^-½ U. numpy alone; `wb.MRGP` with ``trust`` gives the same numbers.

References
----------
Hamelijnck et al. 2019, section 3.1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from workbench.granularity.correlations import CORRELATIONS
from workbench.ui.granularity.bench import Recent
from workbench.ui.sources.line import World

WEIGHTS = np.round(np.geomspace(0.05, 1.5, 41), 4)      # of the curve
LEVEL = 1.959964            # of a 95 % interval, in standard deviations
KEPT = 6                    # covariances


@dataclass(frozen=True)
class Model:
    """Hyperparameters of MR-GP.

    Parameters
    ----------
    kernel : str
        Of `workbench.granularity.correlations`.
    lengthscale : float
        Unit of x.
    variance, mean : float
        Of the function before data.
    noise : tuple of float
        Standard deviation of an observation of each source.
    """

    kernel: str
    lengthscale: float
    variance: float
    mean: float
    noise: tuple[float, ...]


@dataclass(frozen=True, eq=False)
class Law:
    """Posterior mean and standard deviation of the function at the places of a world."""

    mean: np.ndarray
    sd: np.ndarray


@dataclass(frozen=True, eq=False)
class Spectrum:
    """The posterior given some observations, for any power of their likelihood."""

    model: Model
    values: np.ndarray          # s (B,)
    residual: np.ndarray        # Uᵀ Λ^-½ (y - m) (B,)
    cross: np.ndarray           # C (places, B)
    squared: np.ndarray = field(repr=False)

    def law(self, weight: float) -> Law:
        """The posterior under the likelihood to a power."""
        gain = weight / (1 + weight * self.values)
        mean = self.model.mean + self.cross @ (gain * self.residual)
        return Law(mean, np.sqrt(np.maximum(self.model.variance - self.squared @ gain, 0.0)))

    def variances(self, weights: np.ndarray) -> np.ndarray:
        """Posterior variance at each place for each weight (places, weights)."""
        gain = weights / (1 + weights * self.values[:, None])
        return np.maximum(self.model.variance - self.squared @ gain, 0.0)


class Bench:
    """A world with its distances; covariances are kept for the last few lengthscales."""

    def __init__(self, world: World):
        self.world = world
        rows = [shown.x for shown in world.sources]
        self._x = np.concatenate([x.ravel() for x in rows])
        sizes = np.concatenate([np.full(len(x), x.shape[1]) for x in rows])
        self._starts = np.r_[0, np.cumsum(sizes)[:-1]]
        self._sizes = sizes
        self._owner = np.repeat(np.arange(len(rows)), [len(x) for x in rows])
        self._y = np.concatenate([shown.values for shown in world.sources])
        self._grams, self._spectra = Recent(KEPT), Recent(KEPT)

    def spectrum(self, model: Model, sources: Sequence[int] | None = None) -> Spectrum:
        """The posterior given all sources, or some."""
        chosen = tuple(range(len(self.world.sources))) if sources is None else tuple(sources)
        return self._spectra.get((model, chosen), lambda: self._decomposed(model, chosen))

    def _decomposed(self, model: Model, chosen: tuple[int, ...]) -> Spectrum:
        gram, cross = self._grams.get(
            (model.kernel, model.lengthscale), lambda: self._covariances(model))
        rows = np.flatnonzero(np.isin(self._owner, chosen))
        root = 1 / np.array(model.noise)[self._owner[rows]]
        scaled = model.variance * gram[np.ix_(rows, rows)] * root[:, None] * root
        values, vectors = np.linalg.eigh(scaled)
        white = (model.variance * cross[:, rows] * root) @ vectors
        residual = vectors.T @ (root * (self._y[rows] - model.mean))
        return Spectrum(model, np.maximum(values, 0.0), residual, white, white**2)

    def _covariances(self, model: Model) -> tuple[np.ndarray, np.ndarray]:
        """Correlations of the observations with each other and with f at the places."""
        shape = CORRELATIONS[model.kernel]
        points = shape(np.abs(self._x[:, None] - self._x) / model.lengthscale)
        gram = np.add.reduceat(np.add.reduceat(points, self._starts, 0), self._starts, 1)
        places = self.world.places[:, None]
        cross = np.add.reduceat(shape(np.abs(places - self._x) / model.lengthscale),
                                self._starts, 1)
        return gram / (self._sizes[:, None] * self._sizes), cross / self._sizes


@dataclass(frozen=True)
class Score:
    """How one posterior does.

    Parameters
    ----------
    variance : float
        Its mean variance where the first source observes, relative to that of the first source's
        own posterior.
    rmse : float
        Against the function, where some source observes.
    coverage : float
        Share of the function inside the 95 % band there.
    """

    variance: float
    rmse: float
    coverage: float


def score(law: Law, alone: Law, world: World) -> Score:
    """Score a posterior beside that of the first source alone."""
    home, seen = world.inside(0), world.seen
    gap = np.abs(law.mean - world.known)[seen]
    return Score(float((law.sd[home] ** 2).mean() / (alone.sd[home] ** 2).mean()),
                 float(np.sqrt((gap**2).mean())),
                 float((gap <= LEVEL * law.sd[seen]).mean()))


@dataclass(frozen=True, eq=False)
class Answer:
    """All that is shown of one world under one model and weight."""

    world: World
    model: Model
    weight: float
    laws: dict[str, Law]            # alone, product, composite
    scores: dict[str, Score]
    relative: np.ndarray            # variance at `WEIGHTS`, relative to the first source alone
    milliseconds: float = 0.0


def answer(bench: Bench, model: Model, weight: float) -> Answer:
    """The posteriors of the first source, of the product and of the composite likelihood."""
    world, together = bench.world, bench.spectrum(model)
    laws = {"alone": bench.spectrum(model, [0]).law(1.0), "product": together.law(1.0),
            "composite": together.law(weight)}
    home = world.inside(0)
    relative = together.variances(WEIGHTS)[home].mean(0) / (laws["alone"].sd[home] ** 2).mean()
    scores = {name: score(law, laws["alone"], world) for name, law in laws.items()}
    return Answer(world, model, weight, laws, scores, relative)
