"""Polygons and rasters into bagged datasets, and fields back into maps."""

from workbench.checks.moved import moved
from workbench.geo.aggregate import aggregate
from workbench.geo.block_files import BLOCK_FORMATS, write_blocks
from workbench.geo.block_runs import scheduled
from workbench.geo.child_places import child_places
from workbench.geo.children import bag_children
from workbench.geo.columns import area_columns
from workbench.geo.derived import distance_to, slope
from workbench.geo.files import check_format, read, write
from workbench.geo.grid_areas import grid_areas
from workbench.geo.in_period import in_period
from workbench.geo.lazy_rasters import open_rasters
from workbench.geo.maps import to_raster
from workbench.geo.periods import at_period
from workbench.geo.points import bag_points, raster_places
from workbench.geo.polygons import bag_polygons
from workbench.geo.region import polygon_places
from workbench.geo.treatments import CleaningOptions
from workbench.geo.weighting import with_weight

__all__ = [
    "BLOCK_FORMATS", "CleaningOptions", "aggregate", "area_columns", "at_period", "bag_children",
    "bag_points", "bag_polygons", "check_format", "child_places", "distance_to", "grid_areas",
    "in_period", "open_rasters", "polygon_places", "raster_places", "read", "scheduled", "slope",
    "to_raster", "with_weight", "write", "write_blocks",
]

__getattr__ = moved(__name__, {"Treatments": ".CleaningOptions"})
