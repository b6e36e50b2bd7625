"""Errors and warnings that say what was expected, what came, and what to do about it."""

from workbench.checks.errors import (
    ApproximationWarning,
    Cancelled,
    ConvergenceWarning,
    DataWarning,
    ExtrapolationWarning,
    FewAreasWarning,
    FitWarning,
    InputError,
    NotExact,
    NothingLeft,
    SimpleMapWarning,
    TotalsWarning,
    WorkbenchWarning,
    warn,
)
from workbench.checks.listening import recorded_warnings, without_warnings
from workbench.checks.naming import named_as_flags, one_way, option, options_named
from workbench.checks.reading import reading, unreadable
from workbench.checks.stopping import interrupts_pass, stops
from workbench.checks.values import choose, meant, number, package, reject, require, whole

__all__ = [
    "ApproximationWarning", "Cancelled", "ConvergenceWarning", "DataWarning",
    "ExtrapolationWarning", "FewAreasWarning", "FitWarning", "InputError", "NotExact",
    "NothingLeft", "SimpleMapWarning", "TotalsWarning", "WorkbenchWarning", "choose",
    "interrupts_pass", "meant", "named_as_flags", "number", "one_way", "option", "options_named",
    "package", "reading", "recorded_warnings", "reject", "require", "stops", "unreadable", "warn",
    "whole", "without_warnings",
]
