"""What covariates can teach: where they extrapolate, and which ones cannot be told apart."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import xarray as xr

from workbench import schema
from workbench.bagging.findings import NOTE, WARNING, Finding
from workbench.bagging.odd_covariates import whole_classes
from workbench.checks import option

HIGH_INFLATION = 10.0       # of variances: covariates that the others nearly determine
HIGH_CONDITION = 30.0       # Belsley, Kuh and Welsch 1980
MUCH = 0.5                  # share of the weight, or of the areas, that is worth a warning
PER_COVARIATE, ENOUGH = 5, 10       # areas for each covariate: too few; enough
_LEAST = 3                  # areas below which nothing is said of ranges
_NAMED = 5


@dataclass(frozen=True)
class Ranges:
    """How one covariate varies inside areas, beside between them.

    Parameters
    ----------
    name : str
        The covariate.
    between : float
        Range of the areas' weighted means.
    wider : int
        Areas inside which it ranges more widely than that.
    beyond : float
        Share of the weight where it is lower or higher than any area's mean.
    """

    name: str
    between: float
    wider: int
    beyond: float


def ranges(ds: xr.Dataset) -> list[Ranges]:
    """Ranges of every covariate inside areas and between them.

    Parameters
    ----------
    ds : xr.Dataset
        Bagged dataset.

    Returns
    -------
    list of Ranges
        One for each covariate.
    """
    means, weight = _means(ds), ds["weight"].values
    member = ds["membership"].values
    starts = np.searchsorted(member, np.arange(ds.sizes[schema.BAG]))
    found = []
    for d, name in enumerate(ds[schema.COVARIATE].values):
        column = ds["covariates"].values[:, d].astype(float)
        low, high = means[:, d].min(), means[:, d].max()
        inside = np.maximum.reduceat(column, starts) - np.minimum.reduceat(column, starts)
        room = 1e-9 * max(abs(low), abs(high), 1e-300)
        out = (column < low - room) | (column > high + room)
        found.append(Ranges(str(name), high - low, int((inside > high - low + room).sum()),
                            float(weight[out].sum() / weight.sum())))
    return found


def extrapolating(ds: xr.Dataset) -> list[Finding]:
    """Covariates that range more widely inside areas than areas differ.

    Parameters
    ----------
    ds : xr.Dataset
        Bagged dataset.

    Returns
    -------
    list of Finding
        A warning for those that do so in half the areas or for half the weight, a note for others.
    """
    areas = ds.sizes[schema.BAG]
    if areas < _LEAST:
        return []
    wide = [one for one in ranges(ds) if one.wider]
    much = [one for one in wide if one.wider > MUCH * areas or one.beyond > MUCH]
    found = []
    for chosen, severity in ((much, WARNING), ([o for o in wide if o not in much], NOTE)):
        if chosen:
            told = ", ".join(f"{one.name} (in {one.wider} of {areas}; {one.beyond:.0%} of the "
                             "weight beyond all means)" for one in chosen[:_NAMED])
            more = f", and {len(chosen) - _NAMED} more" if len(chosen) > _NAMED else ""
            found.append(Finding(
                "extrapolation", "ranges more widely inside areas than areas' means differ: "
                f"{told}{more}",
                "use smaller areas, leave it out, or hold it at the areas' range by "
                f"{option('extrapolation', 'clamp')}; compare with the split by weight",
                where=tuple(one.name for one in chosen), count=len(chosen), severity=severity,
                effect="the map extends to places unlike any area what was seen between areas"))
    return found


def inflation(table: np.ndarray) -> tuple[np.ndarray, float]:
    """Variance inflation factor of each column, and the condition number of all together.

    Parameters
    ----------
    table : np.ndarray (row, column)
        No column constant; more rows than columns.

    Returns
    -------
    factors : np.ndarray (column,)
        One over the share of a column's variance that the others do not explain.
    condition : float
        Largest over smallest singular value of the standardised columns.
    """
    standard = (table - table.mean(0)) / table.std(0)
    singular, axes = np.linalg.svd(standard / np.sqrt(len(table)), full_matrices=False)[1:]
    least = max(float(singular[0]), 1e-300) * 1e-8
    singular = np.maximum(singular, least)
    return ((axes / singular[:, None]) ** 2).sum(0), float(singular[0] / singular[-1])


def inseparable(ds: xr.Dataset, known: tuple[str, ...] = ()) -> list[Finding]:
    """Covariates whose areas' means the others nearly determine.

    Parameters
    ----------
    ds : xr.Dataset
        Bagged dataset.
    known : tuple of str
        Covariates that were found constant or collinear already.

    Returns
    -------
    list of Finding
        One warning, or none.
    """
    means, names = _means(ds), ds[schema.COVARIATE].values.astype(str)
    known = (*known, *whole_classes(means, names.tolist()).values())
    of = "areas' means"
    if len(means) < means.shape[1] + 2:
        means, of = ds["covariates"].values.astype(float), "individuals"
    moving = (means.std(0) > 1e-9 * np.abs(means).max(0)) & ~np.isin(names, known)
    if moving.sum() < 2 or len(means) < moving.sum() + 2:
        return []
    factors, condition = inflation(means[:, moving])
    names, high = names[moving], factors > HIGH_INFLATION
    if not high.any() and condition <= HIGH_CONDITION:
        return []
    order = np.argsort(-factors)[:max(_NAMED, 2)]
    told = ", ".join(f"{names[d]} ({min(factors[d], 1e6):.3g})" for d in order
                     if high[d] or not high.any())
    return [Finding(
        "inseparable", f"covariates nearly determine each other, by the {of}: variance inflation "
        f"{told}; condition number {min(condition, 1e6):.3g}",
        "leave out all but one of those that say the same, or join them into one",
        where=tuple(names[high] if high.any() else names), severity=WARNING,
        count=int(high.sum()) or len(names),
        effect="their slopes are known jointly but not one by one; differences inside areas may "
               "follow the wrong one")]


def many_for_areas(ds: xr.Dataset) -> list[Finding]:
    """Few areas for many covariates, and few areas at all.

    Parameters
    ----------
    ds : xr.Dataset
        Bagged dataset.

    Returns
    -------
    list of Finding
        At most one.
    """
    areas, covariates = ds.sizes[schema.BAG], ds.sizes[schema.COVARIATE]
    if areas >= ENOUGH and areas >= ENOUGH * covariates:
        return []
    few = areas < ENOUGH or areas < PER_COVARIATE * covariates
    return [Finding(
        "few-areas", f"{areas} areas for {covariates} covariates" if covariates else
        f"{areas} areas", "use smaller areas, or fewer covariates; compare with the split by "
        "weight", count=areas, severity=WARNING if few else NOTE,
        effect="slopes rest much on the priors, and nothing can test the map inside areas" if few
        else f"fewer than {ENOUGH} areas for each covariate: slopes are known roughly")]


def _means(ds: xr.Dataset) -> np.ndarray:
    """Weighted means of the covariates over each area (area, covariate)."""
    member, weight, areas = ds["membership"].values, ds["weight"].values, ds.sizes[schema.BAG]
    total = np.bincount(member, weight, areas)
    table = ds["covariates"].values.astype(float)
    return np.column_stack([np.bincount(member, weight * column, areas) / total
                            for column in table.T]) if table.shape[1] else np.empty((areas, 0))
