"""Whether one model is better than another over the same data sets."""

from __future__ import annotations

from itertools import combinations

import pandas as pd
from scipy.stats import wilcoxon

from workbench.checks import require


def signed_rank(runs: pd.DataFrame, score: str, by: list[str]) -> pd.DataFrame:
    """Two-sided signed-rank tests of every pair of models, exact up to 50 sets without ties.

    Parameters
    ----------
    runs : DataFrame
        One row per model and data set, with the column ``model``.
    score : str
        Column that is compared; lower is better.
    by : list of str
        Columns that tell data sets apart: a pair is compared on those that both have.

    Returns
    -------
    DataFrame
        ``better``, ``worse``, ``difference`` (median of worse - better), ``sets``, ``p``. With few
        data sets p cannot be small: five give 1/16 at least. Data sets must be independent: those
        of one seed of the swiss roll are not.

    References
    ----------
    Law et al. 2018, section 4.1: signed-rank permutation tests.
    """
    repeated = runs.duplicated([*by, "model"])
    require(not repeated.any(), f"{int(repeated.sum())} runs are of a model and data set that "
            "others are of, too; choose one of each first")
    wide = runs.pivot(index=by, columns="model", values=score)
    require(wide.shape[1] > 1, "a comparison needs at least two models")
    rows = []
    for one, other in combinations(wide.columns, 2):
        difference = (wide[other] - wide[one]).dropna()
        if difference.empty:
            continue
        better, worse = (one, other) if difference.median() >= 0 else (other, one)
        p = 1.0 if (difference == 0).all() else float(wilcoxon(difference, method="auto").pvalue)
        rows.append({"better": better, "worse": worse, "difference": abs(difference.median()),
                     "sets": len(difference), "p": p})
    return pd.DataFrame(rows)
