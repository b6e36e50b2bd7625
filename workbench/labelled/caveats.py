"""Warnings about a fit: extrapolation, too few areas, totals that are far from the data's."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import fields

import numpy as np
import xarray as xr

from workbench import schema
from workbench.bagging.recurring import numbered_areas
from workbench.checks import (
    DataWarning,
    ExtrapolationWarning,
    FewAreasWarning,
    FitWarning,
    TotalsWarning,
    option,
    warn,
)
from workbench.gp.data.bags import Bags
from workbench.gp.kernels.persistent import VARIANCE
from workbench.gp.models.options import MOST_PERSISTENT
from workbench.labelled.fit import Fit
from workbench.labelled.places import Extent
from workbench.labelled.source import Converted

_ALL = 0.995            # share that is said to be everywhere
_MUCH = 0.5             # share of the individuals beyond the areas' range that is worth a warning
_VARY = 1.5             # times the variance of positives that binomial variables have
_FAR = 2.0              # times the sum of the data that fitted totals may add up to
#: How the note begins that says of a fit that its totals are far from the data's.
FAR_OFF = "the fitted totals add up to"
_EFFECTS = 4.0           # stds of the effects of areas by which none may be off without its own
# What is said where effects of areas explain it: the mean of wide ones, or of one large area.
_ALONE = ("without the effects of areas expected totals add up to {:,.6g}, those of the data to "
          "{:,.6g}: covariates and place explain little of what areas differ by, most of all of "
          "area {!r}; is its total right? The map of these areas has their effects and adds up to "
          "the data; of places outside them rates are expected to be off by as much")
_FEW = 10               # areas below which nothing can be tested; as in `wb.recover`
_NEAR_NORMAL = 100.0    # counts above it spread by less than 10 %, and are Normal closely enough
_VBAGG, _MR_VBAGG = "wb.VBAgg (vbagg)", "wb.MRVBAgg (mr-vbagg)"
# Models that know Normal observations alone, and what knows counts in their place. Baselines that
# a paper compares with (gpr, bagg-gp) are not among them: there they are used so on purpose.
_NORMAL = {"aggregated-gp": _VBAGG, "cmp": _VBAGG, "s-cmp": _VBAGG, "var-cmp": _VBAGG,
           "mr-gp": _MR_VBAGG, "mr-gprn": _MR_VBAGG, "centre-point-gprn": _MR_VBAGG,
           "mr-cascade": _MR_VBAGG, "mr-dgp": _MR_VBAGG}


def warn_of_extrapolation(fit: Fit) -> bool:
    """Warn where most of a map rests on covariates beyond what the areas' means span.

    Parameters
    ----------
    fit : Fit
        A fit to one dataset.

    Returns
    -------
    bool
        Whether there was anything to warn of.
    """
    much = fit.outside_share > _MUCH and fit.inner.state.source.kind == "count"
    if much:
        everywhere = "the map extrapolates everywhere: " if fit.outside_share > _ALL else ""
        totals = len(fit.inner.state.source.targets.value)
        warn(
            f"{everywhere}{fit.outside_share:.0%} of the individuals lie outside the range of area "
            "means in some covariate, as areas average out what their parts differ in, and "
            f"{totals} totals cannot test what the map says there: a population split may be "
            "as good or better; wb.compare(ds) sets them against each other", ExtrapolationWarning)
    return much


def warn_of_few_areas(fit: Fit) -> None:
    """Warn where totals are too few to test what a map of counts says inside the areas."""
    state = fit.inner.state
    areas, used = len(state.source.targets.value), any(t.columns for t in state.field.terms)
    if areas < _FEW and used and state.source.kind == "count":
        warn(
            f"{areas} totals cannot test what a map says inside the areas: a "
            "population split or a regression may be as good or better; wb.compare(ds) sets "
            "them against each other, wb.Auto() stays nearer to the split", FewAreasWarning)


def warn_of_few_targets(fit: Fit, targets: xr.Dataset | None) -> None:
    """Warn, and note, where so few targets say little of a map, nor of its hyperparameters."""
    if targets is None or targets.sizes[schema.TARGET] >= _FEW:
        return
    count = targets.sizes[schema.TARGET]
    fit.inner.history.notes.append(
        f"{count} target{'' if count == 1 else 's'} cannot say how the quantity varies: what is "
        "learnt of level, lengthscales and noise is hardly known, and intervals are likely too "
        "narrow. Give more targets, or fix hyperparameters that are known from elsewhere")
    warn(fit.notes[-1], FewAreasWarning)


def warn_of_one_area(fit: Fit) -> None:
    """Warn, and note, that one total says nothing of how a rate varies."""
    fit.inner.history.notes.append(
        "there is one area: its total gives the level of the rate, not where it is high; every "
        "difference inside the map comes from the prior. Give the areas that it is made of, or "
        "use the flat map, wb.Constant()")
    warn(fit.notes[-1], FewAreasWarning)


def warn_of_totals(fit: Fit, data: Converted) -> None:
    """Warn, and note, where all fitted totals of counts together are far from the data's."""
    ds = data.ds
    counted = schema.counts_add_up(ds)
    if fit.cancelled or not counted or "trials" in ds:
        return
    bags = data.cast(fit.inner.state.options)
    observed_of = ds["value"].values.astype(float)
    fitted, observed = fit.inner.fitted_sum(bags), float(observed_of.sum())
    if said := far_off(fitted, observed):
        if fit.inner.knows_totals(fit._trained(data)):
            most, area = _effects(fit, bags, observed_of)
            if most <= _EFFECTS:
                said = _ALONE.format(fitted, observed, str(ds["bag"].values[area]))
        fit.inner.history.notes.append(said)
        warn(said, TotalsWarning)


def _effects(fit: Fit, bags: Bags, observed: np.ndarray) -> tuple[float, int]:
    """The largest effect that an area would have to have, in learnt stds, and whose it is.

    What a total lacks on the log scale beside what is expected without the effect; infinite where
    there are no effects, not under the exp link, or not all individuals can be asked at once. A
    std that was fixed too small is no excuse, nor one area that is off by orders of magnitude.
    """
    parts = fit.candidates if hasattr(fit, "candidates") else {"": fit}
    shares = fit.inner.weight_of if hasattr(fit, "candidates") else {"": 1.0}
    square = 0.0
    for name, one in parts.items():
        state = one.inner.state
        std = getattr(state, "area_std", None)
        if shares[name] > 0:
            if std is None or state.link.name != "exp" or not getattr(state, "fits", True):
                return math.inf, 0
            kept = one.hyperparameters.get(VARIANCE, {"value": 0.0})["value"]
            square += shares[name] * (float(std.detach())**2 + kept)
    alone = fit.inner.over(bags).mean.detach().cpu().numpy() / math.exp(square / 2)
    lacking = np.abs(np.log(np.maximum(observed, 0.5) / np.maximum(alone, 1e-300)))
    return float(lacking.max()) / math.sqrt(square), int(lacking.argmax())


def far_off(fitted: float, observed: float) -> str:
    """What is wrong with a map whose expected totals together are far from the data's.

    Parameters
    ----------
    fitted, observed : float
        Sums over all areas of counts.

    Returns
    -------
    str
        Empty if they are not.
    """
    if observed <= 0 or 1 / _FAR <= fitted / observed <= _FAR:
        return ""
    return (f"{FAR_OFF} {fitted:,.6g}, the data to {observed:,.6g}: do not use "
            "this map without knowing why. Try overdispersion='area', other covariates, or "
            "link='exp'; a total that is wrong by orders of magnitude does it, too")


def warn_of_fit(fit: Fit, data: Converted) -> None:
    """Everything that a user should know of a fit to one dataset, as warnings and notes.

    Parameters
    ----------
    fit : Fit
        The fit.
    data : Converted
        What it was fitted to.
    """
    if data.bags.count == 1 and any(t.columns for t in fit.inner.state.field.terms):
        warn_of_one_area(fit)
    elif not warn_of_extrapolation(fit):
        warn_of_few_areas(fit)
    warn_of_values(fit, data)


def warn_of_values(fit: Fit, data: Converted) -> None:
    """What totals, or numbers of positives, say against a fit; arguments as of `warn_of_fit`."""
    warn_of_totals(fit, data)
    warn_of_shares(fit, data)


def warn_of_shares(fit: Fit, data: Converted) -> None:
    """Warn where many places were surveyed that have no effects, but vary as if they had.

    Parameters
    ----------
    fit : Fit
        The fit.
    data : Converted
        What it was fitted to.
    """
    ds = data.ds
    parts = fit.candidates.values() if hasattr(fit, "candidates") else [fit]
    if (fit.cancelled or "trials" not in ds or ds.sizes["bag"] <= MOST_PERSISTENT
            or any({VARIANCE, "area.std"} & one.hyperparameters.keys() for one in parts)):
        return
    share, tested = fit.inner.over(data.cast(fit.inner.state.options)), ds["trials"].values
    mean, variance = (one.detach().cpu().numpy() for one in (share.mean, share.variance))
    allowed = tested * mean * (1 - mean) + tested**2 * variance
    known = tested > 0
    ratio = float(np.mean(np.square(ds["value"].values - tested * mean)[known] / allowed[known]))
    if ratio > _VARY:
        effects = "overdispersion" if numbered_areas(ds) is None else "persistence"
        fit.inner.history.notes.append(
            f"positives vary {ratio:.1f} times as much as the map and the numbers of people tested "
            f"allow: {known.sum():,} places have no effects of their own, and 95 % intervals are "
            f"too narrow. Use {option(effects, 'area')}; where that takes long, larger areas "
            "(--level, wb.merge)")
        warn(fit.inner.history.notes[-1], FitWarning)


def warn_of_distance(learnt: Mapping[str, xr.Dataset]) -> None:
    """Warn of a source that lies farther beside all others than the wider of it and them is.

    Parameters
    ----------
    learnt : mapping of str to xr.Dataset
        Sources; those without coordinates, or without places, are passed over.
    """
    extents = {name: Extent.of(ds["x"], ds["y"]) for name, ds in learnt.items()
               if {"x", "y"} <= {*ds.coords} and ds["x"].size}
    for name, own in extents.items():
        others = [one for other, one in extents.items() if other != name]
        gaps = [own.gap(one) - max(own.width, one.width) for one in others]
        if others and min(gaps) > 0 and max(own.width, *(one.width for one in others)) > 0:
            nearest = others[int(np.argmin(gaps))]
            warn(f"source {name!r} ({own}) lies far beside all others (the nearest: {nearest}): "
                 "they say nothing of one map. Are the coordinates in one unit, and of one place?",
                 DataWarning)


def warn_of_normal(fit: Fit, learnt: Mapping[str, xr.Dataset]) -> None:
    """Warn, and note, what a model of Normal observations makes of data that say more.

    Counts that it takes for Normal, where the least of them is 100 or less; and known variances of
    values where the model learns one of its own because nobody said otherwise.

    Parameters
    ----------
    fit : Fit
        The fit.
    learnt : mapping of str to xr.Dataset
        Bags or targets that it learnt from, by the name of their source.
    """
    learnt = {name if len(learnt) > 1 else "": ds for name, ds in learnt.items()}
    said = [_counts_as_normal(fit, learnt), _unused_variances(fit, learnt)]
    for sentence in filter(None, said):
        fit.inner.history.notes.append(sentence)
        warn(sentence)


def _counts_as_normal(fit: Fit, learnt: Mapping[str, xr.Dataset]) -> str:
    few = [name for name, ds in learnt.items()
           if schema.counts_add_up(ds) and float(ds["value"].min()) <= _NEAR_NORMAL]
    if fit.model.name not in _NORMAL or not few:
        return ""
    return (f"the values{_of(few)} are counts, but {fit.model.name} takes them for Normal: rates "
            "and ends of intervals may be negative, and small counts are taken for more or less "
            f"certain than they are; use {_NORMAL[fit.model.name]} for counts")


def _unused_variances(fit: Fit, learnt: Mapping[str, xr.Dataset]) -> str:
    options, state = fit.model.options, fit.inner.state
    default = next((f.default for f in fields(options) if f.name == "noise"), None)
    if default is None or options.noise != default:
        return ""
    own, held = getattr(options, "noises", {}), fit.hyperparameters
    unused = [name for name, ds in learnt.items() if "noise_variance" in ds and name not in own
              for item in ("noise.variance", f"{name}.noise.variance")
              if item in held and item not in options.hyperparameters]
    if not unused:
        return ""
    used = getattr(getattr(state, "options", options), "noise", default)
    return (f"the data state the variance of each value{_of(unused)} (noise_variance), which "
            f"{option('noise', used)} does not look at: it learns one. Say "
            f"{option('noise', 'known')} to use what is stated, or drop the variable")


def _of(names: list[str]) -> str:
    """Which sources a sentence is about; nothing where there is one without a name."""
    return " of " + ", ".join(map(repr, names)) if any(names) else ""
