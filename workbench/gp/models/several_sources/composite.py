"""Weights of the likelihoods of sources that depend on each other, estimated from their data.

The product of the sources' likelihoods takes them for independent given the field. Where they are
not, the posterior is too narrow; a power φ of the likelihoods widens it (see
`workbench.gp.models.several_sources.magnitude`). Curvature and scores are those of each source's
likelihood given the field that is fitted to it, in the parameters that all share, the kernel's.
With α = (A K Aᵀ + Λ)⁻¹ (y - A mean) of one source the fit at its observations is A K Aᵀ α and the
residual Λα, so that with D = ∂(A K Aᵀ)/∂θ α the score of observation n is D_n α_n, and the
curvature Σ_n D_n D_nᵀ/λ_n. Sources that are independent given the field have unrelated residuals,
and weights near one; a common fit would make its residuals oppose each other.

References
----------
Hamelijnck et al. 2019, algorithm 1. Deviations: θ̂, noise among it, maximises the sum of the
sources' log *marginal* likelihoods, so that no field is fitted to the noise; blocks of scores.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import torch
from scipy.spatial import cKDTree
from torch import Tensor

from workbench.checks import warn, without_warnings
from workbench.gp.kernels.operators import AggregationOperator
from workbench.gp.models.several_sources.magnitude import (
    CompositeWarning,
    Weights,
    magnitudes,
    one_per_source,
)
from workbench.gp.numerics.linalg import cholesky, gaussian_log_density
from workbench.gp.optimisation.hyperparameters import Hyperparameter, HyperparameterSet
from workbench.gp.optimisation.training import maximise

_STEP = 1e-3            # of logarithms of hyperparameters, in finite differences
_MOST, _CLUSTERS = 1_500, 4     # individuals of a source, beyond which it has clusters per bag
_BLOCKS = 20            # of scores, where no source lends its bags


def estimate_composite_weights(state, callback=None) -> Weights:
    """Weights of the sources of a state, as its options ask.

    Parameters
    ----------
    state : MRGPState
        Its free kernel hyperparameters are moved and put back.
    callback : callable, optional
        ``callback(step, objective, fraction)`` of the ascent; if it raises `Cancelled`, weights are
        those of the point reached.

    Returns
    -------
    Weights
        With a `CompositeWarning` and weights of one where none could be estimated.
    """
    name, per = state.options.composite, state.options.composite_per

    def estimate(free: list[Hyperparameter]) -> tuple[np.ndarray, Weights]:
        found = _estimate(state, free, callback)
        return (one_per_source(found, name) if per == "source"
                else np.full(len(state.sources), getattr(found, name))), found

    if name == "none":
        return Weights(torch.ones_like(state.given_weights))
    return weights_by(estimate, state, name)


def weights_by(estimate: Callable[[list[Hyperparameter]], tuple[np.ndarray, Weights]], state,
               name: str) -> Weights:
    """Weights by an estimator that moves hyperparameters, which are put back.

    Parameters
    ----------
    estimate : callable
        From the free hyperparameters of the kernel to one weight for each source (A,), and what
        they were made of.
    state : MRGPState
        The sources.
    name : str
        Of the estimator, for notes.

    Returns
    -------
    Weights
        With a `CompositeWarning` and weights of one where they are not positive and finite.
    """
    like = state.given_weights
    free = [item for item in state.kernel_items if not item.fixed]
    if len(state.sources) < 2:
        return Weights(torch.ones_like(like))
    if not free:
        return _unknown(like, "no kernel hyperparameter is free, so no scores can be taken")
    start = {item.name: item.raw.detach().clone() for item in state.hyperparameters}
    try:
        chosen, found = estimate(free)
    finally:
        with torch.no_grad():
            for item in state.hyperparameters:
                item.raw.copy_(start[item.name])
    if not np.isfinite(chosen).all() or (chosen <= 0).any():
        return _unknown(like, f"the estimate is {np.array2string(chosen, precision=3)}")
    told = [f"composite weights ({name}): " + ", ".join(
        f"{p.name} {w:.3g}" for p, w in zip(state.sources, chosen, strict=True))]
    return Weights(torch.as_tensor(chosen).to(like), found.ribatet, found.lyddon,
                   found.per_source, found.condition, [*told, *found.notes], found.residuals)


def _unknown(like: Tensor, why: str) -> Weights:
    text = (f"composite weights could not be estimated, and are one: {why}; sources that repeat "
            "each other then count as if they were independent: give weights by trust, or use "
            "composite='none' to say that they are")
    warn(text, CompositeWarning)
    return Weights(torch.ones_like(like), notes=[text])


def _estimate(state, free, callback=None) -> Weights:
    marginals = _Marginals(state)
    marginals.maximise(state.options.max_steps, state.options.tolerance, callback)
    each = [marginals.scores(HyperparameterSet(free), a) for a in range(len(state.sources))]
    slopes, alpha, noise = zip(*each, strict=True)
    scores = [one * a[:, None] for one, a in zip(slopes, alpha, strict=True)]
    blocks = score_blocks(state, slopes[0].shape[1])
    curvature = [one.T @ (one / v[:, None]) for one, v in zip(slopes, noise, strict=True)]
    count = 1 + max(int(b.max()) for b in blocks)
    sums = [np.stack([one[b == k].sum(0) for k in range(count)])
            for one, b in zip(scores, blocks, strict=True)]
    return replace(magnitudes(curvature, sums), residuals=[
        np.sqrt(v) * a for v, a in zip(noise, alpha, strict=True)])


def few_individuals(state) -> list[tuple[Tensor, AggregationOperator]]:
    """Inputs and bags of each source of a state, of clusters where they are many."""
    return [(part.x, part.operator) if len(part.x) <= _MOST
            else part.clusters(_CLUSTERS, state.options.seed) for part in state.sources]


def score_blocks(state, parameters: int) -> list[np.ndarray]:
    """Block of every observation of each source: neighbours in input space, across sources.

    The bags of the source that has fewest are the blocks, with all observations nearest to each;
    where they are too few for so many parameters, k-means clusters of the centres of all bags are.
    """
    from sklearn.cluster import KMeans

    centres = [state.transform(p.operator.bags.centres().x).cpu().numpy() for p in state.sources]
    coarsest = min(centres, key=len)
    if len(coarsest) >= 3 * parameters:
        return [cKDTree(coarsest).query(c)[1] for c in centres]
    table = np.concatenate(centres)
    count = min(_BLOCKS, len(np.unique(table, axis=0)))
    labels = KMeans(count, n_init=1, random_state=state.options.seed).fit_predict(table)
    return np.split(labels, np.cumsum([len(c) for c in centres])[:-1])


class _Marginals:
    """Log marginal likelihoods of the sources of a state, on clusters of large ones."""

    def __init__(self, state):
        self.state, self.seen = state, few_individuals(state)

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
        with without_warnings():        # of steps that ran out; the fit itself will tell
            maximise(lambda pulse: sum(self(a) for a in range(len(self.seen))) + prior(), held,
                     max_steps=steps, tolerance=tolerance, callback=callback)

    @torch.no_grad()
    def scores(self, shared: HyperparameterSet, a: int
               ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """D (n, p), α (n,) and noise variances (n,) of one source."""
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
        return tuple(t.cpu().numpy() for t in (slopes, alpha, noise))
