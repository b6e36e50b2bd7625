"""Groups of individuals by name or label, for draws of their sums."""

from __future__ import annotations

import numpy as np
import torch
import xarray as xr

from workbench.gp.likelihoods.preserving import Groups
from workbench.schema import grouped


def groups_of(ds: xr.Dataset, by, aggregation: str) -> tuple[Groups, np.ndarray]:
    """Groups for `Fit.sample`, and their labels in ascending order.

    Parameters
    ----------
    ds : xr.Dataset
        Bagged dataset.
    by : str or array (individual,)
        See `workbench.schema.grouped`.
    aggregation : {"sum", "mean"}
        Whether groups are added up, or averaged by weight.

    Raises
    ------
    InputError
        On an unknown name, a wrong shape, or missing labels.
    """
    names, of = grouped(ds, by)
    coefficients = None
    if aggregation == "mean":
        weight = ds["weight"].values.astype(float)
        coefficients = torch.as_tensor(weight / np.bincount(of, weight)[of])
    return Groups(torch.as_tensor(of), len(names), coefficients), names
