"""Whether two datasets are the same to a model: to the bit, or but for rounding."""

from __future__ import annotations

import hashlib

import numpy as np
import xarray as xr

from workbench.schema import AREA, aggregation, kind, statistic

#: What a model sees of a dataset: inputs, weights, bags, and what was observed.
_SEEN = ("covariates", "x", "y", "weight", "membership", "value", "noise_variance",
         "individual_noise_variance", "sample_variance", "trials", "mediators", "concentration",
         AREA)
#: Rounding of other processors, relative to the largest number of its column.
ALIKE = 1e-9


def data_hash(ds: xr.Dataset) -> str:
    """Short sha256 of all that a model sees: inputs, weights, bags, what was observed and as what.

    Parameters
    ----------
    ds : xr.Dataset
        Bagged dataset, or targets of no bag.

    Returns
    -------
    str
        Sixteen hexadecimal digits.
    """
    digest = hashlib.sha256()
    for name in _SEEN:
        if name in ds:
            digest.update(name.encode())
            digest.update(np.ascontiguousarray(ds[name].values).tobytes())
    if "value" in ds:
        digest.update(" ".join((aggregation(ds), kind(ds), statistic(ds))).encode())
    return digest.hexdigest()[:16]


def same_data(one: xr.Dataset, other: xr.Dataset) -> bool:
    """Whether a model sees the same in two datasets, but for the rounding of other processors.

    Simulated data are computed anew on every machine, and the last bits of exponentials and
    matrix products are not the same on all of them: `data_hash` of both may differ.

    Parameters
    ----------
    one, other : xr.Dataset
        Bagged datasets, or targets of no bag.

    Returns
    -------
    bool
        Whether all numbers are alike to `ALIKE` of the largest of their kind.
    """
    return all((name in one) == (name in other) for name in _SEEN) and all(
        _alike(one[name].values, other[name].values) for name in _SEEN if name in one)


def _alike(one: np.ndarray, other: np.ndarray) -> bool:
    if one.shape != other.shape:
        return False
    if one.dtype.kind != "f":
        return np.array_equal(one, other)
    largest = np.nanmax(np.abs(one), axis=0, initial=0.0, keepdims=True) if one.size else 0.0
    return bool(np.isclose(one, other, rtol=0.0, atol=ALIKE * largest, equal_nan=True).all())
