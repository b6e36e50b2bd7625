"""What a fitted point predictor answers: as a variational fit, by distributions of one value."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor

from workbench.bags import Bags
from workbench.baselines.observations import draw, log_prob
from workbench.checks import InputError, require
from workbench.models import preserving
from workbench.models.base import ModelFit
from workbench.models.options import cast_bags
from workbench.operators import OPERATORS
from workbench.predictive import Point


class PointFit(ModelFit):
    """A fitted Nyström, neural network or bag-pixel model.

    ``trained`` and ``area_effect`` are accepted for a uniform interface: these models have no area
    effect, so they change nothing.
    """

    def move(self, values: Mapping) -> PointFit:
        """The predictor with some hyperparameters at other values and the rest as they are.

        Weights of Nyström features follow, from where they are, as q of a variational model does.
        """
        inferred = {name: self.hyperparameters[name] for name in self.state.field.inferred
                    if name not in values}
        held = {name: value for name, value in {**self.hyperparameters, **values}.items()
                if name not in inferred}
        return self.model.condition(self.state.given, held, inferred)

    @property
    def objective(self) -> float:
        """The penalised log-likelihood in nats, without log priors of hyperparameters."""
        with torch.no_grad():
            prior = self.state.hyperparameters.log_prior()
            return float(self.state.objective() - prior)

    @torch.no_grad()
    def latent(self, bags: Bags) -> Point:
        """f at the individuals."""
        return Point(self.state.f(bags))

    @torch.no_grad()
    def at(self, bags: Bags, trained: Tensor | None = None, area_effect: bool = False) -> Point:
        """Rate ψ(f) at the individuals."""
        return Point(self.state.link.psi(self.state.f(bags)))

    @torch.no_grad()
    def over(self, bags: Bags, trained: Tensor | None = None, area_effect: bool = False) -> Point:
        """Bag parameter η of the bags as the model sees them."""
        seen = self.state.reduce(cast_bags(bags, self.state.options))
        operator = OPERATORS[self.state.source.aggregation](seen)
        return Point(operator(self.state.link.psi(self.state.f(seen))))

    def draw_latent(self, bags: Bags, samples: int, seed: int) -> Tensor:
        """f at the individuals, the same in every draw (samples, N)."""
        return self.latent(bags).sample(samples)

    def draw_rates(self, bags: Bags, trained: Tensor | None, samples: int, seed: int) -> Tensor:
        """Rates at the individuals, the same in every draw (samples, N)."""
        return self.at(bags, trained).sample(samples)

    def draw_totals(self, bags: Bags, trained: Tensor | None, samples: int, seed: int) -> Tensor:
        """Bag parameters, the same in every draw (samples, B)."""
        return self.over(bags, trained).sample(samples)

    def preserve(self, bags: Bags, trained: Tensor | None, totals: Tensor, samples: int, seed: int
                 ) -> tuple[Tensor, Tensor]:
        """Expectations and observations of individuals given totals (samples, N) each.

        See `workbench.models.preserving`.
        """
        state, bags = self.state, cast_bags(bags, self.state.options)
        noise = None if state.noise is None else preserving.individual_noise(state.noise, bags)
        return preserving.preserve(state, self.draw_rates(bags, trained, samples, seed), bags,
                                   totals, noise, np.random.default_rng(seed))

    def simulate_bags(self, bags: Bags, trained: Tensor | None, samples: int, seed: int) -> Tensor:
        """Observations of bags around their predicted values (samples, B)."""
        return self._simulate(bags, trained, "bag", samples, seed)

    def simulate_individuals(self, bags: Bags, trained: Tensor | None, samples: int, seed: int
                             ) -> Tensor:
        """Observations of individuals around their predicted values (samples, N)."""
        return self._simulate(bags, trained, "individual", samples, seed)

    def log_density(self, y: Tensor, bags: Bags, trained: Tensor | None, unit: str,
                    samples: int = 1, seed: int = 0) -> Tensor:
        """Log density of observations at the predicted values, one row (1, units)."""
        expected, std, scale = self._expected(bags, trained, unit)
        return (log_prob(y.to(expected) / scale, expected, std) - scale.log())[None]

    def coefficients(self) -> dict:
        """Empty: weights have no uncertainty here; they are among the hyperparameters."""
        return {}

    def components(self, bags: Bags) -> dict:
        """Refused: a point predictor has no additive terms to report.

        Raises
        ------
        InputError
            Always.
        """
        raise InputError(f"{self.model.name} has no additive terms; use latent() for f itself")

    def _simulate(self, bags, trained, unit: str, samples: int, seed: int) -> Tensor:
        require(samples > 0, f"samples must be positive, got {samples}")
        expected, std, scale = self._expected(bags, trained, unit)
        return draw(expected, std, samples, seed) * scale

    def _expected(self, bags: Bags, trained: Tensor | None, unit: str
                  ) -> tuple[Tensor, Tensor | None, Tensor]:
        """Expected observations, their std if Normal, and what turns them into observed units."""
        state, bags = self.state, cast_bags(bags, self.state.options)
        if unit == "bag":
            expected, noisy, size = self.over(bags, trained).mean, bags, bags.totals
        else:
            expected, noisy, size = self.at(bags, trained).mean, bags.singletons(), bags.weight
            if state.source.aggregation == "sum" and not state.rescaled:
                expected = expected * size      # its contribution to a sum
        # A Normal model of counts works per unit of weight; observations are counts.
        scale = size if state.rescaled else torch.ones_like(size)
        return expected, None if state.noise is None else state.noise.std(noisy), scale
