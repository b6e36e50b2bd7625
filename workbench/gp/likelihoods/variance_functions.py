"""Variance functions of sample quasi-likelihoods: how sure a statistic of n observations is.

A statistic ȳ of the observations of one area is a noisy view of f at its centre, on the link scale:
g⁻¹(ȳ) ~ N(f, v / n), with v from the curvature of the likelihood that ȳ maximises.

References
----------
Shikuri 2025, definition 5.1, assumptions 5.2 and 5.3, table 4.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from workbench.checks import InputError, NotExact, choose, reject, require
from workbench.gp.likelihoods.base import Units
from workbench.gp.likelihoods.binomial import binomial_log_prob
from workbench.gp.likelihoods.continuous import Normal
from workbench.gp.likelihoods.effect_quadrature import poisson_lognormal
from workbench.gp.likelihoods.links import LINKS, Link
from workbench.gp.predictive import LogNormal, Predictive

BOUNDARIES = ("refuse", "half", "drop")


@dataclass(frozen=True)
class VarianceFunction:
    """The likelihood of single observations, as far as a summary of them shows it.

    Parameters
    ----------
    name : str
        ``normal``, ``poisson``, ``bernoulli``, ``laplace`` or ``custom``.
    link : Link
        g, from f to the mean, median or probability that the statistic estimates.
    function : callable
        v at g⁻¹(statistic), elementwise: the inverse of the observed information of one
        observation, in units of the square of f, times σ² where ``scaled``.
    statistic : str
        What maximises the likelihood: mean, median or proportion.
    low, high : float
        Ends of the statistic's range, where g⁻¹ is infinite.
    scaled : bool
        Whether v has a factor σ² of its own, a hyperparameter.
    help : str
        One line for users.
    """

    name: str
    link: Link
    function: Callable[[Tensor], Tensor]
    statistic: str
    low: float = -math.inf
    high: float = math.inf
    scaled: bool = False
    help: str = ""

    #: Whether statistics are of events that are counted, and have a distribution of their own.
    counted = False
    #: Whether the evidence of single observations follows from means and sample variances.
    exact_of_means = False
    #: As of `Likelihood`; noise is on the link scale here, not of the likelihood.
    proportions = factorial = has_noise = False

    def require_single(self) -> None:
        """Raise unless it says what single observations are like.

        Raises
        ------
        InputError
            Where it is a function of the user's.
        """
        raise InputError("a variance function says nothing of single observations; simulate or "
                         "score bags, or name a likelihood")

    def single_noise(self, shape: tuple[int, ...], generator: np.random.Generator) -> np.ndarray:
        """Draws of (observation - mean) / √(σ² / n)."""
        raise NotImplementedError

    def single_log_density(self, value: Tensor, drawn: Tensor, variance: Tensor) -> Tensor | None:
        """Log density of single observations; None where they are as statistics are."""
        self.require_single()

    def events(self, rate: np.ndarray, count: np.ndarray, generator: np.random.Generator
               ) -> np.ndarray:
        """Draws of statistics of so many counted observations."""
        raise NotImplementedError

    def events_log_density(self, value: Tensor, predicted: Predictive, count: Tensor, samples: int,
                           seed: int) -> Tensor:
        """Log density of statistics of counted observations (samples or 1, units)."""
        raise NotImplementedError

    def given_totals(self, rates: Tensor, units: Units, totals: Tensor,
                     generator: np.random.Generator) -> tuple[Tensor, Tensor]:
        """See `Likelihood.given_totals`."""
        raise NotExact(f"draws that preserve totals are not known for the {self.name} likelihood; "
                       "use preserve_totals=False")

    def at_boundary(self, statistic: Tensor, names: tuple[str, ...] = ()) -> Tensor:
        """Which statistics lie on an end of the range (B,).

        Raises
        ------
        InputError
            If one lies beyond an end.
        """
        beyond = ((statistic < self.low) | (statistic > self.high)).nonzero().flatten().tolist()
        if beyond:
            first = names[beyond[0]] if names else beyond[0]
            raise reject(
                f"statistics from {self.low:g} to {self.high:g}, as the {self.name} likelihood "
                "has them", f"{len(beyond)} others, the first {float(statistic[beyond[0]]):g} "
                f"in area {first!r}", "choose another likelihood")
        return (statistic == self.low) | (statistic == self.high)

    def half_an_event(self, statistic: Tensor, count: Tensor) -> Tensor:
        """Statistics at an end moved inside by half an event in each direction.

        Zero becomes 1/2 event among n; of proportions s out of n becomes (s + 1/2) / (n + 1).
        """
        if math.isinf(self.high):
            moved = (statistic * count + 0.5) / count
        else:
            moved = (statistic * count + 0.5) / (count + 1)
        return torch.where(self.at_boundary(statistic), moved, statistic)

    def observed(self, statistic: Tensor) -> Tensor:
        """The statistic on the link scale, g⁻¹ (B,)."""
        return self.link.inverse(statistic)

    def variance(self, statistic: Tensor) -> Tensor:
        """V of one observation on the link scale, without σ² (B,).

        Raises
        ------
        InputError
            If a function of the user's gives anything but positive finite numbers.
        """
        v = torch.as_tensor(self.function(self.observed(statistic))).to(statistic)
        require(v.shape == statistic.shape, "the variance function must answer with one number "
                f"per area: {len(statistic)} areas, answer of shape {tuple(v.shape)}")
        bad = ~(torch.isfinite(v) & (v > 0))
        require(not bool(bad.any()), f"the variance function gives {int(bad.sum())} values that "
                "are not positive and finite, the first at statistic "
                f"{float(statistic[bad][:1].sum()):g}")
        return v


class NormalSummary(VarianceFunction):
    """Means of Normal observations."""

    exact_of_means = True

    def require_single(self) -> None:
        """Single observations are Normal, too."""

    def single_noise(self, shape: tuple[int, ...], generator: np.random.Generator) -> np.ndarray:
        """Standard normal draws."""
        return generator.standard_normal(size=shape)

    def given_totals(self, rates: Tensor, units: Units, totals: Tensor,
                     generator: np.random.Generator) -> tuple[Tensor, Tensor]:
        """As of `Normal`."""
        return Normal.given_totals(rates, units, totals, generator)


class LaplaceSummary(VarianceFunction):
    """Medians of Laplace observations."""

    def require_single(self) -> None:
        """Single observations are Laplace."""

    def single_noise(self, shape: tuple[int, ...], generator: np.random.Generator) -> np.ndarray:
        """Standard Laplace draws."""
        return generator.laplace(size=shape)

    def single_log_density(self, value: Tensor, drawn: Tensor, variance: Tensor) -> Tensor:
        """Laplace with scale b = √variance."""
        b = variance.sqrt()
        return -(2 * b).log() - (value - drawn).abs() / b


class PoissonSummary(VarianceFunction):
    """Mean counts."""

    counted = factorial = True

    def require_single(self) -> None:
        """Single observations are counts."""

    def events(self, rate: np.ndarray, count: np.ndarray, generator: np.random.Generator
               ) -> np.ndarray:
        """Poisson counts over their number."""
        return generator.poisson(rate * count) / count

    def events_log_density(self, value: Tensor, predicted: Predictive, count: Tensor, samples: int,
                           seed: int) -> Tensor:
        """Scored as counts, n ȳ; exact of a log-normal rate."""
        if isinstance(predicted, LogNormal):
            return poisson_lognormal(value * count, predicted.location + count.log(),
                                     predicted.scale.square())[None]
        rate = predicted.sample(samples, seed) * count
        return torch.xlogy(value * count, rate) - rate - torch.lgamma(value * count + 1)


class BernoulliSummary(VarianceFunction):
    """Proportions."""

    counted = proportions = True

    def require_single(self) -> None:
        """Single observations are successes."""

    def events(self, rate: np.ndarray, count: np.ndarray, generator: np.random.Generator
               ) -> np.ndarray:
        """Successes over trials; a proportion of a part of a trial is none."""
        trials = np.maximum(np.round(count), 1)
        return generator.binomial(trials.astype(np.int64), rate) / trials

    def events_log_density(self, value: Tensor, predicted: Predictive, count: Tensor, samples: int,
                           seed: int) -> Tensor:
        """Scored as successes, n ȳ out of n."""
        return binomial_log_prob(value * count, count, predicted.sample(samples, seed))


def _bernoulli(f: Tensor) -> Tensor:
    # Table 4 at Φ(f) = ȳ: the terms with f cancel between successes and failures.
    density = (-0.5 * f.square()).exp() / math.sqrt(2 * math.pi)
    return torch.special.ndtr(f) * torch.special.ndtr(-f) / density.square()


VARIANCE_FUNCTIONS = {v.name: v for v in (
    NormalSummary("normal", LINKS["identity"], torch.ones_like, "mean", scaled=True,
                     help="means of Normal observations, variance σ²"),
    PoissonSummary("poisson", LINKS["exp"], lambda f: (-f).exp(), "mean", low=0.0,
                     help="mean counts or rates; v = 1/ȳ on the log scale"),
    BernoulliSummary("bernoulli", LINKS["probit"], _bernoulli, "proportion", 0.0, 1.0,
                     help="proportions, probit link; v = ȳ(1 - ȳ)/φ(f)²"),
    LaplaceSummary("laplace", LINKS["identity"], torch.ones_like, "median", scaled=True,
                     help="medians of Laplace observations; v = b², the expected information, for "
                     "the observed one does not exist at the median"),
)}


def custom(function: Callable[[Tensor], Tensor], link: str) -> VarianceFunction:
    """A variance function of the user's own on a named link, see `VarianceFunction`."""
    require(callable(function), "variance must be a function of f = g⁻¹(statistic), such as "
            "variance=lambda f: 0.5 * f.exp()")
    known = {name: LINKS[name] for name in ("identity", "exp", "logit", "probit")}
    chosen = known[choose("link", link, known)]
    low = 0.0 if chosen.positive else -math.inf
    return VarianceFunction("custom", chosen, function, "mean", low, chosen.upper)
