"""The curvature correction of a network's q, for sources whose noise is partly the same.

The parameters are the inducing features of each latent function, given the moments of all others: a
Normal log-likelihood is quadratic in them. Each source is taken to be right on its own; the noise
of observations i and j of two sources has the correlation ρ o_ij, with o_ij that of noise of common
individuals (`workbench.gp.models.several_sources.overlap`) and ρ estimated from the residuals of
fits to each source alone. So the score's variance is

    J = H + Σ_{a≠b} Σ_ij ρ_ab o_ij E[r_i r_jᵀ] / (σ_i σ_j),

with r_i how observation i weighs the features. Where sources do not overlap nothing is corrected,
which one weight for all cannot do.

References
----------
Hamelijnck et al. 2019, appendix B.4, eq. (64), with θ the features in place of the kernel's
parameters, of which q knows no spread. Hyperparameters are learnt under Ribatet's weights.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np
import torch
from torch import Tensor

from workbench.checks import warn
from workbench.gp.models.several_sources import updates
from workbench.gp.models.several_sources.magnitude import CompositeWarning, Weights
from workbench.gp.models.several_sources.overlap import overlap
from workbench.gp.models.several_sources.products import at
from workbench.gp.models.several_sources.sandwich import Sandwich, sandwich

_CHUNK = 200_000        # pairs of individuals at a time
_ROUNDS, _CLOSE = 200, 1e-6     # of corrected updates, and the change of q's means that ends them
_MOST = 20.0            # largest weight of a direction


@dataclass(frozen=True)
class PairsBetween:
    """Pairs of individuals of two sources whose observations have noise in common.

    Parameters
    ----------
    sources : tuple of int
        Positions of the two.
    first, second : Tensor (n,)
        Individuals of each.
    bags : tuple of Tensor (n,)
        Their observations.
    factor : Tensor (n,)
        ρ o_ij a_k a_l.
    """

    sources: tuple[int, int]
    first: Tensor
    second: Tensor
    bags: tuple[Tensor, Tensor]
    factor: Tensor


class Correction:
    """Corrected updates of a network's latent functions.

    Parameters
    ----------
    state : GPRNState
        Its hyperparameters are held.
    estimate : Weights
        With the residuals of fits to each source.
    """

    def __init__(self, state, estimate: Weights):
        self.state, self.notes, self.weights = state, [], {}
        self.correlations: dict[tuple[str, str], float] = {}
        self.between = self._pairs(estimate.residuals)
        self._features: dict[tuple[int, int], Tensor] = {}
        if not self.between:
            self.notes.append(
                "composite='curvature' corrects nothing: no sources have individuals in common "
                "whose noise agrees; use composite='ribatet' for other dependence, or 'none'")
            warn(self.notes[-1], CompositeWarning)

    def _pairs(self, residuals: list[np.ndarray]) -> list[PairsBetween]:
        seen, out = self.state.full, []
        for a, b in combinations(range(len(seen)), 2):
            ends = [(one.x, one.operator) for one in (seen[a], seen[b])]
            common = overlap(*ends)
            rho = common.correlation(residuals[a], residuals[b])
            self.correlations[seen[a].part.name, seen[b].part.name] = rho
            if rho == 0:
                continue
            (first, i), (second, j) = (_members(end[1], which) for end, which in zip(
                ends, (common.first, common.second), strict=True))
            left, right, pair = _product(i, j, len(common.share))
            first, second = first[left], second[right]
            bags = common.first[pair], common.second[pair]
            factor = rho * common.share[pair] * ends[0][1].coefficients()[first] * (
                ends[1][1].coefficients()[second])
            out.append(PairsBetween((a, b), first, second, bags, factor))
        return out

    def features(self, source: int, g: int) -> Tensor:
        """Whitened features of a latent function at a source's individuals (N, M)."""
        if (source, g) not in self._features:
            state = self.state
            self._features[source, g] = state.fields[g].project(state.full[source].x).features
        return self._features[source, g]

    def of(self, g: int, square: Tensor) -> Sandwich:
        """Sandwich of a latent function whose curvature is ``square`` (M, M)."""
        cross = torch.zeros_like(square)
        for one in self.between:
            for rows in torch.arange(len(one.factor)).split(_CHUNK):
                cross += self._cross(one, rows, g)
        return sandwich(square, square + cross + cross.mT, _MOST)

    def _cross(self, one: PairsBetween, rows: Tensor, g: int) -> Tensor:
        state, (a, b) = self.state, one.sources
        others = [self._other(source, g) for source in (a, b)]
        if any(o is None for o in others):  # the weight of a task that a source does not observe
            return torch.zeros(()).to(one.factor)
        first, second, factor = one.first[rows], one.second[rows], one.factor[rows]
        for source, bag in zip((a, b), one.bags, strict=True):
            seen = state.full[source]
            noise = state.noise_variance(seen) / state.power(seen)
            factor = factor / noise.sqrt()[bag[rows]]
        factor = factor * self._second_moment(a, b, first, second, *others)
        return (self.features(a, g)[first] * factor[:, None]).mT @ self.features(b, g)[second]

    def _other(self, source: int, g: int) -> int | Tensor | None:
        """The latent function (or number) that multiplies this one at a source."""
        state, task = self.state, self.state.full[source].part.task
        basis, p, q = updates.role(state, g)
        if not basis:
            return q if p == task else None
        if state.options.weights == "constant":
            return state.constants[task * state.q_count + q].natural
        return state.weight(task, q)

    def _second_moment(self, a, b, first, second, one, other) -> Tensor:
        """E of the product of what multiplies the function at pairs of individuals (n,)."""
        if isinstance(one, Tensor):
            return one * other
        phi, psi = self.features(a, one)[first], self.features(b, other)[second]
        (mean, covariance), (mean_other, _) = self.state.q[one], self.state.q[other]
        product = (phi @ mean) * (psi @ mean_other)
        if one != other:            # weights of two tasks are independent under q
            return product
        x, y = self.state.full[a].x[first], self.state.full[b].x[second]
        return product + ((phi @ covariance) * psi).sum(1) + (
            self.state.fields[one].unexplained_between(x, y, phi, psi))

    @torch.no_grad()
    def apply(self, pulse=None) -> None:
        """Bring q to the fixed point of the corrected updates."""
        state = self.state
        seen, projections = state.full, [state.projections(s) for s in state.full]
        found = [at(one, state.q) for one in projections]
        for _ in range(_ROUNDS):
            before = [mean for mean, _ in state.q]
            for g in range(len(state.fields)):
                if pulse is not None:
                    pulse()
                updates.update(state, seen, projections, found, g, correct=self._correct)
            moved = max(float((old - new).abs().max())
                        for old, (new, _) in zip(before, state.q, strict=True))
            if moved < _CLOSE:
                break
        else:
            self.notes.append(f"the corrected updates of q have not come to rest in {_ROUNDS} "
                              f"rounds: means of its features still move by {moved:.1g}")
            warn(self.notes[-1], CompositeWarning)
        if self.weights:
            self._tell()

    def _correct(self, g: int, linear: Tensor, square: Tensor) -> tuple[Tensor, Tensor]:
        found = self.of(g, square)
        self.weights[g] = found.weights
        return found.correct(linear, square)

    def _tell(self) -> None:
        every = torch.cat(list(self.weights.values()))
        pairs = ", ".join(f"{a} and {b} {rho:.2f}" for (a, b), rho in self.correlations.items())
        self.notes.append(
            f"curvature correction: weights {float(every.min()):.2g} to {float(every.max()):.2g} "
            f"by direction of the latent functions; correlation of common noise: {pairs}")
        if float(every.max()) >= _MOST:
            self.notes.append(f"weights of directions in which scores of the sources cancel are "
                              f"held at {_MOST:g}")
            warn(self.notes[-1], CompositeWarning)


def _members(operator, bags: Tensor) -> tuple[Tensor, Tensor]:
    """Individuals of each of the named bags (n,), and the position in ``bags`` (n,)."""
    membership = operator.bags.membership
    order, sizes = membership.argsort(stable=True), operator.bags.sizes.long()
    start, wanted = sizes.cumsum(0) - sizes, sizes[bags]
    position = torch.arange(len(bags)).to(bags).repeat_interleave(wanted)
    inside = torch.arange(len(position)).to(bags) - (wanted.cumsum(0) - wanted)[position]
    return order[start[bags][position] + inside], position


def _product(left: Tensor, right: Tensor, count: int) -> tuple[Tensor, Tensor, Tensor]:
    """All pairs of entries of one group in two sorted lists of groups, and their groups."""
    one, other = (torch.bincount(side, minlength=count) for side in (left, right))
    sizes = one * other
    group = torch.arange(count).to(left).repeat_interleave(sizes)
    inside = torch.arange(len(group)).to(left) - (sizes.cumsum(0) - sizes)[group]
    first = (one.cumsum(0) - one)[group] + inside // other[group]
    return first, (other.cumsum(0) - other)[group] + inside % other[group], group
