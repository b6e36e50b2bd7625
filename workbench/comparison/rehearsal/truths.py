"""One imagined truth: drawn, observed, learnt from again, and set against what was learnt."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping

import numpy as np
import xarray as xr

from workbench.comparison.rehearsal.beside import set_beside
from workbench.comparison.rehearsal.pits import among, broken, rate_draws
from workbench.comparison.rehearsal.resolutions import Resolution, skill
from workbench.comparison.rehearsal.start import Kind
from workbench.evaluation import covered_by_pit
from workbench.evaluation.tasks import Outcome, attempt, fitted
from workbench.labelled.imagined import imagine
from workbench.schema import aggregation

LEVELS = (0.5, 0.8, 0.9, 0.95)
BINS, PLACES = 20, 100
#: Quantities of the whole field that are ranked, free of hyperparameters.
QUANTITIES = ("overall mean", "spread", "spread inside areas", "largest")


@dataclasses.dataclass
class Truth(Outcome):
    """How one truth was found again; arrays are None if the fit failed.

    Parameters
    ----------
    number : int
        Which truth.
    hyperparameters, estimates : str
        True and learnt values by name, as JSON.
    pixel_covered, area_covered : array (level,)
        Shares of individuals' rates and of areas' parameters inside their central intervals.
    pixel_ranks : array (bin,)
        Histogram of the PIT of all individuals' rates, as a density.
    pixel_bias, pixel_width, area_bias, area_width : float
        Means of u - 1/2 and of (u - 1/2)² - 1/12 of their PIT u, zero under calibration.
    places : array (place,)
        PIT of some individuals' rates, the same ones in all truths.
    areas : array (area,)
        PIT of the areas' parameters.
    quantities : array (quantity,)
        PIT of `QUANTITIES`.
    skill, correlation : array (resolution,)
        See `workbench.comparison.rehearsal.resolutions`.
    beside_skill : array (map, resolution)
        Of the simple maps, see `workbench.comparison.rehearsal.beside`.
    beside_covered : array (map, level)
        Shares of individuals' rates inside intervals of the simple maps.
    candidate, weights : str
        Of a mixture: which of its models the truth was drawn from, and the weights that it gave to
        them, as JSON.
    """

    number: int
    hyperparameters: str = ""
    estimates: str = ""
    pixel_covered: np.ndarray | None = None
    area_covered: np.ndarray | None = None
    pixel_ranks: np.ndarray | None = None
    pixel_bias: float = float("nan")
    pixel_width: float = float("nan")
    area_bias: float = float("nan")
    area_width: float = float("nan")
    places: np.ndarray | None = None
    areas: np.ndarray | None = None
    quantities: np.ndarray | None = None
    skill: np.ndarray | None = None
    correlation: np.ndarray | None = None
    beside_skill: np.ndarray | None = None
    beside_covered: np.ndarray | None = None
    candidate: str = ""
    weights: str = ""


def rehearse_one(number: int, kind: Kind, refit, ds: xr.Dataset, posterior: bool,
                 partitions: list[Resolution], samples: int, seed: int) -> Truth:
    """Draw a truth, fit to its totals, and compare.

    Parameters
    ----------
    number : int
        Which truth; with the seed it says which draw.
    kind : Kind
        What the truth is drawn from.
    refit : LabelledModel
        What is fitted to its totals.
    ds : xr.Dataset
        The user's bagged dataset.
    posterior : bool
        Whether the truth is drawn given the dataset's values.
    partitions : list of Resolution
        Where skill is wanted.
    samples : int
        Draws of each fit.
    seed : int

    Returns
    -------
    Truth
        With the error if anything failed.
    """
    done = Truth(number, candidate=kind.name)
    drawing, sampling, breaking = np.random.SeedSequence([seed, number]).generate_state(3)
    with attempt(done):
        imagined = imagine(kind.model, ds, kind.values, int(drawing >> 1), posterior)
        done.hyperparameters = imagined["truth"].attrs["hyperparameters"]
        fit = fitted(refit, imagined, done)
        if kind.name:
            done.weights = json.dumps({name: one["weight"] for name, one in
                                       fit.hyperparameters.items()})
        else:
            done.estimates = json.dumps({name: one["value"] if isinstance(one, Mapping) else one
                                         for name, one in fit.hyperparameters.items()})
        _compare(done, fit, imagined, partitions, samples, int(sampling >> 1), int(breaking))
    return done


def some_places(individuals: int, seed: int) -> np.ndarray:
    """Which individuals are ranked one by one: up to `PLACES`, the same in every truth."""
    drawn = np.random.default_rng(seed).permutation(individuals)[:PLACES]
    return np.sort(drawn)


def _compare(done: Truth, fit, imagined: xr.Dataset, partitions: list[Resolution], samples: int,
             seed: int, breaking: int) -> None:
    truth, jitter = imagined["truth"].values, np.random.default_rng(breaking)
    below, equal, summed = (np.zeros(truth.size) for _ in range(3))
    totals, whole = [], []
    for rates in rate_draws(fit.at(imagined, area_effect=True), imagined, samples, seed):
        below += (rates < truth).sum(0)
        equal += (rates == truth).sum(0)
        summed += rates.sum(0)
        totals.append(_totals(rates, imagined))
        whole.append(_quantities(rates, imagined))
    pixel = broken(below, equal, samples, jitter)
    done.areas = among(np.concatenate(totals), _totals(truth[None], imagined), jitter)
    done.quantities = among(np.concatenate(whole), _quantities(truth[None], imagined), jitter)
    done.places = pixel[some_places(truth.size, 0)]
    done.pixel_covered = covered_by_pit(pixel, LEVELS).mean(1)
    done.area_covered = covered_by_pit(done.areas, LEVELS).mean(1)
    done.pixel_ranks = np.histogram(pixel, BINS, (0, 1))[0] * BINS / pixel.size
    done.pixel_bias, done.pixel_width = _departure(pixel)
    done.area_bias, done.area_width = _departure(done.areas)
    found = [skill(one, truth, summed / samples, imagined) for one in partitions]
    done.skill, done.correlation = np.array(found, dtype=float).reshape(-1, 2).T.copy()
    done.beside_skill, done.beside_covered = set_beside(
        imagined, partitions, LEVELS, samples, seed, jitter)


def _departure(pit: np.ndarray) -> tuple[float, float]:
    return float(pit.mean() - 0.5), float(((pit - 0.5)**2).mean() - 1 / 12)


def _totals(rates: np.ndarray, ds: xr.Dataset) -> np.ndarray:
    """Parameters of areas (s, B): expected totals, or weighted means."""
    weight, starts = ds["weight"].values, _starts(ds)
    sums = np.add.reduceat(rates * weight, starts, axis=1)
    return sums if aggregation(ds) == "sum" else sums / np.add.reduceat(weight, starts)


def _quantities(rates: np.ndarray, ds: xr.Dataset) -> np.ndarray:
    """`QUANTITIES` of fields (s, quantity)."""
    weight, starts = ds["weight"].values, _starts(ds)
    heavy = np.add.reduceat(weight, starts)
    inside = np.add.reduceat(rates * weight, starts, axis=1) / heavy
    mean = (inside @ heavy / heavy.sum())[:, None]
    variance = ((rates - mean)**2) @ weight / weight.sum()
    between = ((inside - mean)**2) @ heavy / heavy.sum()
    return np.column_stack([mean[:, 0], np.sqrt(variance),
                            np.sqrt(np.maximum(variance - between, 0)), rates.max(1)])


def _starts(ds: xr.Dataset) -> np.ndarray:
    """First individual of each area: they are sorted by area, and no area is empty."""
    return np.flatnonzero(np.diff(ds["membership"].values, prepend=-1))
