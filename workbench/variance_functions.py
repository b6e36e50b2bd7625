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

import torch
from torch import Tensor

from workbench.checks import choose, reject, require
from workbench.links import LINKS, PROBIT, Link

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


def _bernoulli(f: Tensor) -> Tensor:
    # Table 4 at Φ(f) = ȳ: the terms with f cancel between successes and failures.
    density = (-0.5 * f.square()).exp() / math.sqrt(2 * math.pi)
    return torch.special.ndtr(f) * torch.special.ndtr(-f) / density.square()


VARIANCE_FUNCTIONS = {v.name: v for v in (
    VarianceFunction("normal", LINKS["identity"], torch.ones_like, "mean", scaled=True,
                     help="means of Normal observations, variance σ²"),
    VarianceFunction("poisson", LINKS["exp"], lambda f: (-f).exp(), "mean", low=0.0,
                     help="mean counts or rates; v = 1/ȳ on the log scale"),
    VarianceFunction("bernoulli", PROBIT, _bernoulli, "proportion", 0.0, 1.0,
                     help="proportions, probit link; v = ȳ(1 - ȳ)/φ(f)²"),
    VarianceFunction("laplace", LINKS["identity"], torch.ones_like, "median", scaled=True,
                     help="medians of Laplace observations; v = b², the expected information, for "
                     "the observed one does not exist at the median"),
)}


def custom(function: Callable[[Tensor], Tensor], link: str) -> VarianceFunction:
    """A variance function of the user's own on a named link, see `VarianceFunction`."""
    require(callable(function), "variance must be a function of f = g⁻¹(statistic), such as "
            "variance=lambda f: 0.5 * f.exp()")
    known = {name: LINKS[name] for name in ("identity", "exp", "logit")} | {"probit": PROBIT}
    chosen = known[choose("link", link, known)]
    low = 0.0 if chosen.positive else -math.inf
    return VarianceFunction("custom", chosen, function, "mean", low, chosen.upper)
