"""Draws of individuals that add up to the totals of their bags.

Given the rates of a draw, effects and multipliers of its areas included, the observations of a
bag's individuals are conditioned exactly on their total:

- counts are multinomial: the total's units fall on individuals in proportion to expected counts;
- positives out of trials likewise;
- exponential values of one bag share their random factor, so each is its share of the total;
- Normal values z = f + e with independent noise e become z + k (y - Σ a z), with
  k = a var(e) / Σ a² var(e): the conditional distribution of e given f and Σ a z = y. That is exact
  where the noise of a bag is that of its individuals, summed.

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

from workbench.bags import Bags
from workbench.checks import InputError, NotExact, reject, require

COUNTS = ("poisson", "negative-binomial", "binomial", "bernoulli")


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


def preserve(state, rates: Tensor, bags: Bags, totals: Tensor, noise: Tensor | None,
             generator: np.random.Generator) -> tuple[Tensor, Tensor]:
    """Expectations and observations of individuals, given rates and totals (samples, N) each.

    Parameters
    ----------
    state : object
        With ``likelihood_name``, ``source.aggregation`` and ``rescaled``.
    rates : Tensor (samples, N)
        Rates with all effects.
    bags : Bags
        Where they are.
    totals : Tensor (B,)
        Observed values of the bags; means where values are means.
    noise : Tensor (N,) or None
        Standard deviation of a Normal observation of each individual, in units of the rate where
        the state is ``rescaled``, else of the observation.
    generator : Generator
        Of the observations.

    Raises
    ------
    InputError
        Where totals do not fit, or nothing exact is known for the likelihood.
    """
    require(len(totals) == bags.count,
            f"expected one total per bag ({bags.count}), got {len(totals)}")
    totals, weight, members = totals.to(rates), bags.weight.to(rates), bags.membership
    sums = state.source.aggregation == "sum" or state.rescaled
    if state.likelihood_name in COUNTS:
        return allocate(rates * weight, members, totals, generator)
    if state.likelihood_name == "exponential":
        whole = totals if sums else totals * bags.totals
        found = whole[members] * _shares(rates * weight, members, bags.count)
        found = found if sums else found / weight
        return found, found
    if state.likelihood_name != "normal":
        raise NotExact(f"draws that preserve totals are not known for the {state.likelihood_name}"
                         " likelihood; use preserve_totals=False")
    base = rates * weight if sums else rates
    std = noise.to(rates) * weight if state.rescaled else noise.to(rates)
    into = torch.ones_like(weight) if sums else weight / bags.totals.to(rates)[members]
    drawn = base + std * torch.as_tensor(generator.standard_normal(tuple(base.shape))).to(base)
    return (_absorb(base, std, into, members, totals), _absorb(drawn, std, into, members, totals))


def summing(state, bags: Bags, totals: Tensor, noise: Tensor | None, groups: Groups,
            generator: np.random.Generator) -> Callable[[Tensor], Tensor]:
    """From rates (samples, N) to draws of sums over groups (samples, G), given the bags' totals.

    Counts are drawn for the part of a bag that lies in a group at once: sums of multinomial counts
    are multinomial, with the sums of their probabilities. Other arguments are as of `preserve`.
    """
    require(len(totals) == bags.count,
            f"expected one total per bag ({bags.count}), got {len(totals)}")
    if state.likelihood_name not in COUNTS or groups.coefficients is not None:
        return lambda rates: groups.sums(
            preserve(state, rates, bags, totals, noise, generator)[1])
    pairs, cell = torch.unique(bags.membership * groups.count + groups.of, return_inverse=True)
    cells = Groups(cell, len(pairs), bags.weight)
    members, joined = pairs // groups.count, Groups(pairs % groups.count, groups.count)

    def allocated(rates: Tensor) -> Tensor:
        drawn = allocate(cells.sums(rates), members, totals.to(rates), generator)[1]
        return joined.sums(drawn)

    return allocated


def noise_of(state, bags: Bags) -> Tensor | None:
    """Standard deviation of a Normal observation of each individual (N,); None of other values."""
    return individual_noise(state.noise, bags) if state.likelihood_name == "normal" else None


def allocate(expected: Tensor, members: Tensor, totals: Tensor, generator: np.random.Generator
             ) -> tuple[Tensor, Tensor]:
    """Totals shared out in proportion, and multinomial draws of them (samples, N) each.

    A total that is not whole is drawn as the next larger whole number of units, each worth a
    little less than one, so that the draws add up to it.

    Parameters
    ----------
    expected : Tensor (samples, N)
        Expected counts, positive.
    members : Tensor (N,)
        Bag of each individual, ascending.
    totals : Tensor (B,)
        Counts of bags, zero or more.
    generator : Generator
    """
    bad = ((totals < 0) | ~torch.isfinite(totals)).nonzero()
    if len(bad):
        raise reject("totals of zero or more", f"{float(totals[bad[0]]):g} at bag {int(bad[0])}",
                     "give counts")
    shares = _shares(expected, members, len(totals))
    p, y = shares.detach().cpu().numpy().astype(float), totals.cpu().numpy().astype(float)
    ends, out, start = np.cumsum(np.bincount(members.cpu().numpy(), minlength=len(y))), [], 0
    for stop, total in zip(ends, y, strict=True):
        cells = p[:, start:stop]
        cells = cells / cells.sum(1, keepdims=True)
        units = int(np.ceil(total))
        drawn = generator.multinomial(units, cells).astype(float)
        out.append(drawn if units == total else drawn * (total / units))
        start = stop
    return shares * totals[members], torch.as_tensor(np.concatenate(out, 1)).to(expected)


def individual_noise(model, bags: Bags) -> Tensor:
    """Standard deviation of an individual's Normal observation, by a `NoiseModel` (N,).

    Where only variances of bags are known, a bag's is spread evenly over its individuals.
    """
    if getattr(model, "convention", "") != "known":
        return model.std(bags.singletons())
    members, variance = bags.membership, model.std(bags).square()
    if model.aggregation == "sum":
        return (variance / bags.sizes)[members].sqrt()
    share = bags.weight / bags.totals[members]
    squares = torch.zeros(bags.count).to(share).index_add(0, members, share.square())
    return (variance / squares)[members].sqrt()


def _shares(expected: Tensor, members: Tensor, count: int) -> Tensor:
    """Share of each individual in its bag's expectation (samples, N)."""
    top = torch.zeros(len(expected), count).to(expected)
    total = top.index_add(1, members, expected)[:, members]
    bad = ~(torch.isfinite(total) & (total > 0))
    if bool(bad.any()):
        raise InputError(f"{int(bad.any(0).sum())} individuals are in bags where nothing is "
                         "expected, or more than a number can hold: no total can be shared out; "
                         "look at the rates of the fit")
    return expected / total


def _absorb(drawn: Tensor, std: Tensor, into: Tensor, members: Tensor, totals: Tensor) -> Tensor:
    """Draws moved so that Σ into drawn is the total: conditioning of independent noise."""
    count = len(totals)
    squares = (into * std).square()
    norm = torch.zeros(count).to(drawn).index_add(0, members, squares)
    # Without any noise nothing tells where a gap should go: it goes evenly then.
    even = torch.zeros(count).to(drawn).index_add(0, members, into.square())
    gain = torch.where(norm[members] > 0, into * std.square() / norm.clamp_min(1e-300)[members],
                       into / even[members])
    reached = torch.zeros(len(drawn), count).to(drawn).index_add(1, members, drawn * into)
    return drawn + gain * (totals - reached)[:, members]
