"""Covariates of bags and of targets as a conditional mean process takes them."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor

from workbench.checks import ExtrapolationWarning, InputError, warn
from workbench.gp.data.bags import Bags, Columns
from workbench.gp.data.inputs import InputTransform, fit_inputs
from workbench.gp.fields.mediated import BagWeights, spacing
from workbench.gp.kernels.grammar import Term, median_distance
from workbench.gp.models import assembly
from workbench.gp.optimisation.hyperparameters import Hyperparameter
from workbench.gp.optimisation.priors import LogNormal

PREFIX = "mediator."
_SLACK = 0.05       # of the bags' range, that targets may lie beyond it without a word
_APART = 3.0        # times the largest distance of a bag to the next one


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
    given : bool
        Whether ℓ is a kernel of the user's, with a start of its own.
    """

    bags: Tensor
    targets: Tensor
    transform: InputTransform
    terms: list[Term]
    items: list[Hyperparameter]
    near: dict[str, np.ndarray] = field(default_factory=dict)
    wide: dict[str, np.ndarray] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    given: bool = False

    def bag_weights(self, totals: Tensor, form: str) -> tuple[BagWeights, Hyperparameter]:
        """W of the bags in conditional means, and its ridge λ.

        Parameters
        ----------
        totals : Tensor (B,)
            Total weight of each bag.
        form : {"per-point", "shrinkage"}
            See `BagWeights`.
        """
        ridge = assembly.scalar_hyperparameter(
            "ridge", 1e-3, "", LogNormal(1e-3, 2.0), self.bags)
        return BagWeights(self.terms, self.bags, self.targets, totals, form,
                          lambda: ridge.natural.reshape(())), ridge


def mediators_of(bags: Bags, targets: Tensor | None, kernel: object, seed: int) -> Mediators:
    """Mediators of bags, or their centres where they have none, and those of targets.

    Parameters
    ----------
    bags : Bags
        With mediators if there are targets.
    targets : Tensor (M, E), optional
        Mediators of unmatched targets; those of the bags by default.
    kernel : str or gpytorch.kernels.Kernel
        ℓ.
    seed : int
        Of the inputs that starts are found on.

    Raises
    ------
    InputError
        If most targets lie where no bag is.
    """
    y, columns = bags.mediators, bags.mediator_columns
    if y is None:
        y, columns = bags.centres().x, bags.columns
    theirs = y if targets is None else targets
    transform = _transform(torch.cat([y, theirs]), columns)
    standard, targets = transform(y), transform(theirs)
    terms = assembly.kernel_terms(kernel, columns, standard, seed)
    out = Mediators(standard, targets, transform, terms, [])
    extent = y.amax(0) - y.amin(0)
    for term in out.terms:
        items = assembly.kernel_hyperparameters([term], transform, extent, 1.0)
        # W depends on ℓ over λ alone: of a single term the variance is that of λ.
        if len(out.terms) == 1 and term.name != "kernel":
            items = [item for item in items if not item.name.endswith(".variance")]
        for item in items:
            item.name = PREFIX + item.name
            if item.name.endswith("lengthscale"):
                _start(item, term, standard, torch.cat([standard, targets]), out)
        out.items += items
    out.given = any(term.name == "kernel" for term in out.terms)
    out.notes = _constant(out) + _overlap(out)
    return out


def _start(item: Hyperparameter, term: Term, y: Tensor, known: Tensor, out: Mediators) -> None:
    """Start at the spacing of bags: short lengthscales say that bags know nothing of others.

    A GPyTorch kernel of the user's keeps its own start, too, and has no prior.
    """
    factor = np.atleast_1d(torch.as_tensor(item.factor).detach().cpu().numpy().reshape(-1))
    ones = np.ones(item.raw.numel())
    near = spacing(y, term.columns) * factor * ones
    wide = np.maximum(median_distance(known[:, list(term.columns)]) * factor * ones, near)
    out.near[item.name], out.wide[item.name] = near, wide
    if term.name == "kernel":
        return
    middle = np.sqrt(near * wide).tolist()
    item.prior = LogNormal(middle[0] if len(middle) == 1 else tuple(middle), 1.5)
    item.set(near.tolist())


def _transform(known: Tensor, columns: Columns) -> InputTransform:
    """Standardise by bags and targets together: both must be in one unit."""
    count = len(known)
    members = torch.arange(count, device=known.device)
    return fit_inputs(Bags(known, members, torch.ones(count).to(known), count, columns))


def unsupported(out: Mediators, y: Tensor) -> Tensor:
    """Which standardised mediators (n, E) lie where no bag is (n,).

    Beyond the range of the bags in a column that ℓ looks at, or three times further from the next
    bag than bags ever are from each other.
    """
    used = sorted({column for term in out.terms for column in term.columns})
    if not used:
        return torch.zeros(len(y), dtype=torch.bool, device=y.device)
    ours, theirs = out.bags[:, used], y[:, used]
    low, high = ours.amin(0), ours.amax(0)
    # Of standardised columns: a constant one has a range of its spread, which is one.
    reach = torch.where(high > low, high - low, torch.ones_like(low))
    beyond = torch.maximum(low - theirs, theirs - high).clamp_min(0) / reach
    outside = (beyond > _SLACK).any(1)
    distinct = torch.unique(ours, dim=0)
    if len(distinct) > 2:
        between = torch.cdist(distinct, distinct)
        between.diagonal().fill_(torch.inf)
        apart = torch.cdist(theirs, distinct).amin(1)
        outside = outside | (apart > _APART * between.amin(1).max())
    return outside


def warn_where_no_bag_is(out: Mediators, y: Tensor, consequence: str) -> None:
    """Warn of the caller's caller's standardised mediators (n, E) that `unsupported` names."""
    far = int(unsupported(out, y).sum())
    if far:
        warn(f"{far} of {len(y)} mediators lie where no bag is: {consequence}; give bags with "
             "such mediators, or leave these out",
             ExtrapolationWarning)


def _overlap(out: Mediators) -> list[str]:
    """A note on targets where no bag is (covariate shift).

    References
    ----------
    Chau et al. 2021, section 6.
    """
    outside = unsupported(out, out.targets)
    count = int(outside.sum())
    if count == 0:
        return []
    low, high = out.bags.amin(0), out.bags.amax(0)
    worst = torch.maximum(low - out.targets, out.targets - high)[outside].amax(0)
    name = out.transform.columns.names[int(worst.argmax())]
    where = (f"beyond those of all bags, most in {name!r}" if float(worst.max()) > 0
             else "far from those of any bag")
    told = (f"{count} of {len(outside)} targets have mediators {where}: what bags there would "
            "average is not known")
    if count > len(outside) / 2:
        raise InputError(told + "; give bags that cover the targets' range "
                         "(workbench.plots.mediators draws both)")
    return [told]


def _constant(out: Mediators) -> list[str]:
    """A note on mediators that are the same for all bags."""
    flat = (out.bags.amax(0) - out.bags.amin(0)) == 0
    names = [name for name, same in zip(out.transform.columns.names, flat.tolist(), strict=True)
             if same]
    return [f"mediators that tell no bag from another: {', '.join(names)}"] if (
        names and len(out.bags) > 1) else []
