"""Numbers of trials behind positives, as bags have them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.checks import InputError, reject, require
from workbench.gp.numerics.shapes import PerBag

if TYPE_CHECKING:
    from workbench.gp.data.bags import Bags


def known_trials(bags: Bags) -> PerBag:
    """Numbers of trials of the bags (B,).

    Raises
    ------
    InputError
        If they are not given, or not one whole number of zero or more for every bag.
    """
    if bags.trials is None:
        raise InputError("these bags have no number of trials, without which no positives can be "
                         "predicted; add a variable 'trials' (bag) to the dataset")
    if len(bags.trials) != bags.count:
        raise reject(f"one number of trials per bag ({bags.count})", f"{len(bags.trials)} entries",
                     "pass one per bag")
    good = (bags.trials >= 0) & (bags.trials == bags.trials.round())
    require(bool(good.all()), "numbers of trials must be whole and zero or more, but "
            f"{int((~good).sum())} are not")
    return bags.trials
