"""Posteriors of all models from one set of kernel means, so that sliders need few kernel values.

All that costs are values of k between pixels and individuals. Their means over bags, K(pixels, x)
Aᵀ, are kept for each term of k at unit variance, with their means over pairs of bags: standard
deviations, ℓ, λ and σ² then cost algebra of B x B and a product with B columns. A term of places
alone needs its values at the displacements of the grid only.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from workbench.ui.mediated.displacements import Displacements
from workbench.ui.mediated.model import INDUCING, MEDIATED, Model

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
        from workbench.labelled.source import to_bags

        self.data, self.kernel, self.mediator_kernel = data, kernel, mediator_kernel
        self._states: dict = {}
        self.state = self._state_of("cmp")
        self.labels = [term.name for term in self.state.field.terms]
        self.new = self.state.transform(to_bags(data.pixels).x)
        self._grid = Displacements(data.pixels, data.bags, self.new,
                                   self.state.source.bags.columns.coordinates)
        self._tables, self._summed, self.evaluations = OrderedDict(), (None, None), 0

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
            if model.kind == "var-cmp":
                return self._sparse(model, tick)
            return self._mediated(model, tick) if model.kind in MEDIATED else (
                self._matched(model, tick))

    def _state_of(self, kind: str):
        """Of a conditional mean process; made when it is first asked for."""
        from workbench.labelled.source import to_source
        from workbench.models.registry import MODELS

        if kind not in self._states:
            options = {"inducing": INDUCING} if kind == "var-cmp" else {}
            model = MODELS[kind](kernel=self.kernel, mediator_kernel=self.mediator_kernel,
                                 compress=0, **options)
            self._states[kind] = model.state_type(
                model, to_source(self.data.bags, self.data.targets))
        return self._states[kind]

    def values(self) -> np.ndarray:
        """A value for every bag: its own, or one imputed by a regression on the mediators."""
        return self.data.imputed(self.mediator_kernel)["value"].values

    def _mediated(self, model: Model, tick) -> Posterior:
        import torch

        state, values = self._state_of(model.kind), torch.as_tensor(self.data.values)
        for name, value in model.of_mediators().items():
            state.hyperparameters[name].set(value)
        bags = state.mean.weights()
        cross, gram, prior = self._means(model, tick)
        found = _conditioned(cross, bags.mT @ gram @ bags, prior, values, model.noise**2,
                             float(values.mean()), bags)
        return replace(found, weights=_weighed(bags, self.data.matched))

    def _sparse(self, model: Model, tick) -> Posterior:
        """Through inducing inputs, which stay where they are; the evidence is its bound."""
        import torch

        state, values = self._state_of(model.kind), self.data.values
        for name, value in model.hyperparameters(self.labels, float(values.mean())).items():
            state.hyperparameters[name].set(value)
        # The bound's trace is over pairs of bags, which are known from the tables.
        unknown = [(term, part) for term, part in zip(
            state.field.terms, self._parts(model, lambda share: tick(share / 2)), strict=True)
            if not term.weights]
        state.operator.take([term for term, _ in unknown],
                            sum(variance * gram for _, (variance, _, gram) in unknown))
        state.condition()
        parts = []
        for part in self.new.split(ROWS):
            tick(0.5 + sum(len(mean) for mean, _ in parts) / len(self.new) / 2)
            parts.append(state.field.marginals(part))
        mean, variance = (torch.cat(part) for part in zip(*parts, strict=True))
        seen = sum(len(z) for z in state.field.inducing.inducing if z is not None)
        self.evaluations += seen * (len(self.new) + len(state.x))
        return Posterior(mean.numpy(), variance.sqrt().numpy(), float(state.evidence()),
                         _weighed(state.operator.weights, self.data.matched))

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
        cross, gram, prior = self._means(model, tick)
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
        """K(pixels, x) Aᵀ (n, B), A K Aᵀ (B, B), and the prior variance at the pixels (n,).

        Kept while k stays as it is.
        """
        key = tuple(model.of_kernel(self.labels).items())
        if key == self._summed[0]:
            return self._summed[1]
        (variance, cross, gram), *others = self._parts(model, tick)
        cross, gram = variance * cross, variance * gram
        for variance, of_pixels, of_bags in others:         # in place: tables are large
            cross.addcmul_(variance, of_pixels)
            gram.addcmul_(variance, of_bags)
        prior = sum(term.diagonal(self.new) for term in self.state.field.terms)
        self._summed = key, (cross, gram, prior)
        return self._summed[1]

    def _parts(self, model: Model, tick) -> list[tuple]:
        """Of each term its variance, and its means over bags and over pairs of them without it."""
        terms, lengths, found = self._set(model), (model.lengthscale, model.detail), []
        for i, term in enumerate(terms):
            key = i, term.name, 0.0 if term.weights else lengths[i]
            table = self._table(key, term, lambda share, i=i: tick((i + share) / len(terms)))
            found.append((term.kernel.outputscale.detach().clone(), *table))
        return found

    def _table(self, key: tuple, term, tick):
        """Means over bags, and over pairs of bags, of a term of unit variance; kept."""
        import torch

        if key in self._tables:
            self._tables.move_to_end(key)
            return self._tables[key]
        base, x, variance = self.state.operator.base, self.state.x, term.kernel.outputscale
        if term.weights:
            table = term.basis(self.new) @ base.rows(term.basis(x)).mT
        elif self._grid.covers(term, self.data.bags["weight"].values):
            tick(0.0)
            table = self._grid.means(term)
            self.evaluations += self._grid.count
        else:
            parts, done = [], 0
            for part in self.new.split(ROWS):
                tick(done / len(self.new))
                parts.append(base.cross([term], part, x))
                done += len(part)
            table = torch.cat(parts)
            self.evaluations += len(self.new) * len(x)
        table /= variance
        self._tables[key] = table, self._between(table)
        while len(self._tables) > _TABLES:
            self._tables.popitem(last=False)
        return self._tables[key]

    def _between(self, cross):
        """Means of k over pairs of bags: individuals are pixels, too."""
        import torch

        gram = self.state.operator.base.rows(cross[torch.as_tensor(self.data.individuals)])
        return (gram + gram.mT) / 2


def _conditioned(cross, gram, prior, values, noise: float, mean: float, weights=None
                 ) -> Posterior:
    """Exact conditioning on means of the field; that of a constant is known to be this constant.

    Targets are means over bags, or with ``weights`` (B, M) sums of them: ``cross`` (n, B) is with
    the bags, ``gram`` (M, M) between the targets.
    """
    import torch

    from workbench.linalg import cholesky

    covariance = gram + noise * torch.eye(len(values), dtype=gram.dtype)
    root = cholesky(covariance, "covariance of the targets", 1e-14)
    residual = values - mean
    half = torch.linalg.solve_triangular(root, residual[:, None], upper=False)
    alpha = torch.linalg.solve_triangular(root.mT, half, upper=True)[:, 0]
    if weights is None:
        white = torch.linalg.solve_triangular(root, cross.mT, upper=False).mT
    else:       # few columns are solved for, not one for every pixel
        white = cross @ torch.linalg.solve_triangular(root, weights.mT, upper=False).mT
        alpha = weights @ alpha
    variance = (prior - white.square().sum(1)).clamp_min(0)
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
