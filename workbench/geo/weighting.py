"""The weight of each pixel of a map, from a raster: of maps of points, which have none."""

from __future__ import annotations

import numpy as np
import xarray as xr

from workbench import schema
from workbench.checks import DataWarning, InputError, option, require, warn
from workbench.geo.maps import map_periods, to_raster
from workbench.geo.pixels import weight_raster
from workbench.geo.resampling import summed
from workbench.geo.treatments import Record

_FROM = "raster"            # attribute of weights that may be replaced


def with_weight(ds: xr.Dataset, weight: object, *, raster_crs: str | None = None,
                nodata: float | None = None, weight_variable: str | None = None) -> xr.Dataset:
    """A map of points whose pixels count by a raster, such as one of people.

    Polygons then get means by people; of counts that were learnt with an exposure totals, rates
    times people. What a map keeps of its former weights is left out.

    Parameters
    ----------
    ds : xr.Dataset
        Map of points, whose pixels all count alike; or `workbench.raster_places` for
        ``fit.aggregate``.
    weight : raster
        People per pixel, on any grid: each of its pixels is shared by area, so that none is lost.
        As of `workbench.bag_polygons`.
    raster_crs : str, optional
        CRS of a raster that states none.
    nodata : float, optional
        Mark of missing pixels that is not declared.
    weight_variable : str, optional
        Which variable of a NetCDF file or Dataset.

    Returns
    -------
    xr.Dataset
        With ``weight`` (individual), zero where the raster has nobody or ends; the attribute
        ``weighed`` says what was done.

    Raises
    ------
    InputError
        If the pixels have weights already, lie in no grid of one period, or their rates are of
        points; or the raster has nobody there or cannot be used.

    Warns
    -----
    DataWarning
        If the raster does not know all pixels.

    Examples
    --------
    >>> import xarray as xr
    >>> import workbench as wb
    >>> height = xr.DataArray([[1.0, 2.0], [3.0, 4.0]], dims=("y", "x"), name="height", coords={
    ...     "y": [1.5, 0.5], "x": [0.5, 1.5]}).rio.write_crs("EPSG:32633")
    >>> places = wb.raster_places(height)
    >>> wb.with_weight(places, (10 * height).rename("people"))["weight"].values.tolist()
    [10.0, 20.0, 30.0, 40.0]
    """
    alike = "weight" not in ds or _FROM in ds["weight"].attrs or (ds["weight"].values == 1).all()
    if not alike or "value" in ds or "bag_geometry" in ds.coords:
        raise InputError("the individuals have weights, by which they were learnt from; a map of "
                         "points, or wb.raster_places, takes those of another raster")
    require("mean" not in ds or not str(ds["mean"].attrs.get("units", "")).endswith("/ points"),
            "the rates of this map are cases per point, which people cannot multiply: count them "
            f"per exposure, {option('weight', 'COLUMN')} of the points")
    require(len(map_periods(ds)) < 2, "weights are those of one period; take one with "
            "workbench.at_period(maps, period)")
    record, transform = Record(), ds.attrs.get("grid_transform")
    grid = to_raster(ds, np.ones(ds.sizes[schema.INDIVIDUAL]))
    require(transform[4] < 0 and transform[1] == transform[3] == 0, "the rows of the map's grid do "
            "not run from north to south, or it is rotated; weights need one that is neither")
    cells = np.stack([ds["row"].values, ds["column"].values])
    require(len(np.unique(cells, axis=1).T) == cells.shape[1], "pixels of the map are cut into "
            "several individuals; a map of points has each once")
    require(grid.rio.crs is not None, "the map states no CRS, so that nobody knows where its "
            "pixels lie in the raster of weights; make it with --points-crs (points_crs=)")
    people = weight_raster(weight, record, raster_crs, nodata, variable=weight_variable)
    moved = summed(people, grid, "the map", record)
    each = moved.values[tuple(cells)]
    unknown = int(np.isnan(each).sum())
    if unknown == each.size:
        raise InputError(f"the raster of weights {people.name!r} covers no pixel of the map: do "
                         "they lie in one place?")
    if unknown:
        warn(f"{unknown:,} of {each.size:,} pixels of the map have no weight in {people.name!r}, "
             "and count nothing", DataWarning)
    require(np.nansum(each) > 0, f"the raster of weights {people.name!r} has nobody where the map "
            "is: every pixel would count nothing")
    about = {"units": str(people.attrs.get("units", "")), "long_name": str(people.name),
             _FROM: str(people.name)}
    former = [name for name in ds.data_vars if str(name).startswith(("expected_", "bag_"))]
    return ds.drop_vars(former).assign(
        weight=(schema.INDIVIDUAL, np.nan_to_num(each), about)).assign_attrs(weighed=str(record))
