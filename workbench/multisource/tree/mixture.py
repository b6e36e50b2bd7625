"""Mixtures of experts: GPs weighted by the information that their base GPs have at a place.

I = 1 where a base GP knows most, 0 where it knows no more than its prior. The experts come in order
of trust, and each takes its information's share of what those before it leave,

    β_1 = I_1,   β_a = I_a Π_{i<a} (1 - I_i),   the last: Π_{i<a} (1 - I_i),

so that weights are never negative and add up to one.

References
----------
Hamelijnck et al. 2019, appendix D.9-D.10, and the released code for the tanh.

Deviations: section 4.1 prints a sum where D.10 has the product; (85) takes log variance itself for
information, which is the opposite; (86) ends in f_{P-1} where f_P belongs. Variances are relative
to the prior's, so that weights do not change with the units of the values. The constants of the
normalisation come from training inputs, not from the places of a prediction: there weights would
depend on what else is predicted.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from workbench.multisource.tree.nodes import GPNode
from workbench.multisource.tree.places import Conditional, Place

_STEEP, _OFFSET, _ROWS = 10.0, 0.01, 20_000


class Information:
    """How much a base GP knows at a place, between nothing, 0, and all that it knows, 1.

    Parameters
    ----------
    node : GPNode
        The base GP.
    gate : {"linear", "midpoint", "tanh"}
        See `workbench.multisource.tree.options`.
    observed : bool
        Whether the noise σ² of one observation is part of the variance; of known variances, their
        median.
    """

    def __init__(self, node: GPNode, gate: str, observed: bool):
        self.node, self.gate, self.observed = node, gate, observed
        self.low, self.high = -1.0, 0.0

    @torch.no_grad()
    def calibrate(self, x: Tensor) -> None:
        """Keep the range of log variances at its own and at all training inputs (N, D)."""
        self.low = min(float(self._log_share(self.node.observed.x).min()), -1e-12)
        self.high = max(float(self._log_share(x).max()), self.low)

    def __call__(self, x: Tensor) -> Tensor:
        """Information (...) at standardised inputs (..., D)."""
        share = self._log_share(x.reshape(-1, x.shape[-1])).reshape(x.shape[:-1])
        if self.gate == "linear":
            return (share / self.low).clamp(0, 1).abs()
        top = _OFFSET if self.gate == "tanh" else self.high
        return (1 - torch.tanh(_STEEP * (share - (self.low + top) / 2))) / 2

    def _log_share(self, x: Tensor) -> Tensor:
        """Log of the posterior variance over the prior's (N,)."""
        return torch.cat([self._log_share_of(part) for part in x.split(_ROWS)])

    def _log_share_of(self, x: Tensor) -> Tensor:
        field, noise = self.node.field, 0.0
        posterior = field.marginals(x)[1]
        prior = sum(term.diagonal(x) for term in field.terms)
        if self.observed:
            model = self.node.observed.noise
            noise = (model.items[0].natural.reshape(()) if model.items else model.known.median())
        # A place where the prior has no variance, as a linear kernel's centre, tells nothing.
        least = 1e-12 * prior.mean().clamp_min(torch.finfo(x.dtype).tiny ** 0.5)
        return ((posterior.clamp_min(0) + noise + least) / (prior + noise + least)).log()


def hierarchy(information: Sequence[Tensor]) -> list[Tensor]:
    """Shares by order of trust, and last what is left for those after them.

    Parameters
    ----------
    information : sequence of Tensor (...)
        Of each expert, between 0 and 1.
    """
    left, out = torch.ones_like(information[0]), []
    for known in information:
        out.append(known * left)
        left = left * (1 - known)
    return [*out, left]


class MixtureNode:
    """A weighted sum of experts, with weights that depend on the place.

    Parameters
    ----------
    name : str
        The task.
    experts : sequence of (str, GPNode)
        By name; own ones of the task first.
    information : sequence of Information
        Of the base GPs of the own experts.
    tail : sequence of sequence of Information
        For each expert from another task, of the base GPs of that task.
    own, others : {"average", "variance"}
        Weights among the own experts, and among those of other tasks, which share what the own
        ones leave; with ``own="average"`` every expert has the same weight.
    """

    variable: int | None = None

    def __init__(self, name: str, experts: Sequence[tuple[str, GPNode]],
                 information: Sequence[Information], tail: Sequence[Sequence[Information]] = (),
                 own: str = "variance", others: str = "average"):
        self.name, self.names = name, tuple(n for n, _ in experts)
        self.experts = tuple(node for _, node in experts)
        self.information, self.tail, self.own, self.others = information, tail, own, others

    @property
    def random(self) -> bool:
        """Whether it rests on draws of others."""
        return any(expert.random for expert in self.experts)

    def weights(self, x: Tensor) -> Tensor:
        """β of each expert (A, ...) at standardised inputs (..., D)."""
        count = len(self.experts)
        if count == 1 or self.own == "average":
            return torch.full((count, *x.shape[:-1]), 1 / count).to(x)
        if not self.tail:
            return torch.stack(hierarchy([known(x) for known in self.information[:-1]]))
        *out, left = hierarchy([known(x) for known in self.information])
        if self.others == "average":
            out += [left / len(self.tail)] * len(self.tail)
        elif len(self.tail) == 1:
            out.append(left)
        else:
            out += [left * share for share in hierarchy([_any(t, x) for t in self.tail[:-1]])]
        return torch.stack(out)

    def conditional(self, place: Place) -> Conditional:
        """Σ β f inside bags, the experts independent given their parents' draws: (76)."""
        mean = covariance = 0.0
        for weight, expert in zip(self.weights(place.x), self.experts, strict=True):
            part = expert.conditional(place)
            mean = mean + weight * part.mean
            covariance = covariance + weight[:, :, None] * part.covariance * weight[:, None, :]
        return Conditional(mean, covariance)

    def total(self, place: Place, coefficients: Tensor) -> tuple[Tensor, Tensor]:
        """Mean and variance (S, b) of sums over the bags with coefficients (b, n)."""
        parts = [expert.total(place, weight * coefficients) for weight, expert
                 in zip(self.weights(place.x), self.experts, strict=True)]
        return sum(mean for mean, _ in parts), sum(variance for _, variance in parts)

    def sample(self, place: Place) -> Tensor:
        """Draws (S, b, n)."""
        return self.conditional(place).draw(place, self.variable)


def _any(information: Sequence[Information], x: Tensor) -> Tensor:
    """Information of a task: that at least one of its base GPs has some."""
    return 1 - hierarchy([known(x) for known in information])[-1]
