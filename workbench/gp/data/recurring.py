"""Areas that are known again: each keeps an effect, in several periods or in the only one."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import torch
from torch import Tensor

if TYPE_CHECKING:
    from workbench.gp.data.bags import Bags

_UNKNOWN = 2**22        # numbers of unknown areas lie that far below; exact in single precision


def numbers(bags: Bags) -> Tensor:
    """Number of each individual's area (N,); where none is known each bag is an unknown one."""
    return -1 - bags.membership if bags.recurring is None else bags.recurring


def recurring_areas(bags: Bags, once: bool = False) -> int:
    """Number of areas, if any of them has individuals in several bags, or ``once``; else zero."""
    if bags.recurring is None:
        return 0
    areas, of = bags.recurring.unique(return_inverse=True)
    pairs = (of * bags.count + bags.membership).unique()
    return len(areas) if once or len(pairs) > len(areas) else 0


def unknown(bags: Bags) -> Bags:
    """The same bags in areas of which nothing was observed."""
    if bags.recurring is None:
        return bags
    own = bags.recurring
    return replace(bags, recurring=torch.where(own >= 0, own - _UNKNOWN, own))


def common_areas(bags: Bags) -> Tensor | None:
    """The area (B,) of all individuals of each bag; a union of several is an unknown one."""
    if bags.recurring is None:
        return None
    ends = torch.zeros(2, bags.count, dtype=torch.int64, device=bags.recurring.device)
    least, most = (end.scatter_reduce(0, bags.membership, bags.recurring, how, include_self=False)
                   for end, how in zip(ends, ("amin", "amax"), strict=True))
    alone = -1 - torch.arange(bags.count, device=least.device)
    return torch.where(least == most, least, alone)


def alone(bags: Bags) -> bool:
    """Whether every bag is a known area of its own, and all that is seen of it."""
    areas = common_areas(bags)
    return areas is not None and bool((areas >= 0).all()) and len(areas.unique()) == bags.count


def without_kept(bags: Bags) -> Bags:
    """The same bags, whose totals have no white noise of individuals of known areas left.

    As `Bags.concentration` of clusters: noise that these keep over periods is their area's.
    """
    if bags.recurring is None:
        bags = replace(bags, recurring=numbers(bags))
    left = torch.as_tensor(bags.unaveraged).to(bags.weight).expand(len(bags.weight))
    return replace(bags, columns=replace(bags.columns, areas=True),
                   concentration=torch.where(bags.recurring >= 0, 0.0, left))
