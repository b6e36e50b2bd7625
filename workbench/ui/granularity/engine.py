"""One world on the bench: posteriors from complete data and from summaries, and their error."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.spatial.distance import cdist

from workbench.gp.models.exact.closed_form import Posterior, condition, condition_on_counts
from workbench.granularity.correlations import CORRELATIONS
from workbench.ui.base.bands import Band
from workbench.ui.base.cache import Cache
from workbench.ui.granularity.cells import Summaries
from workbench.ui.granularity.observed import LEAST, OBSERVED
from workbench.ui.granularity.worlds import World

AT_ONCE = 7e8           # operations of a triangular solve that a slider can wait for


@dataclass(frozen=True)
class Model:
    """Kernel and noise.

    Parameters
    ----------
    kernel : {"rbf", "matern12", "matern32", "matern52"}
    lengthscale : float
        Unit of the places.
    variance : float
        Of the Gaussian process.
    noise : float
        Standard deviation of one observation; unused by the Poisson likelihood.
    likelihood : {"normal", "poisson"}
    """

    kernel: str = "rbf"
    lengthscale: float = 1.0
    variance: float = 1.0
    noise: float = 0.3
    likelihood: str = "normal"

    def covariance(self, distance: np.ndarray) -> np.ndarray:
        """Kernel at distances."""
        found = CORRELATIONS[self.kernel](distance / self.lengthscale)
        found *= self.variance
        return found

    def errors(self, statistic: np.ndarray, counts: np.ndarray) -> np.ndarray:
        """Variance of each summary statistic around the process: v(statistic) / n_j."""
        return OBSERVED[self.likelihood].errors(statistic, counts, self.noise)


@dataclass(frozen=True)
class Answer:
    """What is shown of one setting; what is still being computed is None."""

    world: World
    model: Model
    cells: Summaries
    summary: Band
    complete: Band | None
    error: float | None                         # between the two means, share of the data's sd
    against: tuple[float | None, float]         # errors against the truth, the same share
    coverage: tuple[np.ndarray, np.ndarray] | None   # complete, summaries; at `LEVELS`

    @property
    def whole(self) -> bool:
        """Whether nothing is missing."""
        return self.complete is not None and self.coverage is not None


class Bench:
    """Answers questions about one world, and keeps what was answered.

    ``evaluations`` counts the posteriors that were computed.
    """

    def __init__(self, world: World):
        self.world, self.evaluations = world, 0
        self._means, self._sds = Cache(400), Cache(100)
        self._fits, self._near = Cache(2), Cache(6)

    def complete(self, model: Model) -> np.ndarray:
        """Posterior mean from complete data, at the places."""
        return self._means.get(model, lambda: self.world.constant + self._fit(model).mean(
            model.covariance(self.world.far)))

    def complete_sd(self, model: Model) -> np.ndarray:
        """Posterior standard deviation from complete data, at the probes."""
        return self._sds.get(model, lambda: self._fit(model).std(
            model.covariance(self.world.far[self.world.probes]), model.variance))

    def summary(self, cells: Summaries, model: Model) -> tuple[Posterior, np.ndarray]:
        """Posterior from summaries, and the kernel between places and cells."""
        near, far = self.distances(cells)
        statistic = cells.statistic(model.likelihood)
        covariance = model.covariance(near)
        covariance.flat[:: cells.size + 1] += model.errors(statistic, cells.counts)
        self.evaluations += 1
        return (condition(covariance, statistic - self.world.constant), model.covariance(far))

    def error(self, cells: Summaries, model: Model) -> float:
        """Root mean square between both posterior means, as a share of the data's sd."""
        fit, cross = self.summary(cells, model)
        return self._share(self.world.constant + fit.mean(cross) - self.complete(model))

    def answer(self, cells: Summaries, model: Model, whole: bool = False) -> Answer:
        """All that is shown of a setting; without ``whole``, only what is ready within a tick."""
        world = self.world
        fit, cross = self.summary(cells, model)
        summary, complete = Band(world.constant + fit.mean(cross)), None
        if whole or self.quick(model):
            complete = Band(self.complete(model))
        if complete is not None and (whole or self.light(cells, model)):
            complete = Band(complete.mean, self.complete_sd(model))
            summary = Band(summary.mean, fit.std(cross[world.probes], model.variance))
        error = None if complete is None else self._share(summary.mean - complete.mean)
        coverage = None
        if summary.sd is not None:
            coverage = self._coverage(complete, model), self._coverage(summary, model)
        against = (None if complete is None else self._miss(complete.mean),
                   self._miss(summary.mean))
        return Answer(world, model, cells, summary, complete, error, against, coverage)

    def quick(self, model: Model) -> bool:
        """Whether the mean from complete data is known or needs a single solve."""
        return model in self._means or OBSERVED[model.likelihood].noisy

    def light(self, cells: Summaries, model: Model) -> bool:
        """Whether standard deviations can be computed at every tick of a slider."""
        work = cells.size**2
        if model not in self._sds:
            work += self.world.values.size**2
        return work * self.world.probes.size < AT_ONCE

    def distances(self, cells: Summaries) -> tuple[np.ndarray, np.ndarray]:
        """Distances between cells, and of the places from them."""
        return self._near.get(cells.places.tobytes(), lambda: (
            cdist(cells.places, cells.places), cdist(self.world.places, cells.places)))

    def _fit(self, model: Model) -> Posterior:
        return self._fits.get(model, lambda: self._condition(model))

    def _condition(self, model: Model) -> Posterior:
        world = self.world
        self.evaluations += 1
        gram = model.covariance(world.near)
        if not OBSERVED[model.likelihood].noisy:
            return condition_on_counts(gram, world.values, world.constant)
        gram.flat[:: world.values.size + 1] += model.noise**2
        return condition(gram, world.values - world.constant)

    def _share(self, difference: np.ndarray) -> float:
        return float(np.sqrt(np.mean(difference[self.world.scored] ** 2)) / self.world.spread)

    def _reference(self) -> np.ndarray:
        """What predictions are compared with, at the scored places."""
        world = self.world
        if world.truth is not None:
            return world.truth
        return OBSERVED[world.likelihood].statistic(world.held_out, LEAST)

    def _miss(self, mean: np.ndarray) -> float:
        difference = mean[self.world.scored] - self._reference()
        return float(np.sqrt(np.mean(difference**2)) / self.world.spread)

    def _coverage(self, band: Band, model: Model) -> np.ndarray:
        """Share of the truth, or of held-out outputs, inside central intervals."""
        world, mean, sd = self.world, band.mean[self.world.probes], band.sd
        reference = self._reference()[world.probes - (world.scored.start or 0)]
        if world.truth is None:                 # an output has noise of its own
            sd = np.sqrt(sd**2 + model.errors(mean, 1.0))
        return Band(mean, sd).coverage(reference)
