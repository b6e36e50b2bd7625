"""Areas of which a raster covers a part: their value is taken for that of this part."""

from __future__ import annotations

import numpy as np
import xarray as xr

from workbench.bagging.findings import suspicious
from workbench.checks import package
from workbench.geo.treatments import Record

_CUT = 0.05         # share of an area's ground beyond the raster that is worth a warning
_MOSTLY = 0.5       # share without a weight that is worth a word: it may be water
_FIRST = 3


def note_cut(areas, grid: xr.DataArray, area: np.ndarray, cell: np.ndarray, coverage: np.ndarray,
             sums: bool, record: Record) -> None:
    """Warn of areas that reach beyond a raster, and note those that mostly have no weight on it.

    What lies beyond may be water without people, so that neither is an error.

    Parameters
    ----------
    areas : geopandas.GeoDataFrame
        In the CRS of the grid, their ids as the index.
    grid : xr.DataArray
        Weight of each cell, NaN where it is not known.
    area, cell, coverage : array
        From `workbench.geo.coverage.coverage_fractions`.
    sums : bool
        Whether values are totals of areas, and not means.
    record : Record
        Receives what was found.
    """
    transform, count = grid.rio.transform(), len(areas)
    ground = package("shapely", extra="geo").area(areas.geometry.to_numpy())
    ground = np.maximum(ground / abs(transform.a * transform.e), np.finfo(float).tiny)
    inside = np.bincount(area, coverage, count)
    unknown = np.bincount(area, coverage * np.isnan(grid.values.ravel()[cell]), count)
    there = inside > unknown            # else there is no individual, which is an error of its own
    beyond, without = 1 - inside / ground, unknown / ground
    cut, mostly = (there & (share > least) for share, least in ((beyond, _CUT),
                                                               (without, _MOSTLY)))
    ids, part = areas.index.to_numpy(), "the part that the raster covers"
    effect, rest = (
        (f"their whole value is laid on {part}, so that rates there are too high",
         "their whole value is laid on the rest") if sums else
        (f"their mean is taken for that of {part}", "their mean is taken for that of the rest"))
    if cut.any():
        lies = "areas lie" if cut.sum() > 1 else "area lies"
        record.suspect(suspicious(
            "area-cut", f"{int(cut.sum())} {lies} in part beyond the raster {grid.name!r} "
            f"({_largest(ids, beyond, cut)} of the ground)", "give rasters that reach over the "
            "whole of them, or leave these areas out; where nobody lives beyond, all is well",
            ids[cut], int(cut.sum()), effect, "; "))
    if mostly.any():
        has = "areas has" if mostly.sum() > 1 else "area has"
        record.note(
            f"most of the ground of {int(mostly.sum())} {has} no weight in {grid.name!r} "
            f"({_largest(ids, without, mostly)}): {rest}",
            code="area-without-weight", where=[str(one) for one in ids[mostly]],
            count=int(mostly.sum()), fix="fill the weight raster where people live")


def _largest(ids: np.ndarray, share: np.ndarray, which: np.ndarray) -> str:
    """The areas with the largest shares, in words."""
    order = np.argsort(-np.where(which, share, -np.inf), kind="stable")[:which.sum()]
    more = "" if len(order) <= _FIRST else ", …"
    return ", ".join(f"{str(ids[k])!r} {share[k]:.0%}" for k in order[:_FIRST]) + more
