"""Links ψ from the Gaussian process to the rate: identity, exp, square and logit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from workbench.checks import InputError, choose, require
from workbench.predictive import Predictive, marginal_law


@dataclass(frozen=True)
class Link:
    """rate = ψ(f).

    Parameters
    ----------
    name : str
        ``identity``, ``exp``, ``square``, ``logit`` or ``probit``.
    psi : callable
        ψ, elementwise.
    inverse : callable
        A value of f with ψ(f) = rate, elementwise.
    positive : bool
        Whether rates are positive.
    help : str
        One line for users.
    upper : float
        What rates stay below; 1 for probabilities.
    """

    name: str
    psi: Callable[[Tensor], Tensor]
    inverse: Callable[[Tensor], Tensor]
    positive: bool
    help: str = ""
    upper: float = float("inf")

    @property
    def unit(self) -> str:
        """What f is in terms of the rate; logit and probit are called by their inverses."""
        return f"{self.name}(rate)" if self.upper == 1 else f"{self.name}⁻¹(rate)"

    def law(self, mean: Tensor, variance: Tensor) -> Predictive:
        """Law of ψ(v) for v ~ N(mean, variance)."""
        return marginal_law(self.name, mean, variance)

    def initial(self, rate: Tensor) -> Tensor:
        """F at a flat rate, which must lie where the link's rates do.

        Raises
        ------
        InputError
            If the link is positive and the rate is zero or negative, not finite, or not below the
            upper end.
        """
        if self.positive and not float(rate) > 0:
            raise InputError(
                f"the mean rate is {float(rate):.3g} but link {self.name!r} needs a positive one; "
                "if all totals are zero there is nothing to map; else check the values, or use "
                "link='identity' if they may be negative"
            )
        require(bool(torch.isfinite(rate)), f"the mean rate is {float(rate)} in {rate.dtype}; use "
                "dtype='float64', or weights in other units")
        require(float(rate) < self.upper, f"the mean rate is {float(rate):.3g} but link "
                f"{self.name!r} needs one below {self.upper:g}; check the values")
        return self.inverse(rate)


LINKS = {
    "identity": Link("identity", lambda f: f, lambda r: r, False, "rate = f; may be negative"),
    "exp": Link("exp", torch.exp, torch.log, True, "rate = exp f; effects multiply"),
    "square": Link("square", torch.square, torch.sqrt, True, "rate = f²; Law et al. 2018"),
    "logit": Link("logit", torch.sigmoid, torch.logit, True,
                  "rate = 1/(1 + exp(-f)), a probability; for positives out of trials", 1.0),
}

#: For observations of single places alone: weighted sums of Φ(f) over a bag have no bound here.
PROBIT = Link("probit", torch.special.ndtr, torch.special.ndtri, True,
              "rate = Φ(f), a probability; for proportions", 1.0)


def link_named(name: str, trials: bool = False) -> Link:
    """The link of that name; the nearest is suggested for an unknown one.

    ``auto`` is logit where values are positives out of trials, else exp.
    """
    if name == "auto":
        name = "logit" if trials else "exp"
    return LINKS[choose("link", name, LINKS)]
