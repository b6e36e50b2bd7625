"""What areas and individuals are expected to have of their own: priors of two standard deviations.

Totals hardly tell effects of areas from nuggets of individuals, and how wide individuals' intervals
are rests on that. Were individuals independent, means of n of them would vary by 1/n of their
variance; were they alike, by all of it. Of plots in fields the variance of means of n neighbours
falls as n^-b with b about a half, and counts whose fine truth is known are covered by that
(benchmarks/place_alone.py, and panels.py of several years). With nuggets of variance ν² and effects
of areas of τ² individuals vary by ν² + τ², and means of n by ν²/n + τ². The one is n^b times the
other if τ² = ν² (n^-b - n^-1) / (1 - n^-b), which is ν² n^-½ of b = ½.

References
----------
Fairfield Smith 1938, An empirical law describing heterogeneity in the yields of agricultural crops.
"""

from __future__ import annotations

import math

from torch import Tensor

from workbench.gp.models.options import LEAST_INSIDE, VariationalOptions
from workbench.gp.optimisation.hyperparameters import Hyperparameter
from workbench.gp.optimisation.priors import Multiple, PCStd

# Beside a regression that saw the fine truth individuals differed by a log-sd of 0.18 to 0.31, in
# six cases (the oracle's log-sd in data/results/cases.csv): P(std > 0.6) = 5 % has its mode, of the
# logarithm, at 0.2.
USUAL_NUGGET = 0.6
_FALL = 0.5             # b: of independent individuals it is one
GIVE_OR_TAKE = 0.4      # sd of the logarithm of what effects of areas are by that
# Beyond what areas of known fine truth have (members in data/results/place_alone.csv) it would be
# carried on to pixels so small that neighbours are alike, of which nuggets know nothing.
_MOST = 100.0


def prior_of_effects(nugget: Hyperparameter | None, noise_left: Tensor, scale: float,
                     options: VariationalOptions) -> Multiple | PCStd:
    """The prior of ``area.std``: by the nugget, where that is learnt and areas have individuals.

    Parameters
    ----------
    nugget : Hyperparameter or None
        ``nugget.std``.
    noise_left : Tensor (B,)
        As of the bags: one by the number of individuals of each, if they weigh the same.
    scale : float
        Unit of f, which ``area.std`` otherwise exceeds with a prior probability of 5 %.
    options : VariationalOptions
        Those of the model, by which the nugget may have a given value.
    """
    alone, times = PCStd(scale, 0.05), effects_in_nuggets(noise_left)
    given = nugget is None or nugget.fixed or nugget.name in options.hyperparameters
    return alone if given or times is None else Multiple((nugget.name,), times, GIVE_OR_TAKE)


def priors_over_periods(nugget: Hyperparameter, effects: list[Hyperparameter],
                        concentration: Tensor, scale: float, options: VariationalOptions
                        ) -> dict[str, Multiple | PCStd]:
    """Priors where areas and individuals keep what they have of their own over periods.

    Areas then have two effects, one that stays and one of a single period, and both together are
    what the law speaks of: individuals, too, differ in both ways, though all of that is taken to
    stay. So the nugget goes by the effects here, and these are expected to be as small as they are
    where they go by the nugget.

    Parameters
    ----------
    nugget : Hyperparameter
        ``nugget.std``.
    effects : list of Hyperparameter
        ``persistent.variance``, and ``area.std`` if there is one.
    concentration : Tensor (A,)
        Of the known areas: one by the number of individuals of each, if they weigh the same.
    scale : float
        Unit of f.
    options : VariationalOptions
        Those of the model, by which the nugget may have a given value, or a prior of its own.

    Returns
    -------
    dict
        By name of the hyperparameter; none where the nugget or its prior is given, or the law says
        nothing.
    """
    times = effects_in_nuggets(concentration[concentration > 0])
    given = nugget.fixed or nugget.name in {*options.hyperparameters, *options.priors}
    if times is None or given:
        return {}
    together = Multiple(tuple(effect.name for effect in effects), 1 / times, GIVE_OR_TAKE)
    return {nugget.name: together} | {
        effect.name: PCStd(USUAL_NUGGET * times * scale, 0.05, effect.name.endswith("variance"))
        for effect in effects}


def effects_in_nuggets(noise_left: Tensor) -> float | None:
    """What areas have of their own, as a multiple of what individuals have: τ / ν by the law.

    Parameters
    ----------
    noise_left : Tensor (B,)
        As of the bags: one by the number of individuals of each, if they weigh the same.

    Returns
    -------
    float or None
        None where the law says nothing: of fewer than two individuals in the median.
    """
    if not len(noise_left):
        return None
    members = float((1 / noise_left).median())
    if not LEAST_INSIDE <= members < math.inf:       # infinite: nuggets are averaged out
        return None
    members = min(members, _MOST)
    fall = members**-_FALL
    return math.sqrt((fall - 1 / members) / (1 - fall))
