"""Mixtures of experts: GPs weighted by the information that their base GPs have at a place.

I = 1 where a base GP knows most, 0 where it knows no more than its prior. The experts come in order
of reliability, and each takes its information's share of what those before it leave,

    β_1 = I_1,   β_a = I_a Π_{i<a} (1 - I_i),   the last: Π_{i<a} (1 - I_i),

so that weights are never negative and add up to one.

References
----------
Hamelijnck et al. 2019, appendix D.9-D.10, and the released code for the tanh, steep about the
middle between the best informed place and the prior.

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

from workbench.gp.models.several_sources.tree.nodes import GPNode
from workbench.gp.models.several_sources.tree.places import Conditional, Place

_STEEP, _OFFSET, _ROWS = 10.0, 0.01, 20_000


class Information:
    """How much a base GP knows at a place, between nothing, 0, and all that it knows, 1.

    Parameters
    ----------
    node : GPNode
        The base GP.
    """

    def __init__(self, node: GPNode):
        self.node, self.low = node, -1.0

    @torch.no_grad()
    def calibrate(self) -> None:
        """Keep the lowest log variance at its own training inputs."""
        self.low = min(float(self._log_share(self.node.observed.x).min()), -1e-12)

    def __call__(self, x: Tensor) -> Tensor:
        """Information (...) at standardised inputs (..., D)."""
        share = self._log_share(x.reshape(-1, x.shape[-1])).reshape(x.shape[:-1])
        return (1 - torch.tanh(_STEEP * (share - (self.low + _OFFSET) / 2))) / 2

    def _log_share(self, x: Tensor) -> Tensor:
        """Log of the posterior variance over the prior's (N,)."""
        return torch.cat([self._log_share_of(part) for part in x.split(_ROWS)])

    def _log_share_of(self, x: Tensor) -> Tensor:
        field = self.node.field
        posterior = field.marginals(x)[1]
        prior = sum(term.diagonal(x) for term in field.terms)
        # A place where the prior has no variance, as a linear kernel's centre, tells nothing.
        least = 1e-12 * prior.mean().clamp_min(torch.finfo(x.dtype).tiny ** 0.5)
        return ((posterior.clamp_min(0) + least) / (prior + least)).log()


def hierarchy(information: Sequence[Tensor]) -> list[Tensor]:
    """Shares in order of reliability, and last what is left for those after them.

    Parameters
    ----------
    information : sequence of Tensor (...)
        Of each expert, between 0 and 1.

    Returns
    -------
    list of Tensor (...)
        One more than there are experts; they add up to one.
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
    own : sequence of (str, GPNode)
        Experts of the task itself, by name, in order of reliability.
    information : sequence of Information
        Of the base GPs of the own experts; without it every expert has the same weight.
    others : sequence of (str, GPNode)
        Experts from other tasks, which share equally what the own ones leave.
    """

    variable: int | None = None

    def __init__(self, name: str, own: Sequence[tuple[str, GPNode]],
                 information: Sequence[Information] = (),
                 others: Sequence[tuple[str, GPNode]] = ()):
        self.name, self.information, self.others = name, information, len(others)
        self.names, self.experts = zip(*own, *others, strict=True)

    @property
    def random(self) -> bool:
        """Whether it rests on draws of others."""
        return any(expert.random for expert in self.experts)

    def weights(self, x: Tensor) -> Tensor:
        """β of each expert (A, ...) at standardised inputs (..., D)."""
        count = len(self.experts)
        if count == 1 or not self.information:
            return torch.full((count, *x.shape[:-1]), 1 / count).to(x)
        if not self.others:
            return torch.stack(hierarchy([known(x) for known in self.information[:-1]]))
        *out, left = hierarchy([known(x) for known in self.information])
        return torch.stack(out + [left / self.others] * self.others)

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
