"""What looks wrong in a bagged dataset that can be used: told, never changed.

Each test is of a slip that people make when they prepare tables: another column, another unit,
another kind of value. All can be false alarms; the sentences say what was seen, and what to do if
it is not a mistake.
"""

from __future__ import annotations

import numpy as np
import xarray as xr

from workbench import schema
from workbench.bagging import like_means
from workbench.bagging.findings import Finding, is_listing, suspicious
from workbench.bagging.like_marks import like_marks
from workbench.bagging.odd_covariates import odd_covariates
from workbench.bagging.turns import over_a_seam
from workbench.bagging.warping import of_polygons
from workbench.checks import DataWarning, option, warn

MARK = "sanity"         # attribute of a dataset that was looked at: what was found, or "none"
_MOSTLY = 0.5           # share of the values
_SMALL = 1_000.0        # split thousands stay below it
_HUGE = 1e8             # more than is counted in half of the areas
_FEW_VALUES = 5         # below which nothing is said of how values are distributed
_ALONE, _NEXT = 100.0, 20.0     # times the median and the next rate: one total like no other


def oddities(ds: xr.Dataset) -> list[str]:
    """What looks wrong in a bagged dataset, one sentence each.

    Parameters
    ----------
    ds : xr.Dataset
        Bagged dataset, with values or without.

    Returns
    -------
    list of str
        Counts above the population, rates, amounts or truth values taken for counts, thousands
        separators read as decimal points, one total like no other, marks of missing values;
        constant, collinear and class-coded covariates; longitudes on both sides of the
        antimeridian.
    """
    return [str(finding) for finding in odd(ds)]


def odd(ds: xr.Dataset) -> list[Finding]:
    """The same as `Finding`s: what, where, how many, and what to do.

    Parameters
    ----------
    ds : xr.Dataset
        Bagged dataset, with values or without.

    Returns
    -------
    list of Finding
        Warnings.
    """
    found = [] if "value" not in ds or ds["value"].dims != (schema.BAG,) else _of_values(ds)
    return found + odd_covariates(ds) + over_a_seam(ds)


def looked_at(ds: xr.Dataset) -> xr.Dataset:
    """The dataset with `oddities` in its record of treatments, each also a warning; once.

    Parameters
    ----------
    ds : xr.Dataset
        Bagged dataset. One that was looked at before, or is a part of one, comes back as it is.

    Returns
    -------
    xr.Dataset
        With the attributes ``sanity`` and ``treatments``.

    Warns
    -----
    DataWarning
        For each finding.
    """
    if MARK in ds.attrs or is_listing():       # a check looks itself, at what comes of it all
        return ds
    found = oddities(ds)
    for sentence in found:
        warn(sentence, DataWarning)
    return noted(ds, found)


def noted(ds: xr.Dataset, found: list[str]) -> xr.Dataset:
    """The dataset with these findings in its attributes ``sanity`` and ``treatments``.

    Parameters
    ----------
    ds : xr.Dataset
        Bagged dataset.
    found : list of str
        Of `oddities`.

    Returns
    -------
    xr.Dataset
        The same data.
    """
    before = ds.attrs.get("treatments", "none")
    record = [] if before == "none" else [before]
    record += [f"look at this: {sentence}" for sentence in found]
    return ds.assign_attrs({MARK: "\n".join(found) or "none",
                            "treatments": "\n".join(record) or "none"})


def marks_of_targets(targets: xr.Dataset) -> list[Finding]:
    """Values of targets that look like marks of missing ones, as a `Finding`.

    Parameters
    ----------
    targets : xr.Dataset
        As of `workbench.targets_from_table`.
    """
    return like_marks(targets[schema.TARGET].values, targets["value"].values,
                      schema.kind(targets) == "count", "target",
                      "If it is one, remove these rows from the targets")


def truth_values(what: str) -> Finding:
    """The finding that values are true or false; ``what`` ends in a verb, as "the values are"."""
    return suspicious("truth-values", f"{what} true and false, which are taken for 1 and 0",
                      "If they say whether something occurred in an area, count how often instead",
                      ["value"], effect="the map is one of how many areas are true", joint=". ")


def _of_values(ds: xr.Dataset) -> list[Finding]:
    value = ds["value"].values
    if value.dtype == bool:
        return [truth_values("the values are")]
    value, counts = value.astype(float), schema.kind(ds) == "count" and "trials" not in ds
    sums = schema.aggregation(ds) == "sum"
    total = np.bincount(ds["membership"].values, ds["weight"].values, ds.sizes[schema.BAG])
    found = []
    if counts and sums:
        means = like_means.even(ds, value, total)   # which say why they are above the population
        found += means or _above(ds, value, total)
        found += _amounts(ds, value)
        found += _thousands(ds, value) or ([] if means else (
            like_means.fractional(ds, value, total) or like_means.flat(ds, value, total)))
    elif sums and "trials" not in ds:
        found += like_means.measured(ds, value, total)
    alone = _alone(ds, value, value / total) if sums and value.size >= _FEW_VALUES else []
    if "trials" not in ds and not alone:
        alone = like_marks(ds[schema.BAG].values, value, counts)
    return found + alone


def _above(ds: xr.Dataset, value: np.ndarray, total: np.ndarray) -> list[Finding]:
    units = str(ds["weight"].attrs.get("units", ""))
    above = value > total * (1 + 1e-6)
    if not above.any() or not like_means.of_people(ds):
        return []
    first = int(np.argmax(np.where(above, value / total, 0)))
    part, told = "pixel", option("weight_units")
    if of_polygons(ds):
        part = "polygon"
        told = option("units", {str(ds["weight"].attrs.get("long_name", "weight")): "UNITS"})
    return [suspicious(
        "count-above-weight",
        f"{int(above.sum())} of {value.size} areas have more {_units(ds)} than {units} (most: "
        f"area {str(ds[schema.BAG].values[first])!r} with {value[first]:,.6g} and "
        f"{total[first]:,.6g})",
        f"is the weight the population, in {units} per {part} and not per area or in thousands, "
        f"and of the whole area? If it is something else, say so by {told}",
        ds[schema.BAG].values[above], int(above.sum()), "rates above one per unit of weight")]


def _units(ds: xr.Dataset) -> str:
    return str(ds["value"].attrs.get("units", "")) or "cases"


def _thousands(ds: xr.Dataset, value: np.ndarray) -> list[Finding]:
    """Values such as 12.345 beside 987: whole after multiplication by 1,000, never below one."""
    broken = value[value != np.round(value)]
    if broken.size < 2 or value.size < _FEW_VALUES or value.max() >= _SMALL or broken.min() < 1:
        return []
    thousand = broken * 1000
    exact = np.abs(thousand - np.round(thousand)) < 1e-6 * thousand
    last = np.round(thousand).astype(np.int64) % 10 != 0
    if not exact.all() or last.mean() < 0.5:    # most numbers of three decimals use the third
        return []
    return [suspicious(
        "thousands", f"{broken.size} of {value.size} counts have exactly three decimals (as "
        f"{broken[0]:g}), and none is 1,000 or more: they look like thousands (12.345 for 12,345) "
        "read as decimal points", "remove the separators from the column",
        ds[schema.BAG].values[value != np.round(value)], broken.size,
        "these areas are taken for a thousandth of what they are", "; ")]


def _amounts(ds: xr.Dataset, value: np.ndarray) -> list[Finding]:
    """Whole numbers that hardly anybody counts: sums of money, tonnes, products of regions."""
    large = (value >= _HUGE) & (value == np.round(value))
    if value.size < _FEW_VALUES or large.mean() < _MOSTLY:
        return []
    return [suspicious(
        "amounts", f"{int(large.sum())} of {value.size} counts are {_HUGE:,.0f} or more: they look "
        "like amounts, such as money, and not like numbers of cases",
        f"If they are, say {option('kind', 'continuous')}",
        ds[schema.BAG].values[large], int(large.sum()),
        "totals of that size bind so tightly that a fit may take many times as long as estimated",
        ". ")]


def _alone(ds: xr.Dataset, value: np.ndarray, rate: np.ndarray) -> list[Finding]:
    size = np.abs(rate)
    first, second = np.argsort(size)[::-1][:2]
    middle = float(np.median(size))
    if not (size[first] > _NEXT * size[second] and size[first] > _ALONE * middle and middle > 0):
        return []
    name = str(ds[schema.BAG].values[first])
    return [suspicious(
        "value-alone", f"area {name!r} has {value[first]:,.6g}, "
        f"{size[first] / middle:,.0f} times the median area's per unit of weight and "
        f"{size[first] / size[second]:,.0f} times the next one's", "is it a total of all areas, "
        "in another unit, or a slip of the decimal point?", [name], 1, "it rules the whole fit")]
