"""What is learnt about the line in a thread: hyperparameters, composite weights, MR-DGP.

All is kept for the whole process by what it depends on, so that a preset is learnt once.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from workbench.checks import Cancelled
from workbench.ui.base.bands import Band
from workbench.ui.base.cache import Cache
from workbench.ui.base.jobs import Run, load_models
from workbench.ui.sources import line
from workbench.ui.sources.engine import Model
from workbench.ui.sources.line import World
from workbench.ui.sources.state import KERNEL, SET

PAUSE = 0.3             # seconds without an event, after which work begins
STEPS = 60              # most evaluations of an objective
INDUCING, SAMPLES = 40, 16      # of each GP of MR-DGP
_KEPT = {"learnt": Cache(200), "estimate": Cache(200), "experts": Cache(60)}


@dataclass(frozen=True)
class Plan:
    """What is wanted besides what the sliders say.

    Parameters
    ----------
    data : tuple
        Arguments of `line.make`.
    kernel : str
    hyper : str
        Where hyperparameters come from; see `workbench.ui.sources.state`.
    experts : bool
        Whether MR-DGP is wanted.
    """

    data: tuple
    kernel: str
    hyper: str
    experts: bool

    def key(self, what: str) -> tuple:
        """What a result depends on."""
        return self.data, self.kernel, *([self.hyper] if what == "learnt" else [])

    def kept(self, what: str) -> object | None:
        """A result that is there already."""
        return _KEPT[what].peek(self.key(what))

    @property
    def wanted(self) -> list[str]:
        """Results that are not there, in the order in which they are made."""
        asked = {"learnt": self.hyper != SET, "estimate": True, "experts": self.experts}
        return [what for what, is_asked in asked.items() if is_asked and self.kept(what) is None]


@dataclass(frozen=True)
class Learnt:
    """Hyperparameters that make all observations most probable, as a product of likelihoods."""

    model: Model
    objective: float


@dataclass(frozen=True)
class Estimate:
    """Composite weights estimated from the data; NaN where they could not be."""

    ribatet: float
    lyddon: float


@dataclass(frozen=True, eq=False)
class Experts:
    """MR-DGP: its posterior, and the experts with their weights at the places (A, places)."""

    band: Band
    means: np.ndarray
    weights: np.ndarray
    seconds: float
    cancelled: bool


def complete(plan: Plan, run: Run) -> None:
    """Make all that is wanted and not there, once the sliders rest; each is sent when made."""
    run.rest(PAUSE)
    load_models()
    world = line.make(*plan.data)
    make = {"learnt": learn, "estimate": estimate, "experts": experts}
    for what in plan.wanted:
        run.send("doing", what)
        found = make[what](world, plan, run)
        if not getattr(found, "cancelled", False):
            _KEPT[what].keep(plan.key(what), found)
        run.send(what, found)
        run.check()


def sources_of(world: World) -> list:
    """The sources of a line in torch, named "source 1" and so on."""
    import torch

    from workbench.gp.data.bags import Source, Targets

    return [Source(bags_of(shown.x), Targets(torch.as_tensor(shown.values)), "mean", "continuous",
                   f"source {k}") for k, shown in enumerate(world.sources, 1)]


def bags_of(x: np.ndarray):
    """Bags in torch, one for each row of points (B, size)."""
    import torch

    from workbench.gp.data.bags import Bags, Columns

    count, size = x.shape
    return Bags(torch.as_tensor(x.reshape(-1, 1)), torch.arange(count).repeat_interleave(size),
                torch.ones(count * size, dtype=torch.float64), count,
                Columns(("x",), (), ("1",)))


def learn(world: World, plan: Plan, run: Run) -> Learnt:
    """Hyperparameters of MR-GP under the product of all likelihoods."""
    from workbench.gp.models.several_sources.mr_gp import MRGP

    fixed = noise_as_made(world) if plan.hyper == KERNEL else {}
    fit = MRGP(kernel=plan.kernel, max_steps=STEPS, hyperparameters=fixed).fit(
        sources_of(world), callback=run.tick)
    if fit.history.cancelled:
        raise Cancelled
    found = {name: entry["value"] for name, entry in fit.hyperparameters.items()}
    noise = tuple(float(np.sqrt(found[name])) for name in noise_as_made(world))
    model = Model(plan.kernel, found[f"{plan.kernel}.lengthscale"],
                  found[f"{plan.kernel}.variance"], found["mean"], noise)
    return Learnt(model, fit.objective)


def estimate(world: World, plan: Plan, run: Run) -> Estimate:
    """Ribatet's and Lyddon's weight, with the noise as it was made."""
    from workbench.gp.models.several_sources.mr_gp import MRGP

    if len(world.sources) < 2:
        return Estimate(1.0, 1.0)
    run.check()
    model = MRGP(kernel=plan.kernel, composite="ribatet", max_steps=STEPS,
                 hyperparameters=noise_as_made(world))
    found = model.weights_of(sources_of(world))
    return Estimate(float(found.ribatet), float(found.lyddon))


def experts(world: World, plan: Plan, run: Run) -> Experts:
    """MR-DGP, source 1 first in the order of trust."""
    from workbench.gp.models.several_sources.tree.mr_dgp import MRDGP

    fit = MRDGP(kernel=plan.kernel, inducing=INDUCING, max_steps=STEPS, joint_steps=STEPS,
                samples=SAMPLES).fit(sources_of(world), callback=run.tick)
    there = bags_of(world.places[:, None])
    predictive = fit.at(there)
    means = np.stack([_array(fit.expert(there, name).mean) for name in fit.expert_names()])
    return Experts(Band(_array(predictive.mean), _array(predictive.std)), means,
                   _array(fit.expert_weights(there)), fit.history.elapsed, fit.history.cancelled)


def noise_as_made(world: World) -> dict[str, float]:
    """Noise variance of an observation of each source, by the name that MR-GP gives it."""
    prefix = [f"source {k}." for k in range(1, len(world.sources) + 1)]
    prefix = prefix if len(prefix) > 1 else [""]
    return {f"{start}noise.variance": float(shown.noise**2)
            for start, shown in zip(prefix, world.sources, strict=True)}


def _array(values) -> np.ndarray:
    return values.detach().cpu().numpy()
