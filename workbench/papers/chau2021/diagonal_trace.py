"""VarCMP with the bound of the authors' code, whose trace has the diagonal of q's covariance alone.

tr(Aᵀ Σ A) with Σ's diagonal in the place of Σ is not a bound: it may exceed the log evidence.

References
----------
Chau et al. 2021, released code.
"""

from __future__ import annotations

import torch
from torch import Tensor

from workbench.checks import require
from workbench.gp.fields.collapsed import CollapsedField, root_of_precision
from workbench.gp.models.conditional_mean.var_cmp import VarCMP, VarCMPState
from workbench.gp.numerics.shapes import PerBag
from workbench.labelled import VarCMP as LabelledVarCMP


class DiagonalField(CollapsedField):
    """`CollapsedField` under that objective, at its best q."""

    @torch.no_grad()
    def condition(self, y: PerBag, noise: Tensor) -> None:
        """Keep the best q at the present hyperparameters: its covariance is another."""
        super().condition(y, noise)
        root = root_of_precision(self._weighted_square(noise)[0])
        self.inducing.set_q(self.inducing.q_mean, torch.cholesky_inverse(root))

    def _correction(self, rows: Tensor, bags: Tensor, noise: PerBag) -> Tensor:
        """What the diagonal of q's covariance, in the place of the covariance, adds to log N."""
        square, c, residual = self._weighted_square(noise)
        whole = root_of_precision(rows.mT @ (rows / noise[:, None])).diagonal().log().sum()
        return (whole - root_of_precision(square).diagonal().log().sum()
                - 0.5 * (c * residual).sum())

    def _weighted_square(self, noise: PerBag) -> tuple[Tensor, Tensor, Tensor]:
        """Φᵀ diag(c) Φ, c = diag(A Λ⁻¹ Aᵀ), and the residual of each individual."""
        base = self.operator.base
        per_bag = (self.operator.weights.square() / noise).sum(1)
        c = base.coefficients().square() * per_bag[base.bags.membership]
        projection = self.inducing.project(self.x)
        return (projection.features.mT @ (c[:, None] * projection.features), c,
                projection.residual)


class DiagonalState(VarCMPState):
    """`VarCMPState` with a `DiagonalField`."""

    field_type = DiagonalField

    def _rough(self):
        """None: clusters would change the diagonal."""
        return None


class DiagonalVarCMP(VarCMP):
    """`VarCMP` as the authors' code has it.

    Raises
    ------
    InputError
        On a nugget, which its trace does not know.
    """

    state_type = DiagonalState

    def __init__(self, **options):
        super().__init__(**options)
        require(self.options.nugget == 0, "the diagonal trace does not support white noise of "
                "individuals; leave out the nugget or use VarCMP")


class LabelledDiagonalVarCMP(LabelledVarCMP):
    """The same of bagged datasets."""

    torch_model = DiagonalVarCMP
