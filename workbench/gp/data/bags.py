"""Bags of individuals in one flat table, what was observed of them, and both as one source."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import torch
from torch import Tensor

from workbench.checks import reject, require
from workbench.gp.data.recurring import common_areas
from workbench.gp.data.trials import known_trials
from workbench.gp.numerics.shapes import Inputs, Membership, PerBag, PerIndividual


@dataclass(frozen=True)
class Columns:
    """Names, units and groups of the input columns.

    Parameters
    ----------
    names : tuple of str
        One name per column of ``x``.
    coordinates : tuple of int
        Positions of the spatial coordinates; all other columns are covariates.
    units : tuple of str
        One unit per column; ``""`` where there is none.
    areas : bool
        Whether numbers of recurring areas may follow the columns, as they do once standardised.
    """

    names: tuple[str, ...]
    coordinates: tuple[int, ...] = ()
    units: tuple[str, ...] = ()
    areas: bool = False

    @property
    def covariates(self) -> tuple[int, ...]:
        """Positions of the columns that are not coordinates."""
        return tuple(i for i in range(len(self.names)) if i not in self.coordinates)

    def group(self, name: str) -> tuple[int, ...]:
        """Positions of the columns of a group, or of a column by its name.

        Groups are ``all``, ``covariates``, and ``coordinates`` or ``place``.
        """
        groups = {
            "all": tuple(range(len(self.names))),
            "coordinates": self.coordinates,
            "covariates": self.covariates,
        } | ({} if "place" in self.names else {"place": self.coordinates})
        if name in groups:
            return groups[name]
        if name in self.names:
            return (self.names.index(name),)
        raise reject(f"a group of columns ({', '.join(groups)}) or a column "
                     f"({', '.join(self.names)})", repr(name), "name one of these in the kernel")


@dataclass(frozen=True)
class Bags:
    """Individuals of all bags in one flat table, sorted by bag; ragged, without padding.

    Parameters
    ----------
    x : Tensor (N, D)
        Inputs of the individuals in natural units.
    membership : Tensor (N,) of int64
        Bag of each individual, 0 ... B-1, ascending.
    weight : Tensor (N,)
        Positive weight (population) of each individual.
    count : int
        Number of bags, B.
    columns : Columns
        What the columns of ``x`` are.
    names : tuple of str
        Name of each bag; a model recognises the areas it was trained on by these.
    trials : Tensor (B,), optional
        Trials of each bag's survey, where values are positives out of them; known as weights are.
    mediators : Tensor (B, E), optional
        Covariates of each bag as a whole, y of Chau et al. 2021, in natural units.
    mediator_columns : Columns, optional
        What the columns of ``mediators`` are.
    concentration : Tensor (N,), optional
        Where individuals stand for clusters of others: the sum of their members' squared shares of
        weight, which is what a cluster's mean keeps of the variance of white noise. None is one.
    noise_variance, individual_noise_variance : Tensor (B,) and (N,), optional
        Known variance of each bag's value (rates of totals have none) and individuals' parts in it.
    areas : Tensor (N,) of int64, optional
        Areas inside bags that are unions of them, whose effects there are; None is the bags.
    recurring : Tensor (N,) of int64, optional
        Areas that have a bag in each of several periods: the same number in all of them, below zero
        of an area that is not known. None where areas do not recur.

    Raises
    ------
    InputError
        If shapes disagree; both shapes are in the message.
    """

    x: Inputs
    membership: Membership
    weight: PerIndividual
    count: int
    columns: Columns
    names: tuple[str, ...] = ()
    trials: PerBag | None = None
    mediators: Tensor | None = None
    mediator_columns: Columns | None = None
    concentration: PerIndividual | None = None
    noise_variance: PerBag | None = None
    individual_noise_variance: PerIndividual | None = None
    areas: PerIndividual | None = None
    recurring: PerIndividual | None = None

    def __post_init__(self):
        rows = len(self.x)
        for name in ("membership", "weight", "concentration", "areas", "recurring"):
            part = getattr(self, name)
            got = rows if part is None else len(part)
            if got != rows:
                raise reject(f"one {name} per individual ({rows})", f"{got} entries",
                             f"pass {name} with as many entries as x has rows")
        require(bool((self.membership.diff() >= 0).all()), "membership must be sorted ascending")
        if self.x.shape[1] - len(self.columns.names) not in (0, int(self.columns.areas)):
            raise reject(f"{len(self.columns.names)} input columns "
                         f"({', '.join(self.columns.names)})", f"x with {self.x.shape[1]} columns",
                         "pass the columns the model was built for")
        if self.mediators is not None:
            expected = (self.count, len(self.mediator_columns.names))
            if tuple(self.mediators.shape) != expected:
                raise reject(f"mediators of {expected[0]} bags in {expected[1]} columns",
                             f"shape {tuple(self.mediators.shape)}",
                             "pass one row per bag and name every column")

    @property
    def sizes(self) -> PerBag:
        """Number of individuals in each bag (B,)."""
        return torch.bincount(self.membership, minlength=self.count).to(self.weight)

    @property
    def totals(self) -> PerBag:
        """Sum of weights in each bag (B,)."""
        return torch.zeros(self.count).to(self.weight).index_add(0, self.membership, self.weight)

    @property
    def unaveraged(self) -> PerIndividual | float:
        """Share of white noise's variance that each individual keeps: below one of a cluster."""
        return 1.0 if self.concentration is None else self.concentration

    @property
    def noise_left(self) -> Tensor:
        """Share of independent individuals' variance that their bag's mean has (B,)."""
        share = (self.weight / self.totals[self.membership]).square() * self.unaveraged
        return torch.zeros(self.count).to(share).index_add(0, self.membership, share)

    def same_as(self, other: Bags) -> bool:
        """Whether the other bags hold the same individuals."""
        known = [bags.recurring is not None for bags in (self, other)]
        if known[0] != known[1] or known[0] and not torch.equal(self.recurring, other.recurring):
            return False
        return len(self.x) == len(other.x) and self.count == other.count and all(
            torch.equal(getattr(self, part), getattr(other, part))
            for part in ("x", "weight", "membership")) and torch.equal(
                *(torch.as_tensor(bags.unaveraged).to(self.x).expand(len(self.x))
                  for bags in (self, other)))

    def centres(self) -> Bags:
        """Each bag as one individual at its weighted mean input with the bag's total weight."""
        total = torch.zeros(self.count, self.x.shape[1]).to(self.x)
        total = total.index_add(0, self.membership, self.weight[:, None] * self.x)
        return replace(self, x=total / self.totals[:, None], weight=self.totals,
                       membership=torch.arange(self.count, device=self.x.device),
                       concentration=None, individual_noise_variance=None, areas=None,
                       recurring=common_areas(self))

    def run(self, which: slice, rows: slice) -> Bags:
        """Bags one after the other, ``rows`` being their individuals."""
        def cut(part, where: slice):
            return None if part is None else part[where]

        return replace(
            self, x=self.x[rows], membership=self.membership[rows] - which.start,
            weight=self.weight[rows], count=which.stop - which.start, names=self.names[which],
            **{name: cut(getattr(self, name), where) for name, where in (
                ("trials", which), ("noise_variance", which), ("mediators", which),
                ("concentration", rows), ("individual_noise_variance", rows), ("areas", rows),
                ("recurring", rows))})

    def singletons(self) -> Bags:
        """Each individual as a bag of its own."""
        count = len(self.x)
        members = torch.arange(count, device=self.x.device)
        return Bags(self.x, members, self.weight, count, self.columns)


@dataclass(frozen=True)
class Targets:
    """What was observed of each bag; or elsewhere, where only the mediators are known.

    Parameters
    ----------
    value : Tensor (B,) or (M,)
        The observed aggregates.
    noise_variance : Tensor (B,), optional
        Known variance V_a of each observation, for ``noise="known"`` and ``"fay-herriot"``.
    sample_variance : Tensor (B,), optional
        Variance of the single observations inside each bag, with their number as divisor.
    mediators : Tensor (M, E), optional
        Given for targets that belong to no bag, ỹ of Chau et al. 2021: their covariates, in the
        columns of the bags' ``mediators``.
    """

    value: PerBag
    noise_variance: PerBag | None = None
    sample_variance: PerBag | None = None
    mediators: Tensor | None = None


@dataclass(frozen=True)
class Source:
    """Bags together with their targets: everything a model is fitted to.

    ``trust`` multiplies the source's log-likelihood; ``aggregation`` is ``"sum"`` or
    ``"mean"``; ``task`` says which quantity was observed, where there are several. Targets with
    mediators of their own are *unmatched*: they belong to none of the bags, and only conditional
    mean processes can learn from them.
    """

    bags: Bags
    targets: Targets
    aggregation: str = "sum"
    kind: str = "count"
    name: str = "source"
    trust: float = 1.0
    attributes: dict = field(default_factory=dict)
    task: str = "value"

    def __post_init__(self):
        got = len(self.targets.value)
        if not self.matched:
            self._check_mediators()
        elif got != self.bags.count:
            raise reject(f"one value per bag ({self.bags.count})", f"{got} values",
                         "pass one value per bag")
        if self.bags.trials is not None:
            trials, value = known_trials(self.bags), self.targets.value
            bad = ((value < 0) | (value > trials)).nonzero()
            require(len(bad) == 0, f"{len(bad)} values do not lie between zero and the bag's "
                    f"trials, the first at bag {int(bad[0]) if len(bad) else 0}; positives are "
                    "counted among the trials")

    @property
    def matched(self) -> bool:
        """Whether the targets are those of the bags."""
        return self.targets.mediators is None

    def _check_mediators(self) -> None:
        theirs, ours = self.targets.mediators, self.bags.mediators
        require(ours is not None, "the targets have mediators but the bags have none; give both "
                "the same covariates (workbench.add_mediators)")
        if tuple(theirs.shape) != (len(self.targets.value), ours.shape[1]):
            raise reject(f"{ours.shape[1]} mediators of each of {len(self.targets.value)} targets",
                         f"shape {tuple(theirs.shape)}", "give bags and targets the same ones")
        require(self.aggregation == "mean" and self.bags.trials is None, "unmatched targets are "
                "means: the weight behind them is not known. Divide totals by their weight")

    def as_rates(self) -> Source:
        """The same observations per unit of weight: values divided by total weight, a mean.

        Raises
        ------
        InputError
            If the values are positives out of trials.
        """
        require(self.bags.trials is None, "positives out of trials are not rates per unit of "
                "weight; use a model with likelihood='binomial', or divide the values by their "
                "trials, drop the trials and set value.attrs['kind'] = 'continuous'")
        if self.aggregation == "mean":
            return self
        totals, variance = self.bags.totals, self.targets.noise_variance
        scaled = None if variance is None else variance / totals.square()
        rates = Targets(self.targets.value / totals, scaled, self.targets.sample_variance)
        return replace(self, targets=rates, aggregation="mean", kind="continuous",
                       bags=replace(self.bags, noise_variance=None))

    @property
    def mean_rate(self) -> Tensor:
        """Weighted mean of the observations per unit of weight, the flat rate.

        Of positives out of trials it is the overall share, half a positive and half a negative
        added, so that a flat probability is never zero or one.
        """
        if not self.matched:
            return self.targets.value.mean()
        if self.bags.trials is not None:
            return (self.targets.value.sum() + 0.5) / (self.bags.trials.sum() + 1)
        totals = self.bags.totals
        value = self.targets.value * (totals if self.aggregation == "mean" else 1.0)
        return value.sum() / totals.sum()
