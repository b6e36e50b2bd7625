"""Rehearsal: truths on one's own areas are simulated, fitted again, and compared."""

from workbench.comparison.rehearsal.run import rehearse
from workbench.comparison.rehearsal.words import rehearsal_table, rehearsal_text

__all__ = ["rehearsal_table", "rehearsal_text", "rehearse"]
