"""Cells of a coarse raster of observed values as areas: what downscaling starts from."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from workbench import schema
from workbench.checks import package, require
from workbench.geo.rasters import read_rasters
from workbench.geo.treatments import Record
from workbench.geo.vectors import RASTERS

CELL = "cell"           # the column of ids


def grid_areas(raster: object, value: str | None = None, *, crs: str | None = None,
               nodata: float | tuple[float, ...] | None = None):
    """Make an area of each cell of a raster, with the cell's values as columns.

    Parameters
    ----------
    raster : xr.DataArray, xr.Dataset, str or Path
        One or more variables on one grid of two dimensions: a GeoTIFF, NetCDF or Zarr.
    value : str, optional
        The variable to take; all that are on the grid if not given.
    crs : str, optional
        The CRS of a raster that does not state one.
    nodata : float or sequence of float, optional
        Marks of missing cells that the raster does not declare.

    Returns
    -------
    geopandas.GeoDataFrame
        Rectangles with the column ``cell`` ("row 1, column 1" in the north-west) and one for each
        variable, NaN in cells without a value.

    Raises
    ------
    InputError
        As of rasters everywhere: if there is no such file or variable, or there are more dimensions
        than two, of which one time is to be chosen; and if variables lie on several grids.

    Examples
    --------
    >>> import numpy as np, rioxarray, xarray as xr, workbench as wb
    >>> coarse = xr.DataArray(
    ...     [[11.0, 12.5], [13.0, np.nan]], dims=("y", "x"), name="temperature",
    ...     coords={"y": [3000.0, 1000.0], "x": [1000.0, 3000.0]}).rio.write_crs("EPSG:32633")
    >>> areas = wb.grid_areas(coarse)
    >>> areas["cell"].tolist()[1], float(areas["temperature"][1]), areas.total_bounds.tolist()
    ('row 1, column 2', 12.5, [0.0, 0.0, 4000.0, 4000.0])
    """
    return _cells(raster, Record(), value, crs, nodata)


def _cells(raster: object, record: Record, value: str | None, crs: str | None, nodata):
    geopandas, shapely = package("geopandas", extra="geo"), package("shapely", extra="geo")
    layers = read_rasters(raster, record, crs=crs, nodata=nodata, variable=value)
    require(bool(layers), "the raster has no variable of two dimensions, whose cells could be "
            "areas; where one changes over time, write one time to a file of its own, such as "
            "ds.isel(time=0).to_netcdf('one.nc')")
    first = next(iter(layers.values()))
    grid, shape = first.rio.transform(), first.shape
    other = next((name for name, one in layers.items()
                  if one.shape != shape or one.rio.transform() != grid), None)
    require(other is None, f"{other!r} lies on another grid than {next(iter(layers))!r}; name the "
            "variable whose cells are the areas")
    row, column = (index.ravel() for index in np.indices(shape))
    west, north = grid.c + grid.a * column, grid.f + grid.e * row
    names = [f"row {i + 1}, column {j + 1}" for i, j in zip(row, column, strict=True)]
    return geopandas.GeoDataFrame(
        {CELL: names} | {name: one.values.ravel() for name, one in layers.items()},
        geometry=shapely.box(west, north + grid.e, west + grid.a, north), crs=first.rio.crs)


def is_grid(polygons: object) -> bool:
    """Whether areas are given as the path of a raster, whose cells they are."""
    return isinstance(polygons, str | Path) and Path(polygons).suffix.lower() in RASTERS


def cells_of(path: str | Path, record: Record, crs: str | None):
    """The cells of a raster, with their ids as the index, which the record says.

    Parameters
    ----------
    path : str or Path
    record : Record
    crs : str, optional
        Of a raster that does not state one.
    """
    areas = _cells(path, record, None, crs, None)
    record.note(f"{Path(path).name} is a raster: each of its {len(areas)} cells is an area")
    return areas.set_index(CELL, drop=False)


def meant(polygons: object, aggregation: str | None, kind: str | None,
          standard_error: str | None, trials: str | None) -> tuple[str, str]:
    """What values are, as of `workbench.schema.meant`: those of a raster's cells are means.

    Parameters
    ----------
    polygons : GeoDataFrame, str or Path
    aggregation, kind, standard_error, trials
        As of `workbench.bag_polygons`.
    """
    if is_grid(polygons) and aggregation is None and kind is None and trials is None:
        aggregation = "mean"
    return schema.meant(aggregation, kind, standard_error, trials)
