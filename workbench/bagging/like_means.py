"""Values that look like means or rates and are given as totals: told, never changed.

Totals grow with the weight of their areas; means and rates do not, or by much less. All can be
false alarms, as of what is far more frequent in small places.
"""

from __future__ import annotations

import numpy as np
import xarray as xr

from workbench import schema
from workbench.bagging.findings import Finding, suspicious
from workbench.checks import option

_PEOPLE = ("person", "people", "inhabitant", "resident", "population")
# Share of the values that are not whole, of rates: to one decimal every tenth is, to halves and
# thirds more are.
_MOSTLY = 0.5
_SAME = 0.1             # of the largest weight: areas that differ by less say nothing of growth
_SMALL = 1_000.0        # rates stay below it, per hundred or per thousand
_FEW_AREAS = 10         # below which nothing is said of values beside weights
_FEW_VALUES = 5         # below which nothing is said of how values are distributed
_UNEQUAL, _EVEN = 0.4, 0.35     # log-sd of weights that differ; of it, that of means at most
_NEARLY_EQUAL = 0.1     # the same share beside weights that are no people
# Beside km² of very different areas. A total is a density times an area: its log-sd can be the
# share r of that of the areas only where the density falls as areas grow, so closely that the size
# explains 1 - r² of it (97 % here): borders drawn to have as many people each. Of incomes per
# head of US states (1969 to 2009) r is 0.12 to 0.15, of life expectancies of countries 0.07; of
# real counts 0.35 (deaths in Korean neighbourhoods), 0.36 (people in tracts of New York and
# Boston), 0.44 (deaths in Korean districts), 1.0 and more (provinces of Italy, US states, counties
# of Georgia). Products per head of Mexican states, 0.37 to 0.52, cannot be told from such counts.
# Real counts can be as alike as means where borders are drawn so that all areas have nearly as many
# people: residents and votes of districts of the US Congress, of British constituencies and of
# the statistical areas of a census (LSOAs). Nothing in the numbers distinguishes these, so the
# message names them. Few events in each such area differ by chance alone, as in a Poisson
# distribution, which for 14 is a log-sd of 0.27, less than 0.17 of 2: of these nothing is said.
_VERY_UNEQUAL, _ALIKE = 0.8, 0.17
_DRAWN = (" ({} are as alike only where borders were drawn to have as many people each, as of "
          "constituencies)")
_CHANCE, _LEAST = 2.5, 0.001    # most variance by mean, and least probability, of Poisson counts
_GROUND = ("km²", "km2", "m²", "m2", "ha", "pixels")
_RARE = 10.0            # median below which counts may be alike as nearly all are ones and twos
_HALF = 0.5             # the same share of what does not depend on people at all
_DIFFER = 0.1           # log-sd of weights beside which totals cannot be all the same
_FLAT = 0.4             # change of log values for one of log weights, of rates at most


def fractional(ds: xr.Dataset, value: np.ndarray, total: np.ndarray) -> list[Finding]:
    """Counts of which most are not whole, that do not grow in proportion to the weight."""
    broken = value != np.round(value)
    if value.size < _FEW_VALUES or broken.mean() < _MOSTLY or value.max() >= _SMALL:
        return []
    # Counts grow with the population, even where they are estimates; rates do not, or by much less,
    # as the share of graduates, which is higher in large towns.
    from scipy.stats import spearmanr  # half a second that pages need not wait for

    # Temperatures do by their ranks, as cells of a grid in degrees are larger where it is warm.
    positive = min(value.min(), total.min()) > 0
    less = positive and (
        np.log(value).std() <= _EVEN * np.log(total).std()
        or of_people(ds) and np.log(value).std() < np.log(value / total).std())
    if np.ptp(total) > _SAME * total.max() and spearmanr(value, total).statistic > 0.5 and not less:
        return []
    return [suspicious(
        "rates", f"{int(broken.sum())} of {value.size} counts are not whole, all are below "
        f"{_SMALL:,.0f} (from {value.min():.3g} to {value.max():.3g}), and they do not grow "
        "in proportion to the weight: they look like rates or percentages", "If they are, multiply "
        f"them by the population, or say {option('aggregation', 'mean')}",
        ds[schema.BAG].values[broken], int(broken.sum()),
        "rates are split over the pixels as if they were counts", ". ")]


def even(ds: xr.Dataset, value: np.ndarray, total: np.ndarray) -> list[Finding]:
    """Values that are nearly the same in areas of very different weights, such as incomes."""
    people, units = of_people(ds), str(ds["weight"].attrs.get("units", ""))
    if not people and (not _of_ground(ds) or np.median(value) < _RARE):
        return []
    if not _beside(value, total, _UNEQUAL if people else _VERY_UNEQUAL):
        return []
    if np.log(value).std() > (_EVEN if people else _ALIKE) * np.log(total).std():
        return []
    if not people and _by_chance(value):
        return []
    weights, like = f"whose {units} differ", "means or rates"
    if not people:
        weights = f"whose sizes in {units} differ"
        like += _DRAWN.format("counts")
    return [suspicious(
        "rates", f"the values hardly differ between areas (from {value.min():,.4g} to "
        f"{value.max():,.4g}), {weights} far more (from {total.min():,.4g} to "
        f"{total.max():,.4g}): they look like {like}", "If they are, "
        f"say {option('aggregation', 'mean')}",
        ds[schema.BAG].values, value.size,
        "means are split over the pixels as if they were counts", ". ")]


def flat(ds: xr.Dataset, value: np.ndarray, total: np.ndarray) -> list[Finding]:
    """Whole numbers that do not grow with populations at all, such as cases per 100,000.

    Where they differ by more than populations they are counts of what is rare in large places;
    where that is so by as much as it takes to hide all growth, nobody can tell.
    """
    beside = of_people(ds) and _beside(value, total, _UNEQUAL)
    if not beside or (value != np.round(value)).mean() > _MOSTLY:
        return []
    from scipy.stats import linregress

    logs, people = np.log(value), np.log(total)
    found = linregress(people, logs)
    level = abs(found.slope) < 2 * found.stderr and found.slope + 2 * found.stderr < _FLAT
    if not level or logs.std() > people.std():
        return []
    units = ds["weight"].attrs["units"]
    return [suspicious(
        "rates", f"the values do not grow with the {units} of their areas (from "
        f"{value.min():,.4g} to {value.max():,.4g}, of {units} from {total.min():,.4g} to "
        f"{total.max():,.4g}): they look like rates, or like cases of what is far more frequent in "
        "small places", f"If they are rates, say {option('aggregation', 'mean')}",
        ds[schema.BAG].values, value.size,
        "rates are split over the pixels as if they were counts", ". ")]


def measured(ds: xr.Dataset, value: np.ndarray, total: np.ndarray) -> list[Finding]:
    """Continuous totals that do not grow with the weight of their areas, such as temperatures.

    Of one sign they are the same but for little in areas of very different weights. Beside
    populations they may differ by more, and be of both signs, if their size does not depend on
    these at all. Products of regions and balances of land are none of these: they differ by more.
    """
    if value.size < _FEW_AREAS or not (total > 0).all():
        return []
    from scipy.stats import linregress

    some = np.isfinite(value) & (value != 0)        # as a temperature in whole degrees may be
    size, weights = np.log(np.abs(value[some])), np.log(total[some])
    spread, one_sign = np.log(total).std(), value.min() >= 0 or value.max() <= 0
    if some.sum() < _FEW_AREAS or spread < _DIFFER:
        return []
    # Tracts of as many people each differ little in their totals, and much in their size.
    beyond = _ALIKE if _of_ground(ds) and spread >= _VERY_UNEQUAL else _NEARLY_EQUAL
    share = _EVEN if of_people(ds) else beyond
    if not (one_sign and some.all() and size.std() <= share * spread):
        # What has nothing to do with people, as land, differs as much as they do.
        if not of_people(ds) or spread < _UNEQUAL or one_sign and size.std() > _HALF * spread:
            return []
        found = linregress(weights, size)
        if abs(found.slope) > 2 * found.stderr or found.slope + 2 * found.stderr >= _FLAT:
            return []
    if not of_people(ds) and _by_chance(value):
        return []
    units = str(ds["weight"].attrs.get("units", "")) or "weight"
    hedge = "" if of_people(ds) else _DRAWN.format("sums")
    return [suspicious(
        "rates", f"the values do not grow with the {units} of their areas (from "
        f"{value.min():,.4g} to {value.max():,.4g}, of {units} from {total.min():,.4g} to "
        f"{total.max():,.4g}): they look like means, as temperatures are{hedge}, and are taken for "
        "sums", f"If they are means, say {option('aggregation', 'mean')}",
        ds[schema.BAG].values, value.size, "means are split over the pixels as if they were sums",
        ". ")]


def of_people(ds: xr.Dataset) -> bool:
    """Whether the weight counts people, by its units."""
    units = str(ds["weight"].attrs.get("units", "")).lower()
    return any(word in units for word in _PEOPLE)


def _of_ground(ds: xr.Dataset) -> bool:
    """Whether the weight is the size of the areas, by its units."""
    return str(ds["weight"].attrs.get("units", "")) in _GROUND


def _by_chance(value: np.ndarray) -> bool:
    """Whether whole numbers differ as Poisson counts of one expectation do: by chance alone.

    Means differ by less than that, as temperatures in kelvin, or by far more, as incomes.
    """
    if (value != np.round(value)).any() or value.min() < 0:
        return False
    from scipy.stats import chi2

    dispersion, others = value.var(ddof=1) / value.mean(), value.size - 1
    return bool(chi2.ppf(_LEAST, others) / others <= dispersion <= _CHANCE)


def _beside(value: np.ndarray, total: np.ndarray, unequal: float) -> bool:
    """Whether values can be set beside weights, which differ by as much."""
    return bool(value.size >= _FEW_AREAS and (value > 0).all() and (total > 0).all()
                and np.log(total).std() >= unequal)
