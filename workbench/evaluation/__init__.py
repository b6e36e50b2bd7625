"""Scores of maps and totals: accuracy, proper scores, calibration, cross-validation."""

from workbench.evaluation.accuracy import (
    bias,
    correlation,
    mae,
    pin_to_totals,
    poisson_deviance,
    poisson_nll,
    rmse,
)
from workbench.evaluation.area_scores import score_areas
from workbench.evaluation.assessment import evaluate
from workbench.evaluation.calibration import (
    central_intervals,
    coverage,
    covered,
    covered_by_pit,
    pit,
    pit_histogram,
    reliability,
)
from workbench.evaluation.comparison import Comparison, compare, score_individuals
from workbench.evaluation.crossvalidation import FoldWarning, Interrupted, cross_validate
from workbench.evaluation.downscaling import bilinear_lapse
from workbench.evaluation.folds import folds, subset
from workbench.evaluation.groupings import default_levels, groupings
from workbench.evaluation.images import field_scores, rank_correlation, structural_similarity
from workbench.evaluation.recovery import (
    recover,
    recover_draws,
    recovery_table,
    recovery_weights,
)
from workbench.evaluation.scoring import (
    crps,
    interval_score,
    log_score,
    poisson_log_density,
    weighted_interval_score,
)
from workbench.evaluation.stacking import cross_scores, stack, stack_log
from workbench.evaluation.tables import table

__all__ = [
    "Comparison",
    "FoldWarning",
    "Interrupted",
    "bias",
    "bilinear_lapse",
    "central_intervals",
    "compare",
    "correlation",
    "coverage",
    "covered",
    "covered_by_pit",
    "crps",
    "cross_scores",
    "cross_validate",
    "default_levels",
    "evaluate",
    "field_scores",
    "folds",
    "groupings",
    "interval_score",
    "log_score",
    "mae",
    "pin_to_totals",
    "pit",
    "pit_histogram",
    "poisson_deviance",
    "poisson_log_density",
    "poisson_nll",
    "rank_correlation",
    "recover",
    "recover_draws",
    "recovery_table",
    "recovery_weights",
    "reliability",
    "rmse",
    "score_areas",
    "score_individuals",
    "stack",
    "stack_log",
    "structural_similarity",
    "subset",
    "table",
    "weighted_interval_score",
]
