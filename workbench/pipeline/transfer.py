"""A map of another region than the one learnt from: what may be asked, and what is reported."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import xarray as xr

from workbench import schema
from workbench.checks import (
    ExtrapolationWarning,
    InputError,
    option,
    options_named,
    require,
    warn,
)
from workbench.geo.in_period import in_period
from workbench.geo.maps import map_periods
from workbench.geo.period_numbers import TIME
from workbench.geo.periods import at_period
from workbench.labelled.places import Extent, same_crs
from workbench.pipeline.base import REGION
from workbench.pipeline.inputs import named_or_file
from workbench.pipeline.own_files import region_of
from workbench.pipeline.spec import PredictSpec, Spec

_SHARE = 0.05       # more individuals beyond what areas span than where it was learnt: it is said
_FAR = 1.0          # between-area ranges; wholly beyond that a covariate is not the same one


def elsewhere(spec: Spec, ds: xr.Dataset) -> xr.Dataset:
    """The dataset of another region, if the model of this one can be asked about it.

    Parameters
    ----------
    spec : Spec
        With ``at``.
    ds : xr.Dataset
        What is learnt from.

    Returns
    -------
    xr.Dataset
        Bagged dataset; it needs no values.

    Raises
    ------
    InputError
        If its covariates are others, or in other units, or one of them lies wholly beyond what the
        areas span; if its CRS is another one; if the Spec asks for what only known areas have.

    Warns
    -----
    ExtrapolationWarning
        Where covariates are beyond what the areas' means span, or all places beside the areas.
    """
    for name in ("folds", "rescale_to_totals", "residuals"):
        require(not getattr(spec, name), f"{name} is of the areas that the model learns from, not "
                "of another region; leave it out, or run it without at first")
    return region(spec, ds)


def region(spec: Spec | PredictSpec, ds: xr.Dataset) -> xr.Dataset:
    """The dataset that ``at`` of a Spec names, checked to be one that a model can be asked about.

    Parameters
    ----------
    spec : Spec or PredictSpec
        With ``at``.
    ds : xr.Dataset
        What the model learnt from.

    Returns
    -------
    xr.Dataset
        Bagged dataset; it needs no values.

    Raises
    ------
    InputError
        If its covariates are others, in another order or in other units, or one of them lies wholly
        beyond what the areas span; if its weight is in other units, or its CRS is another one.

    Warns
    -----
    ExtrapolationWarning
        Where covariates are beyond what the areas' means span, or all places beside the areas.
    """
    own = spec.at_options.plain()
    other = region_of(own) if spec.at == REGION else named_or_file(str(spec.at))
    where = Path(str(own["polygons"])).name if own else str(spec.at)
    period = getattr(spec, "period", None)
    other = _at_a_period(other, ds, period, where)
    ours, theirs = (one.attrs.get("crs") for one in (ds, other))
    require(same_crs(ours, theirs), f"{where} has the CRS {theirs}, the "
            f"data of the model {ours}; bag it in the same one, for the model knows places by it")
    names = [str(name) for name in ds[schema.COVARIATE].values]
    found = [str(name) for name in other[schema.COVARIATE].values]
    rename = "; a raster gets a name by --at-covariates NAME=FILE" if own else ""
    require(names == found, f"the model learns from covariates {', '.join(names) or '(none)'}, "
            f"{where} has {', '.join(found) or '(none)'}; give it the same ones in the same "
            f"order{rename}")
    _units(ds, other, names, where)
    if "value" in ds and schema.aggregation(ds) == "sum":      # bags of a mediated fit have none
        unit, unlike = (str(one["weight"].attrs.get("units", "")) for one in (ds, other))
        # A dataset of one's own making may not say its units; files do, area among them.
        unsaid = not own and not (unit and unlike)
        remedy = (f"give its own with {option('at_weight')}, or its units with "
                  f"{option('at_weight_units', unit)}" if own else
                  "bag it with the weight that the model learns with")
        require(unsaid or unit == unlike, f"the weight of {where} is in {unlike!r}, and in "
                f"{unit!r} where the model learns, so that rates mean another thing; {remedy}")
    if {"x", "y"} <= {*other.coords}:
        look_apart(ds, other["x"].values, other["y"].values, where)
    # A period that was asked for by name is not in other units.
    looked = [k for k, name in enumerate(names) if name != TIME or period is None]
    look_beyond(ds.isel(covariate=looked), _table(other)[:, looked], [names[k] for k in looked],
                where)
    return other


def _at_a_period(other: xr.Dataset, ds: xr.Dataset, period: str | None, where: str) -> xr.Dataset:
    """Places of a region at the period that is asked for, where a model learnt over time."""
    if period is not None:
        if map_periods(other) and TIME in other[schema.COVARIATE].values:
            return at_period(other, period)
        with options_named(prefix="at_"):
            return in_period(other, period, ds)
    last = str(ds["individual_period"].values[-1]) if "individual_period" in ds.coords else ""
    require(not last or TIME in other[schema.COVARIATE].values, f"the model learns over time, and "
            f"{where} has no period: say which by {option('period', last)} of workbench predict, "
            "for which disaggregate keeps its fit by --save-fit; in Python by workbench.in_period")
    return other


def beyond(ds: xr.Dataset, table: np.ndarray) -> np.ndarray:
    """How far covariates lie beyond the areas' means, in ranges of these (individual, covariate).

    Parameters
    ----------
    ds : xr.Dataset
        Bagged dataset whose areas' means span the range.
    table : array (individual, covariate)
        Covariates elsewhere, in the same order.
    """
    members, weight = ds["membership"].values, ds["weight"].values
    total = np.bincount(members, weight)
    means = np.stack([np.bincount(members, weight * column) / total for column in _table(ds).T], 1)
    low, high = means.min(0), means.max(0)
    # Of one area, or areas that are alike, the range is that of what is inside them.
    inside = _table(ds).max(0) - _table(ds).min(0)
    span = np.where(high > low, high - low, np.where(inside > 0, inside, 1.0))
    return np.maximum(np.maximum(low - table, table - high), 0) / span


def _table(ds: xr.Dataset) -> np.ndarray:
    return ds["covariates"].transpose(schema.INDIVIDUAL, schema.COVARIATE).values


def look_beyond(ds: xr.Dataset, table: np.ndarray, names: list[str], where: str,
                sure: bool = True) -> float:
    """Say of places elsewhere how much of them lies beyond what the areas span.

    Parameters
    ----------
    ds : xr.Dataset
        What a model learnt from.
    table : array (individual, covariate)
        Covariates elsewhere.
    names : list of str
        Theirs.
    where : str
        What messages call the places.
    sure : bool
        Whether these are enough to refuse all for what they are.

    Returns
    -------
    float
        Share of the individuals.

    Raises
    ------
    InputError
        If a covariate lies wholly beyond, by more than the areas' whole range, where that is sure.

    Warns
    -----
    ExtrapolationWarning
        If by a twentieth more lies beyond than of what the model learnt from.
    """
    if not names:
        return 0.0
    far = beyond(ds, table)
    for name, column in zip(names, far.T, strict=True):
        if sure and column.min() > _FAR:
            raise InputError(
                f"covariate {name!r} of {where} lies wholly beyond what the areas span, by at "
                f"least {column.min():.3g} of their range: nothing there is like what the model "
                "has seen. Is it in other units? Leave it out, or learn from areas like these")
    shares = (far > 0).mean(0)
    outside = float((far > 0).any(1).mean())
    if outside > _SHARE + (beyond(ds, _table(ds)) > 0).any(1).mean():
        worst = int(shares.argmax())
        warn(f"{outside:.0%} of {where} lies beyond what the areas span in some "
             f"covariate, most in {names[worst]!r} ({shares[worst]:.0%}, by up to "
             f"{far[:, worst].max():.3g} of their range): see extrapolation, and do not use the "
             "map there without other evidence", ExtrapolationWarning)
    return outside


def look_apart(ds: xr.Dataset, x: np.ndarray, y: np.ndarray, where: str) -> None:
    """Warn if places elsewhere lie farther beside what a model learnt from than that is wide.

    Parameters
    ----------
    ds : xr.Dataset
        What it learnt from; without coordinates nothing is said.
    x, y : arrays
        Coordinates elsewhere.
    where : str
        What the message calls the places.

    Warns
    -----
    ExtrapolationWarning
        If they do.
    """
    if not {"x", "y"} <= {*ds.coords} or not np.size(x) or not np.size(y):
        return
    ours, theirs = Extent.of(ds["x"], ds["y"]), Extent.of(x, y)
    if ours.gap(theirs) > ours.width:
        warn(f"{where} ({theirs}) lies far beside all that the model learnt from ({ours}): what "
             "follows place is not known there. Is it the right place, in the right CRS, with "
             "longitudes written alike?", ExtrapolationWarning)


def _units(ds: xr.Dataset, other: xr.Dataset, names: list[str], where: str) -> None:
    if "covariate_units" not in ds.coords or "covariate_units" not in other.coords:
        return
    both = zip(names, ds["covariate_units"].values, other["covariate_units"].values, strict=True)
    for name, one, another in both:
        unit, unlike = str(one), str(another)
        require(unit == unlike or not unit or not unlike, f"covariate {name!r} is in {unlike!r} in "
                f"{where}, and in {unit!r} where the model learns; convert one of them")


