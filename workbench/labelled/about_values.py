"""What the summary of a mixture says of its values: their link, their range, and individuals."""

from __future__ import annotations

import re

import numpy as np
import torch
import xarray as xr

from workbench.gp.optimisation.priors import goes_by
from workbench.schema import BAG, INDIVIDUAL, aggregation, kind

# Why values that are no counts have the link that they have.
_LINKS = {
    "exp": "link: exp, as the areas' values are positive and clearly nearer to log-normal than to "
           "normal; whatever a rate depends on changes it by a factor",
    "identity": "link: identity, as the areas' values are not clearly nearer to log-normal than to "
                "normal; whatever a rate depends on adds to it",
}
_BELOW = "; intervals may reach below zero, which none of the areas' values does"
_ABOVE = ("; the map and its intervals may exceed {:g}, as nothing tells the model that values are "
          "shares. If they are, give positives and trials where these are known (trials=): that "
          "map stays between 0 and 1")
_INDIVIDUALS = (
    "individuals: {} do not tell how much they differ, and the width of their intervals rests "
    "on it; the std of what each has of its own is taken as {:.3g} on the link's scale, from what "
    "areas differ by from those about them and beside a smooth map. Of what the map leaves of an "
    "area's value half at most is taken for theirs, as the rest may be an error, of which standard "
    "errors would say more")
_OF_FEW = (
    "individuals: {} of few of them say little of how much they differ, and the width of their "
    "intervals rests on it; the std of what each has of its own is expected to be {:.3g} on the "
    "link's scale, within a factor of about two, from what areas differ by from those about them")
_OF_COUNTS = (
    "individuals: totals tell little of how much they differ inside areas beyond what the rate "
    "depends on, and the width of their intervals rests on it; the std of what each has of its own "
    "is {:.2g} on the {} scale, {}")
_SCALES = {"exp": "log", "logit": "log-odds", "probit": "probit"}
_NO_MORE = "under a prior that expects no more than {:.2g} (95 %)"
_BY_AREAS = ", and of areas that they differ by about {:.2g} times as much of their own"
_AS_AREAS = ("and is expected to be about {:.2g} times the std of areas' own effects (those that "
             "stay and those of one period together), within a factor of about two")
_SUMS = ("totals: the map of an area adds up to what is expected there, not to the total observed, "
         "which is taken to have an error. fit.to_dataset and fit.sample with "
         "preserve_totals=True, and --rescale-to-totals, keep every total")
_MEANS = ("means: the map of an area has the mean that is expected there, not the one observed, "
          "which is taken to have an error{}. fit.to_dataset and fit.sample with "
          "preserve_totals=True, and --rescale-to-totals, keep every mean")
_MISSED = " (of these it misses {:.3g} in root mean square, where they differ by a std of {:.3g})"
_AT_POINTS = (
    "places: fit.at, and the map, are of the value that is expected at a place. One measurement "
    "there differs from it by an error, too, of a std of {:.3g}: fit.sample and fit.simulate have "
    "it{}")
_COVERED = ", and the coverage of areas above is theirs"
_LOOKED_AT = 20_000     # individuals, up to which the map is made to say that
_PERCENT = re.compile(r"%|(?<![a-z])(per ?cent(age)?s?|pct)(?![a-z])", re.IGNORECASE)
_NEAR = 0.1         # of the largest share: where all means are less, the map is far from it, too


def about_values(fit) -> list[str]:
    """Which link the values have, what a map of them may reach, and what individuals differ by.

    Parameters
    ----------
    fit : AutoFit
        A mixture.

    Returns
    -------
    list of str
        Lines of its summary.
    """
    first = next(iter(fit.candidates.values()))
    lines, options, state = [], first.model.options, first.inner.state
    taken = options.hyperparameters.get("nugget.std")
    if options.link in _LINKS:
        told = _LINKS[options.link]
        if options.link == "identity" and bool((state.given.targets.value >= 0).all()):
            told += _BELOW
        top = largest_share(fit.data)
        lines += ["", told + (_ABOVE.format(top) if top else "")]
        lines += ["", _SUMS if fit.sums else _MEANS.format(_missed(fit))]
        if fit.data.sizes[INDIVIDUAL] == fit.data.sizes[BAG] and (error := _error(fit)) > 0:
            lines += ["", _AT_POINTS.format(error, "" if fit.recovery is None else _COVERED)]
    if taken is not None and np.isclose(taken, _nugget(fit)):
        lines += ["", _INDIVIDUALS.format("totals" if fit.sums else "means", taken)]
    elif "nugget.std" in options.initial:
        lines += ["", _OF_FEW.format("totals" if fit.sums else "means",
                                     options.initial["nugget.std"])]
    elif "nugget.std" in state.hyperparameters and state.link.name in _SCALES and (
            state.given.aggregation == "sum" or state.given.bags.trials is not None) and (
            state.given.kind == "count"):
        items = {name: one.inner.state.hyperparameters["nugget.std"]
                 for name, one in fit.candidates.items()}
        learnt = sum(fit.inner.weight_of[name] * float(item.natural.detach())
                     for name, item in items.items())
        known = state.hyperparameters
        prior = known["nugget.std"].prior
        if goes_by(prior):
            more = _AS_AREAS.format(prior.factor)
        else:
            by = known["area.std"].prior if "area.std" in known else None
            more = _NO_MORE.format(float(prior.quantile(torch.tensor(0.95)))) + (
                _BY_AREAS.format(by.factor) if goes_by(by) else "")
        lines += ["", _OF_COUNTS.format(learnt, _SCALES[state.link.name], more)]
    return lines


def _missed(fit) -> str:
    """How far the map's means of areas are from those observed, where that is found at once."""
    ds = fit.data
    if ds.sizes[INDIVIDUAL] > _LOOKED_AT or ds.sizes[BAG] < 2:
        return ""
    value = ds["value"].values.astype(float)
    off = fit.over(ds).mean.values - value
    return _MISSED.format(float(np.sqrt(np.mean(off**2))), float(value.std()))


def _error(fit) -> float:
    """The std of measurements about what is expected, in units of the values; zero without one."""
    variance = sum(fit.inner.weight_of[name] * one.hyperparameters["noise.variance"]["value"]
                   for name, one in fit.candidates.items()
                   if "noise.variance" in one.hyperparameters)
    return float(np.sqrt(variance))


def largest_share(ds: xr.Dataset) -> int:
    """What shares could reach at most, where the areas' means look like shares or percentages.

    Parameters
    ----------
    ds : xr.Dataset
        Bagged dataset.

    Returns
    -------
    int
        1 of means that all lie between 0 and 1, 100 of others up to 100 whose name or unit says
        percent; 0 where they are no such means, or all of them are small.
    """
    value = ds["value"]
    if aggregation(ds) != "mean" or kind(ds) == "count" or "trials" in ds:
        return 0
    least, most = float(value.min()), float(value.max())
    words = f"{value.attrs.get('units', '')} {value.attrs.get('long_name', '')}"
    top = 1 if most <= 1 else 100 if most <= 100 and _PERCENT.search(words) else 0
    return top if least >= 0 and most > _NEAR * top else 0


def _nugget(fit) -> float:
    """The nugget's std that all candidates are at; nan without one, or if they differ."""
    items = [one.inner.state.hyperparameters for one in fit.candidates.values()]
    found = [float(item["nugget.std"].natural.detach()) if "nugget.std" in item else np.nan
             for item in items]
    return found[0] if np.allclose(found, found[0]) else np.nan
