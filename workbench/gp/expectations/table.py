"""The named ways to the moments of η, by link."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor

from workbench.checks import InputError, choose
from workbench.gp.expectations import exponentials, probabilities, samples, squares
from workbench.gp.fields.projected import ProjectedData
from workbench.gp.likelihoods import BagMoments, OddsMoments

Moments = Callable[[ProjectedData, Tensor, Tensor], BagMoments | OddsMoments]


@dataclass(frozen=True)
class Bound:
    """A named way to the moments of η = Σ w ψ(f).

    ``kind`` says what the resulting objective is: ``exact``, a lower ``bound`` on the evidence, an
    ``approximation`` that may overshoot it, or an ``unbiased`` estimate; of the Poisson likelihood
    without effects, and of the exponential one under exp. Others approximate further. ``cost`` is
    per bag of N_a individuals, M inducing features and S draws; pairs inside bags are those of
    `workbench.gp.fields.residual`.
    """

    link: str
    name: str
    kind: str
    cost: str
    help: str
    moments: Moments


def _monte_carlo(link: str, moments: Moments) -> Bound:
    return Bound(link, "monte-carlo", "unbiased", "S (N_a M + pairs)",
                 "reparameterised draws with common random numbers, at least 256: the reference; "
                 "slow, for small data", moments)


_ALL = [
    Bound("identity", "gaussian", "exact", "N_a M + pairs", "closed form: η is Gaussian",
          exponentials.gaussian),
    Bound("exp", "moment", "approximation", "N_a M + pairs",
          "η as a log-normal with its mean and (first-order) log-variance; calibrated",
          exponentials.moment),
    Bound("exp", "jensen", "bound", "N_a M (effects: + pairs)",
          "E log Σ p eᵛ >= log Σ p eᵐ (the paper's eq. 12): a bound without overdispersion and "
          "nugget, but badly over-confident", exponentials.jensen),
    _monte_carlo("exp", samples.exponentials),
    Bound("square", "taylor", "approximation", "N_a M² + M pairs",
          "second-order ζ (the paper's eq. 11); can overshoot the evidence", squares.taylor),
    Bound("square", "taylor-lowrank", "approximation", "N_a M²",
          "ζ with what inducing features leave unexplained independent between individuals",
          partial(squares.taylor, lowrank=True)),
    Bound("square", "gamma", "approximation", "N_a M² + M pairs",
          "η as a Gamma variable with its mean and variance: E log η = ψ(k) - log k + log E η",
          squares.gamma),
    Bound("square", "jensen", "bound", "N_a M (effects: N_a M²)",
          "E log Σ p v² >= log Σ p exp(E log v²), through Dawson's function (the paper's E.2): a "
          "bound without overdispersion and nugget, loose for wide posteriors", squares.jensen),
    _monte_carlo("square", samples.squares),
    Bound("logit", "moment", "approximation", "N_a M + pairs",
          "the bag's probability as logit-normal with its mean and (first-order) log-odds "
          "variance", probabilities.moment),
    _monte_carlo("logit", samples.probabilities),
    Bound("probit", "moment", "approximation", "N_a M + pairs",
          "the bag's probability as probit-normal with its mean and (first-order) probit "
          "variance; exact for one individual",
          probabilities.probit),
    _monte_carlo("probit", partial(samples.probabilities, log_psi=torch.special.log_ndtr)),
]
# By link and name: the same name may stand for the same idea under several links.
BOUNDS = {(bound.link, bound.name): bound for bound in _ALL}
BOUND_NAMES = tuple(dict.fromkeys(bound.name for bound in _ALL))
DEFAULT_BOUND = {"identity": "gaussian", "exp": "moment", "square": "taylor", "logit": "moment",
                 "probit": "moment"}


def bound_named(name: str | None, link: str) -> Bound:
    """The bound of that name, or the link's default.

    Raises
    ------
    InputError
        If the name is unknown or belongs to another link.
    """
    choose("link", link, DEFAULT_BOUND)
    if name is None or name == "default":
        name = DEFAULT_BOUND[link]
    choose("bound", name, BOUND_NAMES)
    if (link, name) not in BOUNDS:
        fitting = [n for of, n in BOUNDS if of == link]
        raise InputError(
            f"bound {name!r} is not for link {link!r}; use {' or '.join(fitting)}"
        )
    return BOUNDS[link, name]


#: How η is predicted: as by the default bound, but for exp with the exact variance of η.
_PREDICTIONS = {"identity": exponentials.gaussian, "exp": exponentials.matched,
                "square": squares.taylor, "logit": probabilities.moment,
                "probit": probabilities.probit}


def prediction_named(link: str) -> Moments:
    """Moments of η for predictions under a link."""
    return _PREDICTIONS[choose("link", link, _PREDICTIONS)]


_SENSITIVITIES = {"identity": exponentials.weights, "exp": exponentials.shares,
                  "square": squares.shares, "logit": probabilities.logit_shares,
                  "probit": probabilities.probit_shares}


def sensitivity_named(link: str) -> Callable[[ProjectedData, Tensor, Tensor], Tensor]:
    """∂ log η / ∂f_i at the posterior mean (N,) under a link; of η itself under the identity.

    Of probabilities it is that of their logits, or probits.
    """
    return _SENSITIVITIES[choose("link", link, _SENSITIVITIES)]
