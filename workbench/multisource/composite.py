"""Weights of the likelihoods of sources that depend on each other, estimated from their data.

The product of the sources' likelihoods takes them for independent given the field. Where they are
not, the posterior is too narrow; a power φ of the likelihoods widens it (see
`workbench.multisource.magnitude`). Curvature and scores are those of each source's likelihood given
the field that is fitted to it, in the parameters that all share, the kernel's. With
α = (A K Aᵀ + Λ)⁻¹ (y - A mean) of one source the fit at its observations is A K Aᵀ α and the
residual Λα, so that with D = ∂(A K Aᵀ)/∂θ α the score of observation n is D_n α_n, and the
curvature Σ_n D_n D_nᵀ/λ_n. Sources that are independent given the field have unrelated residuals,
and weights near one; a common fit would make its residuals oppose each other.

References
----------
Hamelijnck et al. 2019, algorithm 1. Deviations: θ̂, noise among it, maximises the sum of the
sources' log *marginal* likelihoods, so that no field is fitted to the noise; blocks of scores. The
weight of the authors' code is in `workbench.multisource.released`.
"""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import torch
from scipy.spatial import cKDTree
from torch import Tensor

from workbench.bags import Bags
from workbench.compression import compress
from workbench.hyperparameters import HyperparameterSet
from workbench.linalg import cholesky, gaussian_log_density
from workbench.multisource.magnitude import (
    CompositeWarning,
    Weights,
    magnitudes,
    one_per_source,
)
from workbench.multisource.released import released_weight
from workbench.operators import OPERATORS, AggregationOperator
from workbench.training import maximise

_STEP = 1e-3            # of logarithms of hyperparameters, in finite differences
_MOST, _CLUSTERS = 1_500, 4     # individuals of a source, beyond which it has clusters per bag
_BLOCKS = 20            # of scores, where no source lends its bags


class StackedOperator(AggregationOperator):
    """The operators of several sources as one."""

    def __init__(self, bags: Bags, operators: list[AggregationOperator]):
        self.bags = bags
        self._coefficients = torch.cat([o.coefficients() for o in operators])

    def coefficients(self) -> Tensor:
        """Those of the sources, one after the other (N,)."""
        return self._coefficients


def weigh(state, callback=None) -> Weights:
    """Weights of the sources of a state, as its options ask.

    Parameters
    ----------
    state : MRGPState
        Its free kernel hyperparameters are moved and put back.
    callback : callable, optional
        ``callback(step, objective, fraction)`` of the ascent; if it raises `Cancelled`, weights are
        those of the point reached.
    """
    options, like = state.options, state.given_weights
    free = [item for item in state.kernel_items if not item.fixed]
    if options.composite == "none" or len(state.sources) < 2:
        return Weights(torch.ones_like(like))
    if not free:
        return _unknown(like, "no kernel hyperparameter is free, so no scores can be taken")
    start = {item.name: item.raw.detach().clone() for item in state.hyperparameters}
    try:
        if options.composite == "released":
            value, g = released_weight(state, free, _Marginals(state).seen, callback=callback)
            found = Weights(torch.full_like(like, value), notes=[f"from gradients {g}"])
        else:
            found = _estimate(state, free, callback)
    finally:
        with torch.no_grad():
            for item in state.hyperparameters:
                item.raw.copy_(start[item.name])
    chosen = found.weights.cpu().numpy() if options.composite == "released" else (
        one_per_source(found, options.composite) if options.composite_per == "source"
        else np.full(len(like), getattr(found, options.composite)))
    if not np.isfinite(chosen).all() or (chosen <= 0).any():
        return _unknown(like, f"the estimate is {np.array2string(chosen, precision=3)}")
    told = [f"composite weights ({options.composite}): " + ", ".join(
        f"{p.name} {w:.3g}" for p, w in zip(state.sources, chosen, strict=True))]
    return Weights(torch.as_tensor(chosen).to(like), found.ribatet, found.lyddon,
                   found.per_source, found.condition, [*told, *found.notes])


def _unknown(like: Tensor, why: str) -> Weights:
    text = f"composite weights could not be estimated, and are one: {why}"
    warnings.warn(text, CompositeWarning, stacklevel=5)
    return Weights(torch.ones_like(like), notes=[text])


def _estimate(state, free, callback=None) -> Weights:
    marginals = _Marginals(state)
    marginals.maximise(state.options.max_steps, state.options.tolerance, callback)
    each = [marginals.scores(HyperparameterSet(free), a) for a in range(len(state.sources))]
    slopes, scores, noise = zip(*each, strict=True)
    blocks = score_blocks(state, slopes[0].shape[1])
    curvature = [one.T @ (one / v[:, None]) for one, v in zip(slopes, noise, strict=True)]
    count = 1 + max(int(b.max()) for b in blocks)
    sums = [np.stack([one[b == k].sum(0) for k in range(count)])
            for one, b in zip(scores, blocks, strict=True)]
    return magnitudes(curvature, sums, state.options.variability)


def score_blocks(state, parameters: int) -> list[np.ndarray]:
    """Block of every observation of each source: neighbours in input space, across sources.

    The bags of the source that has fewest are the blocks, with all observations nearest to each;
    where they are too few for so many parameters, or ``score_blocks`` says how many, k-means
    clusters of the centres of all bags are.
    """
    from sklearn.cluster import KMeans

    centres = [state.transform(p.operator.bags.centres().x).cpu().numpy() for p in state.sources]
    coarsest = min(centres, key=len)
    wanted = state.options.score_blocks
    if wanted == 0 and len(coarsest) >= 3 * parameters:
        return [cKDTree(coarsest).query(c)[1] for c in centres]
    table = np.concatenate(centres)
    count = min(wanted or _BLOCKS, len(np.unique(table, axis=0)))
    labels = KMeans(count, n_init=1, random_state=state.options.seed).fit_predict(table)
    return np.split(labels, np.cumsum([len(c) for c in centres])[:-1])


class _Marginals:
    """Log marginal likelihoods of the sources of a state, on clusters of large ones."""

    def __init__(self, state):
        self.state, self.seen = state, []
        for part in state.sources:
            x, operator = part.x, part.operator
            if len(x) > _MOST:
                few = compress(replace(operator.bags, x=x), _CLUSTERS, state.options.seed).bags
                x, operator = few.x, OPERATORS[part.source.aggregation](few)
            self.seen.append((x, operator))

    def __call__(self, a: int) -> Tensor:
        """That of one source."""
        part, (x, operator) = self.state.sources.parts[a], self.seen[a]
        gram = operator.gram(list(self.state.field.terms), x)
        gap = part.value - operator.constant(self.state.field.mean)
        return gaussian_log_density(gap, gram + torch.diag(part.noise()),
                                    "covariance of one source", 1e-14)

    def maximise(self, steps: int, tolerance: float, callback=None) -> None:
        """Bring the hyperparameters to the maximum of the sum."""
        held = self.state.hyperparameters
        # The kernel's alone: scores are of residuals, whose size a prior would move.
        prior = HyperparameterSet(self.state.kernel_items).log_prior
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")     # of steps that ran out; the fit itself will tell
            maximise(lambda pulse: sum(self(a) for a in range(len(self.seen))) + prior(), held,
                     snapshot=lambda: None, restore=lambda _: None, max_steps=steps,
                     tolerance=tolerance, callback=callback)

    @torch.no_grad()
    def scores(self, shared: HyperparameterSet, a: int
               ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """D (n, p), scores (n, p) and noise variances (n,) of one source."""
        part, (x, operator) = self.state.sources.parts[a], self.seen[a]
        terms, noise = list(self.state.field.terms), part.noise()
        gap = part.value - operator.constant(self.state.field.mean)
        root = cholesky(operator.gram(terms, x) + torch.diag(noise), "covariance of one source")
        alpha = torch.cholesky_solve(gap[:, None], root)[:, 0]
        at, columns = shared.vector(), []
        for step in _STEP * np.eye(len(at)):
            ends = []
            for vector in (at + step, at - step):
                shared.assign(vector)
                ends.append(operator.gram(terms, x) @ alpha)
            columns.append((ends[0] - ends[1]) / (2 * _STEP))
        shared.assign(at)
        slopes = torch.stack(columns, 1)
        return tuple(t.cpu().numpy() for t in (slopes, slopes * alpha[:, None], noise))
