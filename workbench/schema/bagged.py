"""The bagged dataset: its dimensions and variables, and the check that all of them hold."""

from __future__ import annotations

import numpy as np
import xarray as xr

from workbench.checks import InputError, choose, reject, require
from workbench.schema.aligned import per_unit
from workbench.schema.frames import instead
from workbench.schema.numeric import require_finite, require_numbers

INDIVIDUAL, BAG, COVARIATE = "individual", "bag", "covariate"
MEDIATOR, TARGET = "mediator", "target"
GEOMETRY = ("bag_geometry", "individual_geometry")
#: Coordinate of the individuals of merged areas: position of their area.
AREA = "area_position"
AGGREGATIONS = ("sum", "mean")
KINDS = ("count", "continuous")
STATISTICS = ("mean", "median", "proportion")

_REQUIRED = {
    "covariates": (INDIVIDUAL, COVARIATE),
    "weight": (INDIVIDUAL,),
    "membership": (INDIVIDUAL,),
    "value": (BAG,),
}
_OPTIONAL = {
    "truth": (INDIVIDUAL,),
    "individual_value": (INDIVIDUAL,),
    "concentration": (INDIVIDUAL,),
    "noise_variance": (BAG,),
    "individual_noise_variance": (INDIVIDUAL,),
    "sample_variance": (BAG,),
    "trials": (BAG,),
    "x": (INDIVIDUAL,),
    "y": (INDIVIDUAL,),
    AREA: (INDIVIDUAL,),
    "mediators": (BAG, MEDIATOR),
}
_TARGETS = {"value": (TARGET,), "mediators": (TARGET, MEDIATOR)}


def check(ds: xr.Dataset, valued: bool = True) -> xr.Dataset:
    """Return ``ds`` unchanged if it is a bagged dataset, else say what is wrong and where.

    Parameters
    ----------
    ds : xr.Dataset
        Dimensions individual, bag, covariate; variables covariates, weight, membership, value.
        Optional: ``truth``, ``individual_value`` and coordinates ``x``, ``y`` of individuals, and
        ``concentration`` where these are clusters (`workbench.condense`), above 0 and at most 1;
        ``noise_variance`` of bags, known, and ``individual_noise_variance`` of individuals where
        they have unlike parts in it; ``sample_variance`` of bags, of the single observations behind
        a value (divisor: their number); ``trials`` of bags, where values are positives out of so
        many trials (a survey): counts whose share is a weighted mean over the bag, so with the
        attributes kind "count" and aggregation "mean"; ``mediators`` (bag, mediator), covariates
        of bags as a whole, x and y among them being coordinates; the coordinate ``area_position``
        of individuals, where bags are unions of areas: a number of the area of each.
    valued : bool
        Whether the bags must have values. Of unmatched data they have none.

    Raises
    ------
    InputError
        On a missing variable, a wrong dimension, values that are no numbers or not finite, weights
        that are not positive, an unsorted membership, empty bags, counts that are not counts, or
        positives that are more than their trials.
    """
    require(
        isinstance(ds, xr.Dataset),
        f"expected a bagged xarray.Dataset, got {type(ds).__name__}{instead(ds)}"
    )
    for name in _REQUIRED:
        if name not in ds and (valued or name != "value"):
            raise InputError(f"the dataset lacks {name!r}; build it with workbench.bag_polygons, "
                             "bag_children, bag_grid or bag_along")
    for name, dims in (_REQUIRED | _OPTIONAL).items():
        if name in ds and (got := ds[name].dims) != dims:
            raise InputError(f"{name} must have dims {dims}, got {got}")
    for name in ("covariates", "weight", "value", "x", "y", "mediators"):
        if name in ds:
            require_finite(ds, name)
    for name in ("noise_variance", "individual_noise_variance", "sample_variance", "concentration"):
        if name in ds:
            require_numbers(ds, name)
        if name in ds and name.endswith("noise_variance"):
            lowest = np.nanmin(ds[name].values, initial=0.0)
            require(lowest >= 0, f"{name} must be zero or more, got {lowest:g}; a variance is the "
                    "square of a standard error")
    require(("x" in ds) == ("y" in ds), "give both x and y, or neither")
    _positive_weights(ds)
    if "concentration" in ds:
        share = ds["concentration"].values
        require(bool(((share > 0) & (share <= 1)).all()), "concentration must be above 0 and at "
                "most 1: the sum of the squared shares of weight of a cluster's members")
    _membership(ds)
    if AREA in ds:
        _areas(ds)
    if "value" in ds:
        _values(ds)
    return ds


def _areas(ds: xr.Dataset) -> None:
    numbers, members = ds[AREA].values, ds["membership"].values
    require(numbers.dtype.kind in "iu", f"{AREA} must be whole numbers of areas, got "
            f"{numbers.dtype}")
    pairs = np.unique(np.stack([numbers, members]), axis=1)
    twice = pairs[0][1:][np.diff(pairs[0]) == 0]
    require(twice.size == 0, f"{AREA}: each area must lie in one bag, area "
            f"{twice[0] if twice.size else ''} lies in several")


def check_targets(ds: xr.Dataset) -> xr.Dataset:
    """Return ``ds`` unchanged if it holds targets that belong to no bag, else say what is wrong.

    Parameters
    ----------
    ds : xr.Dataset
        Dimensions target, mediator; variables value (target), a mean, and mediators (target,
        mediator); optional noise_variance (target).

    Raises
    ------
    InputError
        On a missing variable, a wrong dimension, or values that are no numbers or not finite.
    """
    require(isinstance(ds, xr.Dataset), f"expected targets as an xarray.Dataset, got "
            f"{type(ds).__name__}; build them with workbench.targets_from_table or "
            "workbench.unmatch")
    for name, dims in _TARGETS.items():
        require(name in ds, f"the targets lack {name!r}; build them with "
                            "workbench.targets_from_table or workbench.unmatch")
        require(ds[name].dims == dims, f"{name} must have dims {dims}, got {ds[name].dims}")
        require_finite(ds, name)
    if "noise_variance" in ds:
        require(ds["noise_variance"].dims == (TARGET,), "noise_variance of targets must have dims "
                f"{(TARGET,)}, got {ds['noise_variance'].dims}")
    names = [str(name) for name in ds[TARGET].values]
    require(len(set(names)) == len(names), "targets must have different names")
    require(aggregation(ds) == "mean", "unmatched targets are means: nobody knows the weight "
            "behind them. Divide totals by their weight and set value.attrs['aggregation'] = "
            "'mean'")
    return ds


def check_learnable(ds: xr.Dataset) -> xr.Dataset:
    """Return a bagged dataset unchanged if its totals say anything about a rate, else refuse it.

    Parameters
    ----------
    ds : xr.Dataset
        Bagged dataset that a model is to learn from.

    Raises
    ------
    InputError
        If all values are counts of zero: under a positive link the best rate is then zero, whose
        logarithm or root is out of reach, and under none is there anything to map.
    """
    check(ds)
    if kind(ds) == "count" and not ds["value"].values.any():
        seen = ds["trials"] if "trials" in ds else ds["weight"]
        means = aggregation(ds) == "mean" and "trials" not in ds
        require(means or float(seen.sum()) > 0, f"nobody was tested in any of the {ds.sizes[BAG]} "
                "bags: all trials are zero, so there is nothing to map; check that the right "
                "column was read")
        bound = "" if means else (
            f". If nothing was counted indeed, report a bound: of a rate above "
            f"{3 / float(seen.sum()):.3g} (3 over the total of {seen.name}) something would have "
            "been counted with 95 % probability")
        raise InputError(
            f"all {ds.sizes[BAG]} counts are zero, so there is nothing to map, whatever the link; "
            f"check that the right column was read{bound}")
    return ds


def counts_add_up(ds: xr.Dataset) -> bool:
    """Whether values are totals of counts."""
    return kind(ds) == "count" and aggregation(ds) == "sum"


def kind(ds: xr.Dataset) -> str:
    """Whether the values are ``"count"`` or ``"continuous"`` (attribute of ``value``)."""
    return choose("value.attrs['kind']", ds["value"].attrs.get("kind", "count"), KINDS)


def aggregation(ds: xr.Dataset) -> str:
    """Whether a bag's value is the weighted ``"sum"`` or ``"mean"`` of its individuals."""
    return choose(
        "value.attrs['aggregation']", ds["value"].attrs.get("aggregation", "sum"), AGGREGATIONS
    )


def statistic(ds: xr.Dataset) -> str:
    """What a bag's value is of its single observations: mean, median or proportion."""
    return choose("value.attrs['statistic']", ds["value"].attrs.get("statistic", "mean"),
                  STATISTICS)


def _positive_weights(ds: xr.Dataset) -> None:
    weight = ds["weight"].values
    if (weight <= 0).any():
        where = np.flatnonzero(weight <= 0)
        raise InputError(
            f"{where.size} weights are zero or negative, the first at individual {where[0]} "
            f"({weight[where[0]]}); drop these individuals or give them a positive weight"
        )


def _membership(ds: xr.Dataset) -> None:
    membership, bags = ds["membership"].values, ds.sizes[BAG]
    require(np.issubdtype(membership.dtype, np.integer), "membership must hold integers")
    require(membership.size > 0, "the dataset has no individuals")
    require(
        membership.min() >= 0 and membership.max() < bags,
        f"membership runs from {membership.min()} to {membership.max()} but there are {bags} bags",
    )
    require((np.diff(membership) >= 0).all(), "membership must be sorted: sort individuals by bag")
    names = [str(name) for name in ds[BAG].values]
    twice = sorted({name for name in names if names.count(name) > 1}) if (
        len(set(names)) < bags) else []
    require(not twice, f"bags must have different names, but these repeat: {twice[:5]}")
    empty = np.setdiff1d(np.arange(bags), membership)
    require(
        empty.size == 0,
        f"{empty.size} bags have no individuals (first: {ds[BAG].values[empty[:5]].tolist()}); "
        "drop them or give them individuals",
    )


def _values(ds: xr.Dataset) -> None:
    aggregation(ds)
    if kind(ds) == "count":
        negative = np.flatnonzero(ds["value"].values < 0)
        require(
            negative.size == 0,
            f"{negative.size} counts are negative (first: bag "
            f"{ds[BAG].values[negative[:1]].tolist()}); a count is zero or more",
        )
    if "sample_variance" in ds:
        spread = ds["sample_variance"].values
        bad = np.flatnonzero(~(np.isfinite(spread) & (spread >= 0)))
        require(bad.size == 0, f"{bad.size} sample variances are missing or negative (first: bag "
                f"{ds[BAG].values[bad[:1]].tolist()}); give zero or more for every bag (of "
                "one observation it is 0, as the divisor is their number), or drop the variable")
    if "trials" in ds:
        _trials(ds)


def _trials(ds: xr.Dataset) -> None:
    require(kind(ds) == "count" and aggregation(ds) == "mean",
            "a dataset with trials holds positives out of trials, counts whose share is a weighted "
            "mean over the bag: set value.attrs['kind'] = 'count' and value.attrs['aggregation'] = "
            "'mean', or drop the trials")
    require_finite(ds, "trials")
    trials, value, names = ds["trials"].values, ds["value"].values, ds[BAG].values
    wrong = np.flatnonzero((trials < 0) | (trials != np.round(trials)))
    require(wrong.size == 0, f"{wrong.size} numbers of trials are negative or not whole (first: "
            f"bag {names[wrong[:1]].tolist()}); give how many were tested in each bag")
    over = np.flatnonzero(value > trials)
    require(over.size == 0, f"in {over.size} bags there are more positives than trials (first: bag "
            f"{names[over[:1]].tolist()}); value must hold positives, trials all that were tested")


def grouped(ds: xr.Dataset, by) -> tuple[np.ndarray, np.ndarray]:
    """Labels of groups of individuals in ascending order, and the position of each one's group.

    Parameters
    ----------
    ds : xr.Dataset
        Bagged dataset.
    by : str or array (individual,)
        Name of a variable or coordinate (individual,) or (bag,), or one label for each individual.

    Raises
    ------
    InputError
        On an unknown name, a wrong shape, missing labels, or labels that cannot be put in order.
    """
    if isinstance(by, str):
        known = [str(name) for name in ds.variables if ds[name].dims in ((INDIVIDUAL,), (BAG,))]
        found = ds[choose("by", by, known)]
        by = found.values[ds["membership"].values] if found.dims == (BAG,) else found
    count = ds.sizes[INDIVIDUAL]
    labels = per_unit(by, ds[INDIVIDUAL].to_index(), INDIVIDUAL, "label in by")
    missing = int(xr.DataArray(labels).isnull().sum())
    require(missing == 0, f"by has no label for {missing} of {count} individuals; give those left "
            "over a label of their own")
    try:
        names, of = np.unique(labels, return_inverse=True)
    except TypeError as error:
        kinds = sorted({type(label).__name__ for label in labels.tolist()})
        raise reject("labels in by of one type", ", ".join(kinds),
                     "make all of them text or all of them numbers") from error
    return names, of.astype(np.int64)
