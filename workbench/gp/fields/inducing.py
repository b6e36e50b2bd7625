"""A Gaussian process seen through whitened inducing features, with a Gaussian q over them.

Every additive term of the kernel has inducing features of its own: a stationary term its values at
k-means++ inputs in *its* columns, or its averages over areas; a linear or constant term its
weights, which represent it exactly. In whitened form the prior of all features is N(0, I), and
f(x) = mean + φ(x)ᵀv + residual, with φ(x) stacked from L⁻¹k(Z, x) of each term.

References
----------
Law et al. 2018, eq. (9), whitened; Hensman et al. 2015 for the whitening; Lázaro-Gredilla and
Figueiras-Vidal 2009, Inter-domain Gaussian processes, for variables that are averages.

Deviation: the paper uses one set of landmarks for the whole kernel; ``layout="joint"`` gives that.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import torch
from torch import Tensor, nn

from workbench.gp.kernels.bag_between import Sums, bag_between, each
from workbench.gp.kernels.grammar import JointTerm, Term
from workbench.gp.kernels.operators import AggregationOperator, weighted_rows
from workbench.gp.kernels.persistent import PersistentTerm
from workbench.gp.numerics.linalg import cholesky, left
from workbench.gp.numerics.shapes import (
    Features,
    InducingCovariance,
    InducingMean,
    Inputs,
    PerBag,
    PerIndividual,
)

_ENTRIES = 4_000_000    # covariances with points that are averaged over at once


@dataclass(frozen=True)
class Projection:
    """Inputs seen through the features at fixed hyperparameters.

    Parameters
    ----------
    features : Tensor (N, M)
        Whitened features φ.
    residual : Tensor (N,)
        Prior variance that the features do not explain, k(x, x) - φ(x)ᵀφ(x) >= 0.
    offset : Tensor (N,)
        Prior mean of f.
    areas : (int, Tensor (N,)), optional
        Where features of what areas keep begin, the last of all, and which of these is not zero.
    """

    features: Features
    residual: PerIndividual
    offset: PerIndividual
    areas: tuple[int, Tensor] | None = None
    _last: dict = field(default_factory=dict, repr=False, compare=False)

    def detach(self) -> Projection:
        """The same numbers without gradients."""
        return Projection(self.features.detach(), self.residual.detach(), self.offset.detach(),
                          self.areas)

    def marginals(self, mean: InducingMean, covariance: InducingCovariance):
        """Mean and variance (N,) of f at each input when v ~ N(mean, covariance)."""
        return self.offset + self.features @ mean, self.residual + self._explained(covariance)

    def _explained(self, covariance: InducingCovariance) -> PerIndividual:
        """φᵀ C φ of each input, kept for the last C: a search for the best mean asks it of one."""
        if covariance.requires_grad or self.features.requires_grad:
            return self._form(covariance)
        kept = self._last.get("explained")      # one entry, for threads share a view
        if kept is None or kept[0] is not covariance or kept[1] != covariance._version:
            value = self._form(covariance)
            self._last["explained"] = kept = (covariance, covariance._version, value)
        return kept[2]

    def _form(self, covariance: InducingCovariance) -> PerIndividual:
        if self.areas is None:
            return ((self.features @ covariance) * self.features).sum(1)
        start, area = self.areas
        own = self.features.gather(1, start + area[:, None])[:, 0]
        return _with_one_more(self.features[:, :start], own, start + area, covariance)


@dataclass(frozen=True)
class Aggregated:
    """Bags seen through the features at fixed hyperparameters.

    Parameters
    ----------
    rows : Tensor (B, M)
        A Φ, the features of each bag's sum or mean.
    residual : Tensor (B,)
        Its prior variance that the features do not explain.
    offset : Tensor (B,)
        Its prior mean.
    """

    rows: Tensor
    residual: PerBag
    offset: PerBag


class InducingField(nn.Module):
    """q(f) through whitened inducing features: v ~ N(``q_mean``, ``q_covariance``).

    Parameters
    ----------
    terms : list of Term
        Additive terms of the kernel on standardised inputs.
    inducing : list of Tensor (M_t, D) or None
        Inducing inputs of each term; None for terms of finite rank.
    averaging : list of AggregationOperator or None, optional
        Of each term, from values at its inducing inputs to inducing variables (`fields.averages`);
        None is the values themselves.
    """

    def __init__(self, terms: list[Term], inducing: list[Tensor | None],
                 averaging: list[AggregationOperator | None] | None = None):
        super().__init__()
        self.terms, self.inducing = nn.ModuleList(terms), inducing
        self.averaging = [None] * len(terms) if averaging is None else averaging
        like = next(z for z in [*inducing, *(p for t in terms for p in t.parameters())]
                    if z is not None)
        self.mean = nn.Parameter(torch.zeros(1, dtype=like.dtype, device=like.device))
        count = sum(stop - start for start, stop in self.blocks().values())
        self.q_mean = torch.zeros(count).to(like)
        self.q_covariance = torch.eye(count).to(like)

    def blocks(self) -> dict[str, tuple[int, int]]:
        """First and last + 1 feature of each term, by the term's name."""
        out, start = {}, 0
        for term, z, averaging in zip(self.terms, self.inducing, self.averaging, strict=True):
            width = (len(term.columns) or 1) if z is None else (
                len(z) if averaging is None else averaging.bags.count)
            out[term.name] = (start, start + width)
            start += width
        return out

    def part(self, chosen: list[int]) -> InducingField:
        """The sum of some of the terms alone, under the same q; the field itself if it is all."""
        if chosen == list(range(len(self.terms))):
            return self
        kept = ([part[i] for i in chosen] for part in (self.terms, self.inducing, self.averaging))
        out, blocks = InducingField(*kept), list(self.blocks().values())
        rows = torch.cat([torch.arange(*blocks[i]) for i in chosen]).to(self.q_mean.device)
        out.mean = self.mean
        out.set_q(self.q_mean[rows], self.q_covariance[rows][:, rows])
        return out

    def project(self, x: Inputs) -> Projection:
        """Features and residual variance at standardised inputs."""
        features, residual, areas = [], torch.zeros(len(x)).to(x), None
        for term, z, averaging in zip(self.terms, self.inducing, self.averaging, strict=True):
            if z is None:
                features.append(term.basis(x))
                continue
            if isinstance(term, PersistentTerm):        # the last, if there is one
                row, own = term.loads(x, z)
                table = own.new_zeros(len(x), len(z))
                if len(z):
                    areas = sum(one.shape[1] for one in features), row
                    table = table.scatter(1, row[:, None], own[:, None])
                features.append(table)
                residual = residual + left(term.diagonal(x), own.square())
                continue
            root, with_x = _root(term, averaging, z), _covariances(term, averaging, z, x)
            part = torch.linalg.solve_triangular(root, with_x, upper=False).mT
            features.append(part)
            residual = residual + left(term.diagonal(x), part.square().sum(1))
        return Projection(torch.cat(features, 1), residual, self.mean.expand(len(x)), areas)

    def aggregated(self, x: Inputs, operator: AggregationOperator) -> Aggregated:
        """The same of A f at standardised inputs, of which no table of all individuals is made.

        The prior variance of each bag is the full double sum over the bag's pairs.
        """
        rows, residual = [], torch.zeros(operator.bags.count).to(x)
        for term, z, averaging in zip(self.terms, self.inducing, self.averaging, strict=True):
            if z is None:
                rows.append(operator.rows(term.basis(x)))
                continue
            root = _root(term, averaging, z)
            part = torch.linalg.solve_triangular(
                root, _summed(term, operator, x, averaging, z).mT, upper=False).mT
            rows.append(part)
            residual = residual + left(operator.quad_diag(term, x), part.square().sum(1))
        return Aggregated(torch.cat(rows, 1), residual, operator.constant(self.mean))

    def prior(self, x1: Inputs, x2: Inputs) -> Tensor:
        """Dense prior covariance between inputs, summed over terms (..., n, m)."""
        return sum(term(x1, x2) for term in self.terms)

    def unexplained(self, x: Inputs, features: Features) -> Tensor:
        """Prior covariance between inputs that their features leave unexplained (..., n, n).

        Terms of finite rank are explained exactly and left out.
        """
        total = torch.zeros(*x.shape[:-1], x.shape[-2]).to(x)
        for term, (start, stop) in self._inexact():
            part = features[..., start:stop]
            total = total + term(x, x) - part @ part.mT
        return total

    def unexplained_between(self, x1: Inputs, x2: Inputs, features1: Features, features2: Features
                            ) -> PerIndividual:
        """The same of each input with its partner in the other set alone (n,)."""
        total = torch.zeros(len(x1)).to(x1)
        for term, (start, stop) in self._inexact():
            explained = (features1[:, start:stop] * features2[:, start:stop]).sum(1)
            total = total + term.between(x1, x2) - explained
        return total

    def _inexact(self) -> list[tuple[Term, tuple[int, int]]]:
        blocks = self.blocks().values()
        return [(term, block) for term, block in zip(self.terms, blocks, strict=True)
                if not term.finite_rank]

    def marginals(self, x: Inputs) -> tuple[PerIndividual, PerIndividual]:
        """Mean and variance of f at standardised inputs under q.

        Of what areas keep no table of features is made: with thousands of them it would be large.
        """
        last, start = self.terms[-1], self.blocks()[self.terms[-1].name][0]
        if not isinstance(last, PersistentTerm) or start == 0 or not len(self.inducing[-1]):
            return self.project(x).marginals(self.q_mean, self.q_covariance)
        seen = self.part(list(range(len(self.terms) - 1))).project(x)
        row, own = last.loads(x, self.inducing[-1])
        mean = seen.offset + seen.features @ self.q_mean[:start] + own * self.q_mean[start + row]
        return mean, seen.residual + left(last.diagonal(x), own.square()) + _with_one_more(
            seen.features, own, start + row, self.q_covariance)

    def aggregate(self, x: Inputs, operator: AggregationOperator) -> tuple[Tensor, Tensor]:
        """Mean and variance of A f under q: aggregate first, then project.

        The prior variance of each bag is the full double sum over the bag's pairs, so that no
        covariance inside a bag is lost whatever the number of inducing inputs.
        """
        seen = self.aggregated(x, operator)
        mean = seen.offset + seen.rows @ self.q_mean
        return mean, seen.residual + ((seen.rows @ self.q_covariance) * seen.rows).sum(1)

    def set_q(self, mean: InducingMean, covariance: InducingCovariance) -> None:
        """Replace q."""
        self.q_mean, self.q_covariance = mean.detach(), covariance.detach()


def _with_one_more(features: Features, own: PerIndividual, row: Tensor,
                   covariance: InducingCovariance) -> PerIndividual:
    """φᵀ C φ where beside the first features one more, in a row of its own, is not zero."""
    first = slice(0, features.shape[1])
    common = features @ covariance[first, first] + 2 * own[:, None] * covariance[row, first]
    return (common * features).sum(1) + own.square() * covariance.diagonal()[row]


def _root(term: Term, averaging: AggregationOperator | None, z: Inputs) -> Tensor:
    """Root of the prior covariance of a term's inducing variables."""
    prior = _covariances(term, averaging, z, z)
    prior = prior if averaging is None else _averaged(averaging, prior.mT)
    return cholesky(prior, f"inducing covariance of {term.name}")


def _summed(term: Term, operator: AggregationOperator, x: Inputs,
            averaging: AggregationOperator | None, z: Inputs) -> Tensor:
    """Prior covariances of bags with inducing variables (B, M)."""
    found = bag_between(term, x, _sums(operator, x), z,
                        each(z) if averaging is None else _sums(averaging, z))
    return operator.rows(_covariances(term, averaging, z, x).mT) if found is None else found


def _covariances(term: Term, averaging: AggregationOperator | None, z: Inputs, x: Inputs) -> Tensor:
    """Prior covariances of inducing variables with inputs (M, N), of averages some at a time."""
    if averaging is None:
        return term(z, x)
    found = bag_between(term, x, each(x), z, _sums(averaging, z))
    return found.mT if found is not None else torch.cat([_averaged(averaging, term(z, part))
                      for part in x.split(max(1, _ENTRIES // len(z)))], 1)


def _sums(operator: AggregationOperator, x: Inputs) -> Sums:
    return Sums(operator.bags.membership, operator.coefficients().to(x), operator.bags.count)


def _averaged(averaging: AggregationOperator, values: Tensor) -> Tensor:
    """A table of what there is at inducing inputs, as one of inducing variables."""
    return weighted_rows(averaging.coefficients().to(values), values, averaging.bags)


def scale_of(term: Term | JointTerm) -> Tensor:
    """Standard deviation of a term (); one of joint terms, sums, and bare kernels of users."""
    found = getattr(getattr(term, "kernel", None), "outputscale", None)
    return torch.ones(()) if found is None else found.detach().sqrt()
