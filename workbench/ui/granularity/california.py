"""California housing (1990 census blocks), offered where WORKBENCH_DATA points to its file.

The blocks are those of ``workbench.load("california-housing")``; nothing is downloaded.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

FILE = "california_housing.csv"
BOUNDS = (-124.35, 32.54, -114.31, 41.95)       # degrees; Shikuri 2025, section 6
TRAINING, HELD_OUT = 1000, 400                  # blocks
REACH = 0.35                                    # degrees from a block that are drawn
OUTPUTS = {
    "MedInc": ("median income", "10,000 USD"),
    "HouseAge": ("house age", "years"),
    "AveRooms": ("rooms per household", "rooms"),
    "AveBedrms": ("bedrooms per household", "rooms"),
    "Population": ("people per block", "people"),
    "AveOccup": ("people per household", "people"),
    "MedValue": ("house value", "100,000 USD"),
}


def path() -> Path | None:
    """Where the file is, or None."""
    folder = os.environ.get("WORKBENCH_DATA")
    if not folder:
        return None
    places = (Path(folder) / "california" / FILE, Path(folder) / FILE)
    return next((place for place in places if place.is_file()), None)


def folds(output: str) -> tuple[np.ndarray, np.ndarray]:
    """Longitude, latitude and an output of the blocks to learn from, and of all others."""
    from workbench.datasets import load  # pandas: not before the page is drawn

    parts = [load("california-housing", output=output, fold=fold, n_train=TRAINING)
             for fold in ("train", "test")]
    return tuple(np.column_stack([ds["x"], ds["y"], ds["individual_value"]]) for ds in parts)
