"""Where learning starts: the best of a few lengthscales."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from workbench.gp.numerics.linalg import FactorisationError
from workbench.gp.optimisation.hyperparameters import Hyperparameter

#: Factors of the initial lengthscales that are tried.
FACTORS = (1.0, 1 / 3, 1 / 9, 1 / 27)


@torch.no_grad()
def scan_lengthscales(items: list[Hyperparameter], objective: Callable[[], Tensor],
                      given: set[str] = frozenset()) -> None:
    """Leave the free lengthscales at the multiple of their start with the best objective.

    The likelihood of a GP often has a maximum where all is noise and the lengthscale is long; a
    start at the median distance of inputs leads there when the field varies much faster.

    Parameters
    ----------
    items : list of Hyperparameter
        Those of a kernel.
    objective : callable
        The log evidence at their present values.
    given : set of str
        Names with a start of the user's own, which are left there.
    """
    moved = [i for i in items if "lengthscale" in i.name and not i.fixed and i.name not in given]
    if not moved:
        return
    start = [i.natural.clone() for i in moved]
    found = {}
    for factor in FACTORS:
        _place(moved, start, factor)
        try:
            found[factor] = float(objective())
        except (FactorisationError, torch.linalg.LinAlgError):
            continue
    best = max(found, key=found.get, default=1.0)
    _place(moved, start, best)


def _place(items: list[Hyperparameter], start: list[Tensor], factor: float) -> None:
    for item, value in zip(items, start, strict=True):
        item.set((value * factor).reshape(-1).tolist())
