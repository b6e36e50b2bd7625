"""A fitted sample quasi-likelihood GP: the calls that every fit has."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor

from workbench.bags import Bags
from workbench.checks import InputError, require
from workbench.likelihoods import binomial_log_prob, poisson_lognormal
from workbench.linalg import cholesky
from workbench.models.options import cast_bags
from workbench.operators import SegmentMean, blocks, restore_order
from workbench.predictive import LogNormal, Normal, Predictive, Samples
from workbench.training import History

_DRAWS = 1000       # joint draws where a mean of g(f) over several places has no closed law


class QuasiFit:
    """A fitted quasi-likelihood GP.

    ``trained`` and ``area_effect`` are accepted for a uniform interface: the white noise of the
    areas is no part of any prediction, so they change nothing.
    """

    def __init__(self, model, state, history: History):
        self.model, self.state, self.history = model, state, history

    @property
    def hyperparameters(self) -> dict[str, dict]:
        """Values by name in natural units; goes back into ``condition``."""
        return self.state.hyperparameters.report()

    def move(self, values: Mapping) -> QuasiFit:
        """The posterior with some hyperparameters at other values and the rest as they are."""
        return self.model.condition(self.state.given, {**self.hyperparameters, **values})

    @property
    def objective(self) -> float:
        """The log evidence, E or Q."""
        with torch.no_grad():
            return float(self.state.evidence())

    def latent(self, bags: Bags) -> Normal:
        """Law of f at the individuals: μ_q and the diagonal of Σ_q."""
        bags = cast_bags(bags, self.state.options)
        rows = max(1, 30_000_000 // len(self.state.field.x))
        parts = [self.state.field.marginals(self.state.transform(c)) for c in bags.x.split(rows)]
        mean, variance = (torch.cat(p) for p in zip(*parts, strict=True))
        return Normal(mean.detach(), variance.detach().sqrt())

    def mean(self, bags: Bags) -> Tensor:
        """μ_q alone (N,), without the far dearer variance."""
        bags = cast_bags(bags, self.state.options)
        return self.state.field.mean_at(self.state.transform(bags.x)).detach()

    def at(self, bags: Bags, trained=None, area_effect: bool = False) -> Predictive:
        """Law of g(f) at the individuals: of the mean, median or probability there."""
        law = self.latent(bags)
        return self.state.link.law(law.mean, law.variance)

    def over(self, bags: Bags, trained=None, area_effect: bool = False) -> Predictive:
        """Law of the weighted mean of g(f) over the individuals of each bag.

        Under a link other than the identity, that of bags with several individuals is made of
        1,000 joint draws.
        """
        bags = cast_bags(bags, self.state.options)
        if bags.count == len(bags.x):
            return self.at(bags)
        x = self.state.transform(bags.x)
        if self.state.link.name == "identity":
            mean, variance = self.state.field.aggregate(x, SegmentMean(bags))
            return Normal(mean.detach(), variance.detach().sqrt())
        return Samples(self._mean_draws(bags, x))

    @torch.no_grad()
    def _mean_draws(self, bags: Bags, x: Tensor) -> Tensor:
        """Draws of weighted means of g(f), joint inside each bag, (draws, B)."""
        generator = torch.Generator().manual_seed(0)
        share, parts = SegmentMean(bags).coefficients(), []
        for index, mask in blocks(bags):
            for one, inside in zip(index, mask, strict=True):
                own = one[inside > 0]
                mean, covariance = self.state.field.joint(x[own])
                root = cholesky(covariance, "posterior covariance inside a bag", 1e-10)
                noise = torch.randn(len(own), _DRAWS, generator=generator, dtype=torch.float64)
                f = mean[:, None] + root @ noise.to(root)
                parts.append((share[own] @ self.state.link.psi(f))[None])
        return restore_order(bags, parts).mT

    def simulate_bags(self, bags: Bags, trained, samples: int, seed: int) -> Tensor:
        """Posterior predictive statistics of bags, totals where values are totals (samples, B).

        Normal, Laplace and custom statistics are drawn about their bag's parameter with the
        variance that their count gives; counts and positives by their own distributions.
        """
        bags, state = cast_bags(bags, self.state.options), self.state
        count = self._count(bags)
        drawn = self.over(bags).sample(samples, seed)
        if state.likelihood_name in ("poisson", "bernoulli"):
            values = self._events(drawn, count, seed) / count
        else:
            f = state.link.inverse(drawn)
            unit = torch.stack([state.variance_function.variance(row) for row in drawn])
            noise = state.sampling_variance(unit, count).detach() + state.nugget_variance.detach()
            values = state.link.psi(f + noise.sqrt() * self._normal(f.shape, seed))
        return values * count if state.rescaled or bags.trials is not None else values

    def simulate_individuals(self, bags: Bags, trained, samples: int, seed: int) -> Tensor:
        """Posterior predictive observations of individuals (samples, N), drawn marginally.

        Those of sums have their weight as exposure.

        Raises
        ------
        InputError
            Under a variance function of the user's, which says nothing of single observations.
        """
        bags, state = cast_bags(bags, self.state.options), self.state
        drawn = self.at(bags).sample(samples, seed)
        exposure = bags.weight if state.rescaled else torch.ones_like(bags.weight)
        if state.likelihood_name == "custom":
            raise InputError("a variance function says nothing of single observations; simulate "
                             "bags, or name a likelihood")
        if state.likelihood_name in ("poisson", "bernoulli"):
            return self._events(drawn, exposure.clamp_min(1) if state.likelihood_name ==
                                "bernoulli" else exposure, seed)
        if state.likelihood_name == "laplace":
            uniform = torch.as_tensor(np.random.default_rng(seed + 1).laplace(size=drawn.shape))
            return (drawn + state.scale_variance.sqrt() * uniform.to(drawn)) * exposure
        std = (state.scale_variance / exposure).sqrt()
        return (drawn + std * self._normal(drawn.shape, seed)) * exposure

    def log_density(self, y: Tensor, bags: Bags, trained: Tensor | None, unit: str, samples: int,
                    seed: int) -> Tensor:
        """log p(statistic or observation | draw), see `workbench.models.density`; one row if exact.

        Means of counts are scored as counts: n ȳ out of n.
        """
        bags, state = cast_bags(bags, self.state.options), self.state
        if unit == "bag":
            law, count = self.over(bags), self._count(bags)
        else:
            law = self.at(bags)
            count = bags.weight if state.rescaled else torch.ones_like(bags.weight)
        totals = state.rescaled or (unit == "bag" and bags.trials is not None)
        mean = y / count if totals else y
        jacobian = count.log() if totals else torch.zeros_like(count)
        if state.likelihood_name == "poisson":
            if isinstance(law, LogNormal):
                return poisson_lognormal(mean * count, law.location + count.log(),
                                         law.scale.square())[None]
            rate = law.sample(samples, seed) * count
            return torch.xlogy(mean * count, rate) - rate - torch.lgamma(mean * count + 1)
        drawn = law.sample(samples, seed)
        if state.likelihood_name == "bernoulli":
            return binomial_log_prob(mean * count, count, drawn)
        if unit == "individual" and state.likelihood_name == "laplace":
            b = state.scale_variance.sqrt()
            return -(2 * b).log() - (mean - drawn).abs() / b - jacobian
        require(unit == "bag" or state.likelihood_name == "normal",
                "a variance function says nothing of single observations; score bags")
        if isinstance(law, Normal):
            nugget = state.nugget_variance.detach() if unit == "bag" else 0.0
            noise = state.sampling_variance(torch.ones_like(mean), count).detach()
            variance = law.variance + noise + nugget
            if state.likelihood_name in ("normal", "laplace"):
                return (-0.5 * ((mean - law.mean).square() / variance
                                + (2 * math.pi * variance).log()) - jacobian)[None]
        return self._link_scale_density(mean, drawn, count) - jacobian

    def coefficients(self) -> dict:
        """Empty: the exact field keeps no weights of its own."""
        return {}

    def _link_scale_density(self, mean: Tensor, drawn: Tensor, count: Tensor) -> Tensor:
        """log p(statistic | draws) of a Normal on the link scale, by the change of variables."""
        state, link = self.state, self.state.link
        observed = link.inverse(mean)
        with torch.enable_grad():
            f = observed.detach().requires_grad_()
            slope = torch.autograd.grad(link.psi(f).sum(), f)[0]
        variance = state.sampling_variance(state.variance_function.variance(mean), count).detach()
        variance = variance + state.nugget_variance.detach()
        return (-0.5 * ((observed - link.inverse(drawn)).square() / variance
                        + (2 * math.pi * variance).log()) - slope.log())

    def _count(self, bags: Bags) -> Tensor:
        """Observations behind each bag's statistic."""
        return bags.totals if bags.trials is None else bags.trials

    def _events(self, rate: Tensor, count: Tensor, seed: int) -> Tensor:
        generator = np.random.default_rng(seed + 1)
        rate, count = rate.cpu().numpy(), count.cpu().numpy()
        if self.state.likelihood_name == "poisson":
            drawn = generator.poisson(rate * count)
        else:
            drawn = generator.binomial(np.round(count).astype(np.int64), rate)
        return torch.as_tensor(drawn).to(self.state.observed)

    def _normal(self, shape, seed: int) -> Tensor:
        draws = np.random.default_rng(seed + 1).standard_normal(tuple(shape))
        return torch.as_tensor(draws).to(self.state.observed)
