"""Posteriors of all models from one set of kernel means, so that sliders need few kernel values.

All that costs are values of k between pixels and individuals. Their means over bags, K(pixels, x)
Aᵀ, are kept for each term of k at unit variance: standard deviations, ℓ, λ and σ² then cost algebra
of B x B and a product with B columns. Means over pairs of bags are means of rows of that table.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from workbench.ui.mediated.model import MEDIATED, Model

if TYPE_CHECKING:
    from workbench.ui.mediated.data import Data

ROWS = 2_000            # pixels at once, between two looks at whether to go on
_TABLES = 4             # of kernel means that are kept


@dataclass(frozen=True)
class Weights:
    """What bags weigh in the conditional means of targets, in four numbers."""

    total: float            # sum of a target's weights, median over targets
    partners: float         # number of bags that it draws on: (Σ|w|)² / Σw²
    own: float              # share of its own bag; zero where targets have none


@dataclass(frozen=True)
class Posterior:
    """Law of the field at all pixels, and what led to it."""

    mean: np.ndarray
    sd: np.ndarray | None           # None of an interpolation
    evidence: float | None
    weights: Weights | None
    slope: float | None = None      # of an interpolation: its lapse rate


class Bench:
    """Posteriors from one set of bags and targets; keeps means of the kernel over bags.

    ``evaluations`` counts values of k.

    Parameters
    ----------
    data : Data
    kernel : str
        k in the grammar of kernels.
    mediator_kernel : str
        ℓ in the same.
    """

    def __init__(self, data: Data, kernel: str, mediator_kernel: str):
        from workbench.labelled.source import to_bags, to_source
        from workbench.models.cmp_state import CMPState
        from workbench.models.registry import MODELS

        self.data, self.kernel, self.mediator_kernel = data, kernel, mediator_kernel
        options = {"kernel": kernel, "mediator_kernel": mediator_kernel, "compress": 0}
        self._states = {
            name: CMPState(MODELS[name](**options), to_source(data.bags, data.targets))
            for name in MEDIATED}
        self.state = self._states["cmp"]
        self.labels = [term.name for term in self.state.field.terms]
        self.new = self.state.transform(to_bags(data.pixels).x)
        self._tables, self.evaluations = OrderedDict(), 0

    def posterior(self, model: Model, tick: Callable[[float], None] = lambda share: None
                  ) -> Posterior:
        """The law of the field under a model.

        Parameters
        ----------
        model : Model
        tick : callable
            Told the share of kernel values that are done; what it raises ends the work.
        """
        import torch

        if model.kind == "bilinear":
            return self._interpolated()
        with torch.no_grad():
            return self._mediated(model, tick) if model.kind in MEDIATED else (
                self._matched(model, tick))

    def values(self) -> np.ndarray:
        """A value for every bag: its own, or one imputed by a regression on the mediators."""
        return self.data.imputed(self.mediator_kernel)["value"].values

    def _mediated(self, model: Model, tick) -> Posterior:
        import torch

        state, values = self._states[model.kind], torch.as_tensor(self.data.values)
        for name, value in model.of_mediators().items():
            state.hyperparameters[name].set(value)
        bags = state.mean.weights()
        cross, prior = self._means(model, tick)
        gram = self._between(cross)
        found = _conditioned(cross @ bags, bags.mT @ gram @ bags, prior, values,
                             model.noise**2, float(values.mean()))
        return replace(found, weights=_weighed(bags, self.data.matched))

    def _matched(self, model: Model, tick) -> Posterior:
        """Models that need a value for every bag."""
        import torch

        values = torch.as_tensor(self.values())
        mean = float(values.mean())
        if model.kind == "gpr":
            terms = self._set(model)
            centres = self.state.transform(self.state.source.bags.centres().x)
            self.evaluations += len(self.new) * len(centres)
            cross = sum(term(self.new, centres) for term in terms)
            gram = sum(term(centres, centres) for term in terms)
            prior = sum(term.diagonal(self.new) for term in terms)
            return _conditioned(cross, gram, prior, values, model.noise**2, mean)
        cross, prior = self._means(model, tick)
        gram = self._between(cross)
        if model.kind == "aggregated-gp":
            return _conditioned(cross, gram, prior, values, model.noise**2, mean)
        return _independent(cross, gram.diagonal(), prior, values - mean, model.noise**2, mean,
                            torch.as_tensor(self.data.bag_of_pixel))

    def _interpolated(self) -> Posterior:
        from workbench.evaluation import bilinear_lapse

        found = bilinear_lapse(self.data.pixels, values=self.data.observed)
        return Posterior(found.values, None, None, None, found.attrs["slope"])

    def _set(self, model: Model) -> list:
        hyperparameters = self.state.hyperparameters
        for name, value in model.of_kernel(self.labels).items():
            hyperparameters[name].set(value)
        return list(self.state.field.terms)

    def _means(self, model: Model, tick):
        """K(pixels, x) Aᵀ (n, B), and the prior variance at the pixels (n,)."""
        terms, total, prior = self._set(model), 0.0, 0.0
        lengths = (model.lengthscale, model.detail)
        for i, term in enumerate(terms):
            variance = term.kernel.outputscale.detach().clone()
            key = i, term.name, 0.0 if term.weights else lengths[i]
            total = total + variance * self._table(
                key, term, lambda share, i=i: tick((i + share) / len(terms)))
            prior = prior + term.diagonal(self.new)
        return total, prior

    def _table(self, key: tuple, term, tick):
        """Means over bags of a term of unit variance; kept."""
        import torch

        if key in self._tables:
            self._tables.move_to_end(key)
            return self._tables[key]
        base, x, variance = self.state.operator.base, self.state.x, term.kernel.outputscale
        if term.weights:
            table = term.basis(self.new) @ base.rows(term.basis(x)).mT
        else:
            parts, done = [], 0
            for part in self.new.split(ROWS):
                tick(done / len(self.new))
                parts.append(base.cross([term], part, x))
                done += len(part)
            table = torch.cat(parts)
            self.evaluations += len(self.new) * len(x)
        self._tables[key] = table / variance
        while len(self._tables) > _TABLES:
            self._tables.popitem(last=False)
        return self._tables[key]

    def _between(self, cross):
        """Means of k over pairs of bags: individuals are pixels, too."""
        import torch

        gram = self.state.operator.base.rows(cross[torch.as_tensor(self.data.individuals)])
        return (gram + gram.mT) / 2


def _conditioned(cross, gram, prior, values, noise: float, mean: float) -> Posterior:
    """Exact conditioning on means of the field; that of a constant is known to be this constant."""
    import torch

    from workbench.linalg import cholesky

    covariance = gram + noise * torch.eye(len(values), dtype=gram.dtype)
    root = cholesky(covariance, "covariance of the targets", 1e-14)
    residual = values - mean
    half = torch.linalg.solve_triangular(root, residual[:, None], upper=False)
    alpha = torch.linalg.solve_triangular(root.mT, half, upper=True)[:, 0]
    white = torch.linalg.solve_triangular(root, cross.mT, upper=False)
    variance = (prior - white.square().sum(0)).clamp_min(0)
    evidence = -0.5 * (half.square().sum() + len(values) * np.log(2 * np.pi)) - (
        root.diagonal().log().sum())
    return Posterior((mean + cross @ alpha).numpy(), variance.sqrt().numpy(), float(evidence),
                     None)


def _independent(cross, own, prior, residual, noise: float, mean: float, bag) -> Posterior:
    """Every bag by itself: pixels of no bag (-1) keep their prior."""
    import torch

    inside, total = bag >= 0, own + noise
    mine, bag = cross.gather(1, bag.clamp_min(0)[:, None])[:, 0], bag.clamp_min(0)
    zero = torch.zeros_like(mine)
    shift = torch.where(inside, mine * residual[bag] / total[bag], zero)
    known = torch.where(inside, mine.square() / total[bag], zero)
    evidence = torch.distributions.Normal(0.0, total.sqrt()).log_prob(residual).sum()
    return Posterior((mean + shift).numpy(), (prior - known).clamp_min(0).sqrt().numpy(),
                     float(evidence), None)


def _weighed(bags, matched: bool) -> Weights:
    size = bags.abs().sum(0)
    partners = size.square() / bags.square().sum(0).clamp_min(1e-300)
    own = (bags.diagonal().abs() / size.clamp_min(1e-300)).median() if matched else 0.0
    return Weights(float(bags.sum(0).median()), float(partners.median()), float(own))
