"""Means, medians and proportions of simulated observations: where quasi-likelihoods hold.

A smooth truth, observations of four likelihoods at random places, summaries by grid cells. With
few observations per cell the likelihood of f is flat or has no mode inside (a cell of zeros):
assumption 5.3 fails, and the treatments of such cells can be compared.
"""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import xarray as xr

from workbench.bagging import bag_grid, from_table, summarise
from workbench.evaluation import coverage
from workbench.labelled import QuasiLikelihoodGP
from workbench.papers.tools.base import Experiment, Row, Settings
from workbench.papers.tools.running import frame

#: Likelihood of the observations: statistic, likelihood of the model, and g.
CASES = {
    "normal, mean": ("mean", "normal"),
    "poisson, mean": ("mean", "poisson"),
    "bernoulli, proportion": ("proportion", "bernoulli"),
    "laplace, median": ("median", "laplace"),
    "laplace, mean": ("mean", "normal"),
}
EXTENT = ((0.0, 10.0), (0.0, 10.0))
_LENGTHSCALE, _SCALE = 2.0, 1.0     # of the truth, and of the normal and Laplace observations
_FEATURES = 400


def truth(x: np.ndarray, seed: int) -> np.ndarray:
    """A draw of a Gaussian process with an RBF kernel at places (n, 2), by random features."""
    rng = np.random.default_rng(seed)
    frequency = rng.normal(0, 1 / _LENGTHSCALE, (2, _FEATURES))
    phase, weight = rng.uniform(0, 2 * np.pi, _FEATURES), rng.normal(size=_FEATURES)
    return np.sqrt(2 / _FEATURES) * np.cos(x @ frequency + phase) @ weight


def observe(case: str, f: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Observations of a case at f."""
    from scipy.stats import norm

    return {"normal": lambda: rng.normal(f, _SCALE), "poisson": lambda: rng.poisson(np.exp(f)),
            "bernoulli": lambda: rng.binomial(1, norm.cdf(f)),
            "laplace": lambda: rng.laplace(f, _SCALE)}[case.split(",")[0]]().astype(float)


def made(case: str, n: int, cells: int, seed: int) -> tuple[xr.Dataset, xr.Dataset]:
    """Summaries of ``n`` observations in ``cells`` x ``cells`` cells, and the bagged points."""
    rng = np.random.default_rng((seed, n))
    x = rng.uniform(0, 10, (n, 2))
    f = truth(x, seed)
    table = pd.DataFrame({"x": x[:, 0], "y": x[:, 1], "v": observe(case, f, rng), "f": f})
    points = from_table(table, [], "v", x="x", y="y", truth="f", aggregation="mean",
                        kind="continuous")
    bagged = bag_grid(points, (cells, cells), extent=EXTENT)
    return summarise(bagged, CASES[case][0]), bagged


def _score(settings: Settings) -> Row:
    case, cells = settings["case"], settings["cells"]
    areas, points = made(case, settings["per_cell"] * cells**2, cells, settings["seed"])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fit = QuasiLikelihoodGP(kernel="rbf", likelihood=CASES[case][1], nugget=0.0,
                                boundary=settings["boundary"]).fit(areas)
    prediction, f = fit.latent(points), points["truth"].values
    draws = prediction.sample(400, seed=0).values
    edge = fit.inner.state.likelihood.at_boundary(
        fit.inner.state.source.targets.value)
    held = coverage(f, draws, (0.8, 0.95))
    return {"rmse": float(np.sqrt(np.mean((prediction.mean.values - f) ** 2))),
            "bias": float(np.mean(prediction.mean.values - f)),
            "sd": float(prediction.std.values.mean()), "cover_80": float(held[0]),
            "cover_95": float(held[1]), "at_boundary": float(edge.double().mean()),
            "lengthscale": fit.hyperparameters["rbf.lengthscale"]["value"]}


def _runs(preset: str) -> list[Settings]:
    quick = preset == "quick"
    return [{"case": case, "per_cell": per_cell, "cells": cells, "boundary": boundary, "seed": seed}
            for case in CASES for per_cell in ((20,) if quick else (2, 5, 20, 100))
            for cells in ((6,) if quick else (10,))
            for boundary in (("half",) if quick or case.split(",")[0] not in (
                "poisson", "bernoulli") else ("half", "drop"))
            for seed in range(1 if quick else 5)]


def _table(results: xr.Dataset) -> pd.DataFrame:
    """Mean over the seeds, by case, treatment and observations per cell."""
    runs = frame(results)
    groups = runs.groupby(["case", "boundary", "per_cell"])
    return groups[["rmse", "bias", "sd", "cover_80", "cover_95", "at_boundary"]].mean()


STATISTICS = Experiment(
    "summary-statistics", "Means, medians and proportions of simulated observations",
    "Shikuri 2025, assumptions 5.2 and 5.3 (no such experiment there)", _runs, _score, _table, {},
    "RMSE and coverage of f at the observations' places; truth with lengthscale 2 on a square of "
    "side 10, cells of side 1. 'laplace, mean' summarises Laplace observations by means: right on "
    "average, but less sure than the median.")
