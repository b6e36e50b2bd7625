"""Coarsen and recover: known areas are predicted from the totals of their groups, and scored."""

from workbench.evaluation.recovery.draws import recover_draws
from workbench.evaluation.recovery.run import recover
from workbench.evaluation.recovery.summary import recovery_table
from workbench.evaluation.recovery.weights import recovery_weights

__all__ = ["recover", "recover_draws", "recovery_table", "recovery_weights"]
