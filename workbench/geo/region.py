"""Polygons of a region where nothing was counted, over its rasters: where a fit is to be mapped."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import xarray as xr

from workbench.checks import DataWarning, without_warnings
from workbench.geo.areas import read_polygons
from workbench.geo.cell_columns import named_in
from workbench.geo.grids import CELLS
from workbench.geo.polygons import bag_polygons
from workbench.geo.treatments import Record, treatments_from

NO_VALUE = "no value"      # a column that stands where values are expected


def polygon_places(
    polygons: object,
    covariates: object = None,
    weight: object = None,
    *,
    population: str | None = None,
    id: str | None = None,
    name: str | None = None,
    labels: Mapping[str, str] | None = None,
    weight_units: str | None = None,
    polygon_crs: str | None = None,
    raster_crs: str | None = None,
    nodata: float | tuple[float, ...] | None = None,
    layer: str | None = None,
    variable: str | tuple[str, ...] | None = None,
    classes: str | tuple[str, ...] | None = None,
    class_labels: Mapping[str, str] | None = None,
    grid_of: str | None = None,
    distance_to: str | tuple[str, ...] | None = None,
    slope_of: str | None = None,
    weight_variable: str | None = None,
    grid_size: int = CELLS,
    attrs: Mapping[str, str] | None = None,
    **treatments: str,
) -> xr.Dataset:
    """Pixels of rasters by polygons without values, as places to predict a map and totals at.

    Parameters
    ----------
    polygons : geopandas.GeoDataFrame, str or Path
        The areas whose totals are to be predicted.
    covariates : raster, sequence of rasters, or mapping of name to raster
        The covariates of the model, by the names that they have there.
    weight : raster, "area", "uniform", optional
        Weight (population) per pixel, in the units that the model learnt with.
    population, id, name, labels, weight_units, polygon_crs, raster_crs, nodata, layer, variable
        As of `workbench.bag_polygons`.
    classes, class_labels, grid_of, distance_to, slope_of, weight_variable, grid_size
        As of `workbench.bag_polygons`.
    attrs, **treatments
        As of `workbench.bag_polygons`.

    Returns
    -------
    xr.Dataset
        As of `workbench.bag_polygons`, but without ``value``.

    Raises
    ------
    InputError
        For input that no treatment was chosen for; the message names the option to pass.

    Examples
    --------
    >>> import geopandas, shapely, workbench as wb
    >>> areas = geopandas.GeoDataFrame(
    ...     {"code": ["a", "b"]}, geometry=shapely.box([0, 2000], 0, [2000, 4000], 2000),
    ...     crs="EPSG:32633")
    >>> ds = wb.polygon_places(areas, id="code")
    >>> ds.sizes["bag"], "value" in ds
    (2, False)
    """
    record = Record()
    named = {"population": population, "id": id, "name": name, "labels": labels}
    areas = read_polygons(polygons, record, crs=polygon_crs, layer=layer, nodata=nodata,
                          columns=named_in(named), marks=treatments_from(treatments).marks)
    return without_values(lambda: bag_polygons(
        areas.assign(**{NO_VALUE: 0.0}), covariates, weight, NO_VALUE, kind="continuous",
        aggregation="sum", population=population, id=id, name=name, labels=labels,
        weight_units=weight_units, raster_crs=raster_crs, nodata=nodata, variable=variable,
        classes=classes, class_labels=class_labels, grid_of=grid_of, distance_to=distance_to,
        slope_of=slope_of, weight_variable=weight_variable, grid_size=grid_size, attrs=attrs,
        **treatments), record)


def without_values(bag: Callable[[], xr.Dataset], record: Record) -> xr.Dataset:
    """Places without values, made by what bags zeros in their place.

    Parameters
    ----------
    bag : callable
        Returns the bagged dataset.
    record : Record
        Of what was done before; receives what is done now.

    Returns
    -------
    xr.Dataset
        Without ``value`` and ``individual_value``.
    """
    with without_warnings(DataWarning):     # of covariates alike all over: nothing is learnt
        ds = bag()
    record.extend(line for line in ds.attrs["treatments"].split("\n")
                  if line != "none" and not line.startswith("look at this:"))
    ds.attrs.pop("sanity", None)
    return ds.drop_vars(["value", "individual_value"], errors="ignore").assign_attrs(
        treatments=str(record))
