"""What a fit says of its hyperparameters: fixed are those alone that somebody has fixed."""

from __future__ import annotations

from collections.abc import Collection
from numbers import Real
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from workbench.labelled import Fit


def told(fit: Fit, fixed: Collection[str] = ()) -> Fit:
    """The fit, which no longer says of what was learnt that the user has fixed it.

    Maps are made by conditioning on what was learnt, which marks every hyperparameter as fixed.

    Parameters
    ----------
    fit : Fit
        Of one model, or a mixture.
    fixed : collection of str
        Hyperparameters that the user has fixed, of each model beside those of its own options.

    Returns
    -------
    Fit
        The same one.
    """
    from workbench.labelled import AutoFit

    for one in (fit.candidates.values() if isinstance(fit, AutoFit) else (fit,)):
        options = one.model.options
        names = {*fixed, *getattr(options, "hyperparameters", {})}
        for item in getattr(one.inner.state, "hyperparameters", ()):
            effect, _, what = item.name.partition(".")
            # a number in the place of "learn", such as nugget=0.3, is a standard deviation
            number = what == "std" and isinstance(getattr(options, effect, None), Real)
            item.fixed = item.name in names or number
    return fit
