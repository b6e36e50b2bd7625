"""Cholesky that reports its jitter, and the divergence of a Gaussian from the standard normal."""

from __future__ import annotations

import warnings

import torch
from jaxtyping import Float
from torch import Tensor

from workbench.checks import InputError


class FactorisationError(InputError):
    """A covariance matrix stayed indefinite at the largest jitter that is tried."""


class JitterWarning(UserWarning):
    """A covariance matrix needed more than the usual jitter to be factorised."""


def cholesky(
    matrix: Float[Tensor, "M M"], name: str = "covariance", relative_jitter: float = 1e-8
) -> Float[Tensor, "M M"]:
    """Lower Cholesky root of ``matrix + jitter I``, the jitter as small as will do.

    The jitter starts at ``relative_jitter`` times the mean of the diagonal and grows tenfold up to
    1e-3 of it. Growth beyond 1e-5 is reported by a `JitterWarning`.

    Raises
    ------
    FactorisationError
        If the matrix holds NaN or stays indefinite; the message names the matrix.
    """
    if not torch.isfinite(matrix).all():
        raise FactorisationError(f"the {name} holds NaN or infinity: check the hyperparameters")
    scale = matrix.diagonal().mean().detach().clamp_min(torch.finfo(matrix.dtype).tiny)
    relative = max(relative_jitter, 4 * torch.finfo(matrix.dtype).eps)
    while relative <= 1.001e-3:
        jittered = matrix + relative * scale * torch.eye(
            len(matrix), dtype=matrix.dtype, device=matrix.device
        )
        root, info = torch.linalg.cholesky_ex(jittered)
        if not info:
            if relative > 1.001e-5:
                warnings.warn(
                    f"the {name} needed jitter {relative:.0e} of its diagonal to be factorised",
                    JitterWarning,
                    stacklevel=2,
                )
            return root
        relative *= 10
    raise FactorisationError(
        f"the {name} ({len(matrix)} x {len(matrix)}) is indefinite even with jitter 1e-3: "
        "use fewer inducing inputs, a shorter lengthscale, or more noise"
    )


def standard_normal_kl(
    mean: Float[Tensor, " M"], covariance: Float[Tensor, "M M"]
) -> Float[Tensor, ""]:
    """KL( N(mean, covariance) || N(0, I) ), the whitened form of Law et al. 2018, App. E.3."""
    root, info = torch.linalg.cholesky_ex(covariance)
    if info:
        raise FactorisationError("the variational covariance is not positive definite")
    log_determinant = 2 * root.diagonal().log().sum()
    return 0.5 * (covariance.diagonal().sum() + mean @ mean - len(mean) - log_determinant)
