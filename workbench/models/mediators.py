"""Covariates of bags and of targets as a conditional mean process takes them."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor

from workbench.bags import Bags, Columns, Source
from workbench.checks import InputError
from workbench.conditional_mean import spacing
from workbench.hyperparameters import Hyperparameter
from workbench.inputs import InputTransform, fit_inputs
from workbench.kernels import Term, build, median_distance
from workbench.models import assembly
from workbench.priors import LogNormal

PREFIX = "mediator."
_SLACK = 0.05       # of the bags' range, that targets may lie beyond it without a word


@dataclass
class Mediators:
    """Standardised mediators, the kernel ℓ on them, and its hyperparameters.

    Parameters
    ----------
    bags, targets : Tensor (B, E), (M, E)
        Standardised mediators.
    transform : InputTransform
        From natural units.
    terms : list of Term
        Terms of ℓ.
    items : list of Hyperparameter
        Those of ℓ, named ``mediator....``.
    near, wide : dict of name to array
        Lengthscales in natural units: the spacing of bags, and the median distance.
    notes : list of str
        What a user should know.
    """

    bags: Tensor
    targets: Tensor
    transform: InputTransform
    terms: list[Term]
    items: list[Hyperparameter]
    near: dict[str, np.ndarray] = field(default_factory=dict)
    wide: dict[str, np.ndarray] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


def mediators_of(source: Source, kernel: object, seed: int) -> Mediators:
    """Mediators of a source; the centres of the bags where it has none.

    Raises
    ------
    InputError
        If most targets lie beyond the bags' range.
    """
    bags = source.bags
    y, columns = bags.mediators, bags.mediator_columns
    if y is None:
        y, columns = bags.centres().x, bags.columns
    theirs = y if source.matched else source.targets.mediators
    transform = _transform(torch.cat([y, theirs]), columns)
    notes = _overlap(y, theirs, columns)
    standard, targets = transform(y), transform(theirs)
    out = Mediators(standard, targets, transform, build(kernel, columns, standard, seed), [],
                    notes=notes)
    extent = y.amax(0) - y.amin(0)
    for term in out.terms:
        items = assembly.kernel_hyperparameters([term], transform, extent, 1.0)
        # W depends on ℓ over λ alone: of a single term the variance is that of λ.
        if len(out.terms) == 1 and term.name != "kernel":
            items = [item for item in items if not item.name.endswith(".variance")]
        for item in items:
            item.name = PREFIX + item.name
            if item.name.endswith("lengthscale") and term.name != "kernel":
                _start(item, term, standard, torch.cat([standard, targets]), out)
        out.items += items
    return out


def _start(item: Hyperparameter, term: Term, y: Tensor, known: Tensor, out: Mediators) -> None:
    """Start at the spacing of bags: short lengthscales say that bags know nothing of others."""
    factor = np.atleast_1d(torch.as_tensor(item.factor).detach().cpu().numpy().reshape(-1))
    ones = np.ones(item.raw.numel())
    near = spacing(y, term.columns) * factor * ones
    wide = np.maximum(median_distance(known[:, list(term.columns)]) * factor * ones, near)
    out.near[item.name], out.wide[item.name] = near, wide
    middle = np.sqrt(near * wide).tolist()
    item.prior = LogNormal(middle[0] if len(middle) == 1 else tuple(middle), 1.5)
    item.set(near.tolist())


def _transform(known: Tensor, columns: Columns) -> InputTransform:
    """Standardise by bags and targets together: both must be in one unit."""
    count = len(known)
    members = torch.arange(count, device=known.device)
    return fit_inputs(Bags(known, members, torch.ones(count).to(known), count, columns))


def _overlap(y: Tensor, theirs: Tensor, columns: Columns) -> list[str]:
    """A note on targets beyond the range of the bags' mediators (covariate shift).

    References
    ----------
    Chau et al. 2021, section 6.
    """
    low, high = y.amin(0), y.amax(0)
    reach = torch.where(high > low, high - low, torch.ones_like(low))
    beyond = torch.maximum(low - theirs, theirs - high).clamp_min(0) / reach
    outside = (beyond > _SLACK).any(1)
    count = int(outside.sum())
    if count == 0:
        return []
    told = (f"{count} of {len(theirs)} targets have mediators beyond those of all bags, most in "
            f"{columns.names[int(beyond.amax(0).argmax())]!r}: what bags there would average is "
            "not known")
    if count > len(theirs) / 2:
        raise InputError(told + "; give bags that cover the targets' range "
                         "(workbench.plots.mediators draws both)")
    return [told]
