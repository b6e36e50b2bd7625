"""Errors, warnings and how they are raised: all that a user can meet."""

from __future__ import annotations

import sys
import warnings

from workbench.checks.listening import deliver


class InputError(ValueError):
    """The user's data or options cannot be used; the message says what to change."""


class NothingLeft(InputError):
    """Of the data nothing can be used, though some of other data of their kind might be."""


class NotExact(InputError):
    """A model does not know a distribution exactly, but can be asked for draws instead."""


class Cancelled(Exception):
    """Raised by a callback to stop a fit; the best state so far is kept."""


class WorkbenchWarning(UserWarning):
    """Any warning of this package, so that all of them can be filtered by one class."""


class ConvergenceWarning(WorkbenchWarning):
    """An optimisation ended before its optimum; what was found so far is returned."""


class ExtrapolationWarning(WorkbenchWarning):
    """Much of a map rests on covariates beyond the range in which totals were seen."""


class FitWarning(WorkbenchWarning):
    """A fit disagrees with the data it was given, or claims more than they can support."""


class TotalsWarning(FitWarning):
    """The totals that a fit expects, all together, are far from those that it was given."""


class SimpleMapWarning(FitWarning):
    """A simple map may be as good as the mixture of `workbench.Auto`, or nothing was tested."""


class FewAreasWarning(FitWarning):
    """There are too few areas to test what a map shows inside them."""


class DataWarning(WorkbenchWarning):
    """Data that can be used look as if they were something else than what they are taken for."""


class ApproximationWarning(WorkbenchWarning):
    """A result is less accurate than it should be; the message says how much and what to do."""


def warn(message: str, category: type[Warning] = FitWarning) -> None:
    """Warn at the line of the user's code that called the package, however deep the cause lies.

    Parameters
    ----------
    message : str
        What happened, and what to do about it.
    category : type of Warning
        One of the classes of this module.
    """
    frame = caller = sys._getframe(1)
    while frame is not None:
        # torch's decorators stand between the user and our methods
        if frame.f_globals.get("__name__", "").partition(".")[0] in ("workbench", "torch"):
            caller = frame.f_back or frame
        frame = frame.f_back
    where = caller.f_code.co_filename, caller.f_lineno
    if not deliver(message, category, *where):
        warnings.warn_explicit(
            message, category, *where, caller.f_globals.get("__name__"),
            caller.f_globals.setdefault("__warningregistry__", {}))
