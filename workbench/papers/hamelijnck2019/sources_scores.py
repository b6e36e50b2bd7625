"""Scores of predictions from several sources: readings that were held out, and the truth."""

from __future__ import annotations

import warnings
from collections.abc import Mapping

import numpy as np
import pandas as pd
import xarray as xr

from workbench.checks import require
from workbench.evaluation.accuracy import rmse
from workbench.evaluation.calibration import coverage
from workbench.evaluation.scoring import crps
from workbench.labelled import make_model
from workbench.labelled.several import SourcesFit
from workbench.labelled.sources import Several
from workbench.papers.tools.base import Row
from workbench.papers.tools.scores import learning

_DRAWS = 1000


def sources_of(tree: xr.DataTree, *names: str) -> dict[str, xr.Dataset]:
    """Sources of a tree by name, the one that predictions are about first."""
    return {name: tree[f"sources/{name}"].to_dataset() for name in names}


def fitted(model: str, options: Mapping, data: Several, trust: Mapping[str, float] | None = None
           ) -> SourcesFit:
    """A fit of a model by its registry name.

    Warnings are left to the table: it has the share of fits that converged.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return make_model(model, **options).fit(data, trust=trust)


def error_scores(observed: np.ndarray, predicted: np.ndarray) -> Row:
    """Errors of point predictions of readings (n,).

    Returns
    -------
    dict
        ``rmse``, ``mse``; ``mape``, the mean of |error / reading|, which readings near zero rule
        and one of exactly zero makes infinite; ``wape``, the sum of |error| over that of |reading|.
    """
    error = np.abs(predicted - observed)
    require(bool(observed.any()), "all readings are zero, so that no relative error can be taken")
    with np.errstate(divide="ignore", invalid="ignore"):
        relative = np.where(error == 0, 0.0, error / np.abs(observed))
    root = rmse(observed, predicted)
    return {"rmse": root, "mse": root**2, "mape": float(relative.mean()),
            "wape": float(error.sum() / np.abs(observed).sum())}


def reading_draws(fit: SourcesFit, target: xr.Dataset) -> np.ndarray:
    """Draws (sample, n) of what the first source would read at the target, noise included."""
    return fit.simulate(target, unit="individual", samples=_DRAWS).values


def reading_scores(fit: SourcesFit, target: xr.Dataset, draws: np.ndarray | None = None) -> Row:
    """Scores of held-out readings of the first source's task, and where it is known of the truth.

    Parameters
    ----------
    fit : SourcesFit
        A fit to one source or several.
    target : xr.Dataset
        Singletons with ``value``, perhaps with ``truth``.
    draws : array (sample, n), optional
        From `reading_draws`, where they are there already.

    Returns
    -------
    dict
        See `error_scores`; ``crps`` and ``cover_reading`` (95 %) of the predictive distribution
        with the source's noise; ``rmse_truth`` and ``cover_truth`` (95 %) of the field.
    """
    draws = reading_draws(fit, target) if draws is None else draws
    observed, dist = target["value"].values, fit.at(target)
    row = error_scores(observed, dist.mean.values) | {
        "crps": float(crps(observed, draws).mean()),
        "cover_reading": float(coverage(observed, draws, [0.95])[0])}
    if "truth" in target:
        truth = target["truth"].values
        low, high = (end.values for end in dist.interval(0.95))
        row |= {"rmse_truth": rmse(truth, dist.mean.values),
                "cover_truth": float(np.mean((low <= truth) & (truth <= high)))}
    return row


def learnt(fit: SourcesFit) -> Row:
    """See `learning`; and the weight of each source's likelihood."""
    weights = fit.composite_weights
    return learning(fit) | {f"weight {name}": float(w) for name, w in zip(
        weights["source"].values, weights.values, strict=True)}


def spread(groups, name: str, digits: int = 2) -> pd.Series:
    """Mean and standard deviation of a column over each group, as text."""
    mean, sd = groups[name].mean(), groups[name].std()
    return pd.Series({key: f"{mean[key]:.{digits}f}" + (
        f" ± {sd[key]:.{digits}f}" if np.isfinite(sd[key]) else "") for key in mean.index})
