"""Landmarks of VBAgg that are held beside landmarks that are learnt, on the swiss roll."""

from __future__ import annotations

import warnings

import pandas as pd
import xarray as xr

from workbench.datasets import load
from workbench.labelled import VBAgg
from workbench.papers.tools.base import Experiment, Row, Settings
from workbench.papers.tools.running import frame
from workbench.papers.tools.scores import individual_scores, learning

HELD, LEARNT = "held", "learnt"
LANDMARKS, SEEDS = (15, 30), 5
_OPTIONS = {"kernel": "rbf", "link": "square", "bound": "taylor", "overdispersion": "none",
            "nugget": 0.0}
_NOTES = (
    "VBAgg-Sq on the data of figure 1 (middle), n = 100 bags of 150 individuals (sd 50), five "
    "repetitions. Landmarks start at k-means++ seeds among the individuals and are held there, as "
    "in the paper's experiments, or are then moved with the hyperparameters by L-BFGS on the "
    "same bound. The paper says that landmarks might be learnt, and prints no numbers.")


def _score(settings: Settings) -> Row:
    train = load("swiss-roll", fold="train", n_bags=settings["n_bags"],
                 mean_size=settings["mean_size"], size_std=settings["size_std"],
                 seed=settings["seed"])
    model = VBAgg(**_OPTIONS, inducing=settings["landmarks"], inducing_inputs=settings["where"])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")         # whether it converged is a column
        fit = model.fit(train)
    return individual_scores(fit, train) | learning(fit)


def _runs(preset: str) -> list[Settings]:
    quick = preset == "quick"
    n, size, spread = (30, 30, 10) if quick else (100, 150, 50)
    return [{"n_bags": n, "mean_size": size, "size_std": spread, "landmarks": count, "seed": seed,
             "where": where}
            for seed in range(1 if quick else SEEDS) for count in LANDMARKS[:1 if quick else 2]
            for where in (HELD, LEARNT)]


def differences(runs: pd.DataFrame, score: str) -> pd.DataFrame:
    """Score of learnt landmarks less that of held ones, of the same data.

    Parameters
    ----------
    runs : DataFrame
        Settings and scores of runs.
    score : str
        Column of it.

    Returns
    -------
    DataFrame
        By number of landmarks: ``mean``, ``sem``, ``count``.

    Examples
    --------
    >>> import pandas as pd
    >>> runs = pd.DataFrame({"landmarks": 15, "seed": [0, 0, 1, 1], "mse": [3.0, 2.0, 3.0, 3.5],
    ...                      "where": ["held", "learnt"] * 2})
    >>> differences(runs, "mse").loc[15, "mean"].item()
    -0.25
    """
    wide = runs.pivot(index=["landmarks", "seed"], columns="where", values=score)
    return (wide[LEARNT] - wide[HELD]).groupby("landmarks").agg(["mean", "sem", "count"])


def _table(results: xr.Dataset) -> pd.DataFrame:
    """Means by number of landmarks, and learnt less held with its standard error."""
    runs = frame(results)
    scores = ["nll_stirling", "mse", "cover_95", "objective", "converged", "seconds"]
    groups = runs.groupby(["landmarks", "where"])
    table = groups[scores].mean().assign(repetitions=groups.size())
    for score in ("nll_stirling", "mse"):
        gap = differences(runs, score)
        table[f"{score}: learnt less held"] = [
            f"{gap.loc[count, 'mean']:+.4f} ± {gap.loc[count, 'sem']:.4f}" if where == LEARNT
            else "" for count, where in table.index]
    return table


LEARNT_LANDMARKS = Experiment(
    "learnt-landmarks", "Swiss roll: landmarks held, or learnt with the hyperparameters",
    "Law et al. 2018, section 3.1", _runs, _score, _table, {}, _NOTES)
