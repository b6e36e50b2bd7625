"""The cells of a coarse grid of observed values as areas: satellite products, climate models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import xarray as xr

from workbench.checks import InputError, option, package, require
from workbench.geo.netcdf import axis_names, open_netcdf, rasters_in
from workbench.geo.rasters import read_rasters, same_grid
from workbench.geo.treatments import Record
from workbench.geo.zarr_stores import is_zarr, open_zarr

CELL = "cell"               # column of the cells' ids
GEOMETRY = "geometry"
MADE = "cells_of"           # in attrs of a GeoDataFrame: the grid, by column of its values
UNITS = "units_of"          # the same, of their units where the grid states them
_NETCDF = (".nc", ".nc4")
_RASTERS = (*_NETCDF, ".tif", ".tiff", ".vrt", ".asc", ".img", ".grd")
_POLE = 90.0
UNREAD = "without polygons there is nothing more to look at"
_MOST = 250_000             # cells: a grid of areas is coarse


def grid_areas(raster: object, value: str | Sequence[str] | None = None, *,
               crs: str | None = None, nodata: float | Sequence[float] | None = None,
               marks: str = "error"):
    """Make an area of each cell of a coarse raster, with the cell's values as columns.

    Parameters
    ----------
    raster : xr.DataArray, xr.Dataset, str or Path
        One or more variables on one grid of two dimensions: a GeoTIFF, NetCDF or Zarr.
    value : str or sequence of str, optional
        The variables to take; all on the grid that have no time if not given. The only band of a
        GeoTIFF gets this name.
    crs : str, optional
        The CRS of a raster that does not state one.
    nodata : float or sequence of float, optional
        Marks of missing cells that the raster does not declare.
    marks : {"error", "mask", "keep"}
        What to do with cells that look like undeclared marks.

    Returns
    -------
    geopandas.GeoDataFrame
        Rectangles in the raster's CRS and with its longitudes, with the column ``cell``
        ("row 1, column 1" in the north-west) and one for each variable, NaN in cells without a
        value. An array that is called as one of its coordinates goes by the name ``value``.
        `workbench.bag_polygons` takes these columns for means, says so, and goes by
        ``attrs["cells_of"]``: no other column is, and after merging, dissolving, renaming or
        writing to a file none is, so that ``aggregation="mean"`` is to be given.

    Raises
    ------
    InputError
        As of rasters everywhere, if there is no such file or variable; if a variable has a time or
        another dimension beside the grid; if variables lie on several grids, hold dates, or are
        called ``cell`` or ``geometry``; and if there are more cells than areas can be.

    Examples
    --------
    >>> import numpy as np, rioxarray, xarray as xr, workbench as wb
    >>> coarse = xr.DataArray(
    ...     [[11.0, 12.5], [13.0, np.nan]], dims=("y", "x"), name="temperature",
    ...     coords={"y": [3000.0, 1000.0], "x": [1000.0, 3000.0]}).rio.write_crs("EPSG:32633")
    >>> areas = wb.grid_areas(coarse)
    >>> areas["cell"].tolist()[1], float(areas["temperature"].iloc[1]), areas.total_bounds.tolist()
    ('row 1, column 2', 12.5, [0.0, 0.0, 4000.0, 4000.0])
    """
    wanted = [value] if isinstance(value, str) else list(value or ())
    return _cells(raster, Record(), wanted, crs, nodata, marks, argument="crs", only=True
                  ).reset_index(drop=True)


def is_grid(polygons: object) -> bool:
    """Whether areas are given as a raster whose cells they are: an array, or a file by its name."""
    if isinstance(polygons, str | Path):
        path = Path(polygons)
        return path.suffix.lower() in _RASTERS or is_zarr(path)
    return isinstance(polygons, xr.DataArray | xr.Dataset)


def cells_of(raster: object, record: Record, columns: Sequence[str] = (), crs: str | None = None,
             nodata: float | Sequence[float] | None = None, marks: str = "error"):
    """The cells of a raster, with their ids as the index, which the record says.

    Parameters
    ----------
    raster : xr.DataArray, xr.Dataset, str or Path
        The grid.
    record : Record
        Receives what was taken and left out.
    columns : sequence of str
        Columns that are needed, the value first: where that is a variable of it, no others are
        read.
    crs, nodata, marks
        As of `grid_areas`.

    Returns
    -------
    geopandas.GeoDataFrame

    Raises
    ------
    InputError
        As of `grid_areas`.
    """
    cells = _cells(raster, record, columns, crs, nodata, marks, argument="polygon_crs")
    record.note(f"{next(iter(cells.attrs[MADE].values()))} is a raster: each of its {len(cells)} "
                "cells is an area")
    return cells


def called(raster: object) -> str:
    """What messages call a raster in memory."""
    return f"the grid {_name_of(raster)!r}" if isinstance(raster, xr.DataArray) else "the grid"


def _name_of(raster: xr.DataArray) -> str:
    """The variable that an array is: one called as its coordinate could not stand beside it."""
    name = str(raster.name or "value")
    return "value" if name in {*map(str, raster.coords), *map(str, raster.dims)} else name


def _cells(raster: object, record: Record, wanted: Sequence[str], crs: str | None,
           nodata: float | Sequence[float] | None, marks: str, *, argument: str,
           only: bool = False):
    """Cells by their id; ``only``: all that is wanted must be there."""
    package("rioxarray", extra="geo")           # registers .rio
    name, opened = opened_grid(raster)
    if isinstance(opened, xr.Dataset):
        opened = _of_one_time(opened, name, list(wanted), record, only)
    found = read_rasters(opened, record, crs=crs, nodata=nodata, marks=marks,
                         crs_argument=argument)
    if not isinstance(opened, Mapping):
        found = _of_bands(found, name, wanted) if only and wanted else found
    require(bool(found), UNREAD)        # a check has listed why, and would go on without rasters
    first = next(iter(found.values()))
    other = next((one for one, band in found.items() if not same_grid(band, first)), None)
    require(other is None, f"{other!r} lies on another grid than {next(iter(found))!r}; name the "
            f"variable whose cells are the areas, {option('value', next(iter(found)))}")
    require(first.size <= _MOST, f"{name} has {first.size:,} cells, more than the {_MOST:,} that "
            "can be areas, which are to be coarse: cut out the part that is wanted, or give it as "
            f"a covariate, {option('covariates')}")
    for one, what in ((CELL, "ids"), (GEOMETRY, "outlines")):
        if one in found:
            raise InputError(f"{name} has a variable {one!r}, as the column of the cells' {what} "
                             f"is called; rename it first: {_renaming(raster, one)}")
    cells = _rectangles(first, found)
    cells.attrs[MADE] = dict.fromkeys(found, name)
    cells.attrs[UNITS] = {one: str(band.attrs["units"]) for one, band in found.items()
                          if band.attrs.get("units")}
    return cells


def _renaming(raster: object, name: str) -> str:
    """How a variable of a raster gets another name."""
    other = f"{name}_value"
    if isinstance(raster, xr.DataArray):
        return f"raster.rename({other!r})"
    if isinstance(raster, xr.Dataset):
        return f"raster.rename({{{name!r}: {other!r}}})"
    if isinstance(raster, Mapping):
        return f"give it under the key {other!r}"
    path = Path(raster)
    if is_zarr(path) or path.suffix.lower() in _NETCDF:
        opened = "xr.open_zarr" if is_zarr(path) else "xr.open_dataset"
        return f"{opened}({str(path)!r}).rename({{{name!r}: {other!r}}}), in its place or saved"
    return "a single band has the name of its file"


def _of_bands(found: dict[str, xr.DataArray], name: str, wanted: Sequence[str]
              ) -> dict[str, xr.DataArray]:
    """Bands of a GeoTIFF that are wanted; a single one has no name to go by."""
    if len(found) == len(wanted) == 1:
        return dict(zip(wanted, found.values(), strict=True))
    absent = [one for one in wanted if one not in found]
    require(not absent, f"{name} has no bands {absent}; it has {list(found)}")
    return {one: found[one] for one in wanted}


def opened_grid(raster: object) -> tuple[str, object]:
    """A grid's name for messages, and a Dataset where it may have more than bands."""
    if isinstance(raster, xr.DataArray):
        return called(raster), raster.to_dataset(name=_name_of(raster), promote_attrs=False)
    if isinstance(raster, xr.Dataset | Mapping):
        return called(raster), raster
    require(isinstance(raster, str | Path), "expected a DataArray, a Dataset or a path of a raster,"
            f" got {type(raster).__name__}")
    path = Path(raster)
    require(path.exists(), f"there is no file {str(path)!r}; check the name and the folder you run "
                           "from")
    if is_zarr(path):
        return path.name, open_zarr(path)
    return path.name, open_netcdf(path) if path.suffix.lower() in _NETCDF else path


def _of_one_time(ds: xr.Dataset, name: str, wanted: list[str], record: Record, only: bool
                 ) -> dict[str, xr.DataArray]:
    """Variables over y and x alone, by name; those with a time are refused where none else is."""
    absent = [one for one in wanted if one not in ds.data_vars] if only else []
    require(not absent, f"{name} has no variables {absent}; it has {list(map(str, ds.data_vars))}")
    if not only and wanted and wanted[0] not in ds.data_vars:    # so that messages list them all
        wanted = []
    bands = {one: ds[one] for one in rasters_in(ds, name, record, wanted, "value")}
    more = {one: _beside(band) for one, band in bands.items() if _beside(band)}
    if more and (len(more) == len(bands) or set(more) & set(wanted)):
        one = next(iter(set(more) & set(wanted)), next(iter(more)))
        dims = more[one]
        told = ", ".join(f"{d} ({n})" for d, n in dims.items())
        first = next(iter(dims))
        raise InputError(
            f"{name}: {one} has values for each {told} beside the grid, but an area has one; "
            f"select one, in Python with ds.isel({first}=0), or average, ds.mean({first!r}) (on "
            f"the command line ncks -d {first},0 or ncra), or give a table with a row for each "
            f"cell and period, {option('totals', 'FILE')} with {option('time', 'COLUMN')}: the "
            "page on polygons says how")
    if more:
        record.note(f"{name}: left out {', '.join(more)}, which have more dimensions than the grid")
    return {one: band if band.rio.crs or not ds.rio.crs else band.rio.write_crs(ds.rio.crs)
            for one, band in bands.items() if one not in more}


def _beside(band: xr.DataArray) -> dict[str, int]:
    """Dimensions of more than one entry beside those of the grid."""
    grid = axis_names(band)
    return {str(d): n for d, n in band.sizes.items() if str(d) not in grid and n > 1}


def _rectangles(grid: xr.DataArray, found: dict[str, xr.DataArray]):
    """Cells with the values of all rasters, by their id."""
    geopandas, shapely = package("geopandas", extra="geo"), package("shapely", extra="geo")
    at = grid.rio.transform()
    row, column = np.divmod(np.arange(grid.size), grid.shape[1])
    # Every border once, so that neighbours share it to the last digit.
    x = at.c + at.a * np.arange(grid.shape[1] + 1)
    y = at.f + at.e * np.arange(grid.shape[0] + 1)
    if grid.rio.crs.is_geographic:          # of a row of cells at a pole half lies beyond it
        y = y.clip(-_POLE, _POLE)
    ids = [f"row {r + 1}, column {c + 1}" for r, c in zip(row, column, strict=True)]
    shapes = shapely.box(x[column], y[row + 1], x[column + 1], y[row])
    return geopandas.GeoDataFrame(
        {CELL: ids} | {name: band.values.ravel() for name, band in found.items()},
        index=ids, geometry=shapes, crs=grid.rio.crs)
