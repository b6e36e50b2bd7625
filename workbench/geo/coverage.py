"""Which areas cover which pixels, by what fraction, and what no area covers."""

from __future__ import annotations

import numpy as np
import xarray as xr

from workbench.bagging.cells import cells_of
from workbench.bagging.findings import NOTE, WARNING, counted, refuse
from workbench.checks import option, package
from workbench.geo.globe import projected
from workbench.geo.treatments import CleaningOptions, Record

SLIVERS = 1e-3      # share of the weight: shared borders drawn twice overlap by as little
TRACE = 1e-9        # of a pixel, or of a smaller area: borders along edges miss them by rounding
ROUNDING = 1e-6     # coverage fractions come in single precision
MUCH = 0.05         # share of the weight outside all areas that is worth a look
LEFT_OUT = "lies in areas that were left out"


def coverage_fractions(areas, grid: xr.DataArray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return which areas cover which cells, and by what fraction.

    Parameters
    ----------
    areas : geopandas.GeoDataFrame
        Polygons in the CRS of the grid.
    grid : xr.DataArray
        North-up raster; cells are numbered row by row from the north-west.

    Returns
    -------
    area, cell : np.ndarray
        Positions of areas and cells.
    coverage : np.ndarray
        Fraction of the cell inside the area, in (0, 1]; cells of which an area has less than a
        billionth, or a billionth of its own extent, are not in it.
    """
    exactextract = package("exactextract", extra="geo")
    raster = package("exactextract.raster", extra="geo")
    left, bottom, right, top = grid.rio.bounds()
    crs = grid.rio.crs.to_wkt()
    # A raster without values: what is missing is decided by us, cell by cell.
    cells = raster.NumPyRasterSource(
        np.zeros(grid.shape, dtype=np.int8), left, bottom, right, top, srs_wkt=crs
    )
    shapes = package("geopandas", extra="geo").GeoDataFrame(
        {"area_position": np.arange(len(areas))}, geometry=areas.geometry.to_numpy(),
        crs=grid.rio.crs,
    )
    found = exactextract.exact_extract(
        cells, shapes, ["cell_id", "coverage"], include_cols=["area_position"], output="pandas"
    )
    sizes = found["cell_id"].map(len).to_numpy()
    area = np.repeat(found["area_position"].to_numpy(dtype=np.int64), sizes)
    cell = np.concatenate(found["cell_id"].to_list()).astype(np.int64)
    coverage = np.concatenate(found["coverage"].to_list()).astype(float)
    extent = np.bincount(area, weights=coverage, minlength=len(areas))
    inside = coverage > TRACE * np.minimum(extent[area], 1.0)
    return area[inside], cell[inside], coverage[inside]


def covered_by(areas, grid: xr.DataArray) -> np.ndarray:
    """What of each cell some areas cover together.

    Parameters
    ----------
    areas : geopandas.GeoDataFrame
        Polygons with a CRS; there may be none.
    grid : xr.DataArray
        As of `coverage_fractions`.

    Returns
    -------
    np.ndarray (cell,)
        Sums of fractions: more than one where areas overlap.
    """
    there = areas[~(areas.geometry.isna() | areas.geometry.is_empty)]
    if not len(there):
        return np.zeros(grid.size)
    if there.crs != grid.rio.crs:
        there = projected(there, grid.rio.crs)
    _, cell, coverage = coverage_fractions(there, grid)
    return np.bincount(cell, weights=coverage, minlength=grid.size)


def account(
    weight: np.ndarray, cell: np.ndarray, coverage: np.ndarray, options: CleaningOptions,
    record: Record, made: bool = False, owner: np.ndarray | None = None,
    grid: xr.DataArray | None = None, dropped: np.ndarray | None = None,
) -> dict[str, float]:
    """Compare the raster's total weight with what the areas cover: overlaps and the outside.

    Outside is what lies in no area that was given; what lies in those that were left out, for
    they have no value, is counted by itself.

    Both are counted pixel by pixel: areas overlap by what they cover beyond the whole of a pixel,
    so an overlap within a pixel that they do not fill is taken off what lies outside.

    Parameters
    ----------
    weight : np.ndarray
        Weight per cell, NaN where there is none.
    cell, coverage : np.ndarray
        From `coverage_fractions`.
    options : CleaningOptions
        Whether overlaps and weight outside are errors.
    record : Record
        Receives what was found.
    made : bool
        Whether the weight was made for these areas, so that what lies outside them or in areas that
        were left out is counted by a check, and means nothing else.
    owner : np.ndarray, optional
        Id of the area of each entry of ``cell``, to say which ones overlap.
    grid : xr.DataArray, optional
        Raster of the weight, for a check to show which pixels are meant.
    dropped : np.ndarray, optional
        What of each cell areas cover that were left out, from `covered_by`.

    Returns
    -------
    dict of str to float
        outside_weight and outside_share; left_out_weight where areas were left out.

    Raises
    ------
    InputError
        If areas overlap, or weight lies outside those that are kept, where that was not allowed.
    """
    flat = np.nan_to_num(weight.ravel())
    total = flat.sum()
    covered = np.bincount(cell, weights=coverage, minlength=flat.size)
    excess = flat * np.clip(covered - 1, 0, None)
    twice = float(excess.sum())
    counted(weight=total, twice=twice)
    if twice > ROUNDING * total:
        share = f"{twice:,.6g} of {total:,.6g} of the weight ({twice / total:.2%})"
        few = twice <= SLIVERS * total
        doubled = excess > ROUNDING * total / flat.size
        shared = doubled[cell]
        ids = [] if owner is None else np.unique(np.asarray(owner)[shared].astype(str))
        about = {"code": "overlap", "where": ids, "count": len(ids) or None,
                 "cells": cells_of(grid, doubled)}
        if options.overlap == "error" or (options.overlap == "keep-slivers" and not few):
            keep = option("overlap", *(["keep-slivers"] if few else []), "keep")
            refuse(f"areas overlap: {share} lies in more than one area", f"pass {keep} to count "
                   f"it in each (slivers: at most {SLIVERS:.1%} of the weight), or correct the "
                   "polygons", **about)
        else:
            record.note(f"{'slivers of overlap between areas' if few else 'areas overlap'}: "
                        f"{share} is counted in more than one area", **about,
                        effect="totals of areas add up to more than is there",
                        fix="correct the borders, or check for one area inside another",
                        severity=NOTE if few else WARNING)
    free = np.clip(1 - covered, 0, 1)           # of no area that is kept
    beyond = free if dropped is None else np.clip(free - dropped, 0, 1)
    outside = float((flat * beyond).sum())
    counted(outside=outside)
    outside = 0.0 if made else outside
    lost = 0.0 if made else float((flat * (free - beyond)).sum())
    if lost <= ROUNDING * total:
        lost = 0.0
    else:
        cells = (free - beyond > ROUNDING) & (flat > 0)
        sentence = f"{lost:,.6g} of the weight ({lost / total:.2%}) {LEFT_OUT}"
        about = {"code": "left-out", "where": ["weight"], "count": int(cells.sum()),
                 "cells": cells_of(grid, cells)}
        if options.outside == "error":
            refuse(sentence, f"pass {option('outside', 'report')} to go on without it", **about)
        record.note(sentence, **about, effect="it is not on the map and gets no part of any total",
                    fix="give these areas a value, or remove polygons that lie over others, such "
                        "as an outline of the whole country",
                    severity=WARNING if lost > MUCH * total else NOTE)
    share = outside / total if total else 0.0
    if share > 1e-6:
        sentence = f"{outside:,.6g} of the weight ({share:.2%}) lies outside all areas"
        left = (beyond > 1e-6) & (flat > 0)
        pixels, cells = int(left.sum()), cells_of(grid, left)
        if options.outside == "error":
            refuse(sentence, f"pass {option('outside', 'report')} to go on without it",
                   code="outside", where=["weight"], count=pixels, cells=cells)
        else:
            record.note(sentence, count=pixels, cells=cells, **about_outside(share))
    found = {"outside_weight": outside, "outside_share": float(share)}
    return found | ({"left_out_weight": lost} if lost else {})


def about_outside(share: float) -> dict[str, object]:
    """What a check says of weight outside all areas, by its share: a warning above 5 %."""
    return {"code": "outside", "where": ("weight",), "effect": "it gets no part of any total",
            "fix": "check that the polygons reach as far as they should (coasts, islands) and that "
                   "weight and polygons are of one year and CRS",
            "severity": WARNING if share > MUCH else NOTE}
