"""Observation noise of bags: one variance, shared out by a named convention, or known ones."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from workbench.checks import InputError
from workbench.gp.data.bags import Bags, Source
from workbench.gp.optimisation.hyperparameters import Hyperparameter, scalar_hyperparameter


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
    """The convention that an option ``noise`` stands for: ``auto`` is known, or by size.

    It is known where the bags state variances on the scale of their values, unless σ² is one of the
    hyperparameters that somebody gave, which says that there is one.

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
    stated = source.bags.noise_variance is not None
    return "known" if stated and "noise.variance" not in told else "size"


class NoiseModel:
    """Observation variance of bags under one of the named conventions.

    Parameters
    ----------
    convention : str
        ``constant``, ``size``, ``weight`` or ``known`` (see the options).
    source : Source
        The training source; its values scale the starting value.

    Raises
    ------
    InputError
        If ``known`` but the source gives no variances, or not all are positive.
    """

    def __init__(self, convention: str, source: Source):
        self.convention, self.aggregation = convention, source.aggregation
        self.known, self._names = source.targets.noise_variance, source.bags.names
        self.stated = source.bags.noise_variance is not None
        self.reference = float(source.bags.totals.mean())
        self.items: list[Hyperparameter] = []
        if convention == "known":
            if self.known is None or not bool((self.known > 0).all()):
                raise InputError(
                    "noise='known' needs a positive noise_variance for every bag in the dataset"
                )
            return
        self.factor = noise_factor(convention, source.bags, self.aggregation, self.reference)
        value = source.targets.value
        spread = value.var() if len(value) > 1 else value.square().mean()
        start = max(float(0.1 * spread / self.factor.median()), 1e-10)
        self.items = [scalar_hyperparameter("noise.variance", start, "value²", None, value)]

    def __call__(self) -> Tensor:
        """Variance of each training bag's observation (B,), differentiable."""
        if self.convention == "known":
            return self.known
        return self.items[0].natural.reshape(()) * self.factor

    def std(self, bags: Bags) -> Tensor:
        """Standard deviation of an observation of each given bag (B,).

        Raises
        ------
        InputError
            If the variances are known ones, and bags outside the training data state none.
        """
        if self.convention == "known":
            own = bags.noise_variance if self.stated else None
            if own is not None and bool((own > 0).all()):
                return own.to(self.known).sqrt()
            if bags.names == self._names and len(self.known) == bags.count:
                return self.known.sqrt()
            raise InputError(
                "noise='known' gives no noise variance for bags outside the training data, unless "
                "their dataset has a positive noise_variance for every one, nor for individuals; "
                "predict the parameter with over() instead of observations"
            )
        factor = noise_factor(self.convention, bags, self.aggregation, self.reference)
        return (self.items[0].natural.detach().reshape(()) * factor).sqrt()


def individual_noise(noise, bags: Bags) -> Tensor:
    """Standard deviation of an individual's Normal observation (N,).

    Where only variances of bags are known, a bag's is spread evenly over its individuals, unless
    the bags state it of each.

    Parameters
    ----------
    noise : NoiseModel, or anything with its ``std``
        Of the bags.
    bags : Bags
        Whose individuals they are.
    """
    if getattr(noise, "convention", "") != "known":
        return noise.std(bags.singletons())
    if noise.stated and bags.individual_noise_variance is not None:
        return bags.individual_noise_variance.sqrt()
    members, variance = bags.membership, noise.std(bags).square()
    if noise.aggregation == "sum":
        return (variance / bags.sizes)[members].sqrt()
    share = bags.weight / bags.totals[members]
    squares = torch.zeros(bags.count).to(share).index_add(0, members, share.square())
    return (variance / squares)[members].sqrt()
