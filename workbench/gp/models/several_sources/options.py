"""Options of the models of several sources."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields

from workbench.checks import InputError, choose
from workbench.gp.likelihoods import LIKELIHOODS
from workbench.gp.likelihoods.links import LINKS
from workbench.gp.models.options import (
    NOISES,
    Options,
    VariationalOptions,
    option,
)

COMPOSITES = ("none", "ribatet", "lyddon")
PER = ("all", "source")
WEIGHTS = ("gp", "exp", "constant")


@dataclass(frozen=True)
class MultiSourceOptions(Options):
    """Options that all models of several sources have."""

    noise: str = option(
        "constant", "variance of a source's observations: constant σ²; by size, σ²/N_a of a mean "
        "and N_a σ² of a sum; by weight, with W_a / mean W for N_a; known V_a", choices=NOISES)
    noises: Mapping = option({}, "the same of a source, by its name, where it differs")

    def __post_init__(self):
        super().__post_init__()
        for name, value in self.noises.items():
            choose(f"noise of source {name!r}", value, NOISES)


@dataclass(frozen=True)
class CompositeOptions(MultiSourceOptions):
    """Options of the models whose likelihood is a composite of the sources'."""

    composite: str = option(
        "none", "weights of the sources' likelihoods, for sources that depend on each other: none, "
        "the product; ribatet or lyddon, estimated", choices=COMPOSITES)
    composite_per: str = option(
        "all", "one estimated weight for all sources, or one per source", choices=PER)
    compress: int = option(
        10, "most clusters per bag while hyperparameters are learnt on more than 4,000 "
        "individuals; 0 uses all", bounds=(0, 1_000_000))


@dataclass(frozen=True)
class MRGPOptions(CompositeOptions):
    """Options of the multi-resolution GP."""

    inducing: int = option(
        0, "inducing inputs of each stationary term; 0 conditions exactly", bounds=(0, 20_000))


@dataclass(frozen=True)
class MRGPRNOptions(CompositeOptions):
    """Options of the multi-resolution GP regression network."""

    weight_kernel: object = option(
        "rbf", "kernel of the weights W, named as ``kernel``, which is that of the basis f")
    weights: str = option(
        "gp", "what multiplies the basis: gp, W; exp, exp(W), which is positive; constant, a "
        "number per task", choices=WEIGHTS)
    latent: int = option(1, "basis functions f, Q in the paper", bounds=(1, 20))
    inducing: int = option(60, "inducing inputs of each latent function", bounds=(1, 5_000))
    composite: str = option(
        "none", "weights of the sources' likelihoods, for sources that depend on each other: none, "
        "the product; ribatet or lyddon, estimated; curvature, a matrix in place of one weight, "
        "where sources share individuals", choices=(*COMPOSITES, "curvature"))

    def __post_init__(self):
        super().__post_init__()
        if self.composite == "curvature" and self.weights == "exp":
            raise InputError("composite='curvature' needs a likelihood that is quadratic in the "
                             "weights: use weights='gp' or 'constant', or composite='ribatet'")


_OWN = ("likelihoods", "links", "noise", "hyperparameters", "initial", "priors")


@dataclass(frozen=True)
class MixedOptions(MultiSourceOptions):
    """Options of the model whose sources have likelihoods of their own."""

    likelihoods: Mapping = option(
        {}, "likelihood of a source, by its name; of others auto: Poisson for counts, else Normal")
    links: Mapping = option(
        {}, "link of a source, by its name; of others ``link``, of positives out of trials logit")
    link: str = option("exp", "from the shared Gaussian process to the rates of all sources",
                       choices=("auto", *LINKS))
    offset: str = option(
        "task", "task: quantities other than the first have a mean of f of their own; none: one "
        "mean for all", choices=("task", "none"))
    overdispersion: str = option(
        "none", "area: an iid Gaussian effect of each bag of counts on the link scale",
        choices=("none", "area"))
    inducing: int = option(100, "inducing inputs of each stationary term", bounds=(1, 20_000))
    compress: int = option(
        40, "most clusters per bag while hyperparameters are learnt on more than 4,000 "
        "individuals; 0 uses all", bounds=(0, 1_000_000))

    def __post_init__(self):
        super().__post_init__()
        for name, value in self.likelihoods.items():
            choose(f"likelihood of source {name!r}", value, ("auto", *LIKELIHOODS))
        for name, value in self.links.items():
            choose(f"link of source {name!r}", value, ("auto", *LINKS))

    def of_source(self, name: str, counts: bool, trials: bool = False) -> dict:
        """Options of a `VBAgg` of one source alone."""
        common = {f.name: getattr(self, f.name) for f in fields(VariationalOptions)
                  if hasattr(self, f.name) and f.name not in _OWN}
        return common | {
            "noise": self.noises.get(name, self.noise),
            "likelihood": self.likelihoods.get(name, "auto"),
            "link": self.links.get(name, "logit" if trials else self.link),
            "overdispersion": self.overdispersion if counts else "none", "nugget": 0.0}
