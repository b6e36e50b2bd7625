"""The bound of VarCMP by minibatches of both data sets: some targets, some individuals of each bag.

At a held q the bound is a sum over targets, of

    -log(2πσ²)/2 - ((z - wᵀφ̄ m)² + wᵀ(K̄ - φ̄φ̄ᵀ + φ̄ S φ̄ᵀ) w) / 2σ²

with w the weights of the bags in that target, φ̄ (B, m) and K̄ (B, B) means over the individuals of
bags. In place of products of means stand products of means over two sets that are drawn apart,
whose expectation they are: the estimate is unbiased, and no pairs of all individuals are needed. W
takes all bags; the released code instead estimates the operator from the few individuals of a step.

References
----------
Chau et al. 2021, appendix B ("using a stochastic gradient approach").
"""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from workbench.gp.fields.collapsed import CollapsedField
from workbench.gp.fields.inducing import InducingField
from workbench.gp.kernels.operators import SegmentMean
from workbench.gp.numerics.linalg import cholesky


@dataclass(frozen=True)
class Anchor:
    """Features where the last pass ended, and their means over all individuals of bags.

    Means over few individuals are corrected by what they are off there, which takes most of their
    error away as long as hyperparameters are near, and leaves the estimate unbiased.

    Parameters
    ----------
    field : InducingField
        With hyperparameters and inducing inputs as they were.
    means : Tensor (B, m)

    References
    ----------
    Johnson and Zhang 2013, Accelerating stochastic gradient descent using predictive variance
    reduction.
    """

    field: InducingField
    means: Tensor

    @classmethod
    @torch.no_grad()
    def of(cls, whole: CollapsedField) -> Anchor:
        """The present features."""
        held = [None if z is None else z.detach() for z in whole.inducing.inducing]
        field = InducingField(copy.deepcopy(list(whole.inducing.terms)), held)
        return cls(field, whole.bag_features())

    @torch.no_grad()
    def error(self, drawn: SegmentMean) -> Tensor:
        """What means over all individuals have more than those over the drawn (B, m)."""
        return self.means - _features(self.field, drawn)


def bound_of(state, whole: CollapsedField, targets: Tensor, one: SegmentMean, other: SegmentMean,
             anchor: Anchor | None = None) -> Tensor:
    """The bound at q as it is, by some targets and by means over two sets of individuals.

    Parameters
    ----------
    state : VarCMPState
        Of constant or known noise, without a nugget.
    whole : CollapsedField
        Terms, inducing inputs, mean and q.
    targets : Tensor (b,) of int64
        Which targets; their sum stands for that over all.
    one, other : SegmentMean
        Of bags whose ``x`` are standardised inputs, with individuals of every bag: all of them, or
        drawn apart from each other.
    anchor : Anchor, optional
        Corrects the means of features.

    Returns
    -------
    Tensor ()
        Differentiable in hyperparameters and inducing inputs.
    """
    q, w = whole.inducing, state.mean.weights(state.mean.targets[targets])
    drawn = [one] if one is other else [one, other]
    raw = [_features(q, base) for base in drawn]
    near = raw if anchor is None else [
        part + anchor.error(base) for part, base in zip(raw, drawn, strict=True)]
    rows = [w.mT @ part for part in near]
    known = state.known_mean(w) + whole.operator.total(w) * q.mean
    gaps = [state.value[targets] - known - part @ q.q_mean for part in rows]
    spread = ((rows[0] @ q.q_covariance) * rows[-1]).sum(1) + _unexplained(
        q, one, other, w, [w.mT @ part for part in raw])
    variance = state.noise.variance[targets]
    each = -0.5 * ((2 * math.pi * variance).log() + (gaps[0] * gaps[-1] + spread) / variance)
    return len(state.value) / len(targets) * each.sum() - _divergence(q)


def _features(q: InducingField, base: SegmentMean) -> Tensor:
    """Means of the whitened features over the individuals of bags (B, m)."""
    parts = []
    for term, z in zip(q.terms, q.inducing, strict=True):
        if z is None:
            parts.append(base.rows(term.basis(base.bags.x)))
            continue
        root = cholesky(term(z, z), f"inducing covariance of {term.name}")
        cross = base.rows(term(base.bags.x, z))
        parts.append(torch.linalg.solve_triangular(root, cross.mT, upper=False).mT)
    return torch.cat(parts, 1)


def _unexplained(q: InducingField, one: SegmentMean, other: SegmentMean, w: Tensor,
                 rows: list[Tensor]) -> Tensor:
    """wᵀ(K̄ - φ̄φ̄ᵀ)w of each target, of terms that their weights do not explain exactly."""
    total = torch.zeros(w.shape[1]).to(w)
    for term, (start, stop) in zip(q.terms, q.blocks().values(), strict=True):
        if term.finite_rank:
            continue
        if one is other:
            gram = one.gram([term], one.bags.x)
        else:
            gram = one.rows(other.rows(term(one.bags.x, other.bags.x).mT).mT)
        explained = (rows[0][:, start:stop] * rows[-1][:, start:stop]).sum(1)
        total = total + (w * (gram @ w)).sum(0) - explained
    return total


def _divergence(q: InducingField) -> Tensor:
    """KL of q from the standard Normal prior of whitened features ()."""
    root = cholesky(q.q_covariance, "covariance of q")
    return 0.5 * (q.q_covariance.trace() + q.q_mean @ q.q_mean - len(q.q_mean)
                  ) - root.diagonal().log().sum()


class Draws:
    """Individuals drawn of each bag, with replacement and by their weights.

    Parameters
    ----------
    base : SegmentMean
        Of all individuals.
    x : Tensor (N, D)
        Their standardised inputs.
    count : int
        Drawn of each bag.
    generator : torch.Generator
    """

    def __init__(self, base: SegmentMean, x: Tensor, count: int, generator: torch.Generator):
        self.bags, self.x, self.count, self.generator = base.bags, x, count, generator
        shares = base.coefficients().double().cpu()
        self._until = shares.cumsum(0)
        sizes = self.bags.sizes.long().cpu()
        self._last = sizes.cumsum(0) - 1
        self._first = self._last - sizes + 1

    def __call__(self) -> SegmentMean:
        """Means over one set."""
        bags, count = self.bags, self.count
        members = torch.arange(bags.count).repeat_interleave(count)
        # Weights of a bag sum to one, so that bag j has the stretch from j to j + 1.
        at = members + torch.rand(len(members), generator=self.generator, dtype=torch.float64)
        rows = torch.searchsorted(self._until, at).clamp(self._first[members], self._last[members])
        rows, members = rows.to(self.x.device), members.to(self.x.device)
        return SegmentMean(replace(bags, x=self.x[rows], membership=members,
                                   weight=torch.ones(len(rows)).to(bags.weight),
                                   concentration=None, individual_noise_variance=None, areas=None))
