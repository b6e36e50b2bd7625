"""What `Auto` chooses among: models that differ in structure, how hard it tries, and one's fit."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass

import xarray as xr

from workbench.checks import ConvergenceWarning, FitWarning, InputError, choose
from workbench.gp.data.bags import Source
from workbench.gp.numerics.linalg import FactorisationError
from workbench.schema import COVARIATE, aggregation, kind


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
        What the rate depends on, in words.
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
    average : int
        Settings of the hyperparameters that each candidate is averaged over.
    """

    cheap: bool
    shares: tuple[float, ...]
    draws: int
    average: int | str


EFFORTS = {
    "quick": Effort(True, (1 / 3,), 1, 0),
    "normal": Effort(False, (1 / 4, 1 / 3), 2, 0),
    "thorough": Effort(False, (1 / 6, 1 / 4, 1 / 3), 4, 16),
}


def effort_named(name: str) -> Effort:
    """The effort of that name; an unknown name suggests the nearest."""
    return EFFORTS[choose("effort", name, EFFORTS)]


def candidates_for(ds: xr.Dataset, effort: Effort) -> list[Candidate]:
    """The candidates that a dataset allows: none twice under another name.

    Parameters
    ----------
    ds : xr.Dataset
        Bagged dataset.
    effort : Effort
    """
    there = {"covariates"} if ds.sizes[COVARIATE] else set()
    there |= {"coordinates"} if "x" in ds else set()
    chosen = [one for one in CANDIDATES
              if one.needs <= there and (one.cheap or not effort.cheap)]
    if there == {"covariates"} and effort.cheap:    # then nothing else is curved in them
        chosen.append(next(one for one in CANDIDATES if one.name == "covariates"))
    return chosen


def options_for(ds: xr.Dataset, candidate: Candidate, effort: Effort, seed: int) -> dict:
    """Options of `workbench.VBAgg` for a candidate.

    Counts have the exp link, an area effect and a nugget; positives out of trials the logit link;
    other values the identity link, as they may be negative.
    """
    continuous = kind(ds) != "count" and "trials" not in ds
    options = {"kernel": candidate.kernel, "transform": candidate.transform, "seed": seed,
               "average": effort.average}
    if continuous or (kind(ds) == "count" and aggregation(ds) != "sum" and "trials" not in ds):
        options |= {"link": "identity", "likelihood": "normal"}
    return options


def fit_candidate(name: str, model, source: Source, callback: Callable | None, whole: bool):
    """One candidate's fit; for another process as what it can be recalled from.

    Parameters
    ----------
    name : str
        Of the candidate.
    model : VBAgg
        Torch model.
    source : Source
        What it is fitted to.
    callback : callable or None
        As of ``fit``.
    whole : bool
        Whether the fit itself is wanted.

    Returns
    -------
    name, fit or Kept or None, warnings, error
    """
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            fit = model.fit(source, callback=callback)
        except (InputError, FactorisationError, ArithmeticError, RuntimeError) as error:
            return name, None, [], f"{type(error).__name__}: {error}"
    kinds = (FitWarning, ConvergenceWarning)
    told = list(dict.fromkeys(str(w.message) for w in said if issubclass(w.category, kinds)))
    if whole:
        return name, fit, told, ""
    return name, fit.keep(), told, ""


def reasons(notes: list[str]) -> str:
    """Notes on candidates that failed, each reason once with all that failed by it.

    Parameters
    ----------
    notes : list of str
        As `Auto` writes them.

    Returns
    -------
    str
        In one line.
    """
    names: dict[str, list[str]] = {}
    for note in notes:
        name, _, reason = note.removeprefix("the candidate ").partition(" failed and is left out: ")
        names.setdefault(reason or note, []).append(name)
    return "; ".join(f"{', '.join(which)} failed: {reason}" for reason, which in names.items())
