"""Scores of maps and totals: accuracy, proper scores, calibration, recovery of known areas.

Names are imported on first use, so that what needs the verdict's rules alone (`evidence`), such as
a page that is drawn before any model is loaded, does not wait for all scores; ``__init__.pyi``
lists them for editors.
"""

from __future__ import annotations

import importlib

from workbench.checks.moved import moved

_HOME = {
    "FoldWarning": "workbench.evaluation.tasks",
    "Interrupted": "workbench.evaluation.tasks",
    "bias": "workbench.evaluation.accuracy",
    "bilinear_lapse": "workbench.evaluation.baselines",
    "central_intervals": "workbench.evaluation.calibration",
    "correlation": "workbench.evaluation.accuracy",
    "coverage": "workbench.evaluation.calibration",
    "covered": "workbench.evaluation.calibration",
    "covered_by_pit": "workbench.evaluation.calibration",
    "cross_scores": "workbench.evaluation.stacking",
    "crps": "workbench.evaluation.scoring",
    "default_levels": "workbench.evaluation.grouping",
    "exceedances": "workbench.evaluation.ranking",
    "explain": "workbench.evaluation.explaining",
    "field_scores": "workbench.evaluation.images",
    "folds": "workbench.evaluation.folding",
    "groupings": "workbench.evaluation.grouping",
    "interval_score": "workbench.evaluation.scoring",
    "log_score": "workbench.evaluation.scoring",
    "mae": "workbench.evaluation.accuracy",
    "pin_to_totals": "workbench.evaluation.accuracy",
    "pit": "workbench.evaluation.calibration",
    "pit_histogram": "workbench.evaluation.calibration",
    "poisson_deviance": "workbench.evaluation.accuracy",
    "poisson_log_density": "workbench.evaluation.scoring",
    "poisson_nll": "workbench.evaluation.accuracy",
    "quantile_residuals": "workbench.evaluation.residuals",
    "rank_correlation": "workbench.evaluation.images",
    "ranks": "workbench.evaluation.ranking",
    "recover": "workbench.evaluation.recovery",
    "recover_draws": "workbench.evaluation.recovery",
    "recovery_table": "workbench.evaluation.recovery",
    "recovery_weights": "workbench.evaluation.recovery",
    "reliability": "workbench.evaluation.calibration",
    "rescale_to_totals": "workbench.evaluation.accuracy",
    "rmse": "workbench.evaluation.accuracy",
    "score_areas": "workbench.evaluation.area_scores",
    "spatial_check": "workbench.evaluation.residuals",
    "stack": "workbench.evaluation.stacking",
    "structural_similarity": "workbench.evaluation.images",
    "subset": "workbench.evaluation.folding",
    "table": "workbench.evaluation.tables",
    "weighted_interval_score": "workbench.evaluation.scoring",
}
__all__ = sorted(_HOME)

_elsewhere = moved(__name__, {
    name: f"workbench.comparison.{name}" + (f" (and workbench.{name})" if short else "")
    for name, short in (("compare", True), ("cross_validate", True), ("evaluate", True),
                        ("score_individuals", False), ("Comparison", False))
})


def __getattr__(name: str) -> object:
    if name in _HOME:
        return getattr(importlib.import_module(_HOME[name]), name)
    return _elsewhere(name)
