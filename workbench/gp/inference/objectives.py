"""The evidence lower bound of bagged data: of one source, or of several with one q."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import Tensor

from workbench.gp.expectations import Bound
from workbench.gp.fields.projected import ProjectedData
from workbench.gp.likelihoods import Likelihood
from workbench.gp.numerics.linalg import FactorisationError, standard_normal_kl
from workbench.gp.numerics.shapes import PerBag


def expected_log_likelihood(
    data: ProjectedData, bound: Bound, likelihood: Likelihood, y: PerBag, mean: Tensor,
    covariance: Tensor, power: float = 1.0,
) -> Tensor:
    """E_q log p(y | η) of a source (), times a power of its likelihood.

    Parameters
    ----------
    data : ProjectedData
        The source at its hyperparameters.
    bound : Bound
        How the moments of η are obtained.
    likelihood : Likelihood
        Of the observations.
    y : Tensor (B,)
        Observations.
    mean, covariance : Tensor (M,), (M, M)
        Of q, in whitened coordinates.
    power : float
        What the log-likelihood is multiplied by.

    Raises
    ------
    FactorisationError
        If an expected total is not finite. With an iid effect the objective itself would be: an
        effect of the area can undo any rate.
    """
    moments = bound.moments(data, mean, covariance)
    if not torch.isfinite(moments.mean).all():
        raise FactorisationError("an expected total is not finite")
    return power * likelihood.expected_log_prob(y, moments).sum()


def elbo(expected: Iterable[Tensor], mean: Tensor, covariance: Tensor) -> Tensor:
    """Σ E_q log p(y | η) - KL(q || prior), Law et al. 2018, eq. (8).

    Parameters
    ----------
    expected : iterable of Tensor ()
        `expected_log_likelihood` of each source.
    mean, covariance : Tensor (M,), (M, M)
        Of q, in whitened coordinates.
    """
    return sum(expected) - standard_normal_kl(mean, covariance)
