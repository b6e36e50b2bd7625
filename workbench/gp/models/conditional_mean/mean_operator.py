"""The conditional mean operator by itself, with ℓ and λ learnt from bags: no Gaussian process."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import torch
from torch import Tensor

from workbench.checks import require
from workbench.gp.data.bags import Bags
from workbench.gp.data.compression import compress
from workbench.gp.data.inputs import fit_inputs
from workbench.gp.fields.mediated import ConditionalMeanOperator
from workbench.gp.models import assembly
from workbench.gp.models.conditional_mean.first_stage import choose_by_leaving_out
from workbench.gp.models.conditional_mean.mediators import mediators_of, warn_where_no_bag_is
from workbench.gp.optimisation.hyperparameters import HyperparameterSet

MANY, CLUSTERS = 10_000, 20     # individuals for whom all pairs are too many; clusters of a bag


class EstimatedConditionalMean:
    """E[· | Y = y] from bags, at given hyperparameters or at those that predict left-out bags best.

    Parameters
    ----------
    bags : Bags
        With mediators.
    kernel, embedding : str or gpytorch.kernels.Kernel
        ℓ on mediators; and k on individuals, in whose norm left-out bags are judged. The latter
        stays at its start, lengthscales at median distances, where it is not given.
    ridge : {"per-point", "shrinkage"}
        See `BagWeights`.
    estimated : bool
        Whether the conditional mean of a constant is estimated, too.
    given : Mapping
        Hyperparameters that are not learnt, in natural units: of ℓ (``mediator.rbf.lengthscale``),
        ``ridge`` (λ), of k (``rbf.lengthscale``).
    seed : int
        Of starting values.

    Attributes
    ----------
    left_out : float or None
        Squared error of a left-out bag's embedding, of its square; None if nothing was learnt.
    notes : list of str
        What a user should know.
    """

    def __init__(self, bags: Bags, kernel: object, embedding: object, ridge: str, estimated: bool,
                 given: Mapping, seed: int):
        require(bags.mediators is not None, "the bags have no mediators, which a conditional mean "
                "is conditional on; add them with workbench.add_mediators")
        self.mediators = mediators_of(bags, None, kernel, seed)
        transform = fit_inputs(bags)
        x = transform(bags.x)
        self.bag_weights, scale = self.mediators.bag_weights(bags.totals, ridge)
        terms = assembly.kernel_terms(embedding, bags.columns, x, seed)
        extent = bags.x.amax(0) - bags.x.amin(0)
        of_k = assembly.kernel_hyperparameters(terms, transform, extent, 1.0)
        self.hyperparameters = HyperparameterSet([*self.mediators.items, scale, *of_k])
        self.hyperparameters.fix(given)
        self.notes, self.left_out = list(self.mediators.notes), None
        chosen = HyperparameterSet([item for item in (*self.mediators.items, scale)
                                    if not item.fixed])
        if chosen.free:
            require(bags.count > 2, f"{bags.count} bags are too few to leave one out; give the "
                    "ridge and the kernel's hyperparameters")
            self.left_out = self._learn(bags, x, terms, chosen)
        with torch.no_grad():
            self.operator = ConditionalMeanOperator(bags, self.bag_weights, estimated)

    def _learn(self, bags: Bags, x: Tensor, terms: list, chosen: HyperparameterSet) -> float:
        seen = replace(bags, x=x)
        if len(x) > MANY:
            seen = compress(seen, CLUSTERS).bags
            self.notes.append(f"ℓ and λ learnt on at most {CLUSTERS} clusters per bag")
        with torch.no_grad():
            gram = ConditionalMeanOperator(seen, self.bag_weights).bag_gram(terms, seen.x)
        return choose_by_leaving_out(self.bag_weights, gram, chosen).loss

    @torch.no_grad()
    def weights(self, mediators: Tensor) -> Tensor:
        """W (B, n) for mediators (n, E) in natural units."""
        y = self.mediators.transform(mediators.to(self.mediators.bags))
        warn_where_no_bag_is(self.mediators, y, "weights of bags vanish there")
        return self.bag_weights.weights(y)

    @torch.no_grad()
    def apply(self, values: Tensor, mediators: Tensor) -> Tensor:
        """Conditional means (n, C) of C functions, from their values at the individuals (N, C)."""
        weights, means = self.weights(mediators), self.operator.base.rows(values)
        return torch.stack([self.operator.expectation(m, weights) for m in means.mT], 1)
