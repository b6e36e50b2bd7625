"""The law of a rate under each link."""

from __future__ import annotations

from torch import Tensor

from workbench.predictive.base import Predictive
from workbench.predictive.laws import LogNormal, Normal, ScaledNoncentralChi2
from workbench.predictive.probabilities import LogitNormal, ProbitNormal


def marginal_law(link: str, mean: Tensor, variance: Tensor) -> Predictive:
    """Law of ψ(v) for v ~ N(mean, variance) under a named link."""
    laws = {"identity": Normal, "exp": LogNormal, "square": ScaledNoncentralChi2,
            "logit": LogitNormal, "probit": ProbitNormal}
    return laws[link](mean, variance.clamp_min(0).sqrt())
