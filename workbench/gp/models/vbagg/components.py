"""The posterior of f as a sum: intercept, terms of the kernel, and effects of known areas."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from workbench.checks import choose
from workbench.gp.data.bags import Bags, Columns
from workbench.gp.fields.inducing import InducingField
from workbench.gp.kernels.grammar import Term
from workbench.gp.kernels.persistent import PERSISTENT
from workbench.gp.models.vbagg.effects import has_effects, total_effects
from workbench.gp.models.vbagg.persistent import keeps_effects, kept_alone
from workbench.gp.predictive import Normal

INTERCEPT, AREA_EFFECT = "intercept", "area effect"
WAYS = ("term", "role")
_CHUNK = 100_000


def role_of(term: Term, columns: Columns) -> str:
    """What a term looks at: covariates, place, both, place over time, or nothing (intercept)."""
    where = set(term.columns)
    place, covariates = bool(where & set(columns.coordinates)), where - set(columns.coordinates)
    if place and covariates:
        over_time = {columns.names[c] for c in covariates} == {"time"}
        return "place over time" if over_time else "covariates and place"
    return "place" if place else "covariates" if covariates else INTERCEPT


@torch.no_grad()
def components(fit, bags: Bags, by: str = "term", known: Tensor | None = None
               ) -> dict[str, Normal]:
    """Distribution of each summand of f at the individuals, by its name.

    Their means add up to the mean of f, and with the effect of areas to that of f and its effects.

    Parameters
    ----------
    fit : VariationalFit
        Of one setting of the hyperparameters.
    bags : Bags
        Where.
    by : {"term", "role"}
        A summand for each term of the kernel, or for each role, see `role_of`.
    known : Tensor (B,), optional
        Position of each bag among the training bags, or -1: then the last summand is the effect of
        the area and of the individual, given the totals of trained bags.
    """
    state, field = fit.state, fit.state.field
    choose("by", by, WAYS)
    x = state.transform.of(replace(bags, x=bags.x.to(state.x)))
    groups: dict[str, list[int]] = {}
    for position, term in enumerate(field.terms):
        if term.name == PERSISTENT:     # is an effect of areas
            continue
        name = term.name if by == "term" else role_of(term, bags.columns)
        groups.setdefault(name, []).append(position)
    flat = Normal(field.mean.detach().expand(len(x)), torch.zeros(len(x)).to(x))
    out = {INTERCEPT: flat}
    for name, chosen in groups.items():
        alone = field.part(chosen)
        found = [alone.project(part).marginals(alone.q_mean, alone.q_covariance)
                 for part in x.split(_CHUNK)]
        mean, variance = (torch.cat(both) for both in zip(*found, strict=True))
        before = out.get(name)
        shift = 0.0 if before is None else before.mean
        out[name] = Normal(mean - field.mean.detach() + shift, variance.clamp_min(0).sqrt())
    effects = has_effects(state) and not state.likelihood.multiplied
    if known is not None and (effects or keeps_effects(state)):
        parts = [total_effects(state, seen, fit.moments(seen), part, which) if effects
                 else kept_alone(state, seen, part)
                 for part, which in fit.parts(bags, known)
                 for seen in [fit.individual_view(part)]]
        out[AREA_EFFECT] = Normal(*(torch.cat(rows) for rows in zip(*parts, strict=True)))
    return out


def coefficients(field: InducingField) -> dict[str, tuple[Tensor, Tensor]]:
    """Posterior mean and sd of the weights of terms of finite rank, by the term's name."""
    out = {}
    for term, (start, stop) in zip(field.terms, field.blocks().values(), strict=True):
        if term.finite_rank:
            root, block = term.kernel.outputscale.sqrt(), slice(start, stop)
            std = field.q_covariance.diagonal()[block].sqrt()
            out[term.name] = (root * field.q_mean[block], root * std)
    return out
