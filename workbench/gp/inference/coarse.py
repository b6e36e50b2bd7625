"""Hyperparameters found on fewer clusters first, where an evaluation on all takes long.

Half the clusters take half the time. Their objective is like that of all: the search on these then
begins near an optimum, in the metric of the Hessian there, and is short. A quarter would do it in a
quarter of the time, but hides more of what differs inside areas, and led to worse optima.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np
from torch import Tensor

from workbench.gp.data.compression import compress
from workbench.gp.fields.geometry import Geometry, geometry
from workbench.gp.inference.parts import part
from workbench.gp.optimisation.pilot import STEP_OF_Q, pilot
from workbench.gp.optimisation.search import PULSE_SECONDS
from workbench.gp.optimisation.training import Callback, History, scaled_callback

_LONG = 1_000_000           # features of what is learnt on from which it pays
_SHARE = 2                  # individuals, or clusters, of an area for one of the few
_FEWEST, _MOST = 4, 20      # of these in an area
_GAIN = 1.5                 # times as few as there must be at least


def coarser(state) -> Geometry | None:
    """Fewer clusters than what a state learns on; None where these would not save much time.

    Parameters
    ----------
    state : VariationalState
        Not changed.
    """
    whole = state.design.learning
    bags, width = whole.operator.bags, len(state.field.q_mean)
    most = min(max(int(bags.sizes.max()) // _SHARE, _FEWEST), _MOST)
    short = len(whole.x) * width < _LONG or not state.hyperparameters.free
    if short or _GAIN * float(bags.sizes.clamp(max=most).sum()) > len(whole.x):
        return None
    clusters = compress(replace(bags, x=whole.x), most)
    few = geometry(clusters.bags.x, type(whole.operator)(clusters.bags),
                   clusters.concentration(bags.weight, whole.concentration))
    return few if state.shard is None else part(few, state.shard.bags)


def begun(state, few: Geometry, search: Callable[[Callback | None], History],
          evaluate: Callable[[Callable[[], None]], Tensor], callback: Callback | None
          ) -> tuple[History | None, np.ndarray | None]:
    """Bring a state near its optimum on few clusters, from where it goes on with all.

    Parameters
    ----------
    state : VariationalState
        Its hyperparameters and q are changed in place; if the few cannot be fitted they are as
        they were.
    few : Geometry
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
        Of the search on few, as of `pilot`.
    metric : array (P, P) or None
        As of `pilot`.
    """
    whole, start = state.learning, (state.field.q_mean, state.field.q_covariance)
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

    state.learning = few
    try:
        history, metric = pilot(searched, objective, state.hyperparameters, step=STEP_OF_Q)
    finally:
        state.learning = whole
    kept = metric is not None or (history is not None and history.cancelled)
    state.restart(*(found[1:] if kept else start))
    return history, metric
