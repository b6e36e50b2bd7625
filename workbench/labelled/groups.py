"""Groups of individuals by name or label, for draws of their sums."""

from __future__ import annotations

import numpy as np
import torch
import xarray as xr

from workbench.checks import choose, reject, require
from workbench.models.preserving import Groups
from workbench.schema import INDIVIDUAL


def groups_of(ds: xr.Dataset, by, aggregation: str) -> tuple[Groups, np.ndarray]:
    """Groups for `Fit.sample`, and their labels in ascending order.

    Parameters
    ----------
    ds : xr.Dataset
        Bagged dataset.
    by : str or array (individual,)
        Name of a variable or coordinate (individual,), or one label for each individual.
    aggregation : {"sum", "mean"}
        Whether groups are added up, or averaged by weight.

    Raises
    ------
    InputError
        On an unknown name, a wrong shape, or missing labels.
    """
    if isinstance(by, str):
        known = [str(name) for name in ds.variables if ds[name].dims == (INDIVIDUAL,)]
        by = ds[choose("by", by, known)]
    labels = np.asarray(by)
    count = ds.sizes[INDIVIDUAL]
    if labels.shape != (count,):
        raise reject(f"one label in by for each individual ({count},)", f"shape {labels.shape}",
                     "give a label to each individual, in the order of the dataset")
    missing = int(xr.DataArray(labels).isnull().sum())
    require(missing == 0, f"by has no label for {missing} of {count} individuals; give those left "
            "over a label of their own")
    names, of = np.unique(labels, return_inverse=True)
    groups, coefficients = torch.as_tensor(of.astype(np.int64)), None
    if aggregation == "mean":
        weight = ds["weight"].values.astype(float)
        coefficients = torch.as_tensor(weight / np.bincount(of, weight)[of])
    return Groups(groups, len(names), coefficients), names
