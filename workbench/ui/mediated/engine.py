"""Posteriors of all models from one set of kernel means, so that sliders need few kernel values.

All that costs are the means of k over bags (`KernelMeans`): standard deviations, ℓ, λ and σ² then
cost algebra of B x B and a product with B columns.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from workbench.gp.models.exact.closed_form import condition, condition_alone
from workbench.ui.base.bands import Band
from workbench.ui.mediated.model import INDUCING, MEDIATED, Model

if TYPE_CHECKING:
    from workbench.ui.mediated.data import Data


@dataclass(frozen=True)
class Weights:
    """What bags weigh in the conditional means of targets, in three numbers."""

    total: float            # sum of a target's weights, median over targets
    partners: float         # number of bags that it draws on: (Σ|w|)² / Σw²
    own: float              # share of its own bag; zero where targets have none


@dataclass(frozen=True, eq=False)
class Posterior(Band):
    """The field at all pixels, and what led to it."""

    evidence: float | None = None
    weights: Weights | None = None
    slope: float | None = None      # of an interpolation, which has no sd: its lapse rate


class Bench:
    """Posteriors from one set of bags and targets; keeps means of the kernel over bags.

    Parameters
    ----------
    data : Data
    kernel : str
        k in the grammar of kernels.
    mediator_kernel : str
        ℓ in the same.
    """

    def __init__(self, data: Data, kernel: str, mediator_kernel: str):
        import torch

        from workbench.gp.fields.kernel_means import KernelMeans
        from workbench.labelled.source import to_bags

        self.data, self.kernel, self.mediator_kernel = data, kernel, mediator_kernel
        self._states: dict = {}
        self.state = state = self._state_of("cmp")
        self.labels = [term.name for term in state.field.terms]
        self.new = state.transform(to_bags(data.pixels).x)
        self.means = KernelMeans(
            state.field.terms, state.x, self.new, state.operator.base,
            torch.as_tensor(data.individuals),
            data.lattice(self.new, state.source.bags.columns.coordinates))
        self._more = 0

    @property
    def evaluations(self) -> int:
        """Values of k that were computed."""
        return self.means.evaluations + self._more

    def posterior(self, model: Model, tick: Callable[[float], None] = lambda share: None
                  ) -> Posterior:
        """The posterior of the field under a model.

        Parameters
        ----------
        model : Model
        tick : callable
            Told the share of kernel values that are done; what it raises ends the work.
        """
        import torch

        if model.kind == "bilinear":
            return self._interpolated()
        self._set(self.state, model.of_kernel(self.labels))
        with torch.no_grad():
            if model.kind == "var-cmp":
                return self._sparse(model, tick)
            return self._mediated(model, tick) if model.kind in MEDIATED else (
                self._matched(model, tick))

    @cached_property
    def baseline(self) -> float:
        """RMSE of interpolation between the observed blocks, the map that is to be beaten."""
        from workbench.evaluation import field_scores

        return field_scores(self.data.pixels, self._interpolated().mean)["rmse"]

    def _state_of(self, kind: str):
        """Of a conditional mean process; made when it is first asked for."""
        from workbench.gp.models.registry import MODELS
        from workbench.labelled.source import to_source

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
        state, values = self._state_of(model.kind), self.data.values
        self._set(state, model.of_mediators())
        weights, mean = state.mean.weights(), float(values.mean())
        cross, gram, prior = self.means.sums(tick)
        found = condition(_noisy((weights.mT @ gram @ weights).numpy(), model), values - mean)
        shift, sd = found.through(weights.numpy(), cross.numpy(), prior.numpy())
        return Posterior(mean + shift, sd, found.evidence, _weighed(weights, self.data.matched))

    def _sparse(self, model: Model, tick) -> Posterior:
        """Through inducing inputs, which stay where they are; the evidence is its bound."""
        import torch

        from workbench.gp.fields.kernel_means import ROWS

        state, values = self._state_of(model.kind), self.data.values
        self._set(state, model.hyperparameters(self.labels, float(values.mean())))
        # The bound's trace is over pairs of bags, which are known from the tables.
        unknown = [(term, part) for term, part in zip(
            state.field.terms, self.means.parts(lambda share: tick(share / 2)), strict=True)
            if not term.finite_rank]
        state.operator.cache_gram([term for term, _ in unknown],
                            sum(variance * gram for _, (variance, _, gram) in unknown))
        state.compute_posterior()
        parts = []
        for part in self.new.split(ROWS):
            tick(0.5 + sum(len(mean) for mean, _ in parts) / len(self.new) / 2)
            parts.append(state.field.marginals(part))
        mean, variance = (torch.cat(part) for part in zip(*parts, strict=True))
        seen = sum(len(z) for z in state.field.inducing.inducing if z is not None)
        self._more += seen * (len(self.new) + len(state.x))
        return Posterior(mean.numpy(), variance.sqrt().numpy(), float(state.evidence()),
                         _weighed(state.operator.weights, self.data.matched))

    def _matched(self, model: Model, tick) -> Posterior:
        """Models that need a value for every bag."""
        values = self.values()
        mean = float(values.mean())
        if model.kind == "gpr":
            terms = self.state.field.terms
            centres = self.state.transform(self.state.source.bags.centres().x)
            self._more += len(self.new) * len(centres)
            cross, gram, prior = (sum(found).numpy() for found in zip(*(
                (term(self.new, centres), term(centres, centres), term.diagonal(self.new))
                for term in terms), strict=True))
        else:
            cross, gram, prior = (found.numpy() for found in self.means.sums(tick))
        if model.kind == "bagg-gp":
            shift, sd, evidence = condition_alone(
                cross, gram.diagonal(), prior, values - mean, model.noise**2,
                self.data.bag_of_pixel)
            return Posterior(mean + shift, sd, evidence)
        found = condition(_noisy(gram, model), values - mean)
        return Posterior(mean + found.mean(cross), found.std(cross, prior), found.evidence)

    def _interpolated(self) -> Posterior:
        from workbench.evaluation import bilinear_lapse

        found = bilinear_lapse(self.data.pixels, values=self.data.observed)
        return Posterior(found.values, slope=found.attrs["slope"])

    @staticmethod
    def _set(state, values: dict[str, float]) -> None:
        for name, value in values.items():
            state.hyperparameters[name].set(value)


def _noisy(gram: np.ndarray, model: Model) -> np.ndarray:
    return gram + model.noise**2 * np.eye(len(gram))


def _weighed(bags, matched: bool) -> Weights:
    size = bags.abs().sum(0)
    partners = size.square() / bags.square().sum(0).clamp_min(1e-300)
    own = (bags.diagonal().abs() / size.clamp_min(1e-300)).median() if matched else 0.0
    return Weights(float(bags.sum(0).median()), float(partners.median()), float(own))
