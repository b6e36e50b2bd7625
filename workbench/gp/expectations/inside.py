"""Forms in the covariance inside each bag, S = R + Φ C Φᵀ, and the iid effects on its total."""

from __future__ import annotations

from torch import Tensor

from workbench.gp.fields.projected import ProjectedData
from workbench.gp.fields.residual import Residual
from workbench.gp.kernels.operators import blocks, restore_order
from workbench.gp.numerics.shapes import PerBag


def quadratic(view: ProjectedData, covariance: Tensor, values: Tensor, residual: Residual
              ) -> PerBag:
    """vᵀ S v inside each bag."""
    rows = view.weighted_features(values)
    return view.sum(values * residual.times(values)) + ((rows @ covariance) * rows).sum(1)


def trace_of_square(view: ProjectedData, covariance: Tensor, weight: Tensor, residual: Residual
                    ) -> PerBag:
    """tr((P S)²) inside each bag, P the diagonal matrix of weights.

    With S̃ = √P S √P and R̃, Φ̃ likewise: tr(R̃²) + 2 tr(R̃ Φ̃CΦ̃ᵀ) + tr((CΦ̃ᵀΦ̃)²).
    """
    features = view.projection.features
    own = residual.trace_squared(weight)
    shared = residual.trace_with(weight, features, features @ covariance)
    return own + 2 * shared + _explained_trace(view, covariance, weight)


def nugget_variance(view: ProjectedData, share: Tensor) -> Tensor:
    """Variance of the nugget's sum over a bag, on the scale of log η (B, ...)."""
    if not view.nugget_variance.requires_grad and float(view.nugget_variance) == 0.0:
        return share.new_zeros(view.operator.bags.count, *share.shape[1:])
    return view.nugget_variance * view.noise_shares(share)


def effect_variance(view: ProjectedData, share: Tensor) -> Tensor | None:
    """Prior variance of the iid effects on log η of each bag: area effect plus nugget (B, ...).

    ``share`` is ∂ log η / ∂ f_i (N, ...). None where the model has neither effect.
    """
    nugget = nugget_variance(view, share)
    if view.effect_std is None:
        return nugget if float(view.nugget_variance.detach()) > 0 else None
    return (view.sum(share) * view.effect_std).square() + nugget


def _explained_trace(view: ProjectedData, covariance: Tensor, weight: Tensor) -> PerBag:
    """tr((C Φ̃ᵀΦ̃)²) of each bag, by the smaller of M x M and N_a x N_a matrices."""
    traces = []
    for index, mask in blocks(view.operator.bags):
        phi = view.projection.features[index]
        scaled = (weight[index] * mask).sqrt()[:, :, None] * phi
        if phi.shape[1] > phi.shape[2]:
            product = (scaled.mT @ scaled) @ covariance
        else:
            product = scaled @ covariance @ scaled.mT
        traces.append((product * product.mT).sum((1, 2)))
    return restore_order(view.operator.bags, traces)
