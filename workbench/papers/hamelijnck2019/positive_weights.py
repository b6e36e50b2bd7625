"""Weights of the network as W or as exp(W), and which predicts better."""

from __future__ import annotations

import numpy as np
import pandas as pd
import xarray as xr

from workbench.datasets import load_sources
from workbench.evaluation.accuracy import rmse
from workbench.papers.hamelijnck2019 import sources_scores as scores
from workbench.papers.tools.base import Experiment, Row, Settings
from workbench.papers.tools.running import frame

FINE, COARSE = "pm25", "pm10"
HOURS, GAPS, SEEDS = (2, 5, 10, 24), 5, 10
ONE = "one task"
PLAIN, POSITIVE = "gp", "exp"
#: Scores that are compared, by run.
SCORES = ("of_constant", "crps", "cover_reading")
_NOTES = (
    "The same data, kernels and starts for both: Matérn 3/2 for f (rbf for one task), rbf for W; "
    "with exp(W) the variance of f is learnt, too. PM2.5 in a gap of two days from PM10 in means "
    "of hours, five gaps at Marylebone Road, 2002; one task: points and means of threes of "
    "5 sin(x)^2 with noise 0.5, ten seeds. 'of_constant' is the RMSE of readings relative to that "
    "of the mean of all readings of the fine source. The paper says that exp(W) can improve "
    "prediction and prints no numbers.")


def problem(case: str, seed: int) -> tuple[dict[str, xr.Dataset], xr.Dataset, str]:
    """Sources, held-out readings and kernel of f of a case.

    Parameters
    ----------
    case : str
        "2 h" and the like, the hours that the coarse pollutant is a mean of; or "one task".
    seed : int
        Which gap, or which data set.
    """
    if case == ONE:
        tree, names = load_sources("dependent-sources", seed=seed), ("points", "aggregates")
    else:
        tree, names = load_sources("marylebone", hours=int(case.split()[0]), gap=seed), (
            FINE, COARSE)
    return (scores.sources_of(tree, *names), tree["target"].to_dataset(),
            "rbf" if case == ONE else "matern32")


def flat_error(data: dict[str, xr.Dataset], observed: np.ndarray) -> float:
    """RMSE of the mean of the first source's readings, as a prediction of others (n,)."""
    known = next(iter(data.values()))["value"].values
    return rmse(observed, np.full(len(observed), known.mean()))


def _score(settings: Settings) -> Row:
    data, target, kernel = problem(settings["case"], settings["seed"])
    fit = scores.fitted("mr-gprn", {"kernel": kernel, "weights": settings["weights"]}, data)
    row = scores.reading_scores(fit, target)
    return (row | {"of_constant": row["rmse"] / flat_error(data, target["value"].values)}
            | scores.learnt(fit))


def cases(preset: str) -> list[tuple[str, int]]:
    """Cases with their seeds, of a preset."""
    if preset == "quick":
        return [(ONE, 0)]
    return [*((f"{hours} h", gap) for gap in range(GAPS) for hours in HOURS),
            *((ONE, seed) for seed in range(SEEDS))]


def _runs(preset: str) -> list[Settings]:
    return [{"case": case, "seed": seed, "weights": weights}
            for case, seed in cases(preset) for weights in (PLAIN, POSITIVE)]


def differences(runs: pd.DataFrame, score: str) -> pd.DataFrame:
    """Score under exp(W) less that under W, of the same data: mean, sem and count by case.

    Parameters
    ----------
    runs : DataFrame
        Settings and scores of runs.
    score : str
        Column of it.

    Returns
    -------
    DataFrame
        By case: ``mean``, ``sem``, ``count``, and in how many data sets exp(W) has the lower score
        (``lower``).

    Examples
    --------
    >>> import pandas as pd
    >>> runs = pd.DataFrame({"case": "a", "seed": [0, 0, 1, 1], "weights": ["gp", "exp"] * 2,
    ...                      "crps": [3.0, 2.0, 3.0, 3.5]})
    >>> differences(runs, "crps").loc["a", ["mean", "lower"]].tolist()
    [-0.25, 1.0]
    """
    wide = runs.pivot(index=["case", "seed"], columns="weights", values=score)
    gap = (wide[POSITIVE] - wide[PLAIN]).groupby("case", sort=False)
    return gap.agg(["mean", "sem", "count"]).assign(lower=gap.agg(lambda v: int((v < 0).sum())))


def across_hours(runs: pd.DataFrame, score: str) -> pd.Series:
    """The same of the two pollutants: of each gap the mean over hours, then over gaps.

    Parameters
    ----------
    runs, score
        As of `differences`.

    Returns
    -------
    Series
        ``mean``, ``sem`` and ``count``, of gaps.
    """
    wide = runs[runs["case"] != ONE].pivot(
        index=["case", "seed"], columns="weights", values=score)
    each = (wide[POSITIVE] - wide[PLAIN]).groupby("seed").mean()
    return each.agg(["mean", "sem", "count"])


def one_task(runs: pd.DataFrame, score: str) -> pd.Series:
    """The same of the one task, over data sets; arguments as of `differences`."""
    return differences(runs, score).loc[ONE, ["mean", "sem", "count"]]


def _table(results: xr.Dataset) -> pd.DataFrame:
    """Means by case and weights, and exp(W) less W with its standard error."""
    runs = frame(results)
    shown = [s for s in (*SCORES, "rmse_truth", "cover_truth", "objective", "converged", "seconds")
             if s in runs]
    table = runs.groupby(["case", "weights"], sort=False)[shown].mean()
    table["runs"] = runs.groupby(["case", "weights"], sort=False).size()
    for score in SCORES[:2]:
        gap = differences(runs, score)
        table[f"{score}: exp less gp"] = [
            f"{gap.loc[case, 'mean']:+.3f} ± {gap.loc[case, 'sem']:.3f}" if weights == POSITIVE
            else "" for case, weights in table.index]
    return table


POSITIVE_WEIGHTS = Experiment(
    "positive-weights", "The network's weights as W or as exp(W)",
    "Hamelijnck et al. 2019, section 3.3 and appendix A.5", _runs, _score, _table, {}, _NOTES)
