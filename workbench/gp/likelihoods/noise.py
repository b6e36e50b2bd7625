"""Observation noise of bags: one variance, shared out by a named convention, or known ones.

Beside known variances V_a there is, under ``fay-herriot``, a learnt τ² for how much areas differ
beyond what the map explains, as in Fay and Herriot (1979, doi:10.1080/01621459.1979.10482505),
where the map stands in the place of their regression.

A variance by ``size`` is that of independent noise of individuals, averaged or added up. Under
``area`` it is the same of an area's value, but all individuals have it in common: where a nugget is
known, which is what individuals differ by, noise of theirs would be that a second time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from workbench.checks import InputError
from workbench.gp.data.bags import Bags, Source
from workbench.gp.optimisation.hyperparameters import Hyperparameter, scalar_hyperparameter
from workbench.gp.optimisation.priors import PCStd

FAY_HERRIOT, AREA = "fay-herriot", "area"
#: The hyperparameter τ² beside known variances.
BETWEEN = "area.variance"


def noise_factor(noise: str, bags: Bags, aggregation: str, reference: float) -> Tensor:
    """What σ² is multiplied by to give each bag's observation variance (B,).

    ``reference`` is the mean total weight of the training bags, for ``noise="weight"``.

    References
    ----------
    Law et al. 2018, appendix A and the released code: N_a σ² for sums; σ²/N_a for means.
    """
    if noise == "constant":
        return torch.ones(bags.count).to(bags.weight)
    relative = bags.sizes if noise == "size" else bags.totals / reference
    return relative if aggregation == "sum" else 1 / relative


def noise_convention(options, source: Source, given: Mapping | None = None) -> str:
    """The convention that an option ``noise`` stands for: ``auto`` is Fay-Herriot, or by size.

    It is the former where the bags state variances on the scale of their values, unless σ² is one
    of the hyperparameters that somebody gave, which says that there is one. Where all of them are
    given, there is a τ² if it is among them.

    Parameters
    ----------
    options : Options
        With ``noise``, ``hyperparameters``, ``initial`` and ``priors``.
    source : Source
        What is learnt from, as the likelihood observes it.
    given : mapping, optional
        Hyperparameters of ``condition``, all of them.
    """
    if options.noise != "auto":
        return options.noise
    told = {*options.hyperparameters, *options.initial, *options.priors, *(given or ())}
    if source.bags.noise_variance is None or "noise.variance" in told:
        return "size"
    return FAY_HERRIOT if given is None or BETWEEN in told else "known"


class NoiseModel:
    """Observation variance of bags under one of the named conventions.

    Parameters
    ----------
    convention : str
        ``constant``, ``size``, ``weight``, ``area``, ``known`` or ``fay-herriot`` (see the
        options).
    source : Source
        The training source; its values scale the starting value, and the prior of τ².

    Raises
    ------
    InputError
        If variances are to be known but the source gives none, or not all are positive.
    """

    def __init__(self, convention: str, source: Source):
        self.convention, self.aggregation = convention, source.aggregation
        self.known, self._names = source.targets.noise_variance, source.bags.names
        self._sizes = source.bags.sizes
        self.stated = source.bags.noise_variance is not None
        self.items: list[Hyperparameter] = []
        self.knows = convention in ("known", FAY_HERRIOT)
        if self.knows and (self.known is None or not bool((self.known > 0).all())):
            raise InputError(
                f"noise={convention!r} needs a positive noise_variance for every bag in the dataset"
            )
        areas = _areas(source.bags)[0] if self.knows else source.bags.totals
        self.reference = float(areas.mean())
        if convention == "known":
            return
        self.factor = self._factor(source.bags)
        value = source.targets.value
        spread = value.var() if len(value) > 1 else value.square().mean()
        start = max(float(0.1 * spread / self.factor.median()), 1e-10)
        if not self.knows:
            self.items = [scalar_hyperparameter("noise.variance", start, "value²", None, value)]
            return
        # Without a prior the posterior of a τ² near zero would have no end: all that values differ
        # by is more than what areas do, with probability 95 %.
        prior = PCStd((10 * start)**0.5, of_variance=True)
        self.items = [scalar_hyperparameter(BETWEEN, start, "value²", prior, value)]

    def _factor(self, bags: Bags) -> Tensor:
        """What the learnt variance is multiplied by (B,).

        τ² is that of a mean, and of a sum over a mean area; of a union of areas with effects of
        their own those of the areas add up.
        """
        if self.convention == AREA:
            weight, of, areas = _areas(bags)
            part = self._sizes_of(bags, areas, len(weight))
            if self.aggregation == "mean":
                part = (weight / bags.totals[of]).square() / part
            return torch.zeros(bags.count).to(part).index_add(0, of, part)
        if not self.knows:
            return noise_factor(self.convention, bags, self.aggregation, self.reference)
        size, of, _ = _areas(bags)
        part = size / (bags.totals[of] if self.aggregation == "mean" else self.reference)
        return torch.zeros(bags.count).to(part).index_add(0, of, part.square())

    def __call__(self) -> Tensor:
        """Variance of each training bag's observation (B,), differentiable."""
        if not self.items:
            return self.known
        learnt = self.items[0].natural.reshape(()) * self.factor
        return self.known + learnt if self.knows else learnt

    def learnt(self, bags: Bags) -> Tensor:
        """The learnt part of the variance of an observation of each given bag (B,)."""
        if not self.items:
            return torch.zeros(bags.count).to(bags.weight)
        return self.items[0].natural.detach().reshape(()) * self._factor(bags)

    def std(self, bags: Bags) -> Tensor:
        """Standard deviation of an observation of each given bag (B,).

        Raises
        ------
        InputError
            If the variances are known ones, and bags outside the training data state none.
        """
        learnt = self.learnt(bags)
        return (self.stated_variance(bags) + learnt if self.knows else learnt).sqrt()

    def stated_variance(self, bags: Bags) -> Tensor:
        """Known variance of each given bag (B,), theirs or the training data's; see `std`."""
        own = bags.noise_variance if self.stated else None
        if own is not None and bool((own > 0).all()):
            return own.to(self.known)
        if bags.names == self._names and len(self.known) == bags.count:
            return self.known
        raise InputError(
            f"noise={self.convention!r} gives no noise variance for bags outside the training "
            "data, unless their dataset has a positive noise_variance for every one, nor for "
            "individuals; predict the parameter with over() instead of observations")

    def _sizes_of(self, bags: Bags, areas: Tensor, count: int) -> Tensor:
        """Individuals of each area (A,): those that were trained on where it is one of these.

        A dataset may hold a part of an area's individuals, or clusters of them.
        """
        size = torch.bincount(areas, minlength=count).to(bags.weight)
        if bags.areas is not None or not bags.names or not self._names:
            return size
        known = dict(zip(self._names, self._sizes.tolist(), strict=True))
        return size.new_tensor([known.get(name, own) for name, own in
                                zip(bags.names, size.tolist(), strict=True)])

    def individuals(self, bags: Bags) -> IndividualNoise:
        """Noise of Normal observations of the individuals, per unit of weight of rates.

        Where only variances of bags are known, a bag's is spread evenly over its individuals,
        unless the bags state it of each. What areas differ by all their individuals have in common,
        and so they have all noise under ``area``.
        """
        members, mean = bags.membership, self.aggregation == "mean"
        if self.convention == AREA:
            weight, _, areas = _areas(bags)
            of_one = self.items[0].natural.detach().reshape(()).sqrt()
            size = self._sizes_of(bags, areas, len(weight)).sqrt()[areas]
            common = of_one / size if mean else of_one * size * bags.weight / weight[areas]
            return IndividualNoise(torch.zeros_like(common), common, areas)
        if not self.knows:
            return IndividualNoise(self.std(bags.singletons()))
        if self.stated and bags.individual_noise_variance is not None:
            own = bags.individual_noise_variance
        else:
            share = bags.weight / bags.totals[members] if mean else torch.ones_like(bags.weight)
            squares = torch.zeros(bags.count).to(share).index_add(0, members, share.square())
            own = (self.stated_variance(bags) / squares)[members]
        if not self.items:
            return IndividualNoise(own.sqrt())
        common = self.items[0].natural.detach().reshape(()).sqrt() * (
            torch.ones_like(bags.weight) if mean else bags.weight / self.reference)
        return IndividualNoise(own.sqrt(), common.to(own), _areas(bags)[2])


@dataclass(frozen=True)
class IndividualNoise:
    """Noise of Normal observations of individuals: their own, and what those of an area share.

    Parameters
    ----------
    std : Tensor (N,)
        Standard deviation of each individual's own.
    common : Tensor (N,), optional
        What the standard normal effect of an area is multiplied by at each individual.
    areas : Tensor (N,) of int64, optional
        Whose effect that is, numbered from 0.
    """

    std: Tensor
    common: Tensor | None = None
    areas: Tensor | None = None

    def __getitem__(self, individuals: slice) -> IndividualNoise:
        """That of some of the individuals."""
        if self.common is None:
            return IndividualNoise(self.std[individuals])
        _, areas = self.areas[individuals].unique(return_inverse=True)
        return IndividualNoise(self.std[individuals], self.common[individuals], areas)

    def to(self, like: Tensor) -> IndividualNoise:
        """In the dtype and on the device of a tensor."""
        if self.common is None:
            return IndividualNoise(self.std.to(like))
        return IndividualNoise(self.std.to(like), self.common.to(like), self.areas.to(like.device))

    def times(self, factor: Tensor) -> IndividualNoise:
        """Multiplied by a factor (N,)."""
        common = None if self.common is None else self.common * factor
        return IndividualNoise(self.std * factor, common, self.areas)

    def drawn(self, normal: Callable[[Tensor], Tensor], like: Tensor) -> Tensor:
        """Draws (samples, N), given a source of standard normal numbers of a shape."""
        own = self.std * normal(like)
        if self.common is None:
            return own
        effects = normal(like.new_empty(len(like), int(self.areas.max()) + 1))
        return own + self.common * effects[:, self.areas]

    def towards(self, into: Tensor) -> Tensor:
        """Covariance of each individual's noise with that of the sum Σ into noise (N,).

        Parameters
        ----------
        into : Tensor (N,)
            Of sums over disjoint sets of individuals, of which no area lies in two.
        """
        own = into * self.std.square()
        if self.common is None:
            return own
        summed = torch.zeros(int(self.areas.max()) + 1).to(own)
        summed = summed.index_add(0, self.areas, into * self.common)
        return own + self.common * summed[self.areas]


def _areas(bags: Bags) -> tuple[Tensor, Tensor, Tensor]:
    """Areas that have effects (A,): their weights, their bags; and the area of each individual."""
    if bags.areas is None:
        return bags.totals, torch.arange(bags.count).to(bags.membership), bags.membership
    _, of = bags.areas.unique(return_inverse=True)
    count = int(of.max()) + 1
    bag = torch.zeros(count).to(bags.membership).index_copy(0, of, bags.membership)
    return torch.zeros(count).to(bags.weight).index_add(0, of, bags.weight), bag, of
