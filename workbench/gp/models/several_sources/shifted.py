"""A field with a mean of its own, which shares all else with another: f of a second task."""

from __future__ import annotations

from torch import Tensor, nn

from workbench.gp.fields.inducing import InducingField
from workbench.gp.kernels.operators import AggregationOperator


class ShiftedField(InducingField):
    """Another field plus a constant; terms, inducing inputs and q are those of that field.

    Parameters
    ----------
    base : InducingField
        The other field.
    shift : Tensor (1,)
        What is added to its mean.
    """

    def __init__(self, base: InducingField, shift: nn.Parameter):
        nn.Module.__init__(self)
        self._shared = (base, shift)        # a tuple hides them: parameters are the base's
        self.terms = base.terms

    @property
    def mean(self) -> Tensor:
        """Prior mean (1,)."""
        return self._shared[0].mean + self._shared[1]

    @property
    def inducing(self) -> list[Tensor | None]:
        """Inducing inputs of each term."""
        return self._shared[0].inducing

    @property
    def averaging(self) -> list[AggregationOperator | None]:
        """From values at inducing inputs to inducing variables, of each term."""
        return self._shared[0].averaging

    @property
    def q_mean(self) -> Tensor:
        """Mean of q (M,)."""
        return self._shared[0].q_mean

    @property
    def q_covariance(self) -> Tensor:
        """Covariance of q (M, M)."""
        return self._shared[0].q_covariance

    def set_q(self, mean: Tensor, covariance: Tensor) -> None:
        """Replace q, of both fields."""
        self._shared[0].set_q(mean, covariance)
