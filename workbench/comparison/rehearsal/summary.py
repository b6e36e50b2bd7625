"""Truths that were found again, summed up: coverage, hyperparameters, resolutions and ranks.

Truths are the independent unit: individuals and areas of one truth share its field, so that all
Monte Carlo errors are over truths.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

import numpy as np
import xarray as xr
from scipy import stats

from workbench.comparison.rehearsal.resolutions import Resolution
from workbench.comparison.rehearsal.truths import BINS, LEVELS, QUANTITIES, Truth

UNITS = ("individuals", "areas")
_DEPARTURES = (("pixel", "individuals"), ("area", "areas"))


def summarise(done: Sequence[Truth], partitions: Sequence[Resolution], positive: Mapping[str, bool],
              threshold: float, beside: Sequence[str]) -> xr.Dataset:
    """All that the finished truths say.

    Parameters
    ----------
    done : sequence of Truth
        At least one of them without an error.
    partitions : sequence of Resolution
        As of the truths' skill.
    positive : mapping of str to bool
        Hyperparameters that were learnt, and which of them as a logarithm.
    threshold : float
        Skill from which a resolution counts as identifiable.
    beside : sequence of str
        Names of the simple maps.

    Returns
    -------
    xr.Dataset
        See `workbench.rehearse`.
    """
    good = [one for one in sorted(done, key=lambda one: one.number) if not one.error]
    out = xr.Dataset(coords={"truth": [one.number for one in good], "level": list(LEVELS),
                             "unit": list(UNITS), "quantity": list(QUANTITIES)})
    out = out.assign(_coverage(good)).assign(_skill(good, partitions, threshold))
    out = out.assign(_hyperparameters(good, positive)).assign(_ranks(good))
    if beside:
        out = out.assign(_beside(good, beside))
    if good[0].candidate:
        out = out.assign(_candidates(good))
    return out.assign(
        true_hyperparameters=("truth", np.array([one.hyperparameters for one in good], str)),
        note=("truth", np.array([one.note for one in good], str)),
        seconds=("truth", [one.seconds for one in good],
                 {"units": "s", "long_name": "time to fit"}))


def _coverage(good: list[Truth]) -> dict:
    """Shares inside intervals of individuals and of areas."""
    inside = np.array([[one.pixel_covered, one.area_covered] for one in good])
    units = np.array([len(good[0].places), len(good[0].areas)])[:, None]
    return _shares("coverage", "unit", inside, units)


def _shares(name: str, dim: str, inside: np.ndarray, units: np.ndarray | int) -> dict:
    """Means over truths; their errors are no smaller than of independent units."""
    count, level = len(inside), np.array(LEVELS)
    mean = inside.mean(0)
    least = np.sqrt(level * (1 - level) / (count * units))
    spread = inside.std(0, ddof=1) / np.sqrt(count) if count > 1 else np.full(mean.shape, np.nan)
    error = stats.t.ppf(0.975, max(count - 1, 1)) * np.maximum(spread, least)
    dims = (dim, "level")
    return {name: (dims, mean, {"long_name": "share of truths inside the interval"}),
            f"{name}_lower": (dims, np.clip(mean - error, 0, 1)),
            f"{name}_upper": (dims, np.clip(mean + error, 0, 1)),
            f"{name}_by_truth": (("truth", *dims), inside)}


def _beside(good: list[Truth], names: Sequence[str]) -> dict:
    """Skill and coverage of the simple maps; NaN of one that failed on any truth."""
    skill = np.array([one.beside_skill for one in good])        # (truth, map, resolution)
    ours = np.array([one.skill for one in good])[:, None]
    nearer = np.where(np.isfinite(skill), ours > skill, np.nan)
    dims = ("map", "resolution")
    return {"map": ("map", list(names)),
            "beside_skill": (dims, np.median(skill, 0), {"long_name": "median skill over truths"}),
            "beside_skill_by_truth": (("truth", *dims), skill),
            "nearer": (dims, nearer.mean(0), {
                "long_name": "share of truths in which the model has more skill"})
            } | _shares("beside_coverage", "map", np.array([one.beside_covered for one in good]),
                        len(good[0].places))


def _candidates(good: list[Truth]) -> dict:
    """Of a mixture: what truths were drawn from, and the weights that were found."""
    found = [json.loads(one.weights) for one in good]
    names = list(dict.fromkeys(name for one in found for name in one))
    return {"candidate": ("truth", np.array([one.candidate for one in good], str)),
            "model": ("model", np.array(names, str)),
            "weight": (("truth", "model"), np.array(
                [[one.get(name, 0.0) for name in names] for one in found]))}


def _skill(good: list[Truth], partitions: Sequence[Resolution], threshold: float) -> dict:
    skill = np.array([one.skill for one in good])
    correlation = np.array([one.correlation for one in good])
    reached = (skill >= threshold).sum(0)
    ends = [stats.binomtest(int(k), len(good)).proportion_ci(method="wilson") for k in reached]
    at = [stats.scoreatpercentile(skill, q, axis=0) for q in (25, 50, 75)]
    dims = "resolution"
    return {"skill": (dims, at[1], {"long_name": "median skill over truths"}),
            "skill_lower": (dims, at[0], {"long_name": "lower quartile of skill"}),
            "skill_upper": (dims, at[2], {"long_name": "upper quartile of skill"}),
            "correlation": (dims, np.median(correlation, 0)),
            "reached": (dims, reached / len(good),
                        {"long_name": f"share of truths with a skill of at least {threshold:g}"}),
            "reached_lower": (dims, [end.low for end in ends]),
            "reached_upper": (dims, [end.high for end in ends]),
            "skill_by_truth": (("truth", dims), skill),
            "resolution": (dims, [one.name for one in partitions]),
            "cells": (dims, [int(one.cell.max()) + 1 for one in partitions]),
            "per_cell": (dims, [one.cell.size / (int(one.cell.max()) + 1) for one in partitions],
                         {"long_name": "individuals per cell"}),
            "inside": (dims, [one.inside for one in partitions])}


def _hyperparameters(good: list[Truth], positive: Mapping[str, bool]) -> dict:
    """Learnt less true values, of logarithms where they are positive."""
    names, errors = [], []
    for name, logs in positive.items():
        pairs = [(json.loads(one.estimates).get(name), json.loads(one.hyperparameters).get(name))
                 for one in good]
        if any(None in pair for pair in pairs):         # a mixture has no values of its own
            continue
        learnt, true = (np.atleast_2d(np.array(side, dtype=float).T)
                        for side in zip(*pairs, strict=True))
        errors += list(np.log(learnt) - np.log(true) if logs else learnt - true)
        names += [name] if len(learnt) == 1 else [f"{name}[{i}]" for i in range(len(learnt))]
    values = np.array(errors, dtype=float).reshape(len(names), len(good))
    dims, spread = "hyperparameter", np.full(len(names), np.nan)
    if len(good) > 1:
        spread = values.std(1, ddof=1) / np.sqrt(len(good))
    return {"error": ((dims, "truth"), values,
                      {"long_name": "learnt less true, of the logarithm where on_log"}),
            "bias": (dims, values.mean(1)), "bias_error": (dims, spread),
            "rmse": (dims, np.sqrt((values**2).mean(1))),
            "on_log": (dims, [positive[name.partition("[")[0]] for name in names]),
            "hyperparameter": (dims, np.array(names, dtype=str))}


def _ranks(good: list[Truth]) -> dict:
    """PIT values, and tests of their uniformity.

    Of a quantity that every truth has once, Kolmogorov and Smirnov's, whose band the ECDF leaves
    where it rejects. Of individuals and areas, which share a field, t-tests over truths of the
    mean (bias) and of the spread (width) of their PIT.
    """
    ranks = np.array([one.quantities for one in good])
    names = [f"rank of {name}" for name in QUANTITIES]
    p = [float(stats.kstest(column, "uniform").pvalue) for column in ranks.T]
    statistic = []
    for short, unit in _DEPARTURES:
        for what in ("bias", "width"):
            values = np.array([getattr(one, f"{short}_{what}") for one in good])
            names.append(f"{what} of {unit}")
            p.append(_t_test(values))
            statistic.append(values.mean())
    return {"rank": (("truth", "quantity"), ranks, {"long_name": "PIT of the true value"}),
            "place_rank": (("truth", "place"), np.array([one.places for one in good])),
            "area_rank": (("truth", "area"), np.array([one.areas for one in good])),
            "rank_density": (("truth", "bin"), np.array([one.pixel_ranks for one in good]),
                             {"long_name": "density of the PIT of all individuals"}),
            "bin": ("bin", (np.arange(BINS) + 0.5) / BINS),
            "test": ("test", names), "p_value": ("test", p),
            "departure": ("test", [np.nan] * len(QUANTITIES) + statistic,
                          {"long_name": "mean of u - 1/2, or of (u - 1/2)² - 1/12"})}


def _t_test(values: np.ndarray) -> float:
    """Two-sided p of a mean of zero; NaN where there is no spread to compare with."""
    if values.size < 2 or not values.std() > 0:
        return float("nan")
    return float(stats.ttest_1samp(values, 0).pvalue)
