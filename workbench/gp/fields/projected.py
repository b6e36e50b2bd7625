"""A source at fixed hyperparameters: all that an objective or a prediction needs, computed once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from workbench.gp.fields.geometry import Geometry
from workbench.gp.fields.inducing import Aggregated, InducingField, Projection
from workbench.gp.fields.residual import Residual, residual_of
from workbench.gp.kernels.operators import AggregationOperator, weighted_rows
from workbench.gp.kernels.persistent import PersistentTerm
from workbench.gp.numerics.shapes import PerBag, PerIndividual


@dataclass(frozen=True)
class ProjectedData:
    """A source at fixed hyperparameters.

    Parameters
    ----------
    projection : Projection
        Inputs through the inducing features.
    operator : AggregationOperator
        The bags.
    residual : Residual
        Prior covariance inside bags that the features do not explain.
    nugget_variance : Tensor ()
        Variance of the individual white noise in f.
    effect_std : Tensor (), (B,) or None
        Standard deviation of the area's iid effect on the scale of f.
    concentration : Tensor (N,) or None
        As of `Geometry`.
    kept : Tensor (N,) or None
        Variance of white noise that is in the effect of the individual's area. None is zero.
    """

    projection: Projection
    operator: AggregationOperator
    residual: Residual
    nugget_variance: Tensor
    effect_std: Tensor | None
    concentration: PerIndividual | None = None
    kept: PerIndividual | None = None

    @property
    def own_nugget(self) -> Tensor:
        """Variance of white noise that is the individual's alone, (N,) or ().

        Beside an effect that its area keeps the average over the area, by shares of weight: totals
        need no more. That of single individuals is `vbagg.persistent.own_nugget`.
        """
        return self.nugget_variance if self.kept is None else self.nugget_variance - self.kept

    def detach(self) -> ProjectedData:
        """The same numbers without gradients."""
        effect = None if self.effect_std is None else self.effect_std.detach()
        return ProjectedData(self.projection.detach(), self.operator, self.residual.detach(),
                    self.nugget_variance.detach(), effect, self.concentration,
                    None if self.kept is None else self.kept.detach())

    def aggregated(self) -> Aggregated:
        """Each bag's sum or mean of f, under the identity link; white noise is not in it."""
        operator = self.operator
        return Aggregated(operator.rows(self.projection.features),
                          operator(self.residual.times(operator.coefficients())),
                          operator(self.projection.offset))

    def noise_shares(self, share: Tensor) -> Tensor:
        """Squared shares by which white noise of individuals enters each bag's total (B, ...)."""
        squares = share.square()
        if self.concentration is not None:
            squares = squares * self.concentration.reshape(-1, *[1] * (share.ndim - 1))
        return self.sum(squares)

    def sum(self, values: Tensor) -> Tensor:
        """Unweighted sum over each bag along the first axis (B, ...)."""
        bags = self.operator.bags
        out = torch.zeros(bags.count, *values.shape[1:]).to(values)
        return out.index_add(0, bags.membership, values)

    def weighted_features(self, values: PerIndividual) -> Tensor:
        """Φᵀv of each bag: the sum of its individuals' features, weighted by values (B, M)."""
        return weighted_rows(values, self.projection.features, self.operator.bags)

    def logsumexp(self, values: Tensor) -> PerBag:
        """Log of the sum of exponentials over each bag (B,)."""
        members = self.operator.bags.membership
        top = torch.full((self.operator.bags.count,), -torch.inf).to(values)
        top = top.scatter_reduce(0, members, values.detach(), "amax")
        return self.sum((values - top[members]).exp()).log() + top


def project_data(field: InducingField, seen: Geometry, nugget_variance: Tensor,
         effect_std: Tensor | None, summed: PersistentTerm | None = None) -> ProjectedData:
    """Project a source at the field's present hyperparameters, once per outer step.

    ``summed`` is a term of effects that areas keep, while it is integrated out of the field.
    """
    projection = field.project(seen.x)
    if seen.shift is not None:
        projection = replace(projection, offset=projection.offset + seen.shift)
    residual = residual_of(field, projection, seen)
    last = field.terms[-1] if summed is None else summed
    kept = last.kept(last.numbers(seen.x)) if isinstance(last, PersistentTerm) else None
    return ProjectedData(projection, seen.operator, residual, nugget_variance, effect_std,
                seen.concentration, kept)


def aggregated_data(field: InducingField, seen: Geometry) -> Aggregated:
    """Bags of a source at the field's present hyperparameters, under the identity link.

    Where pairs of clusters stand for those of more individuals than have a table of pairs, as
    `project_data` has them; else without a table of all individuals' features, a few times faster.
    """
    if seen.clusters is None and seen.shift is None:
        return field.aggregated(seen.x, seen.operator)
    return project_data(field, seen, torch.zeros(()).to(seen.x), None).aggregated()


def with_effects(seen: ProjectedData, mean: Tensor, covariance: Tensor,
                 averaged: Callable[[Tensor, Tensor], Tensor]
                 ) -> tuple[ProjectedData, Tensor, Tensor]:
    """Data in which nugget and area effect are parts of f, and q's moments with them.

    Of individuals whose effects are known by their prior alone. The area effect becomes one more
    feature with a weight N(0, 1): right inside each bag, where all that is asked of them is.
    ``averaged`` is the link's: what is left of white noise in the mean of a cluster's members.
    """
    # Of a cluster's mean, white noise has a share of its variance left; its rate is on average that
    # of its members, who have all of it.
    nugget = seen.nugget_variance
    kept = nugget if seen.concentration is None else averaged(nugget, seen.concentration)
    residual = seen.residual.with_white(kept)
    features, areas = seen.projection.features, seen.projection.areas
    if seen.effect_std is not None:
        areas = None
        features = torch.cat([features, seen.effect_std.expand(len(features), 1)], 1)
        mean = torch.cat([mean, mean.new_zeros(1)])
        covariance = torch.block_diag(covariance, covariance.new_ones(1, 1))
    hidden = nugget - kept if seen.kept is None else seen.own_nugget - kept
    projection = Projection(features, residual.diagonal + hidden, seen.projection.offset, areas)
    zero = torch.zeros_like(nugget)
    return ProjectedData(projection, seen.operator, residual, zero, None), mean, covariance
