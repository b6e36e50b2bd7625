"""What looks wrong in a bagged dataset that can be used: told, never changed.

Each test is of a slip that people make when they prepare tables: another column, another unit,
another kind of value. All can be false alarms; the sentences say what was seen, and what to do if
it is not a mistake.
"""

from __future__ import annotations

import numpy as np
import xarray as xr

from workbench import schema
from workbench.bagging.findings import WARNING, Finding, is_listing
from workbench.bagging.turns import over_a_seam
from workbench.checks import DataWarning, option, warn

MARK = "sanity"         # attribute of a dataset that was looked at: what was found, or "none"
_PEOPLE = ("person", "people", "inhabitant", "resident", "population")
_MOSTLY = 0.9           # share of the values that are not whole, of rates
_SMALL = 1_000.0        # rates stay below it, per hundred or per thousand; so do split thousands
_FEW_VALUES = 5         # below which nothing is said of how values are distributed
_ALONE, _NEXT = 100.0, 20.0     # times the median and the next rate: one total like no other
_CODES, _PER_CODE = 40, 20      # most class codes, and individuals for each of them
_COLLINEAR = 0.999              # correlation of covariates that are one
_DEPENDENT = 1e-6               # least eigenvalue of correlations where none depends on others
_DEPENDENCIES = 2       # most of them that are taken for a slip
_FINEST = 1e-9          # relative range of a covariate that is constant
_MOST = 20_000          # individuals that covariates are looked at by
_NAMED = 5              # names that a sentence lists


def oddities(ds: xr.Dataset) -> list[str]:
    """What looks wrong in a bagged dataset, one sentence each.

    Parameters
    ----------
    ds : xr.Dataset
        Bagged dataset, with values or without.

    Returns
    -------
    list of str
        Counts above the population, rates or truth values taken for counts, thousands separators
        read as decimal points, one total like no other; constant, collinear and class-coded
        covariates; longitudes on both sides of the antimeridian.
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
    return found + _of_covariates(ds) + over_a_seam(ds)


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


def truth_values(what: str) -> Finding:
    """The finding that values are true or false; ``what`` ends in a verb, as "the values are"."""
    return _odd("truth-values", f"{what} true and false, which are taken for 1 and 0",
                "If they say whether something occurred in an area, count how often instead",
                ["value"], effect="the map is one of how many areas are true", joint=". ")


def _odd(code: str, what: str, fix: str, where, count: int | None = None, effect: str = "",
         joint: str = ": ") -> Finding:
    return Finding(code, what, fix, where=tuple(map(str, where)), count=count, effect=effect,
                   severity=WARNING, joint=joint)


def _of_values(ds: xr.Dataset) -> list[Finding]:
    value = ds["value"].values
    if value.dtype == bool:
        return [truth_values("the values are")]
    value, counts = value.astype(float), schema.kind(ds) == "count" and "trials" not in ds
    sums = schema.aggregation(ds) == "sum"
    total = np.bincount(ds["membership"].values, ds["weight"].values, ds.sizes[schema.BAG])
    found = []
    if counts and sums:
        found += _above(ds, value, total)
        found += _thousands(ds, value) or _rates(ds, value, total)
    if sums and value.size >= _FEW_VALUES:
        found += _alone(ds, value, value / total)
    return found


def _above(ds: xr.Dataset, value: np.ndarray, total: np.ndarray) -> list[Finding]:
    units = str(ds["weight"].attrs.get("units", ""))
    above = value > total * (1 + 1e-6)
    if not above.any() or not any(word in units.lower() for word in _PEOPLE):
        return []
    first = int(np.argmax(np.where(above, value / total, 0)))
    return [_odd(
        "count-above-weight",
        f"{int(above.sum())} of {value.size} areas have more {_units(ds)} than {units} (most: "
        f"area {str(ds[schema.BAG].values[first])!r} with {value[first]:,.6g} and "
        f"{total[first]:,.6g})",
        f"is the weight the population, in {units} per pixel and not per area or in thousands, and "
        f"of the whole area? If it is something else, say so by {option('weight_units')}",
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
    return [_odd(
        "thousands", f"{broken.size} of {value.size} counts have exactly three decimals (as "
        f"{broken[0]:g}), and none is 1,000 or more: they look like thousands (12.345 for 12,345) "
        "read as decimal points", "remove the separators from the column",
        ds[schema.BAG].values[value != np.round(value)], broken.size,
        "these areas are taken for a thousandth of what they are", "; ")]


def _rates(ds: xr.Dataset, value: np.ndarray, total: np.ndarray) -> list[Finding]:
    broken = value != np.round(value)
    if value.size < _FEW_VALUES or broken.mean() < _MOSTLY or value.max() >= _SMALL:
        return []
    # Counts grow with the population, even where they are estimates; rates do not.
    from scipy.stats import spearmanr  # half a second that pages need not wait for

    if np.ptp(total) > 0 and spearmanr(value, total).statistic > 0.5:
        return []
    return [_odd(
        "rates", f"{int(broken.sum())} of {value.size} counts are not whole, all are below "
        f"{_SMALL:,.0f} (from {value.min():.3g} to {value.max():.3g}), and they do not grow "
        "with the weight: they look like rates or percentages", "If they are, multiply them by the "
        f"population, or say {option('aggregation', 'mean')} and {option('kind', 'continuous')}",
        ds[schema.BAG].values[broken], int(broken.sum()),
        "rates are split over the pixels as if they were counts", ". ")]


def _alone(ds: xr.Dataset, value: np.ndarray, rate: np.ndarray) -> list[Finding]:
    size = np.abs(rate)
    first, second = np.argsort(size)[::-1][:2]
    middle = float(np.median(size))
    if not (size[first] > _NEXT * size[second] and size[first] > _ALONE * middle and middle > 0):
        return []
    name = str(ds[schema.BAG].values[first])
    return [_odd(
        "value-alone", f"area {name!r} has {value[first]:,.6g}, "
        f"{size[first] / middle:,.0f} times the median area's per unit of weight and "
        f"{size[first] / size[second]:,.0f} times the next one's", "is it a total of all areas, "
        "in another unit, or a slip of the decimal point?", [name], 1, "it rules the whole fit")]


def _of_covariates(ds: xr.Dataset) -> list[Finding]:
    table = ds["covariates"].transpose(schema.INDIVIDUAL, schema.COVARIATE).values.astype(float)
    names = [str(name) for name in ds[schema.COVARIATE].values]
    if not names or len(table) < 3:
        return []
    step = -(-len(table) // _MOST)
    seen = table[::step]
    size = np.abs(table).max(0)
    constant = np.ptp(table, axis=0) <= _FINEST * size
    found = []
    if constant.any():
        found.append(_odd(
            "constant", f"{_listed(names, constant)} the same everywhere, and can tell no place "
            "from another", "is it the right layer? If so, leave it out",
            np.array(names)[constant], int(constant.sum()), "it changes nothing in the map"))
    periods = ["individual_period" in ds.coords and name == "time" for name in names]
    codes = np.array([not known and class_coded(column)
                      for column, known in zip(seen.T, constant | periods, strict=True)])
    if codes.any():
        found.append(_odd(
            "class-codes", f"{_listed(names, codes)} whole numbers of few kinds", "If they are "
            "codes of classes (land cover), their order and distances mean nothing: give one "
            "covariate of zeros and ones for each class, as classes= of bag_polygons does. If "
            "they are amounts, go on",
            np.array(names)[codes], int(codes.sum()), "they are taken for amounts", ". "))
    return found + _collinear(seen[:, ~constant], [n for n, flat in zip(names, constant,
                                                                       strict=True) if not flat])


def _listed(names: list[str], which: np.ndarray) -> str:
    chosen = [repr(name) for name, is_one in zip(names, which, strict=True) if is_one]
    more = f" and {len(chosen) - _NAMED} more" if len(chosen) > _NAMED else ""
    one = len(chosen) == 1
    return (f"covariate{'' if one else 's'} {', '.join(chosen[:_NAMED])}{more} "
            f"{'is' if one else 'are'}")


def class_coded(column: np.ndarray) -> bool:
    """Whether numbers are whole and of so few kinds that they look like codes of classes."""
    if (column != np.round(column)).any():
        return False
    kinds = np.unique(column).size
    return 3 <= kinds <= _CODES and kinds * _PER_CODE <= column.size


def _collinear(table: np.ndarray, names: list[str]) -> list[Finding]:
    if table.shape[1] < 2 or len(table) <= table.shape[1] + 1:
        return []
    spread = table.std(0)
    moving = spread > 0
    table, names = table[:, moving], [n for n, m in zip(names, moving, strict=True) if m]
    correlation = np.corrcoef(table.T)
    pairs = np.argwhere(np.triu(np.abs(correlation) > _COLLINEAR, 1))
    if len(pairs):
        told = ", ".join(f"{names[i]!r} and {names[j]!r} ({correlation[i, j]:.5f})"
                         for i, j in pairs[:_NAMED])
        more = f" and {len(pairs) - _NAMED} more pairs" if len(pairs) > _NAMED else ""
        return [_odd(
            "collinear", f"covariates are nearly the same, by their correlation: {told}{more}",
            "their slopes are not identifiable: leave one of each pair out",
            [names[d] for d in np.unique(pairs)], len(pairs), joint="; ",
            effect="which of them moves the map is left to the prior")]
    values, vectors = np.linalg.eigh(correlation)
    null = values <= _DEPENDENT
    # More dependencies than that are a surface in a space of more dimensions, and meant.
    if not 1 <= null.sum() <= _DEPENDENCIES:
        return []
    together = (np.abs(vectors[:, null]) > 0.05).any(1)
    return [_odd(
        "collinear", f"{_listed(names, together)} together linearly dependent (as shares that add "
        "up to one are)", "their slopes are not identifiable; leave one of them out",
        np.array(names)[together], int(together.sum()),
        "which of them moves the map is left to the prior")]
