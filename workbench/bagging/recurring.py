"""Areas that recur: to which individuals belong where bags are areas in several periods."""

from __future__ import annotations

import numpy as np
import xarray as xr

from workbench.schema import BAG, INDIVIDUAL

_AREA, _PERIOD = "area", "period"
#: Label of individuals: the area of each.
OF_INDIVIDUALS = "individual_area"


def numbered_areas(ds: xr.Dataset) -> tuple[np.ndarray, np.ndarray] | None:
    """Labels of recurring areas, and which of them each individual is in; None without periods.

    Parameters
    ----------
    ds : xr.Dataset
        With labels ``area`` and ``period`` of bags, as of `workbench.bag_polygons` with ``time``;
        after a merge individuals have their ``individual_area``.

    Returns
    -------
    labels : array of str (areas,)
        In their order.
    which : array of int (individual,)
        Positions among them.
    """
    if OF_INDIVIDUALS in ds.coords and ds[OF_INDIVIDUALS].dims == (INDIVIDUAL,):
        labels, which = np.unique(ds[OF_INDIVIDUALS].values.astype(str), return_inverse=True)
        return labels, which.reshape(-1)
    if not all(name in ds.coords and ds[name].dims == (BAG,) for name in (_AREA, _PERIOD)):
        return None
    labels, of_bag = np.unique(ds[_AREA].values.astype(str), return_inverse=True)
    return labels, of_bag.reshape(-1)[ds["membership"].values]


def areas_of(ds: xr.Dataset) -> np.ndarray | None:
    """Label of each individual's area (individual,); None as of `numbered_areas`."""
    found = numbered_areas(ds)
    return None if found is None else found[0][found[1]]


def remembered(ds: xr.Dataset) -> xr.Dataset:
    """With each individual's area as a label of its own, which outlasts a merge of bags."""
    areas = areas_of(ds)
    return ds if areas is None else ds.assign_coords({OF_INDIVIDUALS: (INDIVIDUAL, areas)})
