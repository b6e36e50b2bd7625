"""Which areas cover which pixels, by what fraction, and what no area covers."""

from __future__ import annotations

import numpy as np
import xarray as xr

from workbench.checks import InputError, option, package
from workbench.geo.treatments import CleaningOptions, Record

SLIVERS = 1e-3      # share of the weight: shared borders drawn twice overlap by as little
ROUNDING = 1e-6     # coverage fractions come in single precision


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
        Fraction of the cell inside the area, in (0, 1].
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
    inside = coverage > 0
    return area[inside], cell[inside], coverage[inside]


def account(
    weight: np.ndarray, cell: np.ndarray, coverage: np.ndarray, options: CleaningOptions,
    record: Record, made: bool = False,
) -> dict[str, float]:
    """Compare the raster's total weight with what the areas cover: overlaps and the outside.

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
        Whether the weight was made for these areas, so that what lies outside means nothing.

    Returns
    -------
    dict of str to float
        outside_weight and outside_share.

    Raises
    ------
    InputError
        If areas overlap, or weight lies outside, where that was not allowed.
    """
    flat = np.nan_to_num(weight.ravel())
    total = flat.sum()
    covered = np.bincount(cell, weights=coverage, minlength=flat.size)
    twice = float((flat * np.clip(covered - 1, 0, None)).sum())
    if twice > ROUNDING * total:
        share = f"{twice:,.6g} of {total:,.6g} of the weight ({twice / total:.2%})"
        few = twice <= SLIVERS * total
        if options.overlap == "error" or (options.overlap == "keep-slivers" and not few):
            keep = option("overlap", *(["keep-slivers"] if few else []), "keep")
            raise InputError(
                f"areas overlap: {share} lies in more than one area; pass {keep} "
                f"to count it in each (slivers: at most {SLIVERS:.1%} of the weight), or correct "
                "the polygons"
            )
        record.note(f"{'slivers of overlap between areas' if few else 'areas overlap'}: {share} "
                    "is counted in more than one area")
    outside = 0.0 if made else float((flat * np.clip(1 - covered, 0, 1)).sum())
    share = outside / total if total else 0.0
    if share > 1e-6:
        sentence = f"{outside:,.6g} of the weight ({share:.2%}) lies outside all areas"
        if options.outside == "error":
            raise InputError(f"{sentence}; pass {option('outside', 'report')} to go on without it")
        record.note(sentence)
    return {"outside_weight": outside, "outside_share": float(share)}
