"""Log evidence of a GP regression by conjugate gradients and Lanczos quadrature, for many points.

The matrix is never factorised: GPyTorch's solvers estimate log determinant and gradient from a few
probe vectors, the same in every evaluation, so that the objective is a smooth function.

References
----------
Gardner et al. 2018, GPyTorch: blackbox matrix-matrix Gaussian process inference.
"""

from __future__ import annotations

import math

import torch
from linear_operator import settings, to_linear_operator
from torch import Tensor

from workbench.gp.fields.exact import ExactField
from workbench.gp.numerics.shapes import PerBag

PROBES, PRECONDITIONER, STEPS, TOLERANCE = 20, 50, 1000, 0.01


def iterative_evidence(field: ExactField, y: PerBag, noise_variance: PerBag) -> Tensor:
    """Estimate of `ExactField.evidence` for observations of single points.

    Parameters
    ----------
    field : ExactField
        With one training point per observation.
    y : Tensor (B,)
        Observations.
    noise_variance : Tensor (B,)
        Their variances.
    """
    covariance = to_linear_operator(field.prior(field.x, field.x)).add_diagonal(noise_variance)
    residual = (y - field.mean)[:, None]
    with (torch.random.fork_rng(devices=[]), settings.max_cholesky_size(0),
          settings.num_trace_samples(PROBES), settings.max_preconditioner_size(PRECONDITIONER),
          settings.min_preconditioning_size(0), settings.max_cg_iterations(STEPS),
          settings.cg_tolerance(TOLERANCE)):
        torch.manual_seed(0)
        fit, logdet = covariance.inv_quad_logdet(residual, logdet=True)
    return -0.5 * (fit + logdet + len(y) * math.log(2 * math.pi))
