"""Effects that areas keep over periods: with f where a total is meant, apart from it on the map."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from workbench.gp.data.bags import Bags
from workbench.gp.data.recurring import numbers, without_kept
from workbench.gp.fields.inducing import InducingField
from workbench.gp.fields.projected import ProjectedData, project_data
from workbench.gp.kernels.persistent import PERSISTENT

_ALIKE = 0.2        # of the sum of squared shares: areas are asked in whole if it differs by less


def keeps_effects(state) -> bool:
    """Whether areas have effects that they keep."""
    return state.options.persistence == "area"


def with_kept_noise(state, bags: Bags) -> Bags:
    """(Model) bags with what is left in their totals of white noise of individuals."""
    return without_kept(bags) if keeps_effects(state) else bags


def own_nugget(state, bags: Bags) -> Tensor:
    """Variance of what individuals have of the nugget beside the effect of their area, (N,) or ().

    Of an individual with the share s_i it is e_i - Σ s e, of the variance ν² (1 - 2 s_i + Σ s²). It
    is the average of that by shares, ν² (1 - Σ s²), of members of clusters and where shares are not
    those that the area was learnt with, as of a part of it, or weights that change much over time.
    """
    if not keeps_effects(state):
        return state.nugget_variance
    area, term = numbers(bags), state.field.terms[-1]
    average = state.nugget_variance - term.kept(area)
    if bags.concentration is not None or not len(term.concentration):
        return average
    group, share, _ = centring(state, bags)
    squares = torch.zeros_like(share).index_add(0, group, share.square())[group]
    known = (area >= 0) & (area < len(term.concentration))
    learnt = term.concentration.to(share)[torch.where(known, area, 0)]
    whole = known & ((squares - learnt).abs() < _ALIKE * learnt)
    return torch.where(whole, state.nugget_variance * (1 - 2 * share + squares), average)


def places(state, bags: Bags) -> Tensor | None:
    """Number of the place of each individual (N,): those of an area in its periods have the same.

    None where nothing is kept over periods, or nothing says which individuals are the same.
    """
    columns = list(bags.columns.coordinates)
    if not keeps_effects(state) or not columns or bags.concentration is not None:
        return None
    rows = torch.cat([bags.x[:, columns], numbers(bags).to(bags.x)[:, None]], 1)
    return torch.as_tensor(np.unique(rows.cpu().numpy(), axis=0, return_inverse=True)[1]
                           .reshape(-1)).to(bags.membership)


def centring(state, bags: Bags) -> tuple[Tensor, Tensor, Tensor] | None:
    """Areas in bags (N,), individuals' shares of their weight, and whether they are known.

    None where nothing is kept: of known areas their effect has the mean of the nugget.
    """
    if not keeps_effects(state):
        return None
    area = numbers(bags)
    group = torch.stack([bags.membership, area]).unique(dim=1, return_inverse=True)[1]
    weight = bags.weight.to(state.x)
    total = torch.zeros(int(group.max()) + 1).to(weight).index_add(0, group, weight)
    return group, weight / total[group], (area >= 0).to(weight)


def map_field(state) -> InducingField:
    """The field of f, without effects of areas."""
    if not keeps_effects(state):
        return state.field
    return state.field.part(list(range(len(state.field.terms) - 1)))


def map_view(state, bags: Bags) -> ProjectedData:
    """Individuals of (model) bags through the field of f alone."""
    return project_data(map_field(state), state.geometry_of(bags), state.nugget_variance,
                        state.area_std).detach()


def kept(state, seen: ProjectedData, bags: Bags, share: Tensor
         ) -> tuple[Tensor, Tensor, Tensor]:
    """Mean and variance (N,) of the effect that an individual's area keeps, and cov(it, g).

    Parameters
    ----------
    state : VariationalState
        With such effects.
    seen : ProjectedData
        The individuals.
    bags : Bags
        The same.
    share : Tensor (N,)
        What individuals contribute to g of their bag, to first order.
    """
    field = state.field
    block = slice(*field.blocks()[PERSISTENT])
    features = seen.projection.features
    own, rows = features[:, block], torch.zeros(bags.count, features.shape[1]).to(features)
    rows = rows.index_add(0, bags.membership, share[:, None] * features)
    term = field.terms[-1]
    prior = term.kernel.outputscale.detach() + term.kept(numbers(bags)).detach()
    spread = prior - own.square().sum(1) + ((own @ field.q_covariance[block, block]) * own).sum(1)
    with_total = ((own @ field.q_covariance[block]) * rows[bags.membership]).sum(1)
    return own @ field.q_mean[block], spread, with_total


def kept_alone(state, seen: ProjectedData, bags: Bags) -> tuple[Tensor, Tensor]:
    """Mean and sd (N,) of the effect that an individual's area keeps."""
    mean, variance, _ = kept(state, seen, bags, torch.zeros(len(bags.x)).to(state.x))
    return mean, variance.sqrt()
