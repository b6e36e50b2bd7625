"""Negative log-likelihood of bags at a fit's predictions: what is known without any fine truth."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from workbench.gp.data.bags import Source
from workbench.gp.models.casting import cast_source

_SAMPLES = 1000


@dataclass(frozen=True)
class BagNLL:
    """Mean negative log-likelihood of bags, nats per bag.

    Parameters
    ----------
    exact : float
        With log y! by the gamma function.
    stirling : float
        With log y! by Stirling's formula, zero for y in {0, 1}: the paper's printed numbers. NaN
        where no log y! comes in. It differs from ``exact`` by a constant of the data, so that both
        choose the same fit.
    """

    exact: float
    stirling: float


@torch.no_grad()
def bag_nll(fit, source: Source) -> BagNLL:
    """Score a fit of any model on bags with targets.

    Poisson and Normal observations are scored at the predicted mean plugged in, as in the paper;
    with an area effect, a nugget or another likelihood, by the predictive density.

    Parameters
    ----------
    fit : PointFit, VariationalFit or ExactFit
        The fitted model.
    source : Source
        Bags and targets, of the kind that the model was fitted to.

    References
    ----------
    Law et al. 2018, section 4: tuning and early stopping by bag-level likelihood.
    """
    state = fit.state
    source = cast_source(source, state.options)
    y, bags = source.targets.value, source.bags
    if not _plugs_in(state):
        rows = fit.log_density(y, bags, None, "bag", _SAMPLES, 0)
        logs = torch.logsumexp(rows, 0) - math.log(len(rows))
    else:
        scale = bags.totals if state.rescaled else torch.ones_like(y)
        std = _noise_std(state, source) if state.likelihood.has_noise else None
        logs = state.likelihood.log_prob(y / scale, fit.over(bags).mean, std) - scale.log()
    exact = -float(logs.mean())
    if not state.likelihood.factorial:
        return BagNLL(exact, float("nan"))
    return BagNLL(exact, exact + float(_stirling_error(y).mean()))


def _plugs_in(state) -> bool:
    area, nugget = getattr(state, "area_std", None), getattr(state, "nugget_variance", 0.0)
    plain = area is None and float(nugget) == 0
    likelihood = state.likelihood
    return hasattr(likelihood, "log_prob") and (plain or likelihood.has_noise)


def _noise_std(state, source: Source) -> Tensor:
    """Noise of other bags: known ones bring their own with them."""
    own = source.targets.noise_variance
    if getattr(state.noise, "knows", False) and own is not None:
        own = own / source.bags.totals.square() if state.rescaled else own
        return (own + state.noise.learnt(source.bags)).sqrt()
    return state.noise.std(source.bags)


def _stirling_error(y: Tensor) -> Tensor:
    """Stirling's log y!, zero for y <= 1, minus the exact one."""
    formula = torch.xlogy(y, y) - y + 0.5 * (2 * math.pi * y.clamp_min(1)).log()
    return torch.where(y > 1, formula, torch.zeros_like(y)) - torch.lgamma(y + 1)
