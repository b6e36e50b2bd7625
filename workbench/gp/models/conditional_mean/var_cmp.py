"""The conditional mean process through inducing inputs, for more individuals than pairs allow.

References
----------
Chau et al. 2021, appendix B and E.2.2.
"""

from __future__ import annotations

from torch import Tensor

from workbench.gp.fields.collapsed import CollapsedField
from workbench.gp.fields.inducing import InducingField
from workbench.gp.fields.mediated import ConditionalMeanOperator
from workbench.gp.kernels.grammar import Term
from workbench.gp.models import assembly
from workbench.gp.models.conditional_mean.cmp import CMP
from workbench.gp.models.conditional_mean.cmp_options import VarCMPOptions
from workbench.gp.models.conditional_mean.cmp_state import CMPState
from workbench.gp.numerics.shapes import Inputs


class VarCMPState(CMPState):
    """A variational conditional mean process assembled for one source."""

    field_type = CollapsedField

    def _field(self, terms: list[Term], x: Inputs, operator: ConditionalMeanOperator
               ) -> CollapsedField:
        inducing = assembly.inducing_field(terms, x, self.options.inducing, self.options.seed)
        return self.field_type(inducing, x, operator)

    def _field_like(self, x: Inputs, operator: ConditionalMeanOperator) -> CollapsedField:
        return self.field_type(self.field.inducing, x, operator)

    def inducing_fields(self) -> list[InducingField]:
        """The one field behind the collapsed one."""
        return [self.field.inducing]

    def conditional_means(self, weights: Tensor) -> tuple[Tensor, Tensor]:
        """Posterior mean and variance (n,) of means of f - m with weights of bags (B, n)."""
        return self.field.conditional_means(weights)


class VarCMP(CMP):
    """Conditional mean process with a sparse posterior: `CMP` where all pairs are too many."""

    name = "var-cmp"
    summary = "the conditional mean process through inducing inputs"
    options_type = VarCMPOptions
    state_type = VarCMPState
