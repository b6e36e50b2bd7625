"""Where polygons and rasters meet, and what to say where they do not."""

from __future__ import annotations

import numpy as np
import xarray as xr

from workbench.bagging.findings import WARNING, refuse
from workbench.checks import InputError, NothingLeft, option
from workbench.geo.globe import a_turn_apart, check_turns, projected
from workbench.geo.grids import called
from workbench.geo.shapes import CORRECT_CRS, extent, named
from workbench.geo.treatments import CleaningOptions, Record


def crs_of(grid: xr.DataArray | None, layers: dict[str, xr.DataArray]) -> str:
    """The CRS of a weight, else that of the first covariate; empty without any raster.

    Parameters
    ----------
    grid : xr.DataArray, optional
        The weight raster.
    layers : dict of str to xr.DataArray
        Covariates.
    """
    first = next((one for one in (grid, *layers.values()) if one is not None), None)
    return "" if first is None else first.rio.crs.to_string()


def onto(areas, grid: xr.DataArray, options: CleaningOptions, record: Record):
    """Polygons in the CRS of the grid, some of which at least lie on it.

    Parameters
    ----------
    areas : geopandas.GeoDataFrame
        With a CRS.
    grid : xr.DataArray
        The weight raster.
    options : CleaningOptions
        ``crs`` says whether polygons may be reprojected.
    record : Record
        Receives what was done.

    Returns
    -------
    geopandas.GeoDataFrame
        The areas, reprojected where needed.

    Raises
    ------
    InputError
        If the CRSs differ and that was not allowed, or no area touches the raster.
    """
    given, (raster, name) = areas, called(grid)
    if areas.crs != grid.rio.crs:
        if options.crs == "error":
            refuse(f"the polygons are in {areas.crs.to_string()} but {raster} in "
                   f"{grid.rio.crs.to_string()}",
                   f"pass {option('crs', 'reproject')}, or reproject one", code="crs-differs",
                   where=["polygons"])
        else:
            record.note(f"polygons were reprojected from {areas.crs.to_string()} to "
                        f"{grid.rio.crs.to_string()}", code="crs-differs", where=["polygons"])
        areas = projected(areas, grid.rio.crs)
    if not touching(areas, grid).any():
        what = (f"none of the {len(areas)} areas touches {raster}: "
                f"{_both(given, areas, grid)}")
        turn = a_turn_apart(areas, grid)
        refuse(what, turn or _guess(given, grid), code="another-turn" if turn else "apart",
               where=["polygons", name], joint=". ", count=len(areas), error=NothingLeft)
        raise InputError(what)              # nor can a check go on
    check_turns(areas, grid, record)
    return areas


def without_empty(
    areas, values: np.ndarray, area: np.ndarray, grid: xr.DataArray, options: CleaningOptions,
    record: Record,
):
    """Leave out the areas without any pixel of positive weight, if that is allowed.

    Parameters
    ----------
    areas : geopandas.GeoDataFrame
        In the CRS of the grid.
    values : np.ndarray
        Value of each area.
    area : np.ndarray
        Position of the area of each individual.
    grid : xr.DataArray
        The weight raster.
    options : CleaningOptions
        ``empty`` says what to do.
    record : Record
        Receives what was done.

    Returns
    -------
    tuple
        Areas, values and positions of those kept.

    Raises
    ------
    InputError
        If areas are empty and that was not allowed, or all are.
    """
    present = np.bincount(area, minlength=len(areas)) > 0
    if present.all():
        return areas, values, area
    raster, _ = called(grid)
    names, beyond = areas.index[~present], int((~touching(areas, grid)).sum())
    outside = "" if not beyond else (
        f"{beyond} of them lie outside the extent of {raster}, {extent(grid.rio.bounds())}: is "
        "it the right raster, and do all polygons belong to this place? ")
    if not present.any():
        raise NothingLeft(
            f"no area holds a pixel of positive weight, although polygons and {raster} "
            f"meet: {_both(areas, areas, grid)}. Check that the weight is not zero or missing there"
        )
    about = {"code": "area-empty", "where": names, "count": len(names)}
    if options.empty == "error":
        refuse(f"{len(names)} areas hold no pixel of positive weight (first: "
               f"{names[:3].tolist()}, with values adding up to {values[~present].sum():,.6g})",
               f"{outside}pass {option('empty', 'drop')} to leave them out", **about)
    else:
        record.note(f"{len(names)} areas without weighted pixels were dropped, with values adding "
                    f"up to {values[~present].sum():,.6g}: {', '.join(names[:10])}",
                    severity=WARNING, **about, effect="they are not on the map",
                    fix="take a weight raster that reaches them, or of finer pixels")
    return areas[present], values[present], (np.cumsum(present) - 1)[area]


def touching(areas, grid: xr.DataArray) -> np.ndarray:
    """Whether the bounding box of each area reaches into the raster's.

    Parameters
    ----------
    areas : geopandas.GeoDataFrame
        In the CRS of the grid.
    grid : xr.DataArray
        A raster.

    Returns
    -------
    bool array (area,)
        True where they meet.
    """
    left, bottom, right, top = grid.rio.bounds()
    box = areas.geometry.bounds.to_numpy()
    # Of what cannot be projected the bounds are infinite: it touches nothing.
    return (np.isfinite(box).all(axis=1) & (box[:, 0] < right) & (box[:, 2] > left)
            & (box[:, 1] < top) & (box[:, 3] > bottom))


def _both(given, areas, grid: xr.DataArray) -> str:
    moved = "" if given is areas else f" (reprojected: {extent(areas.total_bounds)})"
    return (f"polygons in {named(given.crs)} run over {extent(given.total_bounds)}{moved}, the "
            f"raster in {named(grid.rio.crs)} over {extent(grid.rio.bounds())}")


def _guess(given, grid: xr.DataArray) -> str:
    """The likeliest reason why polygons and a raster do not meet."""
    for what, crs, bounds in (("polygons", given.crs, given.total_bounds),
                              ("raster", grid.rio.crs, np.array(grid.rio.bounds()))):
        if crs.is_projected and (np.abs(bounds) <= (360, 90, 360, 90)).all():
            return (f"The coordinates of the {what} look like degrees, not those of {named(crs)}: "
                    f"{CORRECT_CRS}")
    return ("One of them states a wrong CRS, or they are of different places: compare both in "
            f"QGIS, and where a CRS is wrong {CORRECT_CRS}")
