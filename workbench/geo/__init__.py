"""Polygons and rasters into bagged datasets, and fields back into maps."""

from workbench.geo.aggregate import aggregate
from workbench.geo.children import bag_children
from workbench.geo.columns import area_columns
from workbench.geo.files import check_format, read, write
from workbench.geo.maps import to_raster
from workbench.geo.polygons import bag_polygons
from workbench.geo.treatments import CleaningOptions
from workbench.moved import moved

__all__ = [
    "CleaningOptions", "aggregate", "area_columns", "bag_children", "bag_polygons",
    "check_format", "read", "to_raster", "write",
]

__getattr__ = moved(__name__, {"Treatments": ".CleaningOptions"})
