"""Shape aliases of the torch half: N individuals, B bags, D inputs, M inducing features."""

from __future__ import annotations

from jaxtyping import Float, Int
from torch import Tensor

Inputs = Float[Tensor, "N D"]
PerIndividual = Float[Tensor, " N"]
PerBag = Float[Tensor, " B"]
Membership = Int[Tensor, " N"]
Features = Float[Tensor, "N M"]
InducingMean = Float[Tensor, " M"]
InducingCovariance = Float[Tensor, "M M"]

__all__ = [
    "Features",
    "InducingCovariance",
    "InducingMean",
    "Inputs",
    "Membership",
    "PerBag",
    "PerIndividual",
]
