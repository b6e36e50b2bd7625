"""Functionals of joint draws: of one draw at a time, or of all at once."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import xarray as xr


def apply_to_draws(function: Callable, draws: xr.DataArray) -> xr.DataArray:
    """Values of a functional (sample, ...).

    Parameters
    ----------
    function : callable
        Of one draw (individual,), or of all of them (sample, individual).
    draws : xr.DataArray (sample, individual)

    Raises
    ------
    Exception
        What the function raises of one draw, if it does not keep ``sample`` given all of them.
    """
    try:
        first = function(draws.isel(sample=0, drop=True))
    except Exception:       # it may want all draws at once; what it raises there is its own
        found = function(draws)
        if not isinstance(found, xr.DataArray) or "sample" not in found.dims:
            raise
        return found
    rest = [function(draws.isel(sample=i, drop=True)) for i in range(1, draws.sizes["sample"])]
    if isinstance(first, xr.DataArray):
        return xr.concat([first, *rest], "sample", join="override", coords="minimal",
                         compat="override")
    values = np.stack([np.asarray(one) for one in [first, *rest]])
    dims = ("sample", *(f"dim_{i}" for i in range(values.ndim - 1)))
    return xr.DataArray(values, dims=dims)
