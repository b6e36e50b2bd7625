"""The optimal q of the Normal likelihood in closed form, and the bound with q eliminated.

With G = A Φ the aggregated features (B, M), r the residual variance of each bag and V its noise,
the bound at the best q is log N(y; A mean, V + G Gᵀ) - Σ r_b / (2 V_b), of which M x M matrices are
all that is factorised.

References
----------
Titsias 2009, Variational learning of inducing variables in sparse Gaussian processes; for bags, the
inter-domain form of Law et al. 2018, appendix A.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from workbench.gp.fields.inducing import Aggregated
from workbench.gp.numerics.linalg import factor
from workbench.gp.numerics.shapes import PerBag


def collapsed(seen: Aggregated, y: PerBag, variance: PerBag,
              trust: float | PerBag = 1.0) -> tuple[Tensor, Tensor, Tensor]:
    """The bound at the best q, and that q.

    Parameters
    ----------
    seen : Aggregated
        A source under the identity link.
    y, variance : Tensor (B,)
        Observations and their noise variances.
    trust : float or Tensor (B,)
        Power of the likelihood, of each observation if they differ.

    Returns
    -------
    value, mean, covariance : Tensor (), (M,), (M, M)
        All differentiable in the hyperparameters.

    Raises
    ------
    FactorisationError
        If the precision is not finite.
    """
    rows = seen.rows
    gap, tempered = y - seen.offset, variance / trust
    scaled = rows / tempered[:, None]
    precision = torch.eye(rows.shape[1]).to(rows) + rows.mT @ scaled
    root = factor(precision, "precision of q")
    covariance = torch.cholesky_inverse(root)
    mean = torch.cholesky_solve((scaled.mT @ gap)[:, None], root)[:, 0]
    # gapᵀ (V + G Gᵀ)⁻¹ gap as a sum of squares at the best mean: as a difference of two terms it
    # loses all digits, even its sign, where the noise is small. The mean minimises it, so that it
    # is as exact as the square of the mean's error, and its gradient is that at this mean.
    best = mean.detach()
    fit = ((gap - rows @ best).square() / tempered).sum() + best.square().sum()
    log_determinant = 2 * root.diagonal().log().sum()
    constant = (trust * (2 * math.pi * variance).log()).sum()
    value = -0.5 * (fit + log_determinant + constant + (seen.residual / tempered).sum())
    return value, mean, covariance
