"""The conditional mean process through inducing inputs, for more individuals than pairs allow.

References
----------
Chau et al. 2021, appendix B and E.2.2.
"""

from __future__ import annotations

from torch import Tensor

from workbench.conditional_mean import MediatedOperator
from workbench.fields.collapsed import CollapsedField
from workbench.fields.inducing import InducingField
from workbench.kernels import Term, inducing_inputs
from workbench.models.cmp import CMP
from workbench.models.cmp_options import VarCMPOptions
from workbench.models.cmp_state import CMPState
from workbench.shapes import Inputs


class VarCMPState(CMPState):
    """A variational conditional mean process assembled for one source."""

    def _field(self, terms: list[Term], x: Inputs, operator: MediatedOperator) -> CollapsedField:
        inducing = [None if term.weights else inducing_inputs(
            term, x, self.options.inducing, self.options.seed) for term in terms]
        return CollapsedField(InducingField(terms, inducing), x, operator, self.options.trace)

    def _field_like(self, x: Inputs, operator: MediatedOperator) -> CollapsedField:
        return CollapsedField(self.field.inducing, x, operator, self.options.trace)

    def _rough(self):
        """None where the diagonal of q's covariance is taken: clusters would change it."""
        return None if self.options.trace == "diagonal" else super()._rough()

    def conditional_means(self, weights: Tensor) -> tuple[Tensor, Tensor]:
        """Posterior mean and variance (n,) of means of f - m with weights of bags (B, n)."""
        return self.field.conditional_means(weights)


class VarCMP(CMP):
    """Conditional mean process with a sparse posterior: `CMP` where all pairs are too many.

    q over the inducing values is at its optimum in closed form, so that only hyperparameters are
    searched. The bound takes the whole trace tr(Aᵀ Σ A), over pairs of individuals; on large data
    hyperparameters are learnt on clusters of individuals, and the map needs no pairs. The value of
    the bound on all individuals (``objective``, ``summary``) and `conditional_mean` do.

    Parameters
    ----------
    **options
        Fields of `VarCMPOptions`.
    """

    name = "var-cmp"
    summary = "the conditional mean process through inducing inputs"
    options_type = VarCMPOptions
    state_type = VarCMPState
