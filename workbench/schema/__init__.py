"""What datasets hold: names of dimensions and variables, checks of them, and labels of maps."""

from workbench.schema.aligned import per_unit
from workbench.schema.bagged import (
    AGGREGATIONS,
    AREA,
    BAG,
    COVARIATE,
    GEOMETRY,
    INDIVIDUAL,
    KINDS,
    MEDIATOR,
    STATISTICS,
    TARGET,
    aggregation,
    check,
    check_learnable,
    check_targets,
    counts_add_up,
    grouped,
    kind,
    statistic,
)
from workbench.schema.meaning import UNITS, meant

__all__ = [
    "AGGREGATIONS", "AREA", "BAG", "COVARIATE", "GEOMETRY", "INDIVIDUAL", "KINDS", "MEDIATOR",
    "STATISTICS", "TARGET", "UNITS", "aggregation", "check", "check_learnable", "check_targets",
    "counts_add_up", "grouped", "kind", "meant", "per_unit", "statistic",
]
