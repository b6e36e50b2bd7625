"""MR-GP on a line for every composite weight at once, fast enough to follow a slider."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from workbench.gp.models.exact.tempered import Tempered, condition_tempered, covariance_of_means
from workbench.granularity.correlations import CORRELATIONS
from workbench.ui.base.bands import HALF_95, Band
from workbench.ui.base.cache import Cache
from workbench.ui.sources.line import World

WEIGHTS = np.round(np.geomspace(0.05, 1.5, 41), 4)      # of the curve
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


class Bench:
    """A world; covariances are kept for the last few lengthscales."""

    def __init__(self, world: World):
        self.world = world
        rows = [shown.x for shown in world.sources]
        self._x = np.concatenate([x.ravel() for x in rows])
        self._sizes = np.concatenate([np.full(len(x), x.shape[1]) for x in rows])
        self._owner = np.repeat(np.arange(len(rows)), [len(x) for x in rows])
        self._y = np.concatenate([shown.values for shown in world.sources])
        self._grams, self._posteriors = Cache(KEPT), Cache(KEPT)

    def posterior(self, model: Model, sources: Sequence[int] | None = None) -> Tempered:
        """The posterior of f less its mean given all sources, or some."""
        chosen = tuple(range(len(self.world.sources))) if sources is None else tuple(sources)
        return self._posteriors.get((model, chosen), lambda: self._condition(model, chosen))

    def band(self, model: Model, weight: float, sources: Sequence[int] | None = None) -> Band:
        """The posterior under the likelihood to a power."""
        mean, sd = self.posterior(model, sources).at(weight)
        return Band(model.mean + mean, sd)

    def _condition(self, model: Model, chosen: tuple[int, ...]) -> Tempered:
        shape, length = CORRELATIONS[model.kernel], model.lengthscale
        gram, cross = self._grams.get((model.kernel, length), lambda: covariance_of_means(
            lambda distance: shape(distance / length), self._x, self._sizes, self.world.places))
        rows = np.flatnonzero(np.isin(self._owner, chosen))
        return condition_tempered(
            model.variance * gram[np.ix_(rows, rows)], np.array(model.noise)[self._owner[rows]],
            self._y[rows] - model.mean, model.variance * cross[:, rows], model.variance)


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


def score(band: Band, alone: Band, world: World) -> Score:
    """Score a posterior beside that of the first source alone."""
    home, seen = world.inside(0), world.seen
    gap = np.abs(band.mean - world.known)[seen]
    return Score(float((band.sd[home] ** 2).mean() / (alone.sd[home] ** 2).mean()),
                 float(np.sqrt((gap**2).mean())),
                 float((gap <= HALF_95 * band.sd[seen]).mean()))


@dataclass(frozen=True, eq=False)
class Answer:
    """All that is shown of one world under one model and weight."""

    world: World
    model: Model
    weight: float
    bands: dict[str, Band]            # alone, product, composite
    scores: dict[str, Score]
    relative: np.ndarray            # variance at `WEIGHTS`, relative to the first source alone
    milliseconds: float = 0.0


def answer(bench: Bench, model: Model, weight: float) -> Answer:
    """The posteriors of the first source, of the product and of the composite likelihood."""
    world, alone = bench.world, bench.band(model, 1.0, [0])
    bands = {"alone": alone, "product": bench.band(model, 1.0),
            "composite": bench.band(model, weight)}
    home = world.inside(0)
    relative = (bench.posterior(model).variances(WEIGHTS)[home].mean(0)
                / (alone.sd[home] ** 2).mean())
    scores = {name: score(band, alone, world) for name, band in bands.items()}
    return Answer(world, model, weight, bands, scores, relative)
