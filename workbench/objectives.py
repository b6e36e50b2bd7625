"""The evidence lower bound of bagged data."""

from __future__ import annotations

import torch
from torch import Tensor

from workbench.bounds import Bound
from workbench.linalg import FactorisationError, standard_normal_kl
from workbench.shapes import PerBag
from workbench.views import View


def elbo(view: View, bound: Bound, likelihood, y: PerBag, mean: Tensor, covariance: Tensor,
         trust: float = 1.0) -> Tensor:
    """E_q log p(y | η) - KL(q || prior), Law et al. 2018, eq. (8).

    Raises
    ------
    FactorisationError
        If an expected total is not finite. With an iid effect the objective itself would be: an
        effect of the area can undo any rate.
    """
    moments = bound.moments(view, mean, covariance)
    if not torch.isfinite(moments.mean).all():
        raise FactorisationError("an expected total is not finite")
    expected = likelihood.expected_log_prob(y, moments).sum()
    return trust * expected - standard_normal_kl(mean, covariance)
