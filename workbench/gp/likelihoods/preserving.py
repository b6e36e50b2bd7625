"""Draws of individuals that add up to the totals of their bags.

Given the rates of a draw, effects and multipliers of its areas included, the observations of a
bag's individuals are conditioned exactly on their total:

- counts are multinomial: the total's units fall on individuals in proportion to expected counts;
- positives out of trials likewise;
- exponential values of one bag share their random factor, so each is its share of the total;
- Normal values z = f + e become z + k (y - Σ a z), with k = cov(e, Σ a e) / var(Σ a e): the
  conditional distribution of e given f and Σ a z = y. That is exact where the noise of a bag is
  that of its individuals, summed: their own, and beside known variances what those of an area
  have in common.

How far the rates themselves are conditional on the totals is the posterior's affair: those of bags
that the model was trained on are (q has seen their totals, and effects are drawn given them). Bags
that it was not trained on tell the function f nothing here; their totals are shared out only.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from workbench.checks import require
from workbench.gp.data.bags import Bags
from workbench.gp.likelihoods.base import Units
from workbench.gp.likelihoods.noise import IndividualNoise
from workbench.gp.likelihoods.sharing import allocate


@dataclass(frozen=True)
class Groups:
    """Groups of individuals whose sums are drawn; they may lie across bags.

    Parameters
    ----------
    of : Tensor (N,) of int64
        Group of each individual, 0 ... G-1.
    count : int
        Number of groups, G.
    coefficients : Tensor (N,) or None
        By which observations of individuals are multiplied before they are added; None is one.
    """

    of: Tensor
    count: int
    coefficients: Tensor | None = None

    def to(self, device: torch.device) -> Groups:
        """The same groups on another device."""
        shares = None if self.coefficients is None else self.coefficients.to(device)
        return Groups(self.of.to(device), self.count, shares)

    def part(self, individuals: slice) -> Groups:
        """The same groups, of some of the individuals."""
        shares = None if self.coefficients is None else self.coefficients[individuals]
        return Groups(self.of[individuals], self.count, shares)

    def sums(self, values: Tensor) -> Tensor:
        """Sums over groups of draws at individuals (samples, G)."""
        if self.coefficients is not None:
            values = values * self.coefficients.to(values)
        out = torch.zeros(len(values), self.count).to(values)
        return out.index_add(1, self.of, values)


def preserve(state, rates: Tensor, bags: Bags, totals: Tensor, noise: IndividualNoise | None,
             generator: np.random.Generator) -> tuple[Tensor, Tensor]:
    """Expectations and observations of individuals, given rates and totals (samples, N) each.

    Parameters
    ----------
    state : object
        With ``likelihood``, ``source.aggregation`` and ``rescaled``.
    rates : Tensor (samples, N)
        Rates with all effects.
    bags : Bags
        Where they are.
    totals : Tensor (B,)
        Observed values of the bags; means where values are means.
    noise : IndividualNoise or None
        Of Normal observations of the individuals, in units of the rate where the state is
        ``rescaled``, else of the observation.
    generator : Generator
        Of the observations.

    Raises
    ------
    InputError
        Where totals do not fit, or nothing exact is known for the likelihood.
    """
    _require_one_per_bag(totals, bags)
    sums = state.source.aggregation == "sum" or state.rescaled
    units = Units(bags, True, sums, state.rescaled, individuals=noise)
    return state.likelihood.given_totals(rates, units, totals.to(rates), generator)


def summing(state, bags: Bags, totals: Tensor, noise: IndividualNoise | None, groups: Groups,
            generator: np.random.Generator) -> Callable[[Tensor], Tensor]:
    """From rates (samples, N) to draws of sums over groups (samples, G), given the bags' totals.

    Counts are drawn for the part of a bag that lies in a group at once: sums of multinomial counts
    are multinomial, with the sums of their probabilities. Other arguments are as of `preserve`.
    """
    _require_one_per_bag(totals, bags)
    if not state.likelihood.multinomial or groups.coefficients is not None:
        return lambda rates: groups.sums(
            preserve(state, rates, bags, totals, noise, generator)[1])
    pairs, cell = torch.unique(bags.membership * groups.count + groups.of, return_inverse=True)
    cells = Groups(cell, len(pairs), bags.weight)
    members, joined = pairs // groups.count, Groups(pairs % groups.count, groups.count)

    def allocated(rates: Tensor) -> Tensor:
        drawn = allocate(cells.sums(rates), members, totals.to(rates), generator)[1]
        return joined.sums(drawn)

    return allocated


def _require_one_per_bag(totals: Tensor, bags: Bags) -> None:
    require(len(totals) == bags.count,
            f"expected one total per bag ({bags.count}), got {len(totals)}")
