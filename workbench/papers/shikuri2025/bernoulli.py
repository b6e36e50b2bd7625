"""Proportions of Bernoulli observations against variational inference with the probit likelihood.

Table 4 has the Bernoulli likelihood, no experiment of the paper does. A smooth truth f and
successes with probability Φ(f) at random places: the proportions of cells by their sample
quasi-likelihood, beside the variational GP of every single observation (complete VI), and of every
observation moved to its cell's centre (summarised VI).
"""

from __future__ import annotations

import time
import warnings

import numpy as np
import pandas as pd
import xarray as xr

from workbench.bagging import as_singleton_bags, move_to_centres
from workbench.evaluation import coverage
from workbench.labelled import QuasiLikelihoodGP, VBAgg
from workbench.papers.shikuri2025.statistics import made
from workbench.papers.tools.base import Experiment, Row, Settings
from workbench.papers.tools.running import frame

MODELS = ("summaries", "complete VI", "summarised VI")
_INDUCING = 60


def surveys(bagged: xr.Dataset) -> xr.Dataset:
    """Every observation of zero or one as a survey of one participant.

    Parameters
    ----------
    bagged : xr.Dataset
        With ``individual_value`` of zeros and ones.

    Returns
    -------
    xr.Dataset
        A bag for each individual, with one trial.
    """
    single = as_singleton_bags(bagged)
    value = single["value"].assign_attrs(kind="count", aggregation="mean", units="positives")
    return single.assign(value=value, trials=("bag", np.ones(single.sizes["bag"])))


def _score(settings: Settings) -> Row:
    cells = settings["cells"]
    areas, points = made("bernoulli, proportion", settings["per_cell"] * cells**2, cells,
                         settings["seed"])
    started = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if settings["model"] == "summaries":
            fit = QuasiLikelihoodGP(kernel="rbf", likelihood="bernoulli", nugget=0.0,
                                    boundary="half").fit(areas)
        else:
            seen = points if settings["model"] == "complete VI" else move_to_centres(points)
            fit = VBAgg(kernel="rbf", likelihood="binomial", link="probit", inducing=_INDUCING,
                        overdispersion="none", nugget=0.0, compress=0).fit(surveys(seen))
    prediction, f = fit.latent(points), points["truth"].values
    seconds = time.process_time() - started
    held = coverage(f, prediction.sample(400, seed=0).values, (0.8, 0.95))
    away = prediction.mean.values - f
    return {"rmse": float(np.sqrt(np.mean(away**2))), "bias": float(np.mean(away)),
            "cover_80": float(held[0]), "cover_95": float(held[1]), "cpu_seconds": seconds,
            "lengthscale": fit.hyperparameters["rbf.lengthscale"]["value"]}


def _runs(preset: str) -> list[Settings]:
    quick = preset == "quick"
    return [{"model": model, "per_cell": per_cell, "cells": cells, "seed": seed}
            for cells in ((5,) if quick else (5, 10)) for per_cell in ((5,) if quick else (5, 20))
            for seed in range(1 if quick else 10) for model in MODELS]


def _table(results: xr.Dataset) -> pd.DataFrame:
    """Mean over the seeds and standard error of the RMSE, by cells and observations per cell."""
    runs = frame(results)
    groups = runs.groupby(["cells", "per_cell", "model"], sort=False)
    table = groups[["rmse", "bias", "cover_80", "cover_95"]].mean()
    table.insert(1, "standard_error", groups["rmse"].sem())
    table["cpu_seconds"] = groups["cpu_seconds"].median()
    return table


BERNOULLI = Experiment(
    "summary-bernoulli", "Proportions against variational inference with the probit likelihood",
    "Shikuri 2025, table 4", _runs, _score, _table, {},
    "RMSE and coverage of f at the observations' places; truth with lengthscale 2 on a square of "
    "side 10, 5 x 5 cells of side 2 or 10 x 10 of side 1. Cells with no success, or nothing else, "
    "are moved inside by half an event. Variational inference has 60 inducing inputs.")
