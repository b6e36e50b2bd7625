"""The columns that a file of areas has itself, kept for the map that is made from it."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from workbench.geo.areas import read_areas
from workbench.geo.totals import index_by
from workbench.geo.treatments import CleaningOptions, Record, treatments_from


def area_columns(polygons: object, value: str | None, options: Mapping[str, object]):
    """The areas' own columns, as `workbench.bag_polygons` read them.

    Parameters
    ----------
    polygons : geopandas.GeoDataFrame, str or Path
        The areas.
    value : str or None
        Column with the value of each area, if there is one.
    options : mapping
        Arguments of `workbench.bag_polygons`; those that say how polygons are read apply.

    Returns
    -------
    pd.DataFrame
        Indexed by the areas' ids as text, without the geometry.

    Raises
    ------
    InputError
        As `workbench.bag_polygons`.
    """
    known = {field.name for field in dataclasses.fields(CleaningOptions)}
    chosen = treatments_from({name: options[name] for name in known & options.keys()})
    id = index_by(options.get("id"), options.get("join"))
    areas = read_areas(polygons, id, value, chosen, Record(), options.get("polygon_crs"),
                       options.get("layer"), nodata=options.get("nodata"))
    return areas.drop(columns=areas.geometry.name)
