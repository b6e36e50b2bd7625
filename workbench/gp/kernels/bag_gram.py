"""Means of a kernel over pairs of bags, A K Aᵀ, exactly and without the N x N matrix.

All pairs of individuals are visited in row chunks that fit into a processor's cache; what is kept
is B x B. Backward visits them again instead of storing them, and takes half the pairs, as forward
does: the matrix is symmetric.
"""

from __future__ import annotations

import math

import gpytorch
import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from workbench.gp.data.bags import Bags
from workbench.gp.kernels.grammar import Term
from workbench.gp.kernels.parts import Matern, Scaled
from workbench.gp.numerics.shapes import Inputs, PerIndividual

_ENTRIES = 150_000          # pairs that are worked on at once: few enough to stay in the cache
_STORED = 4_000_000         # of kernels without a form of their own, whose chunks autograd keeps


def bag_gram(terms: list[Term], x: Inputs, bags: Bags, coefficients: PerIndividual) -> Tensor:
    """A K(x, x) Aᵀ (B, B), differentiable in the kernel's hyperparameters.

    Parameters
    ----------
    terms : list of Term
        Additive terms of the kernel.
    x : Tensor (N, D)
        Standardised inputs, sorted by bag.
    bags : Bags
        Which bag each belongs to.
    coefficients : Tensor (N,)
        The one non-zero entry of A in each individual's column.
    """
    total = torch.zeros(bags.count, bags.count).to(x)
    for term in terms:
        profile = profile_of(term)
        if term.has_basis:
            features = bag_basis(term, x, bags, coefficients)
            total = total + features @ features.mT
        elif profile is not None:
            variance, scaled, name = profile
            total = total + variance * _Gram.apply(
                scaled(x, x), coefficients, bags.membership, bags.count, name)
        else:
            total = total + _checkpointed(term, x, bags, coefficients)
    return total


def bag_basis(term: Term, x: Inputs, bags: Bags, coefficients: PerIndividual) -> Tensor:
    """Features of a term that has them, summed over bags (B, rank); arguments of `bag_gram`.

    Where they are too many to be held, those of a part are computed again in backward.
    """
    def part(x: Tensor, coefficients: Tensor, membership: Tensor) -> Tensor:
        basis = coefficients[:, None] * term.basis(x)
        return torch.zeros(bags.count, basis.shape[1]).to(x).index_add(0, membership, basis)

    rows = max(1, _STORED // max(1, term.basis(x[:1]).shape[1]))
    if len(x) <= rows:
        return part(x, coefficients, bags.membership)
    learnt = torch.is_grad_enabled() and any(p.requires_grad for p in term.parameters())
    parts = zip(x.split(rows), coefficients.split(rows), bags.membership.split(rows), strict=True)
    return sum(checkpoint(part, *one, use_reentrant=False) if learnt else part(*one)
               for one in parts)


@torch.no_grad()
def bag_cross(terms: list[Term], new: Inputs, x: Inputs, bags: Bags,
              coefficients: PerIndividual) -> Tensor:
    """K(new, x) Aᵀ (n, B): covariance of new inputs with every bag; arguments of `bag_gram`."""
    total = torch.zeros(len(new), bags.count).to(x)
    rows = max(1, _ENTRIES // max(len(x), 1))
    sums = _summing(bags)
    for term in terms:
        profile = profile_of(term)
        if profile is not None:
            variance, scaled, name = profile
            one, other = (_precise(u, name) for u in (scaled(new, x), scaled(x, x)))
            squares = other.square().sum(1)
        for start in range(0, len(new), rows):
            part = slice(start, start + rows)
            if profile is None:
                values = term(new[part], x) * coefficients
            else:
                values = PROFILES[name][0](_squared(one[part], other, squares)).to(x)
                values *= variance * coefficients
            total[part] += sums(values)
    return total


def _summing(bags: Bags):
    """Sums of columns over the individuals of each bag, (r, N) -> (r, B).

    In bags of one size, one after the other, by a view, at a fraction of the time of scattering.
    """
    size, rest = divmod(len(bags.membership), bags.count)
    inside = torch.arange(bags.count, device=bags.membership.device).repeat_interleave(size)
    if rest == 0 and torch.equal(bags.membership, inside):
        return lambda values: values.reshape(len(values), bags.count, size).sum(-1)
    return lambda values: torch.zeros(len(values), bags.count).to(values).index_add_(
        1, bags.membership, values)


def _checkpointed(term: Term, x: Inputs, bags: Bags, coefficients: PerIndividual) -> Tensor:
    """Any kernel: its chunks are computed again in backward."""
    def chunk(part: Tensor) -> Tensor:
        out = torch.zeros(len(part), bags.count).to(x)
        return out.index_add(1, bags.membership, term(part, x) * coefficients)

    rows = max(1, _STORED // len(x))
    learnt = torch.is_grad_enabled() and any(p.requires_grad for p in term.parameters())
    parts = [checkpoint(chunk, part, use_reentrant=False) if learnt else chunk(part)
             for part in x.split(rows)]
    out = torch.zeros(bags.count, bags.count).to(x)
    return out.index_add(0, bags.membership, coefficients[:, None] * torch.cat(parts))


def profile_of(term: Term):
    """A term as (variance, x -> u, name) of variance * φ(|u - u'|²), None where it is not one."""
    kernel = term.kernel
    if type(kernel) not in (Scaled, gpytorch.kernels.ScaleKernel):
        return None
    base = kernel.base_kernel           # a ScaleKernel takes over the columns of its base ...
    if type(base) is gpytorch.kernels.RBFKernel:
        name = "rbf"
    elif type(base) in (Matern, gpytorch.kernels.MaternKernel):
        name = f"matern{int(2 * base.nu)}2"
    else:
        return None
    if base.batch_shape or kernel.batch_shape:
        return None

    def scaled(x: Inputs, centre: Inputs) -> Tensor:
        # Around a centre: squared distances are taken as differences of squares.
        moved = x - centre.mean(0)
        # ... and chooses them alone: of its base's forward() only the rest is asked.
        columns = moved if kernel.active_dims is None else moved[:, kernel.active_dims]
        return columns / base.lengthscale

    return kernel.outputscale, scaled, name


def _precise(u: Tensor, name: str) -> Tensor:
    """Matérn 1/2 in double precision: see `workbench.gp.kernels.parts.Matern`."""
    return u.double() if name == "matern12" else u


def _squared(one: Tensor, other: Tensor, squares: Tensor) -> Tensor:
    out = torch.addmm(squares, one, other.mT, alpha=-2.0)
    out += one.square().sum(1)[:, None]
    return out.clamp_min_(0.0)


def _from(start: int, stop: int, u: Tensor, squares: Tensor) -> Tensor:
    """Squared distances of some inputs to themselves and all later ones."""
    out = _squared(u[start:stop], u[start:], squares[start:])
    out.diagonal().zero_()      # rounding of 1e-16 would be a distance of 1e-8
    return out


def _rbf(r2: Tensor) -> Tensor:
    return r2.mul_(-0.5).exp_()


def _rbf_slope(r2: Tensor) -> Tensor:
    return _rbf(r2).mul_(-0.5)


def _matern12(r2: Tensor) -> Tensor:
    return r2.sqrt_().neg_().exp_()


def _matern12_slope(r2: Tensor) -> Tensor:
    # A pole: pairs at one place, to rounding, do not move with a lengthscale.
    same = r2 < 100 * torch.finfo(r2.dtype).eps
    r = r2.masked_fill_(same, 1.0).sqrt_()
    return (-r).exp_().div_(r).mul_(-0.5).masked_fill_(same, 0.0)


def _matern32(r2: Tensor) -> Tensor:
    r = r2.mul_(3.0).sqrt_()
    return (-r).exp_().mul_(r.add_(1.0))


def _matern32_slope(r2: Tensor) -> Tensor:
    return r2.mul_(3.0).sqrt_().neg_().exp_().mul_(-1.5)


def _matern52(r2: Tensor) -> Tensor:
    r = (5.0 * r2).sqrt_()
    return (-r).exp_().mul_(r.add_(1.0).add_(r2, alpha=5.0 / 3.0))


def _matern52_slope(r2: Tensor) -> Tensor:
    r = r2.mul_(5.0).sqrt_()
    return (-r).exp_().mul_(r.add_(1.0)).mul_(-5.0 / 6.0)


#: φ and dφ/d(r²) of each profile; both overwrite their argument.
PROFILES = {"rbf": (_rbf, _rbf_slope), "matern12": (_matern12, _matern12_slope),
            "matern32": (_matern32, _matern32_slope), "matern52": (_matern52, _matern52_slope)}


def _chunks(count: int):
    """Rows, and the columns from their beginning on: half of all pairs, in pieces of one size."""
    start = 0
    while start < count:
        rows = max(1, _ENTRIES // (count - start))
        # The square of a chunk with itself is done in full: keep it small beside the rest.
        stop = min(count, start + min(rows, max(32, int(math.sqrt(_ENTRIES)))))
        yield start, stop
        start = stop


class _Gram(torch.autograd.Function):
    """Σ_ij a_i a_j φ(|u_i - u_j|²) over the pairs of two bags."""

    @staticmethod
    def forward(ctx, u, a, members, count, name):
        ctx.save_for_backward(u, a, members)
        ctx.name, given = name, u
        u = _precise(u, name)
        a = a.to(u)
        value, squares = PROFILES[name][0], u.square().sum(1)
        out = torch.zeros(count, count).to(u)
        for start, stop in _chunks(len(u)):
            k = value(_from(start, stop, u, squares))
            first, last = int(members[start]), int(members[stop - 1]) + 1
            rows = _by_bag(k, a[start:stop], members[start:stop] - first, last - first)
            rows *= a[start:]
            width = stop - start
            out[first:last].index_add_(1, members[start:stop], rows[:, :width])
            later = torch.zeros(last - first, count).to(u).index_add_(
                1, members[stop:], rows[:, width:])
            out[first:last] += later
            out[:, first:last] += later.mT
        return out.to(given)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, gradient):
        given, a, members = ctx.saved_tensors
        u = _precise(given, ctx.name)
        a, gradient = a.to(u), gradient.to(u)
        slope, squares = PROFILES[ctx.name][1], u.square().sum(1)
        symmetric = (gradient + gradient.mT) / 2
        weighted = a[:, None] * torch.cat([u, torch.ones(len(u), 1).to(u)], 1)
        pulled = torch.zeros_like(weighted)         # Σ_j G a_j φ' (u_j, 1)
        for start, stop in _chunks(len(u)):
            h = slope(_from(start, stop, u, squares))
            h.diagonal().zero_()        # no distance, no slope; Matérn 1/2 has a pole there
            first, last = int(members[start]), int(members[stop - 1]) + 1
            factor = symmetric[first:last].index_select(1, members[start:])
            if last - first == 1:
                h *= factor
            else:
                h *= factor.index_select(0, members[start:stop] - first)
            pulled[start:stop] += h @ weighted[start:]
            pulled[stop:] += h[:, stop - start:].mT @ weighted[start:stop]
        out = 4 * a[:, None] * (pulled[:, -1:] * u - pulled[:, :-1])
        return out.to(given), None, None, None, None


def _by_bag(k: Tensor, a: Tensor, members: Tensor, count: int) -> Tensor:
    """Σ a_i k_ij over the rows of each bag (count, columns)."""
    if count == 1:
        return (a @ k)[None]
    if count <= 16:
        weights = torch.zeros(count, len(a)).to(k)
        weights[members, torch.arange(len(a), device=k.device)] = a
        return weights @ k
    k *= a[:, None]
    return torch.zeros(count, k.shape[1]).to(k).index_add_(0, members, k)
