"""Tables of the experiments of Shikuri 2025."""

from __future__ import annotations

import pandas as pd
from tables import digits, experiment, percent, pick, results, summary

from workbench.papers.status import shikuri2025 as status

KERNELS = {"matern12": "Laplacian", "rbf": "Gaussian"}
DUELS = [("paper's summaries", "paper's summarised VI"),
         ("ours, white noise as there", "our summarised VI"),
         ("ours, white noise as there", "GPy's summarised VI"),
         ("ours without", "our summarised VI"),
         ("ours without", "GPy's summarised VI")]
OUTPUTS = ["MedInc", "HouseAge", "AveRooms", "AveBedrms", "Population", "AveOccup", "MedValue"]


@experiment("granularity-toy")
def granularity_toy() -> pd.DataFrame:
    """Bounds beside the measured error, at three numbers of areas."""
    raw = summary("granularity-toy")
    raw = raw[raw.index.get_level_values("areas").isin([5, 15, 40])]
    raw.index = [f"{KERNELS.get(kernel, kernel)}, θ = {theta:g}, {areas:.0f} areas"
                 for kernel, theta, areas in raw.index]
    return pick(raw, None, {
        "η, κ as the paper searches it": ("eta_search", digits(3)),
        "η, κ exact": ("eta", digits(3)), "certificate η'": ("certificate", digits(3)),
        "direct certificate": ("direct", digits(3)), "prior RMS": ("rms", digits(3)),
        "measured RMSE": ("rmse", digits(3))}, "kernel, lengthscale, areas")


@experiment("california-grids")
def california_grids() -> pd.DataFrame:
    """Distance from the map of complete data, by the cells' size, beside the paper's values."""
    raw = summary("california-grids").drop(columns="trials")
    names = {"PAPER": "paper", "flat": "flat map", "natural": "ours, natural values",
             "logarithms": "ours, converged"}
    raw = raw[raw.index.get_level_values("reading").isin(names)]
    raw.index = [f"{output}, {kernel}: {names[reading]}" for output, kernel, reading in raw.index]
    return pick(raw, None, {size: (size, digits(2)) for size in raw.columns}, "RMSE, cells of")


def california(grid: float) -> pd.DataFrame:
    """RMSE of Tables 3 and 5 by output and likelihood, NaN where a fit failed."""
    return status.california(results(), grid)


@experiment("california-prediction")
def california_prediction(grid: float = 0.4) -> pd.DataFrame:
    """One row for each output, Normal / Poisson, with standard errors of two trials or more."""
    raw, error = california(grid), status.california(results(), grid, "rmse_sem")
    text = raw.map(lambda v: "–" if pd.isna(v) else f"{v:.3f}")
    text += error.map(lambda v: "" if pd.isna(v) else f" ± {v:.3f}")
    pairs = text.xs("normal", level=1) + " / " + text.xs("poisson", level=1)
    return pairs.loc[OUTPUTS].rename_axis("output, Normal / Poisson")


@experiment("california-prediction", "california-duels")
def duels() -> pd.DataFrame:
    """In how many rows summaries are ahead of summarised VI, level, and behind, on both grids."""
    out = {}
    for one, other in DUELS:
        for grid in (0.4, 0.8):
            out[f"{one}, against {other}", f"{grid}°"] = "{}, {}, {}".format(
                *status.duel(results(), grid, one, other))
    return pd.Series(out).unstack(sort=False).rename_axis("ahead, level, behind")


@experiment("summary-bernoulli")
def summary_bernoulli() -> pd.DataFrame:
    """Proportions beside variational inference on every observation."""
    raw = summary("summary-bernoulli")
    raw.index = [f"{cells} × {cells} cells, {count} a cell: {model}"
                 for cells, count, model in raw.index]
    return pick(raw, None, {
        "RMSE": ("rmse", digits(3)), "± standard error": ("standard_error", digits(3)),
        "80 % intervals cover, %": ("cover_80", percent),
        "95 % intervals cover, %": ("cover_95", percent),
        "processor time, s": ("cpu_seconds", digits(2))}, "cells, observations: model")


@experiment("quasi-likelihood-forms")
def quasi_likelihood_forms() -> pd.DataFrame:
    """Distance from the posterior under the likelihood."""
    raw = summary("quasi-likelihood-forms")
    names = {"quasi": "quasi-likelihood", "sample": "sample quasi-likelihood"}
    raw.index = [f"{case}, {count} a cell: {names[form]}" for case, count, form in raw.index]
    return pick(raw, None, {
        "distance of means": ("distance", digits(3)),
        "± standard error": ("distance_error", digits(3)),
        "ratio of sds": ("spread", digits(3)), "log evidence, per cell": ("evidence", digits(3)),
        "± its standard error": ("evidence_error", digits(3)),
        "95 % intervals cover, %": ("cover", percent)}, "observations: form")


@experiment("summary-statistics")
def summary_statistics() -> pd.DataFrame:
    """Coverage and bias by the number of observations a cell."""
    raw = summary("summary-statistics").xs("half", level="boundary")
    raw.index = [f"{case}, {count} a cell" for case, count in raw.index]
    return pick(raw, None, {
        "RMSE": ("rmse", digits(3)), "bias": ("bias", digits(2)),
        "80 % intervals cover, %": ("cover_80", percent),
        "95 % intervals cover, %": ("cover_95", percent)}, "statistic, observations")
