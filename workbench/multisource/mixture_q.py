"""A mixture of Gaussians as the variational posterior of whitened inducing features.

References
----------
Hamelijnck et al. 2019, eq. (3) and (17); appendix A.3, whose "KL" is minus the divergence.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from workbench.linalg import FactorisationError, standard_normal_kl


@dataclass
class MixtureQ:
    """q = Σ_k π_k Π_g N(mean[g][k], covariance[g][k]) over latent functions g.

    Parameters
    ----------
    weights : Tensor (K,)
        π, adding up to one.
    mean : list of Tensor (K, M_g)
        Means of each latent function's features.
    covariance : list of Tensor (K, M_g, M_g)
        Their covariances.
    """

    weights: Tensor
    mean: list[Tensor]
    covariance: list[Tensor]

    def __len__(self) -> int:
        return len(self.weights)

    def component(self, k: int) -> list[tuple[Tensor, Tensor]]:
        """Mean and covariance of every latent function in one component."""
        return [(m[k], c[k]) for m, c in zip(self.mean, self.covariance, strict=True)]

    def copy(self) -> MixtureQ:
        """The same numbers, in memory of their own."""
        return MixtureQ(self.weights.clone(), [m.clone() for m in self.mean],
                        [c.clone() for c in self.covariance])

    def detach(self) -> MixtureQ:
        """The same numbers without gradients."""
        return MixtureQ(self.weights.detach(), [m.detach() for m in self.mean],
                        [c.detach() for c in self.covariance])

    def divergence(self) -> Tensor:
        """KL(q || N(0, I)); of several components an upper bound on it.

        -E log p is exact; the entropy is bounded from below by Jensen, eq. (25):
        -Σ_k π_k log Σ_l π_l N(m_k; m_l, S_k + S_l). Of one component the exact entropy is taken.
        """
        if len(self) == 1:
            return sum(standard_normal_kl(m[0], c[0])
                       for m, c in zip(self.mean, self.covariance, strict=True))
        return self._cross() + self._negative_entropy()

    def _cross(self) -> Tensor:
        """-E_q log N(0, I)."""
        per = sum(m.square().sum(1) + c.diagonal(dim1=-2, dim2=-1).sum(1)
                  + m.shape[1] * math.log(2 * math.pi)
                  for m, c in zip(self.mean, self.covariance, strict=True))
        return 0.5 * (self.weights * per).sum()

    def _negative_entropy(self) -> Tensor:
        total = 0.0
        for k in range(len(self)):
            overlaps = torch.stack([
                self.weights[j].log() + sum(
                    _log_density(m[k] - m[j], c[k] + c[j])
                    for m, c in zip(self.mean, self.covariance, strict=True))
                for j in range(len(self))])
            total = total + self.weights[k] * overlaps.logsumexp(0)
        return total


def _log_density(gap: Tensor, covariance: Tensor) -> Tensor:
    root, info = torch.linalg.cholesky_ex(covariance)
    if info:
        raise FactorisationError("a covariance of the mixture is not positive definite")
    white = torch.linalg.solve_triangular(root, gap[:, None], upper=False)[:, 0]
    return -0.5 * (white.square().sum() + len(gap) * math.log(2 * math.pi)) - (
        root.diagonal().log().sum())
