"""Means of a kernel between bags of inputs and others, A K(x, z) Cᵀ, without the N x P matrix.

All pairs are visited in chunks that fit into a processor's cache; what is kept is B x M. Backward
visits them again instead of storing them.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from workbench.gp.kernels.bag_gram import _ENTRIES, PROFILES, _precise, _squared, profile_of
from workbench.gp.kernels.grammar import JointTerm, Term
from workbench.gp.numerics.shapes import Inputs


class Sums(NamedTuple):
    """Weighted sums of inputs.

    Parameters
    ----------
    of : Tensor (N,)
        Which sum each input belongs to, ascending.
    shares : Tensor (N,)
        What it counts there.
    count : int
        Number of sums.
    alone : bool
        Whether each input is a sum of its own, in order.
    """

    of: Tensor
    shares: Tensor
    count: int
    alone: bool = False


def each(x: Inputs) -> Sums:
    """Inputs as they are."""
    return Sums(torch.arange(len(x), device=x.device), torch.ones(len(x)).to(x), len(x), True)


def bag_between(term: Term, x: Inputs, bags: Sums, z: Inputs, groups: Sums) -> Tensor | None:
    """Covariances of sums over bags with sums over groups of other inputs (B, M).

    Differentiable in the kernel's hyperparameters, x and z.

    Parameters
    ----------
    term : Term
        Of a kernel.
    x : Tensor (N, D)
        Standardised inputs.
    bags : Sums
        Of these.
    z : Tensor (P, D)
        The other inputs.
    groups : Sums
        Of these.

    Returns
    -------
    Tensor (B, M) or None
        None of a kernel without a form of its own, whose matrix has to be made.
    """
    if not summable(term):
        return None
    if isinstance(term, JointTerm):
        return sum(bag_between(one, x, bags, z, groups) for one in term.parts)
    variance, scaled, name = profile_of(term)
    return variance * _Between.apply(scaled(x, x), scaled(z, x), *bags, *groups, name)


def summable(term: Term) -> bool:
    """Whether a term's kernel has a form of its own, so that its matrix need not be made."""
    if isinstance(term, JointTerm):
        return all(summable(one) for one in term.parts)
    return profile_of(term) is not None


class _Between(torch.autograd.Function):
    """Σ_ip a_i c_p φ(|u_i - v_p|²) over the pairs of a bag and a group.

    Rows of a chunk are the P points: to add up rows is quicker than columns.
    """

    @staticmethod
    def forward(ctx, u, v, members, a, bags, whole, groups, c, count, each_is_one, name):
        ctx.save_for_backward(u, v, a, members, c, groups)
        ctx.name, ctx.each_is_one, given = name, each_is_one, u
        u, v = _precise(u, name), _precise(v, name)
        a, c, value, squares = a.to(u), c.to(u)[:, None], PROFILES[name][0], u.square().sum(1)
        out = torch.zeros(bags, count).to(u)
        for part in _parts(len(u), len(v)):
            k = value(_squared(v, u[part], squares[part]))
            k *= c
            if not each_is_one:
                k = torch.zeros(count, k.shape[1]).to(k).index_add_(0, groups, k)
            if whole:
                torch.mul(k.mT, a[part, None], out=out[part])
            else:
                out.index_add_(0, members[part], k.mT * a[part, None])
        return out.to(given)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, gradient):
        of_u, of_v, a, members, c, groups = ctx.saved_tensors
        u, v = _precise(of_u, ctx.name), _precise(of_v, ctx.name)
        a, c, gradient = a.to(u), c.to(u)[:, None], gradient.to(u)
        slope, squares = PROFILES[ctx.name][1], u.square().sum(1)
        one = torch.ones(len(u), 1).to(u)
        with_one = torch.cat([u, one], 1)
        pulled_u, pulled_v = torch.empty_like(with_one), torch.zeros(len(v), u.shape[1] + 1).to(u)
        others = torch.cat([v, torch.ones(len(v), 1).to(v)], 1)
        for part in _parts(len(u), len(v)):
            h = slope(_squared(v, u[part], squares[part]))
            factor = (gradient[members[part]] * a[part, None]).mT
            h *= factor if ctx.each_is_one else factor[groups]
            h *= c
            pulled_u[part] = h.mT @ others
            pulled_v += h @ with_one[part]
        # d|u - v|² is 2 (u - v) of u, and the opposite of v.
        out_u = 2 * (pulled_u[:, -1:] * u - pulled_u[:, :-1])
        out_v = 2 * (pulled_v[:, -1:] * v - pulled_v[:, :-1])
        return out_u.to(of_u), out_v.to(of_v), *[None] * 9


def _parts(count: int, points: int):
    """Inputs whose pairs with all points are few enough."""
    rows = max(1, _ENTRIES // max(1, points))
    return (slice(start, start + rows) for start in range(0, count, rows))
