"""Data checked before anything is fitted: all that is wrong or odd in one table."""

from workbench.bagging.findings import Finding
from workbench.preflight.check import check, looked_over
from workbench.preflight.result import Check

__all__ = ["Check", "Finding", "check", "looked_over"]
