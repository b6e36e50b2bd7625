"""What is computed once the sliders rest: a whole answer, curves over m, the plane, theory."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from workbench.ui.base.cache import Cache
from workbench.ui.base.jobs import Run
from workbench.ui.granularity import cells as cutting
from workbench.ui.granularity import learning, messages, theory, zones
from workbench.ui.granularity.cells import Summaries
from workbench.ui.granularity.engine import Answer, Bench, Model
from workbench.ui.granularity.plane import Plane
from workbench.ui.granularity.state import TOLERANCES
from workbench.ui.granularity.worlds import World

MOST_CELLS = 260        # for which theory is evaluated: it needs singular values
THEORY = 8              # about so many points of the theory's curves


@dataclass(frozen=True)
class Curve:
    """Error against number of cells at the present model, and what theory says of it."""

    counts: np.ndarray
    errors: np.ndarray
    bound_counts: np.ndarray
    bounds: np.ndarray
    certificates: np.ndarray


@dataclass(frozen=True)
class Picture:
    """The plane as far as it is known."""

    sizes: np.ndarray
    lengthscales: np.ndarray
    error: np.ndarray           # lengthscales x sizes
    share: float                # of the coarse plane that is computed
    unit: str
    trusted: dict[float, float]     # adviser: lengthscale per cell size, by tolerance


@dataclass(frozen=True)
class Plan:
    """All that background work needs to know, so that it never looks at a changing state."""

    bench: Bench
    model: Model
    rival: Model | None
    size: float
    shape: str                  # of a map's cells
    tolerance: float            # error whose place in the plane is wanted exactly
    plane: Plane
    stops: np.ndarray           # cell sizes of the curves
    curves: Cache               # those of before, and pictures
    key: tuple                  # of the curves: the world and the model

    def picture(self) -> Picture:
        """The plane as it is now; the same object as long as nothing was added."""
        plane, world = self.plane, self.bench.world
        known = int(np.isfinite(plane.error).sum())
        return self.curves.get((plane, known), lambda: Picture(
            plane.sizes, plane.lengthscales, plane.filled(), plane.share, world.unit,
            {t: theory.trusted(self.model.kernel, t, world.points.shape[1])
             for t in TOLERANCES}))


def equal_cells(world: World, size: float, shape: str = zones.SQUARES) -> Summaries:
    """Summaries of a world in equal cells of a size, or as many of another shape."""
    if world.shape[0] == 1:
        edges = cutting.equal(world.bounds[2], round(world.bounds[2] / size))
        return cutting.intervals(world.points, world.values, edges)
    return zones.SHAPES[shape](world.points, world.values, world.bounds, size)


def complete(plan: Plan, answer: Answer, run: Run, pause: float) -> None:
    """Do what is missing, what is looked at first."""
    run.wait_for_page(pause)
    bench, plane = plan.bench, plan.plane
    if not answer.whole:
        run.send("answer", bench.answer(answer.cells, plan.model, plan.rival, whole=True))
    if bench.world.shape[0] > 1:
        run.send("shapes", plan.curves.get(("shapes", *plan.key, plan.size),
                                           lambda: _shapes(plan, run)))
    curve = plan.curves.get(plan.key, lambda: _errors(plan, run))
    run.send("curve", curve)
    cells = {}

    def compute(row: int, column: int) -> float:
        run.check()
        size = float(plane.sizes[column])
        if size not in cells:
            cells[size] = equal_cells(bench.world, size, plan.shape)
        model = replace(plan.model, lengthscale=float(plane.lengthscales[row]))
        return bench.error(cells[size], model, rough=True)

    run.send("work", messages.PLANE)
    if plane.ready:
        run.send("picture", plan.picture())
    for _ in plane.fill(compute):
        run.send("picture", plan.picture())
    for where in (plane.around(plan.size, plan.model.lengthscale), plane.crossed([plan.tolerance])):
        for _ in plane.fill(compute, where):
            pass
        run.send("picture", plan.picture())
    run.send("fresh", None)
    run.send("work", messages.THEORY)
    _bounds(plan, curve, run)


def learn(bench: Bench, cells: Summaries, model: Model, run: Run) -> None:
    """Learn hyperparameters from summaries, and send ``(values, evidence)``."""
    found = learning.learn(cells, model, bench.world.constant, bench.world.extent, run.tick)
    run.tell("received", "learnt", found)


def _shapes(plan: Plan, run: Run) -> dict[str, float]:
    """Error by shape of the cells, of which there are as many."""
    found = {}
    for shape in zones.SHAPES:
        run.check()
        cells = equal_cells(plan.bench.world, plan.size, shape)
        found[shape] = plan.bench.error(cells, plan.model)
    return found


def _errors(plan: Plan, run: Run) -> Curve:
    counts, errors = [], []
    for size in np.sort(plan.stops)[::-1]:
        run.check()
        cells = equal_cells(plan.bench.world, float(size), plan.shape)
        counts.append(cells.size)
        errors.append(plan.bench.error(cells, plan.model))
    none = np.empty(0)
    return Curve(np.array(counts), np.array(errors), none, none, none)


def _bounds(plan: Plan, curve: Curve, run: Run) -> None:
    """Add theory to a curve, point by point."""
    if curve.bound_counts.size:
        return
    sizes = np.sort(plan.stops)[::-1]
    sizes = sizes[curve.counts <= MOST_CELLS]
    found = []
    for size in sizes[:: max(1, sizes.size // THEORY)]:
        run.check()
        cells = equal_cells(plan.bench.world, float(size), plan.shape)
        limit = theory.bound(plan.bench.world.points, cells, plan.model)
        found.append((cells.size, limit.bound, limit.certificate))
        counts, bounds, certificates = np.array(found).T
        run.send("curve", replace(curve, bound_counts=counts, bounds=bounds,
                                  certificates=certificates))
    plan.curves.keep(plan.key, replace(curve, bound_counts=counts, bounds=bounds,
                                      certificates=certificates))
