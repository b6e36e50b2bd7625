"""One value for each individual or bag of a dataset, in the order that labels of both say."""

from __future__ import annotations

import numpy as np
import pandas as pd
import xarray as xr

from workbench.checks import reject, require


def per_unit(values: xr.DataArray | np.ndarray, units: pd.Index, dim: str, what: str) -> np.ndarray:
    """Values in the order of the units: labelled ones by their labels, others as they are.

    Parameters
    ----------
    values : array or pd.Series (n,)
        One for each unit; a DataArray with labels along ``dim``, or a Series with an index other
        than the numbers of its rows, may be in another order.
    units : pd.Index (n,)
        Labels of the units.
    dim : str
        ``individual`` or ``bag``.
    what : str
        What a value is, for messages, such as ``expectation``.

    Returns
    -------
    ndarray (n,)
        The values.

    Raises
    ------
    InputError
        If there is not one value for each unit, or labels are those of others.

    Examples
    --------
    >>> ages = xr.DataArray([30, 10], dims="bag", coords={"bag": ["b", "a"]})
    >>> per_unit(ages, pd.Index(["a", "b"]), "bag", "age").tolist()
    [10, 30]
    """
    if isinstance(values, pd.Series) and not isinstance(values.index, pd.RangeIndex):
        values = xr.DataArray(values.to_numpy(), {dim: values.index.to_numpy()}, dim)
    if isinstance(values, xr.DataArray) and values.dims == (dim,) and dim in values.indexes:
        theirs = values.indexes[dim]
        if not theirs.equals(units):
            require(theirs.is_unique and units.is_unique and not len(units.difference(theirs)),
                    f"one {what} for each {dim} was expected, but there are other labels along "
                    f"{dim!r} (first: {theirs[0]!r} beside {units[0]!r}); give one for each")
            values = values.isel({dim: theirs.get_indexer(units)})
    found = np.asarray(values)
    if found.shape != (len(units),):
        raise reject(f"one {what} for each {dim} ({len(units)},)", f"shape {found.shape}",
                     f"give one to each {dim}, in the order of the dataset")
    return found
