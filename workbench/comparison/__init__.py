"""Models beside each other on one dataset: evaluated, cross-validated, compared, rehearsed."""

from workbench.comparison.assessment import evaluate
from workbench.comparison.compare import compare
from workbench.comparison.crossvalidation import cross_validate
from workbench.comparison.engines import compare_engines
from workbench.comparison.individuals import score_individuals
from workbench.comparison.rehearsal import rehearsal_table, rehearsal_text, rehearse
from workbench.comparison.result import Comparison

__all__ = [
    "Comparison", "compare", "compare_engines", "cross_validate", "evaluate", "rehearsal_table",
    "rehearsal_text", "rehearse", "score_individuals",
]
