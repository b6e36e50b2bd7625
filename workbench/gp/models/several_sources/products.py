"""Moments of sums of products of Gaussian processes over bags, in closed form.

A latent function g with q(u) = N(μ, S) over its whitened inducing features Φ has, at individuals i
and j of one bag, mean m_i = φ_iᵀμ and covariance C_ij = R_ij + φ_iᵀ S φ_j, with R what the features
leave unexplained. Of the bag's η = Σ_i a_i Σ_q W_q(x_i) f_q(x_i), with the moments of W and f
independent,

    E η = Σ_q Σ_i a_i w_i m_i,
    Var η = Σ_q Σ_ij a_i a_j (C^w_ij C^f_ij + m_i C^w_ij m_j + w_i C^f_ij w_j).

References
----------
Hamelijnck et al. 2019, eq. (30) to (35); the printed (4), (34) and (35) lack the plus sign between
the last two terms.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from workbench.gp.data.bags import Bags
from workbench.gp.fields.inducing import InducingField
from workbench.gp.kernels.operators import AggregationOperator, blocks, restore_order
from workbench.gp.numerics.linalg import quadratic_forms
from workbench.gp.numerics.shapes import Inputs


@dataclass(frozen=True)
class Pairs:
    """Positions of the individuals of a source in padded groups of bags of similar size.

    Parameters
    ----------
    index : list of Tensor (b, n)
        Individuals of each group's bags.
    coefficients : list of Tensor (b, n)
        What a bag's value weighs them with; zero where padded.
    bags : Bags
        Whose they are.
    """

    index: list[Tensor]
    coefficients: list[Tensor]
    bags: Bags

    def restore(self, per_group: list[Tensor]) -> Tensor:
        """One row per bag of each group, in the order of the bags."""
        return restore_order(self.bags, per_group)


def pairs_of(operator: AggregationOperator) -> Pairs:
    """The groups of a source's bags."""
    a, index, coefficients = operator.coefficients(), [], []
    for where, mask in blocks(operator.bags):
        index.append(where)
        coefficients.append(a[where] * mask)
    return Pairs(index, coefficients, operator.bags)


@dataclass(frozen=True)
class BagProjection:
    """A latent function at the individuals of a source, at fixed hyperparameters.

    Parameters
    ----------
    features : list of Tensor (b, n, M)
        Whitened features, by group of bags.
    unexplained : list of Tensor (b, n, n)
        Prior covariance that they leave.
    """

    features: list[Tensor]
    unexplained: list[Tensor]

    def detach(self) -> BagProjection:
        """The same numbers without gradients."""
        return BagProjection([f.detach() for f in self.features],
                             [r.detach() for r in self.unexplained])


def project(field: InducingField, x: Inputs, pairs: Pairs) -> BagProjection:
    """Project the individuals of a source on a latent function's features."""
    whole = field.project(x)
    features = [whole.features[where] for where in pairs.index]
    unexplained = [
        whole.residual[where][..., None] if where.shape[1] == 1
        else field.unexplained(x[where], part)
        for where, part in zip(pairs.index, features, strict=True)]
    return BagProjection(features, unexplained)


@dataclass(frozen=True)
class Moments:
    """Mean (b, n) and covariance (b, n, n) inside bags, by group; of W or f under q."""

    mean: list[Tensor]
    covariance: list[Tensor]


def moments(projection: BagProjection, mean: Tensor, covariance: Tensor) -> Moments:
    """Moments of a latent function under q = N(mean, covariance) of its features."""
    return Moments(
        [f @ mean for f in projection.features],
        [r + f @ covariance @ f.mT
         for f, r in zip(projection.features, projection.unexplained, strict=True)])


def at(projections: dict[int, BagProjection], q: list[tuple[Tensor, Tensor]]
       ) -> dict[int, Moments]:
    """Moments of every latent function at a source under q."""
    return {g: moments(seen, *q[g]) for g, seen in projections.items()}


def constant(pairs: Pairs, value: Tensor) -> Moments:
    """Moments of a known number."""
    return Moments(
        [value.expand(where.shape) for where in pairs.index],
        [torch.zeros(*where.shape, where.shape[1]).to(value) for where in pairs.index])


def exponential(gaussian: Moments) -> Moments:
    """Moments of exp(g) from those of a Gaussian g, log-normal.

    Parameters
    ----------
    gaussian : Moments
        Of g under q.

    Returns
    -------
    Moments
        μ̃_i = exp(m_i + C_ii / 2) and μ̃_i μ̃_j (exp C_ij - 1).

    References
    ----------
    Hamelijnck et al. 2019, appendix A.5. Deviation: the covariance printed after (42) is not one.
    """
    mean = [(m + c.diagonal(dim1=-2, dim2=-1) / 2).exp()
            for m, c in zip(gaussian.mean, gaussian.covariance, strict=True)]
    return Moments(mean, [m[..., :, None] * m[..., None, :] * c.expm1()
                          for m, c in zip(mean, gaussian.covariance, strict=True)])


def bag_mean(pairs: Pairs, weights: list[Moments], basis: list[Moments]) -> Tensor:
    """E η of each bag (B,)."""
    return pairs.restore([
        sum((a * w.mean[k] * f.mean[k]).sum(-1) for w, f in zip(weights, basis, strict=True))
        for k, a in enumerate(pairs.coefficients)])


def bag_variance(pairs: Pairs, weights: list[Moments], basis: list[Moments]) -> Tensor:
    """Var η of each bag (B,)."""
    return pairs.restore([
        sum(_variance(a, w.mean[k], w.covariance[k], f.mean[k], f.covariance[k])
            for w, f in zip(weights, basis, strict=True))
        for k, a in enumerate(pairs.coefficients)])


def _variance(a: Tensor, w: Tensor, cw: Tensor, m: Tensor, cf: Tensor) -> Tensor:
    am, aw = a * m, a * w
    return (quadratic_forms(a, cw * cf) + quadratic_forms(am, cw) + quadratic_forms(aw, cf))


def best_factor(pairs: Pairs, projection: BagProjection, other: Moments, target: Tensor,
                precision: Tensor) -> tuple[Tensor, Tensor]:
    """What the sources say of one factor of a product, given the moments of the other.

    E (t - Σ_i a_i o_i g_i)² is quadratic in g: its part of the natural parameters of the best q(u).

    Parameters
    ----------
    pairs, projection : Pairs, BagProjection
        The source, and the factor g seen there.
    other : Moments
        Of the other factor o.
    target : Tensor (B,)
        Values less what other products explain.
    precision : Tensor (B,)
        Of the observations.

    Returns
    -------
    Tensor (M,), Tensor (M, M)
        Precision times mean, and precision, to be added to those of the prior.
    """
    linear, square = 0.0, 0.0
    ends = torch.tensor([len(w) for w in pairs.index]).cumsum(0).tolist()
    order = pairs.bags.sizes.long().argsort(stable=True)
    for k, (a, phi) in enumerate(zip(pairs.coefficients, projection.features, strict=True)):
        which = order[ends[k] - len(a):ends[k]]
        weight, t = precision[which], target[which]
        rows = torch.einsum("bi,bim->bm", a * other.mean[k], phi)
        linear = linear + rows.mT @ (weight * t)
        square = square + rows.mT @ (weight[:, None] * rows)
        spread = other.covariance[k] * (a[..., :, None] * a[..., None, :] * weight[:, None, None])
        square = square + torch.einsum("bim,bin->mn", phi, spread @ phi)
    return linear, square
