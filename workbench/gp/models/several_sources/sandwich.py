"""The sandwich covariance of a composite likelihood, and the matrix that corrects for it.

With H minus the Hessian of the log-likelihood in θ and J the variance of its score, the estimate
scatters with the sandwich H⁻¹ J H⁻¹, of which the likelihood's own H⁻¹ knows nothing. A matrix C
maps one to the other,

    C H⁻¹ Cᵀ = H⁻¹ J H⁻¹,     C = H^-½ (H^-½ J H^-½)^½ H^½,

the curvature correction. Of a quadratic log-likelihood bᵀθ - θᵀHθ/2 it leaves the estimate H⁻¹b and
makes the natural parameters (HJ⁻¹b, HJ⁻¹H). In the directions in which H and J are diagonal
together, H = T Tᵀ and J = T κ Tᵀ, it is one weight 1/κ for each: of all equal to 1/φ it is the
scalar weight φ, and where J = H it is none.

References
----------
Hamelijnck et al. 2019, eq. (64); Ribatet et al. 2012 (curvature adjustment); Godambe 1960.
Deviation: (64) prints H where its inverse, the covariance, is meant.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

_SMALL = 1e-10          # of the largest curvature, below which a direction keeps the weight one


@dataclass(frozen=True)
class Sandwich:
    """Directions in which curvature and variance of scores are diagonal together.

    Parameters
    ----------
    root : Tensor (p, r)
        T, with H = T Tᵀ up to directions of no curvature.
    inverse : Tensor (r, p)
        Its pseudo-inverse.
    excess : Tensor (r,)
        κ, the variance of the score relative to the curvature.
    """

    root: Tensor
    inverse: Tensor
    excess: Tensor

    @property
    def weights(self) -> Tensor:
        """Weight 1/κ of the likelihood in each direction (r,)."""
        return 1 / self.excess

    @property
    def matrix(self) -> Tensor:
        """C (p, p), the identity in directions of no curvature."""
        change = (self.inverse.mT * (self.excess.sqrt() - 1)) @ self.root.mT
        return torch.eye(len(change)).to(change) + change

    def correct(self, linear: Tensor, precision: Tensor) -> tuple[Tensor, Tensor]:
        """Natural parameters of the corrected likelihood, from those of the composite one.

        Parameters
        ----------
        linear, precision : Tensor (p,), (p, p)
            b and H.

        Returns
        -------
        Tensor (p,), Tensor (p, p)
            HJ⁻¹b and HJ⁻¹H.
        """
        change = self.weights - 1
        return (linear + self.root @ (change * (self.inverse @ linear)),
                precision + (self.root * change) @ self.root.mT)


def sandwich(curvature: Tensor, variability: Tensor, most: float = 20.0) -> Sandwich:
    """The sandwich of a curvature H and a variance J of scores.

    Parameters
    ----------
    curvature, variability : Tensor (p, p)
        H and J, positive semidefinite.
    most : float
        Largest weight of a direction: where scores of the sources cancel, J vanishes.

    Returns
    -------
    Sandwich

    Examples
    --------
    >>> import torch
    >>> h = torch.tensor([[2.0, 0.5], [0.5, 1.0]])
    >>> sandwich(h, 2 * h).weights.round(decimals=4).tolist()
    [0.5, 0.5]
    """
    values, vectors = torch.linalg.eigh((curvature + curvature.mT) / 2)
    kept = values > _SMALL * values[-1].clamp_min(torch.finfo(values.dtype).tiny)
    scale, basis = values[kept].sqrt(), vectors[:, kept]
    inner = (basis.mT @ variability @ basis) / (scale[:, None] * scale)
    excess, turn = torch.linalg.eigh((inner + inner.mT) / 2)
    return Sandwich((basis * scale) @ turn, turn.mT @ (basis / scale).mT,
                    excess.clamp_min(1 / most))
