"""The weight of each pixel of a map, from a raster: of maps of points, which have none."""

from __future__ import annotations

import numpy as np
import xarray as xr

from workbench import schema
from workbench.checks import DataWarning, InputError, require, warn
from workbench.geo.maps import to_raster
from workbench.geo.pixels import weight_raster
from workbench.geo.resampling import summed
from workbench.geo.treatments import Record


def with_weight(ds: xr.Dataset, weight: object, *, raster_crs: str | None = None,
                nodata: float | None = None, weight_variable: str | None = None) -> xr.Dataset:
    """A map, or places to map, whose pixels count by a raster, such as one of people.

    Parameters
    ----------
    ds : xr.Dataset
        Map of points, or `workbench.raster_places`, whose pixels all count alike.
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
        With ``weight`` (individual), zero where the raster has nobody or ends; what was done is
        added to the attribute ``treatments``.

    Raises
    ------
    InputError
        If the pixels have weights already or lie in no grid, or the raster cannot be used.

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
    if "weight" in ds and not (ds["weight"].values == 1).all():
        raise InputError("the individuals have weights, by which they were learnt from; a map of "
                         "points, or wb.raster_places, takes those of another raster")
    record = Record()
    grid = to_raster(ds, np.ones(ds.sizes[schema.INDIVIDUAL]))
    require(grid.rio.crs is not None, "the map states no CRS, so that nobody knows where its "
            "pixels lie in the raster of weights; make it with --points-crs (points_crs=)")
    people = weight_raster(weight, record, raster_crs, nodata, variable=weight_variable)
    moved = summed(people, grid, "the map", record)
    each = moved.values[ds["row"].values, ds["column"].values]
    unknown = int(np.isnan(each).sum())
    if unknown == each.size:
        raise InputError(f"the raster of weights {people.name!r} covers no pixel of the map: do "
                         "they lie in one place?")
    if unknown:
        warn(f"{unknown:,} of {each.size:,} pixels of the map have no weight in {people.name!r}, "
             "and count nothing", DataWarning)
    done = ds.attrs.get("treatments", "")
    said = "\n".join(line for line in (done if done != "none" else "", str(record))
                     if line and line != "none")
    units = {"units": str(people.attrs.get("units", "")), "long_name": str(people.name)}
    return ds.assign(weight=(schema.INDIVIDUAL, np.nan_to_num(each), units)).assign_attrs(
        treatments=said or "none")
