"""Conditional mean processes: exact GP regression on what bags say of conditional means.

References
----------
Chau, Bouabid and Sejdinovic 2021, Deconditional Downscaling with Gaussian Processes.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor

from workbench.gp.data.bags import Bags
from workbench.gp.fields.mediated import squares
from workbench.gp.kernels.operators import SegmentMean
from workbench.gp.models.base import Model
from workbench.gp.models.casting import cast_bags
from workbench.gp.models.conditional_mean.cmp_options import CMPOptions
from workbench.gp.models.conditional_mean.cmp_state import CMPState
from workbench.gp.models.conditional_mean.mean_function import evaluate
from workbench.gp.models.conditional_mean.mediators import warn_where_no_bag_is
from workbench.gp.models.exact.bagged_gp import ExactFit
from workbench.gp.models.fits import ModelFit
from workbench.gp.models.joint import gaussian
from workbench.gp.predictive import Normal


class CMPFit(ExactFit):
    """A fitted conditional mean process; the same calls as other fits, and `conditional_mean`."""

    def with_hyperparameters(self, values: Mapping) -> CMPFit:
        """The posterior with some hyperparameters at other values and the rest as they are.

        Means of the kernel over pairs of bags are kept while the kernel k stays as it is.
        """
        return self.model.warm_start(self, {**self.hyperparameters, **values})

    def latent(self, bags: Bags) -> Normal:
        """Predictive distribution of f at the individuals, mean function included."""
        found = super().latent(bags)
        return Normal(found.mean + self._known(bags), found.std)

    def prior(self, bags: Bags) -> Normal:
        """Refused: what is learnt of is the mean of f given mediators, not f.

        Raises
        ------
        NotExact
            Always.
        """
        return ModelFit.prior(self, bags)

    def at(self, bags: Bags, trained=None, area_effect: bool = False) -> Normal:
        """Predictive distribution of the field at new individuals, their white noise included."""
        found, white = self.latent(bags), self.state.noise.white.detach()
        return Normal(found.mean, (found.variance + white).sqrt())

    def over(self, bags: Bags, trained=None, area_effect: bool = False) -> Normal:
        """Predictive distribution of bags' means over new individuals, white noise included."""
        bags = cast_bags(bags, self.state.options)
        mean, variance = self.state.field.aggregate(
            self.state.transform(bags.x), SegmentMean(bags))
        white = self.state.noise.white.detach() * squares(bags)
        known = SegmentMean(bags)(self._known(bags))
        return Normal(mean.detach() + known, (variance.detach() + white).sqrt())

    def _joint(self, bags: Bags, samples: int, generator) -> Tensor:
        return super()._joint(bags, samples, generator) + self._known(bags)

    def draw_rates(self, bags: Bags, trained, samples: int, seed: int) -> Tensor:
        """Joint draws of the field at new individuals, their white noise included (samples, N)."""
        drawn = self.draw_latent(bags, samples, seed)
        noise = np.random.default_rng([seed, 2]).standard_normal(tuple(drawn.shape))
        return drawn + self.state.noise.white.detach().sqrt() * torch.as_tensor(noise).to(drawn)

    def _totals(self, bags: Bags, samples: int, generator) -> Tensor:
        operator, white = SegmentMean(bags), self.state.noise.white.detach()
        mean, covariance = self.state.field.joint_of_bags(self.state.transform(bags.x), operator)
        covariance = covariance + (white * squares(bags)).diag()
        return gaussian(mean.detach() + operator(self._known(bags)), covariance.detach(), samples,
                        generator)

    def _known(self, bags: Bags) -> Tensor:
        """The mean function at individuals in natural units (N,)."""
        function, bags = self.model.options.mean_function, cast_bags(bags, self.state.options)
        return torch.zeros(len(bags.x)).to(bags.x) if function is None else evaluate(function, bags)

    @torch.no_grad()
    def conditional_mean(self, mediators: Tensor) -> Normal:
        """Distribution of g(y) = E[f(X) | Y = y] at covariates of bags (n, E) in natural units.

        Given the estimated conditional mean operator: where no bag is (a warning), the weights of
        bags vanish and with them the variance.

        References
        ----------
        Chau et al. 2021, definition 3.1 and eq. (3).
        """
        state = self.state
        y = state.mediators.transform(mediators.to(state.x))
        warn_where_no_bag_is(state.mediators, y,
                             "the estimate there is the prior mean, and its variance says nothing")
        weights = state.mean.weights(y)
        mean, variance = state.conditional_means(weights)
        return Normal(mean + state.known_mean(weights), variance.sqrt())


class CMP(Model):
    """Conditional mean process: z̃ = E[f(X) | Y = ỹ] + ε, exact, for unmatched bags and targets.

    Chau et al. 2021, eq. (5) to (8).
    """

    name = "cmp"
    summary = "exact GP on conditional means, for targets that belong to no bag"
    paper = "Chau et al. 2021"
    options_type = CMPOptions
    state_type = CMPState
    fit_type = CMPFit
    mediated = True

    ridge = "per-point"         # N λ / n_j for each bag, see `BagWeights`

    def warm_start(self, fit: CMPFit, hyperparameters: Mapping) -> CMPFit:
        """The posterior of a fit's source at other values; what they leave as it is is kept.

        Parameters
        ----------
        fit : CMPFit
            Of this model.
        hyperparameters : mapping
            Values of all, by name in natural units.
        """
        state = self._assemble(fit.state.given)
        state.operator.share_cache(fit.state.operator)
        return self._conditioned(state, hyperparameters)


class ShrinkageCMP(CMP):
    """The conditional mean process with the shrinkage estimator: one ridge B λ for all bags.

    It differs from `CMP` where bags differ in size: small bags count as much as large ones.

    Chau et al. 2021, eq. (9) and appendix C.
    """

    name = "s-cmp"
    summary = "the same with one ridge for all bags, large or small"
    ridge = "shrinkage"
