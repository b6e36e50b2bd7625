"""One world on the bench: posteriors from complete data and from summaries, and their error."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.spatial.distance import cdist

from workbench.gp.models.exact.closed_form import (
    NormalPosterior,
    Posterior,
    condition,
    condition_on_counts,
)
from workbench.granularity.correlations import CORRELATIONS
from workbench.ui.base.bands import LEVELS, Band
from workbench.ui.base.cache import Cache
from workbench.ui.granularity.cells import Summaries
from workbench.ui.granularity.observed import LEAST, OBSERVED
from workbench.ui.granularity.worlds import World

NINETY = int(abs(LEVELS - 0.9).argmin())    # of the levels
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
class Rival:
    """The same summaries under another lengthscale."""

    model: Model
    mean: np.ndarray
    evidence: float
    against: float              # error against the truth, share of the data's sd
    coverage: np.ndarray | None     # at `LEVELS`


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
    evidence: float                             # log density of the summaries
    rival: Rival | None = None

    @property
    def whole(self) -> bool:
        """Whether nothing is missing."""
        return self.complete is not None and self.summary.sd is not None


class Bench:
    """Answers questions about one world, and keeps what was answered.

    ``evaluations`` counts the posteriors that were computed.
    """

    def __init__(self, world: World):
        self.world, self.evaluations = world, 0
        self._means, self._sds = Cache(400), Cache(100)
        self._rough, self._fits, self._near = Cache(400), Cache(2), Cache(6)

    def complete(self, model: Model, rough: bool = False) -> np.ndarray:
        """Posterior mean from complete data, at the places, or at the probes alone."""
        if not rough or model in self._means:
            found = self._means.get(model, lambda: self._complete(model, self.world.far))
            return found[self.world.probes] if rough else found
        return self._rough.get(model, lambda: self._complete(
            model, self.world.far[self.world.probes]))

    def complete_sd(self, model: Model) -> np.ndarray:
        """Posterior standard deviation from complete data, at the probes."""
        return self._sds.get(model, lambda: self._fit(model).std(
            model.covariance(self.world.far[self.world.probes]), model.variance))

    def summary(self, cells: Summaries, model: Model, rough: bool = False
                ) -> tuple[NormalPosterior, np.ndarray]:
        """Posterior from summaries, and the kernel between places, or probes alone, and cells."""
        near, far = self.distances(cells, rough)
        statistic = cells.statistic(model.likelihood)
        covariance = model.covariance(near)
        covariance.flat[:: cells.size + 1] += model.errors(statistic, cells.counts)
        self.evaluations += 1
        return (condition(covariance, statistic - self.world.constant), model.covariance(far))

    def error(self, cells: Summaries, model: Model, rough: bool = False) -> float:
        """Root mean square between both posterior means, as a share of the data's sd.

        Parameters
        ----------
        cells : Summaries
        model : Model
        rough : bool
            Whether the probes stand for all places that are scored.
        """
        fit, cross = self.summary(cells, model, rough)
        difference = self.world.constant + fit.mean(cross) - self.complete(model, rough)
        return self._share(difference if rough else difference[self.world.scored])

    def answer(self, cells: Summaries, model: Model, rival: Model | None = None,
               whole: bool = False) -> Answer:
        """All that is shown of a setting; without ``whole``, only what is ready within a tick.

        Standard deviations are those at the probes from complete data, at all places from
        summaries; coverage is that at the probes.
        """
        world = self.world
        fit, cross = self.summary(cells, model)
        summary, complete = Band(world.constant + fit.mean(cross)), None
        if whole or self.quick(model):
            complete = Band(self.complete(model))
        light = complete is not None and (whole or self.light(cells, model))
        sd = None
        if light:
            complete = Band(complete.mean, self.complete_sd(model))
            if whole or cells.size**2 * world.places.shape[0] < AT_ONCE:
                summary = Band(summary.mean, fit.std(cross, model.variance))
            sd = (fit.std(cross[world.probes], model.variance) if summary.sd is None else
                  summary.sd[world.probes])
        error = (None if complete is None else
                 self._share((summary.mean - complete.mean)[world.scored]))
        coverage = None
        if light:
            coverage = (self._coverage(complete.mean, complete.sd, model),
                        self._coverage(summary.mean, sd, model))
        against = (None if complete is None else self._miss(complete.mean),
                   self._miss(summary.mean))
        return Answer(world, model, cells, summary, complete, error, against, coverage,
                      fit.evidence, rival and self._rival(cells, rival, light))

    def quick(self, model: Model) -> bool:
        """Whether the mean from complete data is known or needs a single solve."""
        return model in self._means or OBSERVED[model.likelihood].noisy

    def light(self, cells: Summaries, model: Model) -> bool:
        """Whether standard deviations can be computed at every tick of a slider."""
        work = cells.size**2
        if model not in self._sds:
            work += self.world.values.size**2
        return work * self.world.probes.size < AT_ONCE

    def distances(self, cells: Summaries, rough: bool = False) -> tuple[np.ndarray, np.ndarray]:
        """Distances between cells, and of the places, or of the probes alone, from them."""
        places = self.world.places[self.world.probes] if rough else self.world.places
        return self._near.get((rough, cells.places.tobytes()), lambda: (
            cdist(cells.places, cells.places), cdist(places, cells.places)))

    def _complete(self, model: Model, far: np.ndarray) -> np.ndarray:
        return self.world.constant + self._fit(model).mean(model.covariance(far))

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

    def _rival(self, cells: Summaries, model: Model, light: bool) -> Rival:
        world = self.world
        fit, cross = self.summary(cells, model)
        mean, coverage = world.constant + fit.mean(cross), None
        if light:
            coverage = self._coverage(mean, fit.std(cross[world.probes], model.variance), model)
        return Rival(model, mean, fit.evidence, self._miss(mean), coverage)

    def _share(self, difference: np.ndarray) -> float:
        return float(np.sqrt(np.mean(difference**2)) / self.world.spread)

    def _reference(self) -> np.ndarray:
        """What predictions are compared with, at the scored places."""
        world = self.world
        if world.truth is not None:
            return world.truth
        return OBSERVED[world.likelihood].statistic(world.held_out, LEAST)

    def _miss(self, mean: np.ndarray) -> float:
        return self._share(mean[self.world.scored] - self._reference())

    def _coverage(self, mean: np.ndarray, sd: np.ndarray, model: Model) -> np.ndarray:
        """Share of the truth, or of held-out outputs, inside central intervals at the probes."""
        world, mean = self.world, mean[self.world.probes]
        reference = self._reference()[world.probes - (world.scored.start or 0)]
        if world.truth is None:                 # an output has noise of its own
            sd = np.sqrt(sd**2 + model.errors(mean, 1.0))
        return Band(mean, sd).coverage(reference)
