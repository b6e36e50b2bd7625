"""What a variational model takes observations for: likelihood, link, and what they refuse."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from workbench.bags import Source
from workbench.checks import InputError, require
from workbench.likelihoods import require_counts, require_positive
from workbench.links import Link, link_named
from workbench.models.options import VariationalOptions

_POSITIVE_LINKS = "link='exp' or link='square'"
_LINKS = {
    "poisson": ("exp", "square"), "negative-binomial": ("exp", "square"),
    "exponential": ("exp", "square"), "normal": ("exp", "square", "identity"),
    "binomial": ("logit",),
}
# Models whose likelihood has no place for an iid effect of the area, and why.
_NO_AREA_EFFECT = {
    "normal": "overdispersion='area' is for counts: the Normal likelihood's noise variance already "
              "is an iid effect of the area",
    "binomial": "overdispersion='area' is not there for the binomial likelihood; use "
                "overdispersion='none'",
}


def likelihood_name(options: VariationalOptions, source: Source) -> str:
    """Name of the likelihood: as the options say, or by what was observed."""
    if options.likelihood != "auto":
        return options.likelihood
    if source.bags.trials is not None:
        return "binomial"
    return "poisson" if source.kind == "count" else "normal"


def resolved(options: VariationalOptions, source: Source, given: Mapping | None = None
             ) -> VariationalOptions:
    """The options with ``auto`` of overdispersion and nugget replaced by what the data call for.

    Counts vary more between areas and individuals than Poisson variables do, as long as nobody has
    shown otherwise: they get an area effect and a nugget, both learnt. Where all hyperparameters
    are given, an effect is there if its standard deviation is.

    Parameters
    ----------
    options : VariationalOptions
        As the user gave them.
    source : Source
        What is fitted.
    given : mapping, optional
        Hyperparameters of ``condition``, all of them.
    """
    counts = likelihood_name(options, source) == "poisson"
    named = None if given is None else {**options.hyperparameters, **given}
    area, nugget = options.overdispersion, options.nugget
    if area == "auto":
        wanted = counts if named is None else "area.std" in named
        area = "area" if wanted else "none"
    if nugget == "auto":
        wanted = counts if named is None else "nugget.std" in named
        nugget = "learn" if wanted else 0.0
    return replace(options, overdispersion=area, nugget=nugget)


def link_of(options: VariationalOptions, likelihood: str) -> Link:
    """The link, which has to suit the likelihood.

    Raises
    ------
    InputError
        If it does not; the message names the links that do.
    """
    link = link_named(options.link, trials=likelihood == "binomial")
    fitting = _LINKS[likelihood]
    if link.name in fitting:
        return link
    if likelihood == "binomial":
        raise InputError(
            "the binomial likelihood, of positives out of trials, needs probabilities: use "
            f"link='logit', not {link.name!r}"
        )
    if link.name == "logit":
        raise InputError(
            f"link 'logit' is for positives out of trials, not for the {likelihood} likelihood; "
            f"use {_POSITIVE_LINKS}, or give the dataset its trials and use likelihood='binomial'"
        )
    raise InputError(f"the {likelihood} likelihood needs positive rates; use {_POSITIVE_LINKS}, "
                     f"not {link.name!r}")


def check(likelihood: str, options: VariationalOptions, source: Source) -> None:
    """Refuse options and values that do not go with a likelihood.

    Raises
    ------
    InputError
        Saying what to change.
    """
    require(options.overdispersion == "none" or likelihood not in _NO_AREA_EFFECT,
            _NO_AREA_EFFECT.get(likelihood, ""))
    value, trials = source.targets.value, source.bags.trials
    positive = link_named(options.link, likelihood == "binomial").positive
    require(likelihood == "binomial" or not positive or bool((value != 0).any()),
            f"all {len(value)} counts are zero, so there is nothing to map, whatever the link and "
            "the overdispersion; check that the right column was read")
    if likelihood == "binomial":
        require(trials is not None, "the binomial likelihood needs the number of trials of every "
                "bag; add a variable 'trials' (bag) to the dataset")
        require(bool(trials.sum() > 0), "there are no trials at all, so nothing was observed")
        require(options.nugget == 0, "a nugget is not there for the binomial likelihood; use "
                "nugget=0")
        return
    require(trials is None, "the values are positives out of trials, for which the "
            f"{likelihood} likelihood knows no place; use likelihood='binomial', or drop the "
            "variable 'trials' and say by attributes what the values are")
    if likelihood == "exponential":
        require(source.kind == "continuous", "the exponential likelihood is for continuous "
                "positive values, but these are counts; use likelihood='poisson'")
        require((options.link, options.bound) != ("square", "jensen"), "under the square link "
                "bound='jensen' is none for the exponential likelihood, which needs E 1/η; use "
                "bound='taylor'")
        require_positive(value)
    elif likelihood != "normal":
        require(source.aggregation == "sum", f"the {likelihood} likelihood needs bag totals, but "
                "the values are means; multiply them by the bags' weights, or use "
                "likelihood='normal'")
        require_counts(value)


def observed(likelihood: str, source: Source) -> Source:
    """The source as the likelihood sees it.

    A Normal model of counts works on rates: totals of unequal areas share no scale. A bag's
    probability is a weighted mean.
    """
    if likelihood == "normal" and source.kind == "count":
        return source.as_rates()
    return replace(source, aggregation="mean") if likelihood == "binomial" else source
