"""What every likelihood of bag observations knows: its links, checks, draws and densities."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from workbench.checks import InputError, NotExact, require
from workbench.gp.data.bags import Bags, Source
from workbench.gp.likelihoods.links import Link, link_named
from workbench.gp.likelihoods.moments import BagMoments
from workbench.gp.likelihoods.noise import IndividualNoise
from workbench.gp.numerics.shapes import PerBag
from workbench.gp.optimisation.hyperparameters import Hyperparameter
from workbench.gp.predictive import Predictive

_POSITIVE_LINKS = "link='exp' or link='square'"


@dataclass(frozen=True)
class Units:
    """The bags, or the individuals in them, that observations are made of.

    Parameters
    ----------
    bags : Bags
        Where they are.
    individual : bool
        Whether the units are the individuals.
    sums : bool
        Whether values are totals: an individual's rate then counts by its weight.
    rescaled : bool
        Whether the model works per unit of weight of what are totals.
    noise_std : Tensor (units,), optional
        Standard deviation of the noise of an observation, where the likelihood has one; of
        individuals that share their area's, of this.
    individuals : IndividualNoise, optional
        Of individuals, where their bags' totals are given, or they share noise.
    """

    bags: Bags
    individual: bool
    sums: bool
    rescaled: bool = False
    noise_std: Tensor | None = None
    individuals: IndividualNoise | None = None

    @property
    def exposure(self) -> Tensor:
        """From a rate or bag parameter to the expected observation, a factor (units,)."""
        if self.individual and self.sums:
            return self.bags.weight
        return torch.ones_like(self.bags.weight if self.individual else self.bags.totals)

    @property
    def scale(self) -> Tensor:
        """What turns observations per unit of weight into those that are made (units,)."""
        size = self.bags.weight if self.individual else self.bags.totals
        return size if self.rescaled else torch.ones_like(size)


class Likelihood:
    """p(y | η) of a bag's observation; subclasses say what is special about theirs.

    What does not depend on hyperparameters is asked of the class, the rest of an instance that
    `assemble` makes for a source.
    """

    name: str
    #: Names of the links that go with it.
    links: tuple[str, ...] = ("exp", "square")
    #: Why there is no iid effect of the area; empty where there can be one.
    no_area_effect = ""
    #: Whether an area effect and a nugget are learnt unless the user says otherwise.
    overdispersed = False
    #: Whether areas have multipliers of their own, which the likelihood integrates out.
    multiplied = False
    #: Whether effects are learnt from a bag's observation (``effect_posterior``).
    learns_effects = False
    #: Whether observations have a noise with a hyperparameter of its own.
    has_noise = False
    #: Whether observations of a bag's individuals are multinomial, given their total.
    multinomial = False
    #: Whether log y! is part of the density.
    factorial = False
    #: Whether values are proportions of something counted.
    proportions = False

    def __init__(self):
        self.items: list[Hyperparameter] = []

    @classmethod
    def assemble(cls, source: Source, noise: str, white=None) -> Likelihood:
        """The likelihood for a source, with its hyperparameters as ``items``.

        Parameters
        ----------
        source : Source
            What is fitted, as `observed`.
        noise : str
            Convention of the noise's variance.
        white : callable, optional
            Variance that white noise of individuals adds to that of each bag's observation (B,).
        """
        return cls()

    @classmethod
    def default_link(cls, source: Source) -> str:
        """Name of the link that ``auto`` stands for with these values."""
        return "exp"

    @classmethod
    def link(cls, name: str, source: Source) -> Link:
        """The link of that name, which has to go with the likelihood; ``auto`` goes by the values.

        Raises
        ------
        InputError
            If it does not; the message names the links that do.
        """
        link = link_named(cls.default_link(source) if name == "auto" else name)
        if link.name in cls.links:
            return link
        if link.upper == 1:
            raise InputError(
                f"link {link.name!r} is for positives out of trials, not for the {cls.name} "
                f"likelihood; use {_POSITIVE_LINKS}, or give the dataset its trials and use "
                "likelihood='binomial'")
        raise InputError(f"the {cls.name} likelihood needs positive rates; use {_POSITIVE_LINKS}, "
                         f"not {link.name!r}")

    @classmethod
    def check(cls, options, source: Source) -> None:
        """Refuse options and values that do not go with the likelihood.

        Raises
        ------
        InputError
            Saying what to change.
        """
        cls._check_effects(options)
        value = source.targets.value
        require(not cls.link(options.link, source).positive or bool((value != 0).any()),
                f"all {len(value)} counts are zero, so there is nothing to map, whatever the link "
                "and the overdispersion; check that the right column was read")
        require(source.bags.trials is None, "the values are positives out of trials, which the "
                f"{cls.name} likelihood cannot use; use likelihood='binomial', or drop the "
                "variable 'trials' and say by attributes what the values are")
        cls.check_values(source)

    @classmethod
    def _check_effects(cls, options) -> None:
        require(options.overdispersion == "none" or not cls.no_area_effect, cls.no_area_effect)

    @classmethod
    def check_values(cls, source: Source) -> None:
        """Refuse values that the likelihood gives no density.

        Raises
        ------
        InputError
            Saying what to change.
        """

    @classmethod
    def observed(cls, source: Source) -> Source:
        """The source as the likelihood sees it."""
        return source

    @classmethod
    def rescales(cls, source: Source) -> bool:
        """Whether `observed` divides totals by their weight."""
        return False

    @classmethod
    def effect_in_field(cls, source: Source) -> bool:
        """Whether the effect of an area is a term of the field, as that of several periods is."""
        return False

    def expected_log_prob(self, y: PerBag, moments: BagMoments) -> PerBag:
        """E_q log p(y | η) of each bag (B,)."""
        raise NotImplementedError

    def total_variance(self, moments: BagMoments) -> PerBag | None:
        """Variance of each bag's observation, without area effect (B,); None if not looked at."""
        raise NotImplementedError

    @classmethod
    def observe(cls, rates: Tensor, units: Units, generator: np.random.Generator) -> Tensor:
        """Draws of observations at rates or bag parameters with all effects (samples, units)."""
        raise NotImplementedError

    @classmethod
    def log_density(cls, y: Tensor, predicted: Predictive, units: Units, samples: int, seed: int
                    ) -> Tensor:
        """log p(y | draw of the parameter), (samples, units); one row where it is exact."""
        raise NotImplementedError

    @classmethod
    def given_totals(cls, rates: Tensor, units: Units, totals: Tensor,
                     generator: np.random.Generator) -> tuple[Tensor, Tensor]:
        """Expectations and observations of individuals given totals, see `preserving`.

        Raises
        ------
        NotExact
            If nothing exact is known.
        """
        raise NotExact(f"draws that preserve totals are not known for the {cls.name}"
                       " likelihood; use preserve_totals=False")


def standard_normal(generator: np.random.Generator, like: Tensor | Sequence[int]) -> Tensor:
    """Standard normal draws in the shape, dtype and device of a tensor."""
    return torch.as_tensor(generator.standard_normal(tuple(like.shape))).to(like)
