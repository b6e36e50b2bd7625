"""Stacking weights of models from the areas that they recovered."""

from __future__ import annotations

import numpy as np
import xarray as xr

from workbench.checks import require
from workbench.evaluation.area_scores import square_root
from workbench.evaluation.stacking import stack


def recovery_weights(recovered: xr.Dataset, shrink: str | float = "auto") -> xr.DataArray:
    """Weights that minimise the CRPS of the mixture of models over recovered areas, with shrinkage.

    Counts are scored by their square roots, so that large areas do not decide alone; areas alone
    in their group are left out, as their values are given.

    Parameters
    ----------
    recovered : xr.Dataset
        From `recover_draws`.
    shrink : "auto" or float
        As of `stack`.

    Returns
    -------
    xr.DataArray (model,)
        Zero for models that failed on every grouping. Attributes: ``groupings`` (used: those that
        every other model finished) and ``left_out`` (list of these models' names).

    Raises
    ------
    InputError
        If no grouping was finished by every model that finished any.
    """
    draws, names = recovered["draws"].values, recovered["model"].values.astype(str)
    done = np.isfinite(draws).all((-1, -2))                     # (model, level, draw)
    ever = done.any((1, 2))
    shared = np.argwhere(done[ever].all(0)) if ever.any() else []
    require(len(shared) > 0, "no grouping was finished by every model that finished any; leave out "
            "the models that fail, see error")
    attrs = recovered["draws"].attrs
    counts = attrs.get("kind", "count") == "count" and attrs.get("aggregation", "sum") == "sum"
    scale = square_root if counts else np.asarray
    observed, group = recovered["observed"].values, recovered["group"].values
    pooled, values, groups, replicates = [], [], [], []
    for number, (i, k) in enumerate(shared):
        several = np.bincount(group[i, k])[group[i, k]] > 1
        pooled.append(draws[ever, i, k][:, :, several])
        values.append(observed[several])
        groups.append(group[i, k][several])
        replicates.append(np.full(several.sum(), number))
    pool = scale(np.concatenate(pooled, axis=-1).astype(float))
    weights = np.zeros(names.size)
    weights[ever] = stack(list(pool), scale(np.concatenate(values)), np.concatenate(groups),
                          shrink, np.concatenate(replicates))
    return xr.DataArray(weights, dims="model", coords={"model": names}, name="weight", attrs={
        "long_name": "weight in the mixture", "groupings": len(shared),
        "left_out": names[~ever].tolist()})
