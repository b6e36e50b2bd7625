"""What a fitted point predictor answers: as a variational fit, by distributions of one value."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor

from workbench.checks import InputError, require
from workbench.gp.data.bags import Bags
from workbench.gp.kernels.operators import OPERATORS
from workbench.gp.likelihoods import Units
from workbench.gp.models.casting import cast_bags
from workbench.gp.models.fits import ModelFit, units_of
from workbench.gp.predictive import Point


class PointFit(ModelFit):
    """A fitted Nyström, neural network or bag-pixel model.

    ``trained`` and ``area_effect`` are accepted for a uniform interface: these models have no area
    effect, so they change nothing.
    """

    def with_hyperparameters(self, values: Mapping) -> PointFit:
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

        See `workbench.gp.likelihoods.preserving`.
        """
        bags = cast_bags(bags, self.state.options)
        return self._preserved(self.draw_rates(bags, trained, samples, seed), bags, totals,
                               np.random.default_rng(seed))

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
        expected, units = self._expected(bags, trained, unit)
        expected, scale = expected * units.exposure, units.scale
        logs = self.state.likelihood.log_prob(y.to(expected) / scale, expected, units.noise_std)
        return (logs - scale.log())[None]

    def components(self, bags: Bags, by: str = "term", known=None) -> dict:
        """Refused: a point predictor has no additive terms to report.

        Raises
        ------
        InputError
            Always.
        """
        raise InputError(f"{self.model.name} has no additive terms; use latent() for f itself")

    def _simulate(self, bags, trained, unit: str, samples: int, seed: int) -> Tensor:
        require(samples > 0, f"samples must be positive, got {samples}")
        expected, units = self._expected(bags, trained, unit)
        return self.state.likelihood.observe(expected.expand(samples, -1), units,
                                             np.random.default_rng(seed))

    def _expected(self, bags: Bags, trained: Tensor | None, unit: str) -> tuple[Tensor, Units]:
        """Rates or bag parameters, and the units that are observed."""
        bags, individual = cast_bags(bags, self.state.options), unit == "individual"
        rates = (self.at if individual else self.over)(bags, trained).mean
        return rates, units_of(self.state, bags, individual)
