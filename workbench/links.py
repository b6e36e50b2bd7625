"""Links ψ from the Gaussian process to the rate: identity, exp and square."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from workbench.checks import InputError, choose
from workbench.predictive import Predictive, marginal_law


@dataclass(frozen=True)
class Link:
    """rate = ψ(f).

    Parameters
    ----------
    name : str
        ``identity``, ``exp`` or ``square``.
    psi : callable
        ψ, elementwise.
    inverse : callable
        A value of f with ψ(f) = rate, elementwise.
    positive : bool
        Whether rates are positive.
    """

    name: str
    psi: Callable[[Tensor], Tensor]
    inverse: Callable[[Tensor], Tensor]
    positive: bool
    help: str = ""

    def law(self, mean: Tensor, variance: Tensor) -> Predictive:
        """Law of ψ(v) for v ~ N(mean, variance)."""
        return marginal_law(self.name, mean, variance)

    def initial(self, rate: Tensor) -> Tensor:
        """F at a flat rate; the rate must be positive where the link needs it.

        Raises
        ------
        InputError
            If the link is positive and the rate is zero or negative.
        """
        if self.positive and not float(rate) > 0:
            raise InputError(
                f"the mean rate is {float(rate):.3g} but link {self.name!r} needs a positive one; "
                "check the values, or use link='identity'"
            )
        return self.inverse(rate)


LINKS = {
    "identity": Link("identity", lambda f: f, lambda r: r, False, "rate = f; may be negative"),
    "exp": Link("exp", torch.exp, torch.log, True, "rate = exp f; effects multiply"),
    "square": Link("square", torch.square, torch.sqrt, True, "rate = f²; Law et al. 2018"),
}


def link_named(name: str) -> Link:
    """The link of that name; the nearest is suggested for an unknown one."""
    return LINKS[choose("link", name, LINKS)]
