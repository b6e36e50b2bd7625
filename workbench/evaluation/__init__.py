"""Scores of maps and totals: accuracy, proper scores, calibration, recovery of known areas."""

from workbench.evaluation.accuracy import (
    bias,
    correlation,
    mae,
    pin_to_totals,
    poisson_deviance,
    poisson_nll,
    rescale_to_totals,
    rmse,
)
from workbench.evaluation.area_scores import score_areas
from workbench.evaluation.baselines import bilinear_lapse
from workbench.evaluation.calibration import (
    central_intervals,
    coverage,
    covered,
    covered_by_pit,
    pit,
    pit_histogram,
    reliability,
)
from workbench.evaluation.explaining import explain
from workbench.evaluation.folds import folds, subset
from workbench.evaluation.groupings import default_levels, groupings
from workbench.evaluation.images import field_scores, rank_correlation, structural_similarity
from workbench.evaluation.ranking import exceedances, ranks
from workbench.evaluation.recovery import (
    recover,
    recover_draws,
    recovery_table,
    recovery_weights,
)
from workbench.evaluation.residuals import quantile_residuals, spatial_check
from workbench.evaluation.scoring import (
    crps,
    interval_score,
    log_score,
    poisson_log_density,
    weighted_interval_score,
)
from workbench.evaluation.stacking import cross_scores, stack
from workbench.evaluation.tables import table
from workbench.evaluation.tasks import FoldWarning, Interrupted
from workbench.moved import moved

__all__ = [
    "FoldWarning", "Interrupted", "bias", "bilinear_lapse", "central_intervals", "correlation",
    "coverage", "covered", "covered_by_pit", "crps", "cross_scores", "default_levels",
    "exceedances", "explain", "field_scores", "folds", "groupings", "interval_score", "log_score",
    "mae", "pin_to_totals", "pit", "pit_histogram", "poisson_deviance", "poisson_log_density",
    "poisson_nll",
    "quantile_residuals", "rank_correlation", "ranks", "recover", "recover_draws",
    "recovery_table", "recovery_weights", "reliability", "rescale_to_totals", "rmse", "score_areas",
    "spatial_check", "stack", "structural_similarity",
    "subset", "table", "weighted_interval_score",
]

__getattr__ = moved(__name__, {
    name: f"workbench.comparison.{name}" + (f" (and workbench.{name})" if short else "")
    for name, short in (("compare", True), ("cross_validate", True), ("evaluate", True),
                        ("score_individuals", False), ("Comparison", False))
})
