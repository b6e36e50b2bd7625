"""MR-GPRN: tasks as sums of products of latent Gaussian processes, from sources of any resolution.

References
----------
Hamelijnck et al. 2019, section 3 and appendix A.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from workbench.bags import Bags, split
from workbench.models.options import cast_bags
from workbench.multisource.base import MultiSourceModel, SourcesFit
from workbench.multisource.gprn_state import GPRNState, at
from workbench.multisource.options import MRGPRNOptions
from workbench.multisource.products import bag_mean, bag_variance
from workbench.multisource.sources import Prepared
from workbench.operators import OPERATORS, Identity
from workbench.predictive import Normal
from workbench.training import History

_JOINT = 3_000         # individuals whose residuals are drawn together
_MOST = 20_000_000      # entries of features or pairs that a prediction holds at once


class MRGPRN(MultiSourceModel):
    """Multi-resolution GP regression network: y_p = A Σ_q W_pq f_q + ε, for P tasks.

    Q basis functions f are shared by all tasks; weights W, Gaussian processes too, make what the
    tasks have in common vary over the inputs. Every source of a task has bags and noise of its own.
    q is Gaussian, or a mixture of K Gaussians; moments are in closed form throughout.

    Parameters
    ----------
    **options
        Fields of `MRGPRNOptions`.

    References
    ----------
    Hamelijnck et al. 2019, section 3. Deviations: values are standardised by task; f has variance
    one, as its scale can be moved into W; the entropy of a single Gaussian is exact.
    """

    name = "mr-gprn"
    summary = "GP regression network of several sources and tasks"
    paper = "Hamelijnck et al. 2019 (MR-GPRN)"
    options_type = MRGPRNOptions

    def _assemble(self, sources, callback) -> GPRNState:
        return GPRNState(self, sources)

    def _fitted(self, state, history: History) -> MRGPRNFit:
        return MRGPRNFit(self, state, history)


class CentrePointGPRN(MRGPRN):
    """The network with every bag at its centre, as if it had been observed at one point."""

    name = "centre-point-gprn"
    summary = "the same on the bags' centres"
    paper = "baseline; Hamelijnck et al. 2019 (CENTER-POINT)"

    def reduce(self, bags: Bags) -> Bags:
        """One individual per bag, at its weighted mean input."""
        return bags.centres()


class MRGPRNFit(SourcesFit):
    """A fitted network. Laws are Normal with the exact first two moments of q, eq. (44), (49)."""

    def at(self, bags: Bags, trained=None, area_effect: bool = False, task: str | None = None,
           source: str | None = None) -> Normal:
        """Law of a task's field at the individuals."""
        return self._law(cast_bags(bags, self.state.options).singletons(), task, source, True)

    def over(self, bags: Bags, trained=None, area_effect: bool = False, task: str | None = None,
             source: str | None = None) -> Normal:
        """Law of the mean or sum of a task's field over each bag."""
        bags = self.model.reduce(cast_bags(bags, self.state.options))
        return self._law(bags, task, source, False)

    @torch.no_grad()
    def _law(self, bags: Bags, task: str | None, source: str | None, points: bool) -> Normal:
        state = self.state
        asked = state.sources.asked(task, source)
        width = max(len(f.q_mean) for f in state.fields)
        most = max(1, _MOST // width // max(1, int(bags.sizes.max())))
        parts = [self._moments(part, asked, points) for part, _ in split(bags, most)]
        mean, variance = (torch.cat(one) for one in zip(*parts, strict=True))
        return Normal(mean, variance.clamp_min(0).sqrt())

    def _moments(self, bags: Bags, asked: Prepared, points: bool) -> tuple[Tensor, Tensor]:
        state, q, p = self.state, self.state.q, asked.task
        operator = Identity(bags) if points else OPERATORS[asked.source.aggregation](bags)
        seen = state.see(asked, state.transform(bags.x), operator)
        sights = state.sights(seen)
        means, squares = [], []
        for k in range(len(q)):
            weights, basis = state.factors(seen, at(sights, q.component(k)))
            mean = bag_mean(seen.pairs, weights, basis)
            means.append(mean)
            squares.append(bag_variance(seen.pairs, weights, basis) + mean.square())
        mean = sum(w * m for w, m in zip(q.weights, means, strict=True))
        square = sum(w * s for w, s in zip(q.weights, squares, strict=True))
        scale = state.sources.scale[p]
        return (state.means[p].natural * seen.ones + scale * mean,
                scale**2 * (square - mean.square()))

    @torch.no_grad()
    def draw(self, bags: Bags, samples: int, seed: int = 0, task: str | None = None) -> Tensor:
        """Joint draws of a task's field at the individuals (samples, N), not taken as Normal.

        What the features leave unexplained is drawn jointly for up to 3,000 individuals, beyond
        that for each on its own.
        """
        state, rng = self.state, np.random.default_rng(seed)
        bags, p = cast_bags(bags, state.options).singletons(), state.sources.task_of(task)
        x, q = state.transform(bags.x), state.q
        chosen = rng.choice(len(q), size=samples, p=q.weights.cpu().numpy())

        def function(g: int) -> Tensor:
            seen = state.fields[g].project(x)
            out = torch.empty(samples, len(x)).to(x)
            for k in range(len(q)):
                rows = np.flatnonzero(chosen == k)
                mean, covariance = q.component(k)[g]
                white = torch.as_tensor(rng.standard_normal((len(rows), len(mean)))).to(x)
                out[rows] = (mean + white @ torch.linalg.cholesky(covariance).mT) @ (
                    seen.features.mT)
            own = torch.as_tensor(rng.standard_normal((samples, len(x)))).to(x)
            if len(x) > _JOINT:
                return out + seen.residual.sqrt() * own
            values, vectors = torch.linalg.eigh(state.fields[g].unexplained(x, seen.features))
            return out + own @ (vectors * values.clamp_min(0).sqrt()).mT

        total = torch.zeros(samples, len(x)).to(x)
        for k in range(state.q_count):
            if state.options.weights == "constant":
                weight = state.constants[p * state.q_count + k].natural
            else:
                weight = function(state.weight(p, k))
                weight = weight.exp() if state.options.weights == "positive" else weight
            total = total + weight * function(state.basis(k))
        return state.means[p].natural + state.sources.scale[p] * total
