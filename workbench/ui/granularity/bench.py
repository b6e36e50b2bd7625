"""One world on the bench: posteriors from complete data and from summaries, and their error."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.spatial.distance import cdist

from workbench.ui.granularity import engine
from workbench.ui.granularity.cells import Summaries
from workbench.ui.granularity.engine import Conditioned, Model
from workbench.ui.granularity.worlds import World

LEVELS = np.round(np.arange(0.05, 1.0, 0.05), 2)
AT_ONCE = 7e8           # operations of a triangular solve that a slider can wait for


class Recent:
    """The last few results by key."""

    def __init__(self, most: int):
        self._most, self._kept = most, OrderedDict()

    def __contains__(self, key: object) -> bool:
        return key in self._kept

    def get(self, key: object, make: Callable[[], object]) -> object:
        """The result kept under a key, made if there is none."""
        found = self._kept.get(key)
        return self.put(key, make()) if found is None else found

    def put(self, key: object, result: object) -> object:
        """Keep a result, and return it."""
        self._kept[key] = result
        while len(self._kept) > self._most:
            self._kept.popitem(last=False)
        return result


@dataclass(frozen=True)
class Law:
    """A posterior at the places of a world: its mean, and its sd at the probes once known."""

    mean: np.ndarray
    sd: np.ndarray | None = None


@dataclass(frozen=True)
class Answer:
    """What is shown of one setting; what is still being computed is None."""

    world: World
    model: Model
    cells: Summaries
    summary: Law
    complete: Law | None
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
        self._means, self._sds = Recent(400), Recent(100)
        self._fits, self._near = Recent(2), Recent(6)

    def complete(self, model: Model) -> np.ndarray:
        """Posterior mean from complete data, at the places."""
        return self._means.get(model, lambda: self._fit(model).mean(
            model.covariance(self.world.far)))

    def complete_sd(self, model: Model) -> np.ndarray:
        """Posterior standard deviation from complete data, at the probes."""
        return self._sds.get(model, lambda: self._fit(model).sd(
            model.covariance(self.world.far[self.world.probes])))

    def summary(self, cells: Summaries, model: Model) -> tuple[Conditioned, np.ndarray]:
        """Posterior from summaries: the fit, and its kernel between places and cells."""
        near, far = self.distances(cells)
        statistic = cells.statistic(model.likelihood)
        self.evaluations += 1
        fit = engine.condition(model, near, statistic, model.errors(statistic, cells.counts),
                               self.world.constant)
        return fit, model.covariance(far)

    def error(self, cells: Summaries, model: Model) -> float:
        """Root mean square between both posterior means, as a share of the data's sd."""
        fit, cross = self.summary(cells, model)
        return self._share(fit.mean(cross) - self.complete(model))

    def answer(self, cells: Summaries, model: Model, whole: bool = False) -> Answer:
        """All that is shown of a setting; without ``whole``, only what is ready within a tick."""
        world = self.world
        fit, cross = self.summary(cells, model)
        summary, complete = Law(fit.mean(cross)), None
        if whole or self.quick(model):
            complete = Law(self.complete(model))
        if complete is not None and (whole or self.light(cells, model)):
            complete = Law(complete.mean, self.complete_sd(model))
            summary = Law(summary.mean, fit.sd(cross[world.probes]))
        error = None if complete is None else self._share(summary.mean - complete.mean)
        coverage = None
        if summary.sd is not None:
            coverage = self._coverage(complete, model), self._coverage(summary, model)
        against = (None if complete is None else self._miss(complete.mean, model),
                   self._miss(summary.mean, model))
        return Answer(world, model, cells, summary, complete, error, against, coverage)

    def quick(self, model: Model) -> bool:
        """Whether the mean from complete data is known or needs a single solve."""
        return model in self._means or model.likelihood == "normal"

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

    def _fit(self, model: Model) -> Conditioned:
        return self._fits.get(model, lambda: self._condition(model))

    def _condition(self, model: Model) -> Conditioned:
        world = self.world
        self.evaluations += 1
        if model.likelihood == "poisson":
            return engine.laplace(model, world.near, world.values, world.constant)
        errors = np.full(world.values.size, model.noise**2)
        return engine.condition(model, world.near, world.values, errors, world.constant)

    def _share(self, difference: np.ndarray) -> float:
        return float(np.sqrt(np.mean(difference[self.world.scored] ** 2)) / self.world.spread)

    def _reference(self) -> np.ndarray:
        """What predictions are held against, at the scored places."""
        world = self.world
        if world.truth is not None:
            return world.truth
        return np.log(np.maximum(world.held_out, 1e-3)) if (
            world.likelihood == "poisson") else world.held_out

    def _miss(self, mean: np.ndarray, model: Model) -> float:
        difference = mean[self.world.scored] - self._reference()
        return float(np.sqrt(np.mean(difference**2)) / self.world.spread)

    def _coverage(self, law: Law, model: Model) -> np.ndarray:
        """Share of the truth, or of held-out outputs, inside central intervals."""
        from scipy.special import ndtri

        world = self.world
        mean, variance = law.mean[world.probes], law.sd**2
        start = world.scored.start or 0
        reference = self._reference()[world.probes - start]
        if world.truth is None:                 # an output has noise of its own
            variance = variance + model.errors(mean, 1.0)
        off = np.abs(reference - mean) / np.sqrt(np.maximum(variance, 1e-300))
        return np.mean(off[:, None] <= ndtri((1 + LEVELS) / 2), axis=0)
