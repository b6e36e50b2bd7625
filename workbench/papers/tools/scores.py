"""Scores of one fit as Law et al. take them: plugged-in likelihoods, and coverage of true rates."""

from __future__ import annotations

import numpy as np
import xarray as xr

from workbench.evaluation.accuracy import poisson_nll
from workbench.gp.models.baselines.scores import bag_nll
from workbench.labelled import Fit, to_source
from workbench.papers.tools.base import Row

LEVELS = (0.7, 0.75, 0.8, 0.85, 0.9, 0.95)


def individual_scores(fit: Fit, ds: xr.Dataset) -> Row:
    """Scores of the fine map where the truth is known.

    Returns
    -------
    dict
        ``nll`` and ``nll_stirling``: observed individual counts at the predicted mean, nats per
        individual; ``mse``: of the mean against the true rate; ``cover_70`` ... ``cover_95``: share
        of true rates inside the central interval of the rate (NaN for point predictions).

    References
    ----------
    Law et al. 2018, section 4.1 and figure 1.
    """
    prediction = fit.at(ds)
    mean, truth = prediction.mean.values, ds["truth"].values
    row: Row = {"mse": float(np.mean((mean - truth) ** 2))}
    if "individual_value" in ds and ds["individual_value"].attrs.get("kind") == "count":
        counts, expected = ds["individual_value"].values, mean * ds["weight"].values
        row["nll"] = poisson_nll(counts, expected)
        row["nll_stirling"] = poisson_nll(counts, expected, "stirling")
    point = bool((prediction.variance.values == 0).all())
    for level in LEVELS:
        inside = float("nan")
        if not point:
            low, high = (bound.values for bound in prediction.interval(level))
            inside = float(np.mean((low <= truth) & (truth <= high)))
        row[f"cover_{100 * level:.0f}"] = inside
    return row


def bag_scores(fit: Fit, ds: xr.Dataset, prefix: str = "bag") -> Row:
    """Negative log-likelihood of bags at the predicted mean, and squared error of totals.

    Returns
    -------
    dict
        ``{prefix}_nll``, ``{prefix}_nll_stirling``: nats per bag; ``{prefix}_log_mse``: of log
        max(total, 1), as in the paper's code for malaria.
    """
    nll = bag_nll(fit.inner, to_source(ds))
    totals = fit.over(ds).mean.values
    squared = (np.log(np.maximum(totals, 1)) - np.log(np.maximum(ds["value"].values, 1))) ** 2
    return {f"{prefix}_nll": nll.exact, f"{prefix}_nll_stirling": nll.stirling,
            f"{prefix}_log_mse": float(np.mean(squared))}


def learning(fit: Fit) -> Row:
    """How the fit went: objective, steps, convergence, hyperparameters."""
    values = {name: np.ravel(entry["value"]) for name, entry in fit.hyperparameters.items()}
    row: Row = {"objective": fit.objective, "steps": float(len(fit.history)),
                "converged": float(fit.converged)}
    for name, value in values.items():
        if len(value) == 1:
            row[f"learnt {name}"] = float(value[0])
    return row
