"""How many pixels a map has: those that areas share are several of its individuals, a part each."""

from __future__ import annotations

import numpy as np
import xarray as xr

from workbench.ui.disaggregate import messages


def counted(ds: xr.Dataset) -> int | None:
    """How many pixels the individuals are of; None where they are no pixels.

    Parameters
    ----------
    ds : xr.Dataset
        Bagged dataset.

    Examples
    --------
    >>> counted(xr.Dataset(coords={"row": ("individual", [0, 0, 1]),
    ...                            "column": ("individual", [4, 4, 4])}))
    2
    """
    if not all(name in ds.coords and ds[name].dims == ("individual",) for name in
               ("row", "column")):
        return None
    row, column = (ds[name].values.astype(np.int64) for name in ("row", "column"))
    return len(np.unique(row * (column.max(initial=0) + 1) + column))


def in_parts(ds: xr.Dataset | None) -> bool:
    """Whether some individuals are parts of pixels that areas share.

    Parameters
    ----------
    ds : xr.Dataset or None
        Bagged dataset.
    """
    count = None if ds is None else counted(ds)
    return count is not None and count < ds.sizes["individual"]


def in_words(ds: xr.Dataset) -> str:
    """What a map is of, with its number.

    Parameters
    ----------
    ds : xr.Dataset
        Bagged dataset.

    Examples
    --------
    >>> in_words(xr.Dataset(coords={"row": ("individual", [0, 0, 1]),
    ...                             "column": ("individual", [4, 4, 4])}))
    '2 pixels (3 individuals: each area has its own part of a pixel that areas share)'
    """
    return messages.individuals(ds.sizes["individual"], counted(ds))
