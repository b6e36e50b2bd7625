"""Elevators: control of an aircraft, individuals with 16 covariates, bagged by one of them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import xarray as xr

from workbench.bagging import bag_along, from_table
from workbench.checks import choose, require
from workbench.datasets.downloads import locate

FOLDS = {"train": 0.7, "val": 0.1, "estop": 0.1, "test": 0.1}
COLUMNS = (
    "climbRate", "Sgz", "p", "q", "curRoll", "absRoll", "diffClb", "diffRollRate", "diffDiffClb",
    "SaTime1", "SaTime2", "SaTime3", "SaTime4", "diffSaTime1", "diffSaTime2", "diffSaTime3",
    "diffSaTime4", "Sa",
)
NEARLY_CONSTANT = ("diffSaTime2", "diffSaTime4")
SORTED_BY = "diffRollRate"
SHA256 = {"data.csv.gz": "e39bc18a80ec3611e4fd76d0f86ee377e96ba21b568b9997576d538dafe56b7b"}
URLS = {"data.csv.gz": "https://raw.githubusercontent.com/treforevans/uci_datasets/master/"
                       "uci_datasets/elevators/data.csv.gz"}
_LOWEST = 1.2                # label
_RANGE = (0.12, 0.78)       # of a tenth of the labels, which is scaled to 0 to 1


def load(
    directory: str | Path | None = None,
    fold: str = "train",
    mean_size: float = 50,
    size_std: float = 25,
    seed: int = 0,
    download: bool = False,
    aggregation: str = "sum",
) -> xr.Dataset:
    """Elevators (real): 16,599 states of an aircraft and its elevator, scaled to 0 to 1.

    Individuals are split at random, sorted by the difference of roll rates, and cut into bags of
    random size; columns that hardly vary are dropped. Labels are stored as centred logarithms and
    are brought back to their 61 levels.

    Parameters
    ----------
    directory : str or Path, optional
        Folder with ``data.csv.gz`` or the one above it; ``WORKBENCH_DATA`` if not given.
    fold : {"train", "val", "estop", "test"}
        70, 10, 10 and 10 % of the individuals.
    mean_size, size_std : float
        Moments of the bag sizes, in individuals.
    seed : int
        Seed of the split and of the sizes.
    download : bool
        Fetch the file once from its public repository when there is no directory.
    aggregation : {"sum", "mean"}
        Whether a bag's value is the sum of its individuals' labels or their mean.

    Returns
    -------
    xr.Dataset
        Covariates are standardised by the train fold; ``truth`` is the label itself, for no noise
        is added.

    References
    ----------
    Law et al. 2018, appendix H.2, after their code; the data: UCI repository by way of
    ``uci_datasets`` (MIT licence).
    """
    choose("fold", fold, FOLDS)
    folder = locate("elevators", SHA256, directory, URLS, download)
    table = pd.read_csv(folder / "data.csv.gz", header=None)
    require(table.shape[1] == len(COLUMNS) + 1,
            f"expected {len(COLUMNS) + 1} columns in data.csv.gz, got {table.shape[1]}")
    table.columns = [*COLUMNS, "label"]
    levels = _LOWEST * np.exp(table["label"] - table["label"].min())
    table["label"] = (0.1 * levels - _RANGE[0]) / (_RANGE[1] - _RANGE[0])
    kept = [name for name in COLUMNS if name not in NEARLY_CONSTANT]
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(table))
    ends = (np.cumsum(list(FOLDS.values())) * len(table)).round().astype(int)
    parts = dict(zip(FOLDS, np.split(order, ends[:-1]), strict=True))
    train = table.iloc[parts["train"]][kept]
    chosen = table.iloc[parts[fold]].copy()
    chosen[kept] = (chosen[kept] - train.mean()) / train.std(ddof=0)
    chosen["truth"] = chosen["label"]
    points = from_table(chosen, kept, "label", truth="truth", aggregation=aggregation,
                        kind="continuous")
    ds = bag_along(points, SORTED_BY, mean_size, size_std, seed=seed)
    ds.attrs |= {
        "title": f"elevators, {fold} fold", "level": "slice", "levels": "slice",
        "source": "UCI elevators by way of uci_datasets", "licence": "MIT (uci_datasets)",
        "seed": int(seed), "fold": fold,
    }
    return ds
