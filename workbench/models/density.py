"""Log predictive densities of observations: closed form where there is one, else by draws."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from workbench.bags import Bags, known_trials
from workbench.checks import require
from workbench.likelihoods import (
    binomial_log_prob,
    exponential_lognormal,
    poisson_lognormal,
    require_positive,
)
from workbench.predictive import GammaMultiplied, LogNormal


def log_density(fit, y: Tensor, bags: Bags, trained: Tensor | None, unit: str, samples: int,
                seed: int) -> Tensor:
    """log p(y | draw of the parameter), (samples, units); one row where it is exact.

    A Poisson or exponential observation of a log-normal parameter has a one-dimensional integral
    that adaptive quadrature gives to full precision; so has a Normal observation of a Normal one.
    Otherwise the parameter is drawn, and the density is the mean over draws (take logsumexp).
    An individual's binomial observation is its own positives among its bag's participants.

    Parameters
    ----------
    fit : VariationalFit or ExactFit
        The fitted model.
    y : Tensor (units,)
        Observations of bags, or of individuals.
    bags : Bags
        Where they were made.
    trained : Tensor or None
        Position of each bag among the training bags, or -1.
    unit : {"bag", "individual"}
        Which of the two ``y`` is.
    samples, seed : int
        Draws where there is no closed form.
    """
    state = fit.state
    if state.likelihood_name == "exponential":
        require_positive(y)
    if unit == "bag":
        law, weight = fit.over(bags, trained, area_effect=True), torch.ones_like(y)
        size, noisy = bags.totals, bags
    else:
        law = fit.at(bags, trained, area_effect=True)
        sums = state.source.aggregation == "sum"
        weight = bags.weight if sums else torch.ones_like(y)
        size, noisy = bags.weight, bags.singletons()
    if state.likelihood_name == "normal":
        scale = size if state.rescaled else torch.ones_like(y)
        if unit == "individual" and not state.rescaled:
            law = law.scaled(weight)        # its contribution to a sum
        variance = law.variance + state.noise.std(noisy).square()
        squared = (y / scale - law.mean).square() / variance
        return (-0.5 * (squared + (2 * math.pi * variance).log()) - scale.log())[None]
    if isinstance(law, LogNormal):
        location, variance = law.location + weight.log(), law.scale.square()
        if state.likelihood_name == "poisson":
            return poisson_lognormal(y, location, variance)[None]
        if state.likelihood_name == "exponential":
            return exponential_lognormal(y, location, variance)[None]
    if isinstance(law, GammaMultiplied):
        # Given the base, a Poisson count with a Gamma multiplier is negative binomial.
        mean = law.base.sample(samples, seed) * weight
        shape = law.shape
        constant = torch.lgamma(y + shape) - torch.lgamma(shape) - torch.lgamma(y + 1)
        return (constant + shape * (shape / (shape + mean)).log()
                + torch.xlogy(y, mean / (shape + mean)))
    draws = law.sample(samples, seed)
    if state.likelihood_name == "binomial":
        return _binomial(y, draws, bags, unit)
    mean = (draws * weight).clamp_min(torch.finfo(y.dtype).tiny)
    if state.likelihood_name == "poisson":
        return y * mean.log() - mean - torch.lgamma(y + 1)
    return -mean.log() - y / mean


def _binomial(y: Tensor, probability: Tensor, bags: Bags, unit: str) -> Tensor:
    trials, members = known_trials(bags), bags.membership
    if unit == "individual":
        trials, probability = trials[members], bags.weight / bags.totals[members] * probability
    require(bool((y <= trials).all()), "some observations are more than the trials of their bag")
    return binomial_log_prob(y, trials, probability)
