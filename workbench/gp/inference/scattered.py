"""Where q starts at fixed hyperparameters: the best of several optima, from draws of the prior.

Under a steep slope totals are made up by a few individuals, and the objective of q has several
optima. From the prior's mean the search may end at one that is hundreds of nats below the best,
with intervals that hold nothing of the truth. Where hyperparameters are learnt, annealing and
several starts meet that; where all are fixed, this does.
"""

from __future__ import annotations

import math

import torch

from workbench.gp.inference.annealing import binds
from workbench.gp.numerics.linalg import FactorisationError
from workbench.gp.optimisation.natural_gradient import Optimum, optimise

_DRAWS, _TRIED = 200, 8     # means drawn from the prior, and how many of the best are followed
_STEPS, _NATS = 30, 1e-2


def scatter(state, seen) -> None:
    """Let q start at the best of several optima, where totals bind tightly.

    Parameters
    ----------
    state : VariationalState
        At its fixed hyperparameters; its q is changed in place.
    seen : ProjectedData
        What q is searched on, without gradients of hyperparameters.
    """
    if not binds(state, seen):
        return
    narrow, generator = state.narrow(), torch.Generator().manual_seed(state.options.seed)
    means = torch.randn(_DRAWS, len(narrow[0]), generator=generator, dtype=torch.float64)
    values = [_value(state, seen, mean.to(state.x), narrow[1]) for mean in means]
    order = sorted(range(_DRAWS), key=lambda k: -values[k])[:_TRIED]
    starts = [narrow[0], *(means[k].to(state.x) for k in order if values[k] > -math.inf)]
    found = [one for one in (_optimum(state, seen, mean, narrow[1]) for mean in starts) if one]
    if found:
        best = max(found, key=lambda one: one.value)
        state.restart(best.mean, best.covariance)


def _value(state, seen, mean: torch.Tensor, covariance: torch.Tensor) -> float:
    try:
        value = float(state.objective(seen, mean, covariance))
    except FactorisationError:
        return -math.inf
    return value if math.isfinite(value) else -math.inf


def _optimum(state, seen, mean: torch.Tensor, covariance: torch.Tensor) -> Optimum | None:
    try:
        return optimise(lambda m, s: state.objective(seen, m, s), mean, covariance, _STEPS, _NATS)
    except FactorisationError:
        return None
