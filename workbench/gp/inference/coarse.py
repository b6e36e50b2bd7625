"""Hyperparameters found on less of the data first, where an evaluation on all takes long.

Half the clusters take half the time. Their objective is like that of all: the search on these then
begins near an optimum, in the metric of the Hessian there, and is short. A quarter would do it in a
quarter of the time, but hides more of what differs inside areas, and led to worse optima.

Where areas are too small for that, but many, some of them are what the search begins on. Their
objective is a part of that of all, and so is its Hessian.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from workbench.gp.data.bags import Bags, Source
from workbench.gp.data.compression import compress
from workbench.gp.fields.geometry import Geometry, geometry
from workbench.gp.inference.parts import part
from workbench.gp.likelihoods import Likelihood
from workbench.gp.optimisation.pilot import STEP_OF_Q, pilot
from workbench.gp.optimisation.search import PULSE_SECONDS
from workbench.gp.optimisation.training import Callback, History, scaled_callback

_LONG = 1_000_000           # features of what is learnt on from which it pays
_SHARE = 2                  # individuals, or clusters, of an area for one of the few
_FEWEST, _MOST = 4, 20      # of these in an area
_GAIN = 1.5                 # times as few as there must be at least
# Areas from which some of them are enough to begin on: one of how many, and at least so many.
_MANY, _SOME, _ENOUGH = 1_000, 4, 400


@dataclass(frozen=True)
class Less:
    """What a search begins on.

    Parameters
    ----------
    learning : Geometry
        Fewer clusters, or those of some areas.
    source : Source
        Whose values are learnt from.
    likelihood : Likelihood
        Of these values.
    share : float
        Of all areas that are in it.
    said : str
        What it is.
    """

    learning: Geometry
    source: Source
    likelihood: Likelihood
    share: float = 1.0
    said: str = "fewer clusters"


def coarser(state) -> Less | None:
    """Less than what a state learns on; None where that would not save much time.

    Parameters
    ----------
    state : VariationalState
        Not changed.
    """
    whole = state.design.learning
    bags, width = whole.operator.bags, len(state.field.q_mean)
    if len(whole.x) * width < _LONG or not state.hyperparameters.free:
        return None
    most = min(max(int(bags.sizes.max()) // _SHARE, _FEWEST), _MOST)
    if _GAIN * float(bags.sizes.clamp(max=most).sum()) > len(whole.x):
        few = bags.count >= _MANY and state.shard is None and state.likelihood.has_noise
        return _some_areas(state) if few else None
    clusters = compress(replace(bags, x=whole.x), most)
    few = geometry(clusters.bags.x, type(whole.operator)(clusters.bags),
                   clusters.concentration(bags.weight, whole.concentration))
    few = few if state.shard is None else part(few, state.shard.bags)
    return Less(few, state.source, state.likelihood)


def _some_areas(state) -> Less:
    """A random part of the areas, with their clusters or individuals."""
    whole, source = state.design.learning, state.source
    count = source.bags.count
    order = torch.randperm(count, generator=torch.Generator().manual_seed(state.options.seed))
    areas = order[:max(count // _SOME, _ENOUGH)].sort().values.to(whole.x.device)
    bags, rows = _some(whole.operator.bags, areas)
    concentration = None if whole.concentration is None else whole.concentration[rows]
    targets = replace(source.targets, **{
        name: None if own is None else own[areas] for name, own in (
            (name, getattr(source.targets, name)) for name in (
                "value", "noise_variance", "sample_variance"))})
    return Less(geometry(whole.x[rows], type(whole.operator)(bags), concentration),
                replace(source, bags=_some(source.bags, areas)[0], targets=targets),
                state.likelihood.of(areas), len(areas) / count,
                f"{len(areas)} of the areas")


def _some(bags: Bags, areas: Tensor) -> tuple[Bags, Tensor]:
    """Some of the bags, in their order, and the numbers of their individuals."""
    place = torch.full((bags.count,), -1, device=bags.membership.device)
    place[areas] = torch.arange(len(areas), device=place.device)
    own = place[bags.membership]
    rows = (own >= 0).nonzero()[:, 0]

    def cut(names: tuple[str, ...], which: Tensor) -> dict:
        return {name: None if (found := getattr(bags, name)) is None else found[which]
                for name in names}

    return replace(
        bags, membership=own[rows], count=len(areas),
        names=tuple(bags.names[int(one)] for one in areas) if bags.names else (),
        **cut(("trials", "noise_variance", "mediators"), areas),
        **cut(("x", "weight", "concentration", "individual_noise_variance", "areas",
               "recurring"), rows)), rows


def begun(state, less: Less, search: Callable[[Callback | None], History],
          evaluate: Callable[[Callable[[], None]], Tensor], callback: Callback | None
          ) -> tuple[History | None, np.ndarray | None]:
    """Bring a state near its optimum on less of the data, from where it goes on with all.

    Parameters
    ----------
    state : VariationalState
        Its hyperparameters and q are changed in place; if less cannot be fitted they are as they
        were.
    less : Less
        Of `coarser`.
    search : callable
        ``search(callback)`` brings it near the optimum of what it learns on.
    evaluate : callable
        ``evaluate(pulse)``: the objective of what it learns on.
    callback : callable or None
        As of ``fit``.

    Returns
    -------
    history : History or None
        Of the search on less, as of `pilot`.
    metric : array (P, P) or None
        As of `pilot`.
    """
    whole, start = (state.learning, state.source, state.likelihood), (
        state.field.q_mean, state.field.q_covariance)
    found, told = [], time.perf_counter()

    def searched() -> History:
        history = search(scaled_callback(callback, 0, 3))
        found.extend((history, state.field.q_mean, state.field.q_covariance))
        state.restart(*found[1:])
        return history

    def pulse() -> None:
        nonlocal told
        if callback is not None and time.perf_counter() - told > PULSE_SECONDS:
            told = time.perf_counter()
            callback(len(found[0].objective), found[0].objective[-1], 1 / 3)

    def objective() -> Tensor:
        state.hyperparameters.together(pulse)
        return evaluate(pulse)

    state.learning, state.source, state.likelihood = less.learning, less.source, less.likelihood
    try:
        history, metric = pilot(searched, objective, state.hyperparameters, less.share, STEP_OF_Q)
    finally:
        state.learning, state.source, state.likelihood = whole
    kept = metric is not None or (history is not None and history.cancelled)
    state.restart(*(found[1:] if kept else start))
    return history, metric
