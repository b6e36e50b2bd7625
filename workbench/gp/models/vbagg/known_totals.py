"""Predictions in areas whose totals are known, and in others."""

from __future__ import annotations

import torch
from torch import Tensor

from workbench.gp.fields.projected import ProjectedData
from workbench.gp.predictive import Predictive


def reached_by(predicted, seen: ProjectedData, known: Tensor, expected: Tensor):
    """The distribution scaled so that means in known bags add up to the bag's expected total.

    Effects act to first order, a total is known beyond that; of sums of f both are exact.
    """
    reached = seen.sum(seen.operator.coefficients() * predicted.mean)
    factor = torch.where(known, expected / reached, torch.ones_like(reached))
    return predicted.scaled(factor[seen.operator.bags.membership])


def chosen(known: Tensor, first: Predictive, second: Predictive) -> Predictive:
    """One distribution where bags are known, another of the same kind elsewhere."""
    return type(first)(torch.where(known, first.location, second.location),
                       torch.where(known, first.scale, second.scale))
