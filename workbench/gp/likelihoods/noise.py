"""Observation noise of bags: one variance, shared out by a named convention, or known ones.

Beside known variances V_a there is, under ``fay-herriot``, a learnt τ² for how much areas differ
beyond what the map explains, as in Fay and Herriot (1979, doi:10.1080/01621459.1979.10482505),
where the map stands in the place of their regression.
"""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from workbench.checks import InputError
from workbench.gp.data.bags import Bags, Source
from workbench.gp.optimisation.hyperparameters import Hyperparameter, scalar_hyperparameter

FAY_HERRIOT = "fay-herriot"
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
        ``constant``, ``size``, ``weight``, ``known`` or ``fay-herriot`` (see the options).
    source : Source
        The training source; its values scale the starting value.

    Raises
    ------
    InputError
        If they are to be known but the source gives no variances, or not all are positive.
    """

    def __init__(self, convention: str, source: Source):
        self.convention, self.aggregation = convention, source.aggregation
        self.known, self._names = source.targets.noise_variance, source.bags.names
        self.stated = source.bags.noise_variance is not None
        self.reference = float(source.bags.totals.mean())
        self.items: list[Hyperparameter] = []
        self.knows = convention in ("known", FAY_HERRIOT)
        if self.knows and (self.known is None or not bool((self.known > 0).all())):
            raise InputError(
                f"noise={convention!r} needs a positive noise_variance for every bag in the dataset"
            )
        if convention == "known":
            return
        self.factor = self._factor(source.bags)
        value = source.targets.value
        spread = value.var() if len(value) > 1 else value.square().mean()
        start = max(float(0.1 * spread / self.factor.median()), 1e-10)
        name = BETWEEN if self.knows else "noise.variance"
        self.items = [scalar_hyperparameter(name, start, "value²", None, value)]

    def _factor(self, bags: Bags) -> Tensor:
        """What the learnt variance is multiplied by (B,): a sum's effect is one of its rate."""
        if not self.knows:
            return noise_factor(self.convention, bags, self.aggregation, self.reference)
        one = torch.ones(bags.count).to(bags.weight)
        return (bags.totals / self.reference).square() if self.aggregation == "sum" else one

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
        if not self.knows:
            return self.learnt(bags).sqrt()
        own = bags.noise_variance if self.stated else None
        if own is None or not bool((own > 0).all()):
            if bags.names != self._names or len(self.known) != bags.count:
                raise InputError(
                    f"noise={self.convention!r} gives no noise variance for bags outside the "
                    "training data, unless their dataset has a positive noise_variance for every "
                    "one, nor for individuals; predict the parameter with over() instead of "
                    "observations"
                )
            own = self.known
        own = own.to(self.known)
        return (own + self.learnt(bags).to(own)).sqrt()


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
    if not getattr(noise, "knows", False):
        return noise.std(bags.singletons())
    members = bags.membership
    share = bags.weight / bags.totals[members] if noise.aggregation == "mean" else (
        torch.ones_like(bags.weight))
    squares = torch.zeros(bags.count).to(share).index_add(0, members, share.square())
    if noise.stated and bags.individual_noise_variance is not None:
        return (bags.individual_noise_variance + (noise.learnt(bags) / squares)[members]).sqrt()
    return (noise.std(bags).square() / squares)[members].sqrt()
