"""How far inducing inputs are moved from where they lie, as values that an optimiser searches."""

from __future__ import annotations

import torch
from torch import nn

from workbench.gp.fields.inducing import InducingField
from workbench.gp.kernels.persistent import PERSISTENT
from workbench.gp.optimisation.hyperparameters import Hyperparameter


class InducingMoves:
    """The moves of a field's inducing inputs, zero at first.

    Parameters
    ----------
    field : InducingField
        Whose inducing inputs are moved.
    step : float
        Standardised units that one unit of the search moves an inducing input.

    Attributes
    ----------
    items : list of Hyperparameter
        One for each term that has inducing inputs.
    """

    def __init__(self, field: InducingField, step: float):
        self.field, self.step, self.held = field, step, list(field.inducing)
        # Effects of areas have no place that they could be moved from.
        self.moved = [z is not None and term.name != PERSISTENT
                      for term, z in zip(field.terms, self.held, strict=True)]
        self.items = [Hyperparameter(f"inducing.{term.name}", nn.Parameter(torch.zeros_like(z)))
                      for term, z, moved in zip(field.terms, self.held, self.moved, strict=True)
                      if moved]
        self.count = sum(len(one.raw) for one in self.items)

    def place(self) -> None:
        """Put the inducing inputs where the moves say, differentiable in them."""
        moves = iter(self.items)
        self.field.inducing = [z + self.step * next(moves).raw if moved else z
                               for z, moved in zip(self.held, self.moved, strict=True)]

    @torch.no_grad()
    def undo(self) -> None:
        """Back to where they were."""
        for item in self.items:
            item.raw.zero_()

    def leave(self) -> None:
        """Take up where the inducing inputs have come to lie."""
        self.place()
        self.field.inducing = [None if z is None else z.detach() for z in self.field.inducing]
