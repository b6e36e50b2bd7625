"""Areas that recur: to which individuals belong where bags are areas in several periods."""

from __future__ import annotations

import numpy as np
import xarray as xr

from workbench.schema import BAG, INDIVIDUAL

_AREA, _PERIOD = "area", "period"
#: Label of individuals: the area of each.
OF_INDIVIDUALS = "individual_area"


def areas_of(ds: xr.Dataset) -> np.ndarray | None:
    """Label of each individual's area (individual,); None where areas have no periods.

    Parameters
    ----------
    ds : xr.Dataset
        With labels ``area`` and ``period`` of bags, as of `workbench.bag_polygons` with ``time``;
        after a merge individuals have their ``individual_area``.
    """
    if OF_INDIVIDUALS in ds.coords and ds[OF_INDIVIDUALS].dims == (INDIVIDUAL,):
        return ds[OF_INDIVIDUALS].values.astype(str)
    of_bags = all(name in ds.coords and ds[name].dims == (BAG,) for name in (_AREA, _PERIOD))
    return ds[_AREA].values.astype(str)[ds["membership"].values] if of_bags else None


def remembered(ds: xr.Dataset) -> xr.Dataset:
    """With each individual's area as a label of its own, which outlasts a merge of bags."""
    areas = areas_of(ds)
    return ds if areas is None else ds.assign_coords({OF_INDIVIDUALS: (INDIVIDUAL, areas)})
