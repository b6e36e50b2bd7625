"""Bagged datasets as torch tensors."""

from __future__ import annotations

import hashlib

import numpy as np
import torch
import xarray as xr

from workbench import schema
from workbench.bags import Bags, Columns, Source, Targets


def to_source(ds: xr.Dataset, dtype: torch.dtype = torch.float64) -> Source:
    """A bagged dataset as torch tensors: covariates, then coordinates, as input columns.

    Raises
    ------
    InputError
        If the dataset is not a valid bagged dataset.
    """
    schema.check(ds)
    return Source(
        bags=to_bags(ds, dtype),
        targets=Targets(
            torch.as_tensor(ds["value"].values.copy(), dtype=dtype),
            *(None if name not in ds else torch.as_tensor(ds[name].values.copy(), dtype=dtype)
              for name in ("noise_variance", "sample_variance")),
        ),
        aggregation=schema.aggregation(ds),
        kind=schema.kind(ds),
        name=str(ds.attrs.get("title", "source")),
        attributes={"statistic": schema.statistic(ds)},
    )


def to_bags(ds: xr.Dataset, dtype: torch.dtype = torch.float64) -> Bags:
    """The individuals of a bagged dataset as `Bags`, with numbers of trials but without values."""
    names = [str(name) for name in ds["covariate"].values]
    units = [str(u) for u in ds["covariate_units"].values] if "covariate_units" in ds else [
        "" for _ in names]
    table = [np.asarray(ds["covariates"].transpose("individual", "covariate").values, dtype=float)]
    coordinates = ()
    if "x" in ds:
        coordinates = (len(names), len(names) + 1)
        table.append(np.stack([ds["x"].values, ds["y"].values], 1))
        names, units = [*names, "x", "y"], [*units, *(ds[c].attrs.get("units", "") for c in "xy")]
    return Bags(
        x=torch.as_tensor(np.concatenate(table, 1), dtype=dtype),
        membership=torch.as_tensor(ds["membership"].values.astype(np.int64)),
        weight=torch.as_tensor(ds["weight"].values.copy(), dtype=dtype),
        count=ds.sizes["bag"],
        columns=Columns(tuple(names), coordinates, tuple(units)),
        names=tuple(str(b) for b in ds["bag"].values),
        trials=None if "trials" not in ds
        else torch.as_tensor(ds["trials"].values.astype(float), dtype=dtype),
    )


def data_hash(ds: xr.Dataset) -> str:
    """Short sha256 of all that a model sees: inputs, weights, bags, and what was observed."""
    digest = hashlib.sha256()
    for name in ("covariates", "x", "y", "weight", "membership", "value", "noise_variance",
                 "sample_variance", "trials"):
        if name in ds:
            digest.update(name.encode())
            digest.update(np.ascontiguousarray(ds[name].values).tobytes())
    return digest.hexdigest()[:16]
