"""Individuals into bags and bags into larger bags: granularity is always a choice."""

from workbench.bagging.assemble import assemble, bag_values
from workbench.bagging.blocks import bag_blocks
from workbench.bagging.boxes import bag_boxes
from workbench.bagging.contiguous import contiguous_groups, periods_of
from workbench.bagging.individuals import bag_grid, from_table, rebag
from workbench.bagging.mediated import add_mediators, targets_from_grid, targets_from_table, unmatch
from workbench.bagging.merging import merge, merge_to
from workbench.bagging.ordered import bag_along, bag_sizes
from workbench.bagging.places import grid_places
from workbench.bagging.sanity import looked_at, noted, oddities
from workbench.bagging.summaries import as_singleton_bags, move_to_centres, separate, summarise
from workbench.bagging.summary_tables import from_summaries

__all__ = [
    "add_mediators", "as_singleton_bags", "assemble", "bag_along", "bag_blocks", "bag_boxes",
    "bag_grid", "bag_sizes", "bag_values", "contiguous_groups", "from_summaries", "from_table",
    "grid_places", "looked_at", "merge", "merge_to", "move_to_centres", "noted", "oddities",
    "periods_of", "rebag", "separate", "summarise", "targets_from_grid", "targets_from_table",
    "unmatch",
]
