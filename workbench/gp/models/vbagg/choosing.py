"""Averages over areas or points for inducing variables: whichever has the higher bound.

Averages are better where areas differ, points where individuals of one area differ as much as those
of different ones: then averages of areas are nearly alike. Both give lower bounds on the evidence,
and that which is higher at the starting values was so after learning in all tables of
``benchmarks/fitted_averages.py``; q alone is looked for, as roughly as while hyperparameters are
learnt.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import torch

from workbench.checks import Cancelled
from workbench.gp.data.bags import Source
from workbench.gp.inference.parts import seen_in_learning
from workbench.gp.models.options import AVERAGES, BEST, HELD, non_defaults
from workbench.gp.models.vbagg.given import ROUGH
from workbench.gp.models.vbagg.state import VariationalState
from workbench.gp.models.vbagg.summed_out import aside
from workbench.gp.numerics.linalg import FactorisationError
from workbench.gp.numerics.recent import ResultCache

# Most steps of q: of means under the exp link that of points may take hundreds, far below.
_STEPS = 50
# Nats by which points have to be better: less may be where the points of averages happen to lie.
_CLEAR = 0.03
# Without these two, which change the starting values: one that is fixed where it was learnt shall
# not make another map.
_VALUES = ("hyperparameters", "initial")
_RECENT = ResultCache(32)


def settled(model, source: Source, callback: Callable | None = None):
    """A model with inducing variables of one kind, where it may have the best of two.

    Parameters
    ----------
    model : VBAgg
        With any options.
    source : Source
        What it will be fitted to, or conditioned on.
    callback : callable or None
        As of ``fit``, which may stop the work.

    Returns
    -------
    VBAgg
        Itself, unless ``inducing_inputs="best"``. Averages where both are the same: without smooth
        terms, or of inputs so few that they are the variables.
    """
    if model.options.inducing_inputs != BEST:
        return model
    pulse = None if callback is None else lambda: callback(0, math.nan, 0.0)
    given, make = non_defaults(model.options), type(model)
    free = {name: value for name, value in given.items() if name not in _VALUES}
    chosen = _RECENT.get(lambda: _chosen(make, free, source, pulse), make.name, free, source)
    return make(**given | chosen)


def unsettled(model):
    """The model with averages, as where nobody waited for the choice.

    Parameters
    ----------
    model : VBAgg
        With the best of two.
    """
    return type(model)(**non_defaults(model.options) | {"inducing_inputs": AVERAGES})


def cancel(*step: object) -> None:
    """A callback that stops a fit at its first step."""
    raise Cancelled


def _chosen(make: type, options: dict, source: Source, pulse: Callable | None) -> dict:
    """Options of the kind that has the higher bound."""
    kind = {"inducing_inputs": AVERAGES}
    averages = VariationalState(make(**options | kind), source)
    if all(one is None for one in averages.field.averaging):
        return kind
    # As many points as averages: by itself their number would be another of Normal values.
    other = {"inducing_inputs": HELD, "inducing": averages.options.inducing}
    points, lower = VariationalState(make(**options | other), source), _bound(averages, pulse)
    return other if _bound(points, pulse) > lower + _CLEAR else kind


@torch.no_grad()
def _bound(state: VariationalState, pulse: Callable | None) -> float:
    """The objective at the starting values; minus infinity where it cannot be had."""
    learnt = aside(state)
    try:
        return learnt.optimise_q(seen_in_learning(learnt), _STEPS, ROUGH, pulse).value
    except (FactorisationError, ArithmeticError):
        return -math.inf        # the fit itself would say why
