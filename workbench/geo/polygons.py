"""Polygons over rasters: one individual per pixel and area, with its coverage fraction."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import xarray as xr

from workbench import schema
from workbench.bagging import assemble
from workbench.checks import InputError, choose, package, require
from workbench.geo.areas import (
    coordinate_units,
    label_columns,
    numeric_column,
    read_polygons,
    usable_values,
    with_ids,
)
from workbench.geo.rasters import read_rasters, same_grid
from workbench.geo.treatments import Record, Treatments, treatments_from


def bag_polygons(
    polygons: object,
    covariates: object,
    weight: object,
    value: str,
    *,
    id: str | None = None,
    name: str | None = None,
    labels: Mapping[str, str] | None = None,
    aggregation: str = "sum",
    kind: str = "count",
    value_units: str = "cases",
    weight_units: str = "persons",
    polygon_crs: str | None = None,
    raster_crs: str | None = None,
    nodata: float | None = None,
    attrs: Mapping[str, str] | None = None,
    **treatments: str,
) -> xr.Dataset:
    """Bag the pixels of rasters by polygons, with the fraction of each pixel that is covered.

    A pixel cut by a border becomes one individual in each area, with the pixel's weight times
    the fraction covered, so no weight is lost or counted twice.

    Parameters
    ----------
    polygons : geopandas.GeoDataFrame, str or Path
        The areas with their values.
    covariates : raster, sequence of rasters, or mapping of name to raster
        DataArrays, Datasets, or paths of GeoTIFF or NetCDF files.
    weight : raster
        Weight (population) per pixel; its grid is the grid of the individuals. Pixels without
        a weight are no individuals.
    value : str
        Column with the value of each area.
    id, name : str, optional
        Columns with the areas' ids (the index if not given) and names.
    labels : mapping of coordinate to column, optional
        Labels by which areas can later be merged, e.g. ``{"region": "Name_1"}``.
    aggregation : {"sum", "mean"}
        Whether a value is the sum over the area or the weighted mean.
    kind : {"count", "continuous"}
        What the values are.
    value_units, weight_units : str
        Units, kept in attrs.
    polygon_crs, raster_crs : str, optional
        The CRS of input that does not state its own.
    nodata : float, optional
        A mark of missing pixels that the rasters do not declare.
    attrs : mapping, optional
        Title, source, licence and the like.
    **treatments
        Choices for imperfect input, see `workbench.geo.Treatments`.

    Returns
    -------
    xr.Dataset
        A bagged dataset with row, column and coverage of the individuals, bag_geometry, and the
        attributes grid_transform, grid_shape, outside_weight, outside_share and treatments.

    Raises
    ------
    InputError
        For input that no treatment was chosen for; the message names the option to pass.
    """
    choose("aggregation", aggregation, schema.AGGREGATIONS)
    options, record = treatments_from(treatments), Record()
    grid = _weight_raster(weight, record, raster_crs, nodata)
    layers = _aligned(read_rasters(covariates, record, crs=raster_crs, nodata=nodata), grid,
                      options, record)
    areas = with_ids(read_polygons(polygons, record, crs=polygon_crs), id, value, options, record)
    areas = _projected(areas, grid, options, record)
    values, kept = usable_values(
        numeric_column(areas, value, "value"), areas.index.to_numpy(), kind, options, record
    )
    areas, values = areas[kept], values[kept]

    area, cell, coverage = coverage_fractions(areas, grid)
    outside = _account(grid.values, area, cell, coverage, options, record)
    area, cell, coverage = _weighted(grid.values, area, cell, coverage, options, record)
    matrix, whole = _covariates(layers, cell, grid.values.ravel()[cell] * coverage, options, record)
    area, cell, coverage, matrix = area[whole], cell[whole], coverage[whole], matrix[whole]
    areas, values, area = _without_empty(areas, values, area, options, record)

    row, column = np.divmod(cell, grid.shape[1])
    transform = grid.rio.transform()
    units = {"units": coordinate_units(grid.rio.crs)}
    individuals = xr.Dataset(
        {
            "covariates": ((schema.INDIVIDUAL, schema.COVARIATE), matrix),
            "weight": (schema.INDIVIDUAL, grid.values[row, column] * coverage,
                       {"long_name": str(grid.name), "units": weight_units}),
        },
        coords={
            "individual": np.arange(cell.size),
            "covariate": list(layers),
            "covariate_units": (schema.COVARIATE,
                                [str(r.attrs.get("units", "1")) for r in layers.values()]),
            "x": (schema.INDIVIDUAL, transform.c + transform.a * (column + 0.5), units),
            "y": (schema.INDIVIDUAL, transform.f + transform.e * (row + 0.5), units),
            "row": (schema.INDIVIDUAL, row),
            "column": (schema.INDIVIDUAL, column),
            "coverage": (schema.INDIVIDUAL, coverage,
                         {"long_name": "fraction of the pixel inside the area", "units": "1"}),
        },
    )
    named = {"bag_name": name} if name else {}
    ds = assemble(
        individuals, area, values, areas.index.to_numpy(),
        bag_coords={"bag_geometry": areas.geometry.to_numpy(dtype=object),
                    **label_columns(areas, named | dict(labels or {}))},
        value_attrs={"long_name": value, "units": value_units, "aggregation": aggregation,
                     "kind": kind},
    )
    ds["individual"] = np.arange(cell.size)
    ds.attrs |= dict(attrs or {}) | outside | {
        "crs": grid.rio.crs.to_string(),
        "grid_transform": [float(v) for v in tuple(transform)[:6]],
        "grid_shape": [int(n) for n in grid.shape],
        "treatments": str(record),
    }
    return ds


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


def _weight_raster(
    weight: object, record: Record, crs: str | None, nodata: float | None
) -> xr.DataArray:
    rasters = read_rasters(weight, record, crs=crs, nodata=nodata)
    require(len(rasters) == 1, f"expected one weight raster, got {list(rasters)}; pass one of them")
    grid = next(iter(rasters.values()))
    negative = grid.values < 0
    if negative.any():
        raise InputError(
            f"the weight raster {grid.name!r} has {int(negative.sum())} negative pixels (lowest "
            f"{np.nanmin(grid.values):g}); a weight is a population: correct it, or pass "
            "nodata=... if these mark missing pixels"
        )
    return grid


def _aligned(
    layers: dict[str, xr.DataArray], grid: xr.DataArray, options: Treatments, record: Record
) -> dict[str, xr.DataArray]:
    """Resample to the weight's grid what is on another."""
    rasterio = package("rasterio.enums", extra="geo")
    for name, layer in layers.items():
        if same_grid(layer, grid):
            continue
        if options.align == "error":
            raise InputError(
                f"raster {name!r} ({layer.shape[0]} x {layer.shape[1]}, {layer.rio.crs}) is not on "
                f"the grid of the weight ({grid.shape[0]} x {grid.shape[1]}, {grid.rio.crs}); pass "
                "align='nearest', 'bilinear' or 'average' to resample it"
            )
        method = rasterio.Resampling[options.align]
        moved = layer.rio.reproject_match(grid, resampling=method, nodata=np.nan)
        layers[name] = moved.assign_attrs(units=layer.attrs.get("units", "1"))
        record.note(f"raster {name!r} was resampled ({options.align}) to the weight's grid")
    return layers


def _projected(areas, grid: xr.DataArray, options: Treatments, record: Record):
    if areas.crs == grid.rio.crs:
        return areas
    if options.crs == "error":
        raise InputError(f"the polygons are in {areas.crs.to_string()} but the weight raster in "
                         f"{grid.rio.crs.to_string()}; pass crs='reproject', or reproject one")
    record.note(f"polygons were reprojected from {areas.crs.to_string()} to "
                f"{grid.rio.crs.to_string()}")
    return areas.to_crs(grid.rio.crs)


def _account(
    weight: np.ndarray, area: np.ndarray, cell: np.ndarray, coverage: np.ndarray,
    options: Treatments, record: Record,
) -> dict[str, float]:
    """Compare the raster's total weight with what the areas cover: overlaps and the outside."""
    flat = np.nan_to_num(weight.ravel())
    total = flat.sum()
    covered = np.bincount(cell, weights=coverage, minlength=flat.size)
    twice = float((flat * np.clip(covered - 1, 0, None)).sum())
    # Shared borders drawn twice give slivers; beyond a thousandth of the weight it is no sliver.
    if twice > 1e-3 * total:
        if options.overlap == "error":
            raise InputError(
                f"areas overlap: {twice:,.6g} of {total:,.6g} of the weight lies in more than one "
                "area; pass overlap='keep' to count it in each, or correct the polygons"
            )
        record.note(f"areas overlap: weight {twice:,.6g} is counted in more than one area")
    elif twice > 1e-6 * total:
        record.note(f"slivers of overlap between areas: weight {twice:,.6g} counted twice")
    outside = float((flat * np.clip(1 - covered, 0, 1)).sum())
    share = outside / total if total else 0.0
    if share > 1e-6:
        sentence = f"{outside:,.6g} of the weight ({share:.2%}) lies outside all areas"
        if options.outside == "error":
            raise InputError(f"{sentence}; pass outside='report' to go on without it")
        record.note(sentence)
    return {"outside_weight": outside, "outside_share": float(share)}


def _weighted(
    weight: np.ndarray, area: np.ndarray, cell: np.ndarray, coverage: np.ndarray,
    options: Treatments, record: Record,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Keep the individuals that have a positive weight."""
    found = weight.ravel()[cell]
    unknown = int(np.isnan(found).sum())
    if unknown:
        record.note(f"{unknown} covered pixels without a weight are no individuals")
    zero = int((found == 0).sum())
    if zero:
        if options.zero_weight == "error":
            raise InputError(f"{zero} covered pixels have zero weight; pass zero_weight='drop' to "
                             "leave them out, for nothing can be counted there")
        record.note(f"{zero} individuals of zero weight were dropped")
    kept = found > 0
    return area[kept], cell[kept], coverage[kept]


def _covariates(
    layers: dict[str, xr.DataArray], cell: np.ndarray, weight: np.ndarray,
    options: Treatments, record: Record,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the covariate matrix and which of its rows are complete."""
    matrix = np.column_stack([layer.values.ravel()[cell] for layer in layers.values()])
    gaps = np.isnan(matrix)
    if not gaps.any():
        return matrix, np.ones(len(matrix), bool)
    counts = {n: int(g) for n, g in zip(layers, gaps.sum(axis=0), strict=True) if g}
    incomplete = gaps.any(axis=1)
    lost = f"weight {weight[incomplete].sum():,.6g} ({weight[incomplete].sum() / weight.sum():.2%})"
    if options.missing == "error":
        raise InputError(f"covariates are missing at {int(incomplete.sum())} weighted pixels "
                         f"({counts}; {lost}); pass missing='nearest' to take the nearest valid "
                         "pixel, or missing='drop' to leave these pixels out")
    if options.missing == "drop":
        record.note(f"{int(incomplete.sum())} individuals lacking covariates {counts} were "
                    f"dropped, with {lost}")
        return matrix, ~incomplete
    from scipy.ndimage import distance_transform_edt

    for d, (name, layer) in enumerate(layers.items()):
        if gaps[:, d].any():
            nearest = distance_transform_edt(
                np.isnan(layer.values), return_distances=False, return_indices=True
            )
            matrix[:, d] = layer.values[tuple(nearest)].ravel()[cell]
            record.note(f"covariate {name!r}: {counts[name]} gaps were filled from the nearest "
                        "valid pixel")
    return matrix, np.ones(len(matrix), bool)


def _without_empty(areas, values, area: np.ndarray, options: Treatments, record: Record):
    present = np.bincount(area, minlength=len(areas)) > 0
    if present.all():
        return areas, values, area
    names = areas.index[~present]
    if options.empty == "error":
        raise InputError(f"{len(names)} areas hold no pixel of positive weight (first: "
                         f"{names[:3].tolist()}); pass empty='drop' to leave them out")
    require(bool(present.any()), "no area holds a pixel of positive weight; do polygons and "
                                 "rasters cover the same place?")
    record.note(f"{len(names)} areas without weighted pixels were dropped, with values adding up "
                f"to {values[~present].sum():,.6g}: {', '.join(names[:10])}")
    return areas[present], values[present], (np.cumsum(present) - 1)[area]
