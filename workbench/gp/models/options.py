"""Options of the models: frozen dataclasses whose fields carry help, choices, bounds and units.

Command-line flags, app widgets, contract tests and the README's table are derived from these.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields, replace
from numbers import Integral
from typing import ClassVar

import torch

from workbench.checks import InputError, choose, reject
from workbench.gp.data.inputs import EXTRAPOLATIONS, TRANSFORMS
from workbench.gp.expectations import BOUND_NAMES
from workbench.gp.kernels.grammar import ALIASES, KERNELS
from workbench.gp.kernels.persistent import VARIANCE
from workbench.gp.likelihoods import AREA, FAY_HERRIOT, LIKELIHOODS, Likelihood
from workbench.gp.likelihoods.links import LINKS
from workbench.gp.models.checking import check_options
from workbench.gp.models.retired import refuse_retired

NOISES = ("constant", "size", "weight", "known")
OVERDISPERSIONS, LAYOUTS = ("auto", "none", "area"), ("additive", "joint")
# Areas whose effects are kept without being asked: in several periods, and of surveys, which are
# integrated out while hyperparameters are learnt; of more surveyed areas they are not kept.
MOST_PERSISTENT, MOST_SURVEYED = 500, 2_000
LEAST_INSIDE = 2.0      # individuals of an area, below which nothing is expected of their nugget
# Kinds of inducing variables that others are made of: BEST is settled before a fit.
AVERAGES, HELD, BEST = "averages", "held", "best"
# Inducing inputs of each smooth term without being asked: the least and the most, the share of the
# number of bags, and the most features (individuals, or clusters, times inducing inputs).
LEAST_INDUCING, MOST_INDUCING, SHARE_INDUCING, MOST_LEARNT_ON = 100, 400, 0.4, 2_000_000


def averages_of(areas: int) -> int:
    """Number of averages that stand for the inducing inputs of so many Normal values."""
    return min(max(LEAST_INDUCING, areas), MOST_INDUCING)


def option(default, help: str, *, choices=None, bounds=None, unit: str = ""):
    """A dataclass field with the metadata that flags and widgets are derived from."""
    metadata = dict(help=help, choices=choices, bounds=bounds, unit=unit)
    if isinstance(default, dict):
        return field(default_factory=lambda: dict(default), metadata=metadata)
    return field(default=default, metadata=metadata)


@dataclass(frozen=True)
class Options:
    """Options that every model has.

    Raises
    ------
    InputError
        On a value outside its choices or bounds; the message names the option.
    """

    kernel: object = option(
        "matern32", "kernel: names joined by + and *, of " + ", ".join(KERNELS)
        + "; or " + ", ".join(ALIASES)
        + "; groups in parentheses, ard- for one lengthscale per column", unit="")
    transform: str = option("standardise", "what is done to covariates first", choices=TRANSFORMS)
    extrapolation: str = option(
        "linear", "covariates beyond the range of area means: used as they are, or clamped",
        choices=EXTRAPOLATIONS)
    hyperparameters: Mapping = option({}, "hyperparameters to fix, by name, in natural units")
    initial: Mapping = option({}, "hyperparameters to start from, by name, in natural units")
    priors: Mapping = option(
        {}, "priors by hyperparameter: none, lognormal:MEDIAN:SIGMA or pc:VALUE:PROBABILITY")
    max_steps: int = option(100, "most evaluations of the objective", bounds=(1, 100_000))
    tolerance: float = option(1e-6, "relative change that counts as converged", bounds=(0, 1))
    seed: int = option(0, "seed of inducing inputs and subsamples", bounds=(0, 2**31 - 1))
    dtype: str = option("float64", "floating point type", choices=("float64", "float32"))
    device: str = option("cpu", "torch device, such as cpu or cuda")

    def __post_init__(self):
        check_options(self)

    @property
    def torch_dtype(self) -> torch.dtype:
        """The torch dtype named by ``dtype``."""
        return getattr(torch, self.dtype)


def require_nugget(nugget: float | str) -> None:
    """Refuse a nugget that is neither a number nor a word that says how to find one."""
    if isinstance(nugget, str) and nugget not in ("learn", "auto"):
        raise reject("nugget a number, 'learn' or 'auto'", repr(nugget), "write nugget=0.2")


def _require_inducing(inducing: int | str) -> None:
    """Refuse what is neither a whole number nor ``auto``."""
    if inducing != "auto" and (isinstance(inducing, bool) or not isinstance(inducing, Integral)):
        raise reject("option inducing a whole number or 'auto'", repr(inducing),
                     "write inducing=100")


@dataclass(frozen=True)
class AggregatedOptions(Options):
    """Options of the exact aggregated GP."""

    noise: str = option(
        "auto", "variance of an observation: constant σ²; by size, N_a individuals, σ²/N_a of a "
        "mean, N_a σ² of a sum; by weight, with W_a / mean W for N_a; area, as size, but shared "
        "by individuals; known V_a; fay-herriot, V_a + a learnt τ²; auto is this with V_a or size",
        choices=("auto", *NOISES, AREA, FAY_HERRIOT))


@dataclass(frozen=True)
class VariationalOptions(AggregatedOptions):
    """Options of the variational models."""

    likelihood: str = option(
        "auto", "distribution of a bag's observation; auto is binomial for positives out of "
        "trials, Poisson for other counts, else Normal",
        choices=("auto", *LIKELIHOODS))
    link: str = option(
        "auto", "from the Gaussian process to the rate; auto is logit for positives out of trials, "
        "identity if continuous values are negative, else exp", choices=("auto", *LINKS))
    bound: str = option(
        "default", "how E log η is obtained: moment or jensen (exp), taylor (-lowrank), gamma or "
        "jensen (square), moment (logit, probit); monte-carlo is the reference for all",
        choices=("default", *BOUND_NAMES))
    overdispersion: str = option(
        "auto", "area: an iid Gaussian effect of each area on the link scale, its std learnt (of "
        f"positives out of trials in up to {MOST_SURVEYED:,} areas its variance, "
        "persistent.variance, and the effect is kept; in more it has its prior also where it was "
        "seen); auto is area for Poisson counts and for positives in one period, else none",
        choices=OVERDISPERSIONS)
    persistence: str = option(
        "auto", "of areas with values in several periods: area, an iid Gaussian effect that each "
        "keeps in all of them, its variance learnt; auto is area for up to "
        f"{MOST_PERSISTENT} areas, unless overdispersion is none", choices=OVERDISPERSIONS)
    nugget: float | str = option(
        "auto", "std of individual white noise in f on the link scale: a number, or learn; auto is "
        "learn for Poisson counts, and for positives out of trials where areas of several "
        "individuals keep effects, else 0", bounds=(0.0, 10.0))
    inducing: int | str = option(
        "auto", f"inducing inputs of each stationary term; auto is {SHARE_INDUCING} of the number "
        f"of bags, from {LEAST_INDUCING} to {MOST_INDUCING}, and above the first of these while "
        f"individuals (clusters with compress) times inducing inputs are at most "
        f"{MOST_LEARNT_ON // 1_000_000} million; of averages and Normal values of whole areas one "
        "a bag, within the same two", bounds=(1, 20_000))
    compress: int = option(
        40, "most clusters per area while hyperparameters are learnt on more than 4,000 "
        "individuals; 0 uses all", bounds=(0, 1_000_000))
    average: int | str = option(
        0, "most settings of the hyperparameters that predictions are averaged over, weighted by "
        "their posterior; draws end when they are worth a third as many; 0 uses the best setting "
        "alone; auto ends when they are worth 12, allows 8 for each hyperparameter, at least 32, "
        "and is 0 with more than 12, or where (settings + 3 x hyperparameters) x features x "
        "individuals (clusters with compress; not fewer than features) is above 40 million",
        bounds=(0, 1000))
    inducing_inputs: str = option(
        "auto", "where inducing inputs lie: held, at k-means++ seeds; learnt with hyperparameters; "
        "averages, nowhere: averages of f over areas stand for them, or over parts of areas where "
        "these are fewer, or over groups of them where they are more (fewer where individuals are "
        "so many that each would be of fewer than five points; seeds where these were under half); "
        "best, averages or held, whichever has the higher bound at the default starting values; "
        f"auto is averages of Normal values of up to {MOST_INDUCING} whole areas, unless inducing "
        "is given or individuals (clusters with compress) times areas are more than 3.2 million, "
        "else held",
        choices=("auto", HELD, "learnt", AVERAGES, BEST))
    layout: str = option(
        "additive", "additive: inducing inputs per term; joint: one set for the whole kernel",
        choices=LAYOUTS)

    def __post_init__(self):
        super().__post_init__()
        require_nugget(self.nugget)
        _require_inducing(self.inducing)
        chosen = LIKELIHOODS.get(self.likelihood)
        if chosen is not None and chosen.multiplied and self.overdispersion == "area":
            raise InputError(f"the {self.likelihood} likelihood already is overdispersed; use "
                             "overdispersion='none', or likelihood='poisson' with 'area'")

    def resolved(self, likelihood: type[Likelihood], given: Mapping | None = None,
                 recurring: int = 0, areas: int = 0, apart: bool = False, inside: float = 1.0
                 ) -> VariationalOptions:
        """These options with ``auto`` of overdispersion and nugget as the likelihood has them.

        Counts vary more between areas and individuals than Poisson variables do, as long as nobody
        has shown otherwise: they get an area effect and a nugget, both learnt. Positives out of
        trials get an effect that is a term of the field, as that of several periods is, and a
        nugget beside it where areas have individuals; or, of very many areas, an effect that is
        integrated out for good, as that of counts is, and no nugget. Where all
        hyperparameters are given, an effect is there if its standard deviation is.

        Parameters
        ----------
        likelihood : type
            Of the source.
        given : mapping, optional
            Hyperparameters of ``condition``, all of them.
        recurring : int
            Number of the source's areas, if they have values in several periods.
        areas : int
            Number of known areas whose effect is a term of the field in one period, too.
        apart : bool
            Whether these effects can be integrated out one by one, so that many are no burden.
        inside : float
            Individuals of an area, in the median: one by what it leaves of their white noise.
        """
        named = None if given is None else {**self.hyperparameters, **given}

        def wanted(effect: str) -> bool:
            return likelihood.overdispersed if named is None else effect in named

        area, nugget = self.overdispersion, self.nugget
        in_field = areas > 0 and recurring == 0
        if area == "auto" or area == "area" and in_field:
            area = "area" if wanted("area.std") else "none"
        lasting = recurring > 0 and (self.persistence == "area" or (
            self.persistence == "auto" and self.overdispersion != "none"
            and recurring <= MOST_PERSISTENT))
        if in_field:
            few = areas <= (MOST_SURVEYED if apart else MOST_PERSISTENT)
            # Whoever names one of the two hyperparameters has it whatever the number of areas, of
            # folds, too.
            mine = {*self.hyperparameters, *self.initial, *self.priors}
            few = VARIANCE in mine or few and not (apart and "area.std" in mine)
            lasting = self.overdispersion == "area" or self.overdispersion == "auto" and few
            if self.overdispersion == "auto" and apart and not few and named is None:
                area = "area"
        keeps = lasting if named is None or in_field and self.overdispersion != "auto" else (
            VARIANCE in named)
        if nugget == "auto":
            beside = named is None and keeps and likelihood.proportions and inside >= LEAST_INSIDE
            nugget = "learn" if beside or wanted("nugget.std") else 0.0
        return replace(self, overdispersion=area, nugget=nugget,
                       persistence="area" if keeps else "none")


@dataclass(frozen=True)
class AutoOptions:
    """Options of the mixture that chooses for itself; refused as `Options` are."""

    effort: str = option(
        "normal", "quick: five models, one grouping; normal: eight models, four groupings; "
        "thorough: twelve groupings, each model averaged over its hyperparameters",
        choices=("quick", "normal", "thorough"))
    workers: int = option(
        0, "processes that share the fits; 0 is as many as there are processors, at most eight",
        bounds=(0, 1024))
    seed: int = option(0, "seed of inducing inputs, groupings and draws", bounds=(0, 2**31 - 1))
    dtype: str = option("float64", "floating point type", choices=("float64", "float32"))
    device: str = option("cpu", "torch device, such as cpu or cuda")

    def __post_init__(self):
        check_options(self)


@dataclass(frozen=True)
class ConstantOptions(VariationalOptions):
    """Options of the flat model: one constant, and no inducing inputs."""

    kernel: ClassVar[str] = "constant"          # what is a class's own is no option
    inducing: ClassVar[int] = 1
    inducing_inputs: ClassVar[str] = HELD
    layout: ClassVar[str] = "additive"


def build_options(kind: type[Options], given: Mapping, model: str = "") -> Options:
    """Options of a model from keyword arguments.

    Raises
    ------
    InputError
        On an unknown name; the nearest is suggested, or what replaces one that ``model`` had.
    """
    names = [entry.name for entry in fields(kind)]
    refuse_retired(model, given, {e.name: e.metadata["choices"] for e in fields(kind)})
    for name in given:
        choose(f"option of {kind.__name__.removesuffix('Options')} model", name, names)
    return kind(**given)


def non_defaults(options: Options) -> dict:
    """The options that differ from their defaults, for reprs and provenance."""
    out = {}
    for entry in fields(options):
        default = entry.default if entry.default is not MISSING else entry.default_factory()
        value = getattr(options, entry.name)
        if value != default:
            out[entry.name] = value
    return out
