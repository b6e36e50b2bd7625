"""What of the value, the weight, the areas and the pixels is kept, and what is not."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd
import xarray as xr

from workbench import schema
from workbench.bagging.warping import on_own_grid

COLUMNS = ("read", "outside", "in several", "left out", "kept")


def totals_of(ds: xr.Dataset, counted: Mapping[str, float]) -> pd.DataFrame:
    """Totals before and after reading.

    Parameters
    ----------
    ds : xr.Dataset
        Bagged dataset, as it would be fitted.
    counted : mapping of str to float
        Numbers that were counted while files were read; empty for data that were bagged before.

    Returns
    -------
    pd.DataFrame
        Rows value (where values are totals), weight, areas and individuals; columns read (in the
        files), outside (all areas), in several (areas, and so kept more than once), left out
        (missing or zero, for instance) and kept: read - outside + in several - left out. NaN where
        nobody knows. What a grid of our own has around the areas is neither read nor outside.
    """
    kept = {"weight": float(ds["weight"].sum()), "areas": float(ds.sizes[schema.BAG]),
            "individuals": float(ds.sizes[schema.INDIVIDUAL])}
    if "value" in ds and schema.aggregation(ds) == "sum":
        kept = {"value": float(np.asarray(ds["value"].values, dtype=float).sum())} | kept
    lost = {"weight": counted.get("outside", ds.attrs.get("outside_weight", np.nan))}
    rows = {}
    for name, after in kept.items():
        before, outside = counted.get(name, np.nan), float(lost.get(name, 0.0))
        if name == "weight" and np.isnan(before) and not np.isnan(outside):
            before = after + outside + float(ds.attrs.get("left_out_weight", 0.0))
        # The corners of a box around the areas are in no file, and lost to nobody.
        if name == "weight" and on_own_grid(ds):
            before, outside = before - outside, 0.0
        twice = counted.get("twice", 0.0) if name == "weight" else np.nan
        # Merging areas leaves none out.
        left = counted.get("bagged", after) if name == "areas" else after
        missing = before - outside + np.nan_to_num(twice) - left
        # Sums in another order differ by rounding, and so do fractions of pixels along borders.
        outside, twice, missing = (0.0 if abs(one) <= 1e-6 * abs(before) else one
                                   for one in (outside, twice, missing))
        rows[name] = (before, outside if name == "weight" else np.nan, twice, missing, after)
    return pd.DataFrame.from_dict(rows, orient="index", columns=list(COLUMNS))
