"""What `Auto` chooses among: models that differ in structure, and how hard it tries."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import xarray as xr

from workbench.bagging import periods_of
from workbench.checks import choose
from workbench.gp.likelihoods.links import LINKS
from workbench.gp.likelihoods.noise import AREA
from workbench.gp.models.options import averages_of
from workbench.gp.models.vbagg.own_noise import GIVE_OR_TAKE
from workbench.labelled.scale_of_values import (
    DECISIVE,
    few_individuals,
    individuals,
    log_scale_gain,
)
from workbench.labelled.source import Converted
from workbench.schema import BAG, COVARIATE, aggregation, counts_add_up, kind

# Options that the values decide on, if each is one of these.
VALUES_DECIDE = {"likelihood": ("auto", "normal"), "link": ("auto", "exp", "identity"),
                 "noise": ("auto",), "overdispersion": ("auto", "none")}


@dataclass(frozen=True)
class Candidate:
    """One model of the mixture.

    Parameters
    ----------
    name : str
        Short name, by which weights are listed.
    kernel : str
        Of `workbench.VBAgg`.
    transform : str
        Of covariates.
    says : str
        What the rate depends on, in words, where effects multiply; see `told`.
    cheap : bool
        Whether it is among those of ``effort="quick"``.
    """

    name: str
    kernel: str
    transform: str
    says: str
    cheap: bool

    @property
    def needs(self) -> set[str]:
        """Groups of columns without which it is no model of its own."""
        groups = {"covariates", "coordinates"}
        return groups if self.kernel == "matern32" else {g for g in groups if g in self.kernel}

    def told(self, link: str) -> str:
        """What the rate depends on under a link: what changes it by a factor, or by an amount."""
        if link != "identity":
            return self.says
        return self.says.replace("by a factor per unit", "by so much per unit").replace(
            "by factors, times", "by so much per unit, plus").replace(", times ", ", plus ")


_POWER = "yeo-johnson"
CANDIDATES = (
    Candidate("flat", "constant", "standardise", "nothing: one rate everywhere", True),
    Candidate("slopes", "linear(covariates)", "standardise",
              "covariates, each by a factor per unit", True),
    Candidate("place", "matern32(coordinates)", "standardise", "place alone, smoothly", True),
    Candidate("covariates", "matern32(covariates)", _POWER,
              "covariates by a smooth function of them, power-transformed", False),
    Candidate("slopes + place", "linear(covariates)+matern32(coordinates)", "standardise",
              "covariates by factors, times a smooth map", False),
    Candidate("covariates + place", "matern32(covariates)+matern32(coordinates)", _POWER,
              "a smooth function of covariates, times a smooth map", False),
    Candidate("all at once", "matern32", "standardise",
              "a smooth function of covariates and place together", True),
    Candidate("all at once, transformed", "matern32", _POWER,
              "the same with power-transformed covariates", True),
)
_CHANGING = "matern32(coordinates)+matern32(coordinates)*matern12(time)"
# Of areas over time. One lengthscale of place, time and covariates together would be of columns
# that nothing but their spread makes comparable.
OVER_TIME = (
    Candidate("flat", "constant", "standardise", "nothing: one rate everywhere", True),
    Candidate("slopes", "linear(covariates)", "standardise",
              "covariates and time, each by a factor per unit", True),
    Candidate("place", "matern32(coordinates)", "standardise",
              "place alone, smoothly, the same in every period", True),
    Candidate("place over time", _CHANGING, "standardise",
              "a smooth map, times one that changes from period to period", True),
    Candidate("slopes + place over time", f"linear(covariates)+{_CHANGING}", "standardise",
              "covariates and time by factors, times a smooth map and one that changes", True),
    Candidate("covariates", "matern32(covariates)", "standardise",
              "a smooth function of covariates and time together", False),
    Candidate("slopes + place", "linear(covariates)+matern32(coordinates)", "standardise",
              "covariates and time by factors, times a smooth map that does not change", False),
    Candidate("covariates + place over time", f"matern32(covariates)+{_CHANGING}", "standardise",
              "a smooth function of covariates and time, times a smooth map and one that changes",
              False),
)


@dataclass(frozen=True)
class Effort:
    """How hard `Auto` tries.

    Parameters
    ----------
    cheap : bool
        Cheap candidates alone.
    shares : tuple of float
        Sizes of the groupings by which candidates are weighted, as shares of the areas.
    draws : int
        Groupings of each size.
    folds : int
        Parts of the areas that are held out in turns, where they cannot be merged and recovered.
    average : int
        Settings of the hyperparameters that each candidate is averaged over.
    """

    cheap: bool
    shares: tuple[float, ...]
    draws: int
    folds: int
    average: int | str

    def weighing(self, trials: bool) -> float:
        """How long it takes to weigh candidates, relative to fitting them.

        Those of positives out of trials are fitted anew without some of the areas. Others are
        conditioned on merged areas, which took 0.2 to 1.2 of the time of fits that are not averaged
        for each grouping, in one process, on four datasets.
        """
        if trials:
            return float(self.folds)
        return 0.6 * len(self.shares) * self.draws / self.averaging

    @property
    def averaging(self) -> float:
        """How long a fit takes with its averaging, relative to the search alone."""
        return 1 + 0.3 * int(self.average or 0)


EFFORTS = {
    "quick": Effort(True, (1 / 3,), 1, 5, 0),
    "normal": Effort(False, (1 / 4, 1 / 3), 2, 5, 0),
    "thorough": Effort(False, (1 / 6, 1 / 4, 1 / 3), 4, 10, 16),
}


def effort_named(name: str) -> Effort:
    """The effort of that name; an unknown name suggests the nearest."""
    return EFFORTS[choose("effort", name, EFFORTS)]


def candidates_for(ds: xr.Dataset, effort: Effort) -> list[Candidate]:
    """The candidates that a dataset allows, of areas over time others: none twice under two names.

    Parameters
    ----------
    ds : xr.Dataset
        Bagged dataset.
    effort : Effort
    """
    there = {"covariates"} if ds.sizes[COVARIATE] else set()
    there |= {"coordinates"} if "x" in ds else set()
    every = CANDIDATES if periods_of(ds) is None else OVER_TIME
    chosen = [one for one in every
              if one.needs <= there and (one.cheap or not effort.cheap)]
    if there == {"covariates"} and effort.cheap:    # then nothing else is curved in them
        chosen.append(next(one for one in every if one.name == "covariates"))
    return chosen


def options_for(candidate: Candidate, effort: Effort, seed: int) -> dict:
    """Options of `workbench.VBAgg` that are a candidate's own."""
    return {"kernel": candidate.kernel, "transform": candidate.transform, "seed": seed,
            "average": effort.average}


def inducing_of(ds: xr.Dataset) -> int | str:
    """Inducing variables of each smooth term: of values that are no counts one an area, or 400.

    Fewer than there are areas make a map that is smoother than the areas' values, and what they
    miss is learnt as noise; with Normal noise more of them cost little. Of merged areas there are
    as many as of all.

    Parameters
    ----------
    ds : xr.Dataset
        Bagged dataset.

    Returns
    -------
    int or "auto"
        As `workbench.VBAgg` chooses it of counts and positives out of trials.
    """
    if "trials" in ds or counts_add_up(ds):
        return "auto"
    return averages_of(ds.sizes[BAG])


def options_of_values(data: Converted, given: Mapping | None = None, link: str = "auto") -> dict:
    """Options that all candidates, and the flat model, share: as the values ask for them.

    Counts have the exp link, an area effect and a nugget, positives out of trials the logit link:
    as `workbench.VBAgg` has by itself. Other values have the exp link where they are positive and
    clearly nearer to log-normal, else the identity, and a nugget, too, as individuals differ
    whatever they are measured in. Means of many do not tell by how much: it is fixed by what areas
    differ by from those about them (`individuals`); of few it is learnt, and expected by the same
    (`few_individuals`). In both cases noise is the areas' own: as noise of individuals it would
    count what these differ by twice, and that of many in a mean is far more than areas differ by.

    Parameters
    ----------
    data : Converted
        Bagged dataset.
    given : mapping, optional
        Hyperparameters of candidates, as of `workbench.Auto.condition`: there is a nugget if one of
        them has it, under the link that their units show, if they do.
    link : {"auto", "exp", "identity"}
        The link, where it is chosen.
    """
    ds = data.ds
    if "trials" in ds:
        return {}
    if kind(ds) == "count" and aggregation(ds) == "sum":
        return {}
    nugget = given is None or any("nugget.std" in one["hyperparameters"] for one in given.values())
    link = link_told(given or {}) if link == "auto" else link
    if not link:
        link = "exp" if log_scale_gain(data.source()) >= DECISIVE else "identity"
    options = {"link": link, "likelihood": "normal", "nugget": "learn" if nugget else 0.0}
    taken = individuals(data.source(), link, periods_of(ds))
    few = few_individuals(data.source(), link, periods_of(ds)) if nugget else 0.0
    if few > 0:
        return options | {"noise": AREA, "initial": {"nugget.std": few},
                          "priors": {"nugget.std": f"lognormal:{few:.6g}:{GIVE_OR_TAKE}"}}
    std = taken if given is None else _common_nugget(given)
    options |= {"hyperparameters": {"nugget.std": std}} if std > 0 else {}
    return options | ({"noise": AREA} if min(taken, std) > 0 else {})


def _common_nugget(given: Mapping) -> float:
    """The nugget that all candidates were given, which was fixed then; zero if they differ."""
    told = [one["hyperparameters"].get("nugget.std") for one in given.values()]
    found = {item["value"] if isinstance(item, Mapping) else item for item in told}
    return float(found.pop() or 0.0) if len(found) == 1 else 0.0


def link_told(hyperparameters: Mapping) -> str:
    """The link that hyperparameters of candidates were learnt under, by the unit of their mean.

    Parameters
    ----------
    hyperparameters : mapping
        As of `workbench.Auto.condition`.

    Returns
    -------
    str
        Empty where they are plain numbers, which do not tell.
    """
    means = (given["hyperparameters"].get("mean") for given in hyperparameters.values())
    units = {mean["unit"] for mean in means if isinstance(mean, Mapping) and "unit" in mean}
    return next((name for name, link in LINKS.items() if link.unit in units), "")
