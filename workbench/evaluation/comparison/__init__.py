"""The verdict in one call: which of several models to use, by three tests."""

from workbench.evaluation.comparison.individuals import score_individuals
from workbench.evaluation.comparison.result import Comparison
from workbench.evaluation.comparison.run import compare

__all__ = ["Comparison", "compare", "score_individuals"]
