"""Small polygons inside larger ones where nothing was counted: where a fit is to be mapped."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import xarray as xr

from workbench.geo.areas import read_polygons
from workbench.geo.children import bag_children
from workbench.geo.region import NO_VALUE, without_values
from workbench.geo.treatments import Record


def child_places(
    fine_polygons: object,
    *,
    parent: str,
    covariates: Sequence[str] = (),
    weight: str | None = None,
    id: str | None = None,
    name: str | None = None,
    labels: Mapping[str, str] | None = None,
    units: Mapping[str, str] | None = None,
    weight_units: str | None = None,
    parent_polygons: object | None = None,
    parent_id: str | None = None,
    parent_layer: str | None = None,
    polygon_crs: str | None = None,
    layer: str | None = None,
    attrs: Mapping[str, str] | None = None,
    **treatments: str,
) -> xr.Dataset:
    """Small polygons without values, as places to predict a map and totals of larger areas at.

    Parameters
    ----------
    fine_polygons : geopandas.GeoDataFrame, str or Path
        The individuals, also those in larger areas of which no value is known.
    parent : str
        Column with the id of the larger area.
    covariates : sequence of str
        Columns with the covariates of the model, by the names that they have there.
    weight : str, optional
        Column with the weights, "area" or "uniform", in the units that the model learnt with.
    id, name, labels, units, weight_units, parent_polygons, parent_id, parent_layer
        As of `workbench.bag_children`.
    polygon_crs, layer, attrs, **treatments
        As of `workbench.bag_children`.

    Returns
    -------
    xr.Dataset
        As of `workbench.bag_children`, but without ``value`` and ``individual_value``.

    Raises
    ------
    InputError
        For input that no treatment was chosen for; the message names the option to pass.

    Examples
    --------
    >>> import geopandas, shapely, workbench as wb
    >>> small = geopandas.GeoDataFrame(
    ...     {"district": ["A", "A", "B"], "people": [10, 20, 30]},
    ...     geometry=shapely.box([0, 1, 2], 0, [1, 2, 3], 1), crs="EPSG:32633")
    >>> ds = wb.child_places(small, parent="district", weight="people")
    >>> ds.sizes["bag"], "value" in ds
    (2, False)
    """
    record = Record()
    fine = read_polygons(fine_polygons, record, crs=polygon_crs, layer=layer)
    return without_values(lambda: bag_children(
        fine.assign(**{NO_VALUE: 0.0}), parent=parent, covariates=covariates, weight=weight,
        value=NO_VALUE, kind="continuous", aggregation="sum", id=id, name=name, labels=labels,
        units=units, weight_units=weight_units, parent_polygons=parent_polygons,
        parent_id=parent_id, parent_layer=parent_layer, attrs=attrs, **treatments), record)
