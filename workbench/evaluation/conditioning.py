"""Draws of areas given the total of their group: what a model fitted to groups says of the areas.

Coarsen: merge areas into groups that remember the areas. Recover: draw what each area holds, all
areas of a group jointly, so that every draw adds up to the group's known total.
"""

from __future__ import annotations

import inspect
import math

import numpy as np
import xarray as xr

from workbench.bagging import merge
from workbench.bagging.recurring import OF_INDIVIDUALS, remembered
from workbench.checks import NotExact, require
from workbench.evaluation.folding import subset
from workbench.evaluation.units import BUDGET
from workbench.schema import AREA, BAG, INDIVIDUAL, aggregation, kind

_GROUP = "recovery_group"
_NEEDED = ("covariates", "weight", "membership", "value", "noise_variance", "sample_variance",
           "trials")
_MOST = 500_000_000         # events that numpy draws hypergeometrically


def bare(ds: xr.Dataset) -> xr.Dataset:
    """What models learn from alone: covariates, weights, membership, values, x, y, areas over time.

    There are no outlines, no truth, no fine values.
    """
    ds = remembered(ds)
    kept = ds[[name for name in _NEEDED if name in ds]].reset_coords(drop=True)
    for name in ("x", "y", OF_INDIVIDUALS):
        if name in ds.coords:
            kept = kept.assign_coords({name: ds[name].variable})
    kept.attrs = {n: v for n, v in ds.attrs.items() if n in ("title", "crs")}
    return kept


def coarsen(ds: xr.Dataset, groups: np.ndarray) -> xr.Dataset:
    """Merge areas into groups; each individual keeps the position of its area.

    Parameters
    ----------
    ds : xr.Dataset
        Bagged dataset, `bare`.
    groups : int array (bag,)
        Group of each area, numbered from 0.

    Returns
    -------
    xr.Dataset
        Groups as bags, in the order of their numbers; coordinate ``area_position`` (individual).

    Raises
    ------
    InputError
        If the values cannot be merged: positives out of trials, or medians.
    """
    require("trials" not in ds, "positives out of trials of areas cannot be drawn given those of "
            "their union: how many were tested where is known, but not who was positive")
    width = len(str(groups.max()))
    names = np.array([f"group {g:0{width}d}" for g in groups])
    ds = _with_noise_of_individuals(ds)
    marked = ds.assign_coords({_GROUP: (BAG, names), AREA: (INDIVIDUAL, ds["membership"].values)})
    return merge(marked, _GROUP).drop_vars(_GROUP)


def _with_noise_of_individuals(ds: xr.Dataset) -> xr.Dataset:
    """With the part of each individual in the noise of its area's value, where that is known.

    What the total of a group has too much or too little then falls on its areas by how imprecise
    each of them is.
    """
    if "noise_variance" not in ds:
        return ds
    members, weight = ds["membership"].values, ds["weight"].values
    part = weight / np.bincount(members, weights=weight)[members]
    squares = np.bincount(members, weights=(
        part if aggregation(ds) == "mean" else np.ones(members.size))**2)
    return ds.assign(individual_noise_variance=(
        INDIVIDUAL, (ds["noise_variance"].values / squares)[members]))


def area_draws(fit, merged: xr.Dataset, samples: int, seed: int, by: str = AREA
               ) -> tuple[np.ndarray, str]:
    """Joint draws of the values of areas given the values of their groups.

    A fit with ``sample(ds, n, preserve_totals=True, seed=...)`` is asked for them, for sums over
    areas at once where it takes ``by``. Otherwise its ``simulate(ds, unit="individual", ...)``,
    added up to areas, is conditioned on the total of the group: counts by leaving out events at
    random where a draw has too many (exact: Poisson counts given their rates and total are
    multinomial) and adding events by the draw's own shares where it has too few (one event more is
    shared by weight, so that no area is impossible; such draws are a little too wide); other values
    by the linear update of conditional simulation, with the covariances of the draws.

    Parameters
    ----------
    fit : Fit
        Fitted to ``merged``.
    merged : xr.Dataset
        From `coarsen`.
    samples, seed : int
    by : str
        Coordinate of the individuals: position of what is drawn, by default of their areas.

    Returns
    -------
    draws : array (samples, areas)
        Totals of the areas, or their weighted means.
    how : str
        "sample" or "simulate", whichever was used; "simulate" if that was for any part.
    """
    areas = int(merged[by].values.max()) + 1
    out, how = np.empty((samples, areas)), set()
    for number, part in enumerate(_pieces(merged, max(1, BUDGET // samples))):
        positions, values, way = _one_piece(fit, part, samples, seed + number, by)
        out[:, positions] = values
        how.add(way)
    return out, max(how)        # in the alphabet the approximate way is the last


def _pieces(ds: xr.Dataset, most: int):
    ends = np.cumsum(np.bincount(ds["membership"].values)) - 1
    piece = ends // most
    numbers = np.unique(piece)
    for number in numbers:
        yield ds if numbers.size == 1 else subset(ds, piece == number)


def _one_piece(fit, part: xr.Dataset, samples: int, seed: int, by: str):
    positions, local = np.unique(part[by].values, return_inverse=True)
    weight = np.bincount(local, weights=part["weight"].values)
    group = np.empty(positions.size, dtype=np.int64)
    group[local] = part["membership"].values
    mean = aggregation(part) == "mean"
    areas, how = _drawn_by_area(fit, part, samples, seed, by), "sample"
    if areas is None:
        values, how = _individual_draws(fit, part, samples, seed)
        if mean:
            values = values * part["weight"].values
        order = np.argsort(local, kind="stable")
        starts = np.searchsorted(local[order], np.arange(positions.size))
        areas = np.add.reduceat(values[:, order], starts, axis=1)
        areas = areas / weight if mean else areas
    total = part["value"].values
    share = weight / np.bincount(group, weights=weight)[group]
    if how == "sample":
        _check_totals(areas, group, total, share if mean else np.ones(share.size))
        return positions, areas, how
    rng = np.random.default_rng(seed)
    whole = kind(part) == "count" and not mean and bool((areas == np.floor(areas)).all()) and (
        areas.min() >= 0)
    for g in range(total.size):
        mine = np.flatnonzero(group == g)
        areas[:, mine] = (
            _counts_given_total(areas[:, mine], total[g], share[mine], rng) if whole else
            _values_given_total(areas[:, mine], total[g], share[mine], mean))
    return positions, areas, how


def _drawn_by_area(fit, part: xr.Dataset, samples: int, seed: int, by: str
                   ) -> np.ndarray | None:
    """Draws (sample, area) in ascending order of areas; None of a fit that has none of groups."""
    if "by" not in inspect.signature(getattr(fit, "sample", object)).parameters:
        return None
    try:
        drawn = fit.sample(part, samples, preserve_totals=True, by=by, seed=seed)
    except NotExact:
        return None
    return np.asarray(drawn.values, dtype=float)


def _individual_draws(fit, part: xr.Dataset, samples: int, seed: int) -> tuple[np.ndarray, str]:
    if hasattr(fit, "sample"):
        try:
            drawn = fit.sample(part, samples, preserve_totals=True, seed=seed)
            return np.asarray(drawn.transpose(..., INDIVIDUAL).values, dtype=float), "sample"
        except NotExact:
            pass
    drawn = fit.simulate(part, unit="individual", samples=samples, seed=seed)
    return np.array(drawn.transpose(..., INDIVIDUAL).values, dtype=float), "simulate"


def _check_totals(areas: np.ndarray, group: np.ndarray, total: np.ndarray, factor: np.ndarray
                  ) -> None:
    summed = np.zeros((areas.shape[0], total.size))
    np.add.at(summed.T, group, (areas * factor).T)
    off = ~(np.abs(summed - total).max(0) <= 1e-4 * np.maximum(1, np.abs(total)))
    if off.any():
        raise RuntimeError(f"sample(preserve_totals=True) does not preserve {int(off.sum())} of "
                           f"{total.size} totals (or draws are not finite)")


def _counts_given_total(counts: np.ndarray, total: float, share: np.ndarray,
                        rng: np.random.Generator) -> np.ndarray:
    """Whole counts (sample, area) so that every draw adds up to the total."""
    wanted = math.ceil(total)       # of units worth a little less than one, if it is not whole
    drawn = counts.sum(1)
    if max(drawn.max(), wanted) > _MOST:        # chance is nothing beside so many events
        return total * (counts + share) / (drawn + 1)[:, None]
    out, many = counts.astype(np.int64), drawn > wanted
    if many.any():
        out[many] = _thinned(out[many], wanted, rng)
    few = drawn < wanted
    if few.any():
        chance = (counts[few] + share) / (drawn[few] + 1)[:, None]
        chance /= chance.sum(1, keepdims=True)
        out[few] += rng.multinomial((wanted - drawn[few]).astype(np.int64), chance)
    return out if wanted == total else out * (total / wanted)


def _thinned(counts: np.ndarray, wanted: int, rng: np.random.Generator) -> np.ndarray:
    """Keep so many of the events of each draw, chosen at random (multivariate hypergeometric)."""
    kept = np.empty_like(counts)
    rest, left = counts.sum(1), np.full(len(counts), wanted)
    for area in range(counts.shape[1]):
        rest = rest - counts[:, area]
        kept[:, area] = rng.hypergeometric(counts[:, area], rest, left)
        left = left - kept[:, area]
    return kept


def _values_given_total(values: np.ndarray, total: float, share: np.ndarray, mean: bool
                        ) -> np.ndarray:
    """Continuous values (sample, area): linear update, exact for jointly normal draws."""
    factor = share if mean else np.ones(share.size)
    summed = values @ factor
    centred = summed - summed.mean()
    spread = centred @ centred
    scale = np.abs(values).max() + 1e-300
    if spread > 1e-24 * scale**2 * len(values):
        gain = centred @ (values - values.mean(0)) / spread
    else:                                       # a model that is sure of the total
        gain = np.ones(share.size) if mean else share
    return values + (total - summed)[:, None] * gain
