"""California housing: 20,640 blocks of the census of 1990, seven outputs at their coordinates."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path

import numpy as np
import pandas as pd
import xarray as xr

from workbench.bagging import from_table, rebag
from workbench.checks import InputError, choose, require
from workbench.datasets.downloads import VARIABLE, locate

OUTPUTS = {
    "MedInc": "10,000 dollars", "HouseAge": "years", "AveRooms": "rooms / household",
    "AveBedrms": "bedrooms / household", "Population": "people",
    "AveOccup": "people / household", "MedValue": "100,000 dollars",
}
FOLDS = ("train", "test", "all")
FILE, ROWS = "california_housing.csv", 20_640
SHA256 = {FILE: "6c0573ec35c926d6fab1225b6ff5d3ee1c664ebf960168f3fd13d70b6acdc485"}
#: Longitude and latitude, degrees: the domain that Shikuri 2025 divides into grids.
EXTENT = ((-124.35, -114.31), (32.54, 41.95))


def load(
    output: str = "MedInc",
    fold: str = "train",
    n_train: int = 1000,
    seed: int = 0,
    directory: str | Path | None = None,
    download: bool = False,
) -> xr.Dataset:
    """California housing (real): census blocks with one output each, complete data at points.

    Every block is a bag of its own; make cells with ``bag_grid(ds, size=0.4, extent=...)`` and
    summaries with ``summarise``.

    Parameters
    ----------
    output : str
        MedInc, HouseAge, AveRooms, AveBedrms, Population, AveOccup or MedValue.
    fold : {"train", "test", "all"}
        ``n_train`` blocks of a random order, the rest, or all in their own order.
    n_train : int
        Number of training blocks.
    seed : int
        Seed of the random order.
    directory : str or Path, optional
        Folder with the file or the one above it; ``WORKBENCH_DATA`` if not given; else the copy in
        the package ``shapiq`` if that is installed.
    download : bool
        Fetch the data once by scikit-learn's ``fetch_california_housing``.

    Returns
    -------
    xr.Dataset
        Bags of one block each; x and y are degrees.

    References
    ----------
    Pace and Barry 1997, Sparse spatial autoregressions; Shikuri 2025, section 6.
    """
    choose("output", output, OUTPUTS)
    choose("fold", fold, FOLDS)
    table = read_table(directory, download)
    require(len(table) == ROWS, f"expected {ROWS:,} rows of California housing, got {len(table)}")
    for column, (low, high) in zip(("Longitude", "Latitude"), EXTENT, strict=True):
        found = table[column]
        require(low <= found.min() and found.max() <= high,
                f"expected {column} from {low} to {high}, got {found.min():g} to {found.max():g}: "
                "this is another table than California housing")
    require(0 < n_train < ROWS, f"n_train must be from 1 to {ROWS - 1:,}, got {n_train}")
    order = np.random.default_rng(seed).permutation(ROWS)
    parts = {"train": order[:n_train], "test": order[n_train:], "all": np.arange(ROWS)}
    chosen = table.iloc[parts[fold]].rename(columns={"MedHouseVal": "MedValue"})
    points = from_table(
        chosen, [], output, x="Longitude", y="Latitude", aggregation="mean", kind="continuous",
        units={output: OUTPUTS[output], "Longitude": "degrees", "Latitude": "degrees"})
    ds = rebag(points, np.arange(len(chosen)), [str(i) for i in parts[fold]])
    ds.attrs |= {
        "title": f"California housing, {output}, {fold}", "level": "block",
        "source": "Pace and Barry 1997, StatLib", "licence": "public domain (US census of 1990)",
        "seed": int(seed), "fold": fold,
    }
    return ds


def read_table(directory: str | Path | None = None, download: bool = False) -> pd.DataFrame:
    """The housing table: from a directory, the package ``shapiq``, or scikit-learn's fetcher.

    Parameters
    ----------
    directory, download
        As in `load`.

    Returns
    -------
    pd.DataFrame
        One row per block.

    Raises
    ------
    InputError
        If it is found nowhere.
    """
    if not directory and not os.environ.get(VARIABLE):
        found = importlib.util.find_spec("shapiq")
        inside = sorted(Path(found.submodule_search_locations[0]).rglob(FILE)) if found else []
        if inside:
            return pd.read_csv(inside[0])
        if download:
            return _fetched()
    return pd.read_csv(locate("california", SHA256, directory) / FILE)


def _fetched() -> pd.DataFrame:
    from sklearn.datasets import fetch_california_housing

    try:
        return fetch_california_housing(as_frame=True).frame
    except Exception as error:      # every kind of network failure
        raise InputError(
            f"could not fetch California housing ({error}); put {FILE} into a folder california/ "
            f"and pass directory=... or set {VARIABLE}") from error
