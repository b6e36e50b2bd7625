"""MR-GPRN: tasks as sums of products of latent Gaussian processes, from sources of any resolution.

References
----------
Hamelijnck et al. 2019, section 3 and appendix A.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from workbench.gp.data.bags import Bags
from workbench.gp.data.runs import split
from workbench.gp.kernels.operators import OPERATORS, Identity
from workbench.gp.models.casting import cast_bags
from workbench.gp.models.several_sources.base import MultiSourceModel, SourcesFit, white_draws
from workbench.gp.models.several_sources.gprn_state import GPRNState
from workbench.gp.models.several_sources.options import MRGPRNOptions
from workbench.gp.models.several_sources.products import at, bag_mean, bag_variance
from workbench.gp.models.several_sources.sources import StandardisedSource
from workbench.gp.numerics.linalg import factor
from workbench.gp.predictive import Normal

_JOINT = 3_000         # individuals whose residuals are drawn together
_MOST = 20_000_000      # entries of features or pairs that a prediction holds at once


class MRGPRNFit(SourcesFit):
    """A fitted network.

    Predictive distributions are Normal with the exact first two moments under q, eq. (44), (49).
    """

    def at(self, bags: Bags, trained=None, area_effect: bool = False, task: str | None = None,
           source: str | None = None) -> Normal:
        """Predictive distribution of a task's field at the individuals."""
        return self._predict(cast_bags(bags, self.state.options).singletons(), task, source, True)

    def over(self, bags: Bags, trained=None, area_effect: bool = False, task: str | None = None,
             source: str | None = None) -> Normal:
        """Predictive distribution of the mean or sum of a task's field over each bag."""
        bags = self.model.reduce(cast_bags(bags, self.state.options))
        return self._predict(bags, task, source, False)

    @torch.no_grad()
    def _predict(self, bags: Bags, task: str | None, source: str | None, points: bool) -> Normal:
        state = self.state
        asked = state.sources.asked(task, source)
        width = max(len(f.q_mean) for f in state.fields)
        most = max(1, _MOST // width // max(1, int(bags.sizes.max())))
        parts = [self._moments(part, asked, points) for part, _ in split(bags, most)]
        mean, variance = (torch.cat(one) for one in zip(*parts, strict=True))
        return Normal(mean, variance.clamp_min(0).sqrt())

    def _moments(self, bags: Bags, asked: StandardisedSource, points: bool
                 ) -> tuple[Tensor, Tensor]:
        state, p = self.state, asked.task
        operator = Identity(bags) if points else OPERATORS[asked.source.aggregation](bags)
        seen = state.see(asked, state.transform(bags.x), operator)
        factors = state.factors(seen, at(state.projections(seen), state.q))
        scale = state.sources.scale[p]
        return (state.means[p].natural * seen.ones + scale * bag_mean(seen.pairs, *factors),
                scale**2 * bag_variance(seen.pairs, *factors))

    @torch.no_grad()
    def draw(self, bags: Bags, samples: int, seed: int = 0, task: str | None = None) -> Tensor:
        """Joint draws of a task's field at the individuals (samples, N), not taken as Normal.

        What the features leave unexplained is drawn jointly for up to 3,000 individuals, beyond
        that for each on its own.
        """
        state, rng = self.state, np.random.default_rng(seed)
        bags, p = cast_bags(bags, state.options).singletons(), state.sources.task_of(task)
        x = state.transform(bags.x)
        rng.random(samples)     # keeps the draws of a seed what they have been

        def function(g: int) -> Tensor:
            seen, (mean, covariance) = state.fields[g].project(x), state.q[g]
            white = torch.as_tensor(rng.standard_normal((samples, len(mean)))).to(x)
            out = (mean + white @ factor(covariance, "covariance of q").mT) @ seen.features.mT
            if len(x) > _JOINT:
                own = torch.as_tensor(rng.standard_normal((samples, len(x)))).to(x)
                return out + seen.residual.sqrt() * own
            return out + white_draws(
                state.fields[g].unexplained(x, seen.features), samples, rng)

        total = torch.zeros(samples, len(x)).to(x)
        for q in range(state.q_count):
            weight = (state.constants[p * state.q_count + q].natural
                      if state.options.weights == "constant" else function(state.weight(p, q)))
            if state.options.weights == "exp":
                weight = weight.exp()
            total = total + weight * function(q)
        return state.means[p].natural + state.sources.scale[p] * total


class MRGPRN(MultiSourceModel):
    """Multi-resolution GP regression network: y_p = A Σ_q W_pq f_q + ε, for P tasks.

    Hamelijnck et al. 2019, section 3. Deviations: q is one Gaussian, not a mixture; values are
    standardised by task; f has variance one, as its scale can be moved into W, but for exp(W).
    """

    name = "mr-gprn"
    summary = "GP regression network of several sources and tasks"
    paper = "Hamelijnck et al. 2019 (MR-GPRN)"
    options_type = MRGPRNOptions
    state_type = GPRNState
    fit_type = MRGPRNFit


class CentrePointGPRN(MRGPRN):
    """The network with every bag at its centre, as if it had been observed at one point."""

    name = "centre-point-gprn"
    summary = "the same on the bags' centres"
    paper = "baseline; Hamelijnck et al. 2019 (CENTER-POINT)"
    at_centres = True
