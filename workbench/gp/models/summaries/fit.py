"""A fitted sample quasi-likelihood GP: the calls that every fit has."""

from __future__ import annotations

import math

import numpy as np
import torch
from torch import Tensor

from workbench.checks import require
from workbench.gp.data.bags import Bags
from workbench.gp.kernels.operators import SegmentMean, blocks, restore_order
from workbench.gp.likelihoods import preserving
from workbench.gp.likelihoods.links import Link
from workbench.gp.likelihoods.noise import IndividualNoise
from workbench.gp.likelihoods.sharing import allocate
from workbench.gp.models.casting import cast_bags
from workbench.gp.models.fits import ModelFit, prior_of
from workbench.gp.models.joint import gaussian, in_parts, sum_bags
from workbench.gp.numerics.linalg import cholesky
from workbench.gp.predictive import Normal, Predictive, Samples

_DRAWS = 1000       # joint draws, where the distribution of a mean of g(f) over places has no name


class QuasiFit(ModelFit):
    """A fitted quasi-likelihood GP.

    ``trained`` holds the position of each bag among the training areas, -1 for others. The white
    noise of the areas belongs to rates and bag parameters: from its prior, or with ``area_effect``
    given its statistic for an area of the training data. `latent` leaves it out.
    """

    def latent(self, bags: Bags) -> Normal:
        """Distribution of f at the individuals: μ_q and the diagonal of Σ_q."""
        return self._latent(bags, 0.0, None)

    def _latent(self, bags: Bags, effect, own: Tensor | None) -> Normal:
        bags = cast_bags(bags, self.state.options)
        mean, variance = self.state.field.marginals(
            self.state.transform(bags.x), effect, None if own is None else own[bags.membership])
        return Normal(mean.detach(), variance.detach().sqrt())

    def _effect(self, bags: Bags, trained: Tensor | None, area_effect: bool):
        """Variance of the areas' white noise, and the training area of each bag."""
        effect = self.state.nugget_variance.detach()
        if trained is None or not area_effect:
            return effect, None
        require(len(trained) == bags.count,
                f"expected one entry per bag ({bags.count}), got {len(trained)}")
        trained = trained.to(self.state.positions.device)
        known = self.state.positions[trained.clamp_min(0)]
        return effect, torch.where(trained >= 0, known, -1)

    def knows_totals(self, trained: Tensor | None) -> bool:
        """Whether white noise of some areas can be given their statistics."""
        noisy = float(self.state.nugget_variance.detach()) > 0
        return noisy and trained is not None and bool((trained >= 0).any())

    def mean(self, bags: Bags) -> Tensor:
        """μ_q alone (N,), without the far more expensive variance."""
        bags = cast_bags(bags, self.state.options)
        return self.state.field.mean_at(self.state.transform(bags.x)).detach()

    def prior(self, bags: Bags) -> Normal:
        """Distribution of f at the individuals before anything was observed."""
        return prior_of(self.state, bags)

    def at(self, bags: Bags, trained: Tensor | None = None, area_effect: bool = False
           ) -> Predictive:
        """Distribution of g(f + white noise) at the individuals: mean, median or probability there.

        In an area of which nothing was observed, unless ``area_effect`` says otherwise.
        """
        predicted = self._latent(bags, *self._effect(bags, trained, area_effect))
        return self.state.link.distribution(predicted.mean, predicted.variance)

    def over(self, bags: Bags, trained: Tensor | None = None, area_effect: bool = False
             ) -> Predictive:
        """Distribution of the weighted mean of g(f) over the individuals of each bag.

        Under a link other than the identity, probabilities and quantiles of bags with several
        individuals are those of 1,000 joint draws. Their mean is the sum of the individuals'
        means, and under exp their variance has a closed form, too.
        """
        bags = cast_bags(bags, self.state.options)
        if bags.count == len(bags.x):
            return self.at(bags, trained, area_effect)
        return self._means(bags, *self._effect(bags, trained, area_effect))

    @torch.no_grad()
    def _means(self, bags: Bags, effect, own: Tensor | None) -> Predictive:
        state, x = self.state, self.state.transform(bags.x)
        link, moments = state.link, []
        generator = torch.Generator().manual_seed(0)
        share, parts = SegmentMean(bags).coefficients(), []
        for index, mask in blocks(bags):
            for one, inside in zip(index, mask, strict=True):
                members = one[inside > 0]
                area = None if own is None else own[bags.membership[members]]
                mean, covariance = state.field.joint(x[members], effect, area)
                weight = share[members]
                moments.append(_moments(link, weight, mean, covariance)[None])
                if link.linear:
                    continue
                root = cholesky(covariance, "posterior covariance inside a bag", 1e-10)
                noise = torch.randn(len(members), _DRAWS, generator=generator, dtype=torch.float64)
                f = mean[:, None] + root @ noise.to(root)
                parts.append((weight @ link.psi(f))[None])
        mean, variance = restore_order(bags, moments).mT
        variance = variance.clamp_min(0)
        if link.linear:
            return Normal(mean, variance.sqrt())
        return Samples(restore_order(bags, parts).mT, mean,
                       None if bool(variance.isnan().any()) else variance)

    def coefficients(self) -> dict[str, tuple[Tensor, Tensor]]:
        """As of `VariationalFit.coefficients`."""
        return self.state.field.coefficients()

    def draw_latent(self, bags: Bags, samples: int, seed: int) -> Tensor:
        """Joint draws of f at the individuals (samples, N); see `workbench.gp.models.joint`."""
        return self._drawn(bags, 0.0, None, samples, seed)

    def draw_rates(self, bags: Bags, trained: Tensor | None, samples: int, seed: int) -> Tensor:
        """Joint draws of rates, see `at` (samples, N); one white noise for each area."""
        bags = cast_bags(bags, self.state.options)
        effect, own = self._effect(bags, trained, True)
        return self.state.link.psi(self._drawn(bags, effect, own, samples, seed))

    def draw_totals(self, bags: Bags, trained: Tensor | None, samples: int, seed: int) -> Tensor:
        """Joint draws of bag parameters, see `over` (samples, B)."""
        bags = cast_bags(bags, self.state.options)
        return sum_bags(SegmentMean(bags), self.draw_rates(bags, trained, samples, seed))

    @torch.no_grad()
    def _drawn(self, bags: Bags, effect, own, samples: int, seed: int) -> Tensor:
        state, generator = self.state, np.random.default_rng([seed, 2])
        bags = cast_bags(bags, state.options)

        def draw(part: Bags, which: slice) -> Tensor:
            mine = None if own is None else own[which][part.membership]
            mean, covariance = state.field.joint(
                state.transform(part.x), effect, mine, part.membership)
            return gaussian(mean, covariance, samples, generator)

        return in_parts(bags, draw)

    def simulate_bags(self, bags: Bags, trained, samples: int, seed: int) -> Tensor:
        """Joint posterior predictive statistics of bags, totals where values are totals.

        Each about its bag's parameter, the areas' white noise included: counts and positives by
        their own distributions, others Normal with the variance that their count gives.
        """
        bags, state = cast_bags(bags, self.state.options), self.state
        count = self._count(bags)
        drawn = self.draw_totals(bags, trained, samples, seed)
        if state.likelihood.counted:
            values = self._events(drawn, count, seed)
        else:
            unit = torch.stack([state.likelihood.variance(row) for row in drawn])
            noise = state.sampling_variance(unit, count).detach()
            values = state.link.psi(
                state.link.inverse(drawn) + noise.sqrt() * self._normal(drawn.shape, seed))
        return values * count if state.rescaled or bags.trials is not None else values

    def simulate_individuals(self, bags: Bags, trained, samples: int, seed: int) -> Tensor:
        """Joint posterior predictive observations of individuals (samples, N).

        Each is of as many observations as its weight: a total of sums, else a mean.

        Raises
        ------
        InputError
            Under a variance function of the user's, which says nothing of single observations.
        """
        bags, state = cast_bags(bags, self.state.options), self.state
        state.likelihood.require_single()
        drawn, count = self.draw_rates(bags, trained, samples, seed), self._exposure(bags)
        if state.likelihood.counted:
            values = self._events(drawn, count, seed)
        else:
            noise = (state.scale_variance / count).sqrt()
            unit = state.likelihood.single_noise(
                tuple(drawn.shape), np.random.default_rng(seed + 1))
            values = drawn + noise * torch.as_tensor(unit).to(drawn)
        return values * count if state.rescaled else values

    def preserve(self, bags: Bags, trained, totals: Tensor, samples: int, seed: int
                 ) -> tuple[Tensor, Tensor]:
        """Expectations and observations of individuals given totals (samples, N) each.

        Means of counts are shared out as counts; of a Laplace likelihood no draw is known. See
        `workbench.gp.likelihoods.preserving`.
        """
        bags, state = cast_bags(bags, self.state.options), self.state
        state.likelihood.require_single()
        drawn, generator = self.draw_rates(bags, trained, samples, seed), np.random.default_rng(
            [seed, 1])
        if not state.likelihood.counted:
            noise = IndividualNoise((state.scale_variance / self._exposure(bags)).sqrt())
            return preserving.preserve(state, drawn, bags, totals, noise, generator)
        weight = bags.weight.to(drawn)
        whole = state.rescaled or bags.trials is not None
        counts = totals.to(drawn) if whole else totals.to(drawn) * bags.totals
        found = allocate(drawn * weight, bags.membership, counts, generator)
        return found if whole else (found[0] / weight, found[1] / weight)

    def log_density(self, y: Tensor, bags: Bags, trained: Tensor | None, unit: str, samples: int,
                    seed: int) -> Tensor:
        """log p(statistic or observation | draw), one row if exact; see `ModelFit.log_density`.

        Means of counts are scored as counts: n ȳ out of n.
        """
        bags, state, likelihood = (cast_bags(bags, self.state.options), self.state,
                                   self.state.likelihood)
        if unit == "bag":
            predicted, count = self.over(bags, trained, area_effect=True), self._count(bags)
        else:
            predicted, count = self.at(bags, trained, area_effect=True), self._exposure(bags)
        totals = state.rescaled or (unit == "bag" and bags.trials is not None)
        mean = y / count if totals else y
        jacobian = count.log() if totals else torch.zeros_like(count)
        if likelihood.counted:
            return likelihood.events_log_density(mean, predicted, count, samples, seed)
        drawn = predicted.sample(samples, seed)
        if unit == "individual":
            likelihood.require_single()
            found = likelihood.single_log_density(mean, drawn, state.scale_variance / count)
            if found is not None:
                return found - jacobian
        if isinstance(predicted, Normal) and likelihood.scaled:
            variance = predicted.variance + state.sampling_variance(
                torch.ones_like(mean), count).detach()
            return (-0.5 * ((mean - predicted.mean).square() / variance
                            + (2 * math.pi * variance).log()) - jacobian)[None]
        return self._link_scale_density(mean, drawn, count) - jacobian

    def _link_scale_density(self, mean: Tensor, drawn: Tensor, count: Tensor) -> Tensor:
        """log p(statistic | draws) of a Normal on the link scale, by the change of variables."""
        state, link = self.state, self.state.link
        observed = link.inverse(mean)
        with torch.enable_grad():
            f = observed.detach().requires_grad_()
            slope = torch.autograd.grad(link.psi(f).sum(), f)[0]
        variance = state.sampling_variance(state.likelihood.variance(mean), count).detach()
        return (-0.5 * ((observed - link.inverse(drawn)).square() / variance
                        + (2 * math.pi * variance).log()) - slope.log())

    def _count(self, bags: Bags) -> Tensor:
        """Observations behind each bag's statistic."""
        return bags.totals if bags.trials is None else bags.trials

    def _exposure(self, bags: Bags) -> Tensor:
        """Observations behind an individual's value: its weight, but one where that is a share."""
        return torch.ones_like(bags.weight) if bags.trials is not None else bags.weight

    def _events(self, rate: Tensor, count: Tensor, seed: int) -> Tensor:
        """Mean counts or proportions of so many observations."""
        generator = np.random.default_rng(seed + 1)
        drawn = self.state.likelihood.events(rate.cpu().numpy(), count.cpu().numpy(), generator)
        return torch.as_tensor(drawn).to(self.state.observed)

    def _normal(self, shape, seed: int) -> Tensor:
        draws = np.random.default_rng(seed + 1).standard_normal(tuple(shape))
        return torch.as_tensor(draws).to(self.state.observed)


def _moments(link: Link, weight: Tensor, mean: Tensor, covariance: Tensor) -> Tensor:
    """Mean and variance of Σ w g(f), f ~ N(mean, covariance) (2,); NaN for one not known."""
    rate, between = link.distribution(mean, covariance.diagonal()).mean, link.covariance(
        mean, covariance)
    variance = rate.new_tensor(torch.nan) if between is None else weight @ between @ weight
    return torch.stack([weight @ rate, variance])
