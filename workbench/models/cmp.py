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

from workbench.bags import Bags, Source
from workbench.conditional_mean import squares
from workbench.models.bagged_gp import ExactFit
from workbench.models.base import Model
from workbench.models.cmp_options import CMPOptions, ShrinkageOptions
from workbench.models.cmp_state import CMPState
from workbench.models.joint import sum_bags
from workbench.models.mean_function import evaluate
from workbench.models.mediators import warn_where_no_bag_is
from workbench.models.options import cast_bags
from workbench.operators import SegmentMean
from workbench.predictive import Normal


class CMP(Model):
    """Conditional mean process: z̃ = E[f(X) | Y = ỹ] + ε, exact, for unmatched bags and targets.

    The conditional expectation is learnt from bags of individuals and the covariates y of each bag;
    targets need covariates ỹ alone, not bags. The paper's estimator by a B x B solve and the means
    of the kernel over pairs of bags (see `workbench.conditional_mean`). Without mediators the
    centres of the bags are taken. For unmatched targets ℓ and λ are learnt in a stage of their own,
    by leaving out bags (``mediation``).

    The prior mean is a learnt constant plus, with ``mean_function``, any function m of the inputs;
    targets have Aᵀm for it (eq. 3). A trend whose slopes are to be estimated is a linear term of
    the kernel (``kernel="linear(altitude)+matern32"``): its slopes have a Normal prior of a learnt
    variance, and the flat one of universal kriging is the limit of a large variance.

    Parameters
    ----------
    **options
        Fields of `CMPOptions`.

    References
    ----------
    Chau et al. 2021, eq. (5) to (8).
    """

    name = "cmp"
    summary = "exact GP on conditional means, for targets that belong to no bag"
    paper = "Chau et al. 2021"
    options_type = CMPOptions
    state_type = CMPState
    mediated = True

    def fit(self, source: Source, *, progress: bool = False, callback=None) -> CMPFit:
        """Maximise evidence plus log prior over the free hyperparameters, from several starts."""
        return self._train(source, {}, progress, callback, False)

    def condition(self, source: Source, hyperparameters: Mapping) -> CMPFit:
        """Condition with all hyperparameters given and none trained."""
        return self._train(source, hyperparameters, False, None, True)

    def near(self, fit: CMPFit, hyperparameters: Mapping) -> CMPFit:
        """The posterior of a fit's source at other values; what they leave as it is is kept."""
        return self._train(fit.state.given, hyperparameters, False, None, True, fit)

    def _train(self, source, given, progress, callback, condition, like=None) -> CMPFit:
        state = self.state_type(self, source)
        if like is not None:
            state.operator.keep(like.state.operator)
        state.hyperparameters.fix(given)
        if condition:
            state.hyperparameters.require_all(given)
        return CMPFit(self, state, state.train(progress, callback))


class ShrinkageCMP(CMP):
    """The conditional mean process with the shrinkage estimator: one ridge B λ for all bags.

    It differs from `CMP` where bags differ in size: small bags are trusted as much as large ones.

    Parameters
    ----------
    **options
        Fields of `CMPOptions` but ``ridge``.

    References
    ----------
    Chau et al. 2021, eq. (9) and appendix C.
    """

    name = "s-cmp"
    summary = "the same with one ridge for all bags, large or small"
    options_type = ShrinkageOptions


class CMPFit(ExactFit):
    """A fitted conditional mean process; the same calls as other fits, and `conditional_mean`."""

    def move(self, values: Mapping) -> CMPFit:
        """The posterior with some hyperparameters at other values and the rest as they are.

        Means of the kernel over pairs of bags are kept while the kernel k stays as it is.
        """
        return self.model.near(self, {**self.hyperparameters, **values})

    def latent(self, bags: Bags) -> Normal:
        """Law of f at the individuals, mean function included."""
        law = super().latent(bags)
        return Normal(law.mean + self._known(bags), law.std)

    def at(self, bags: Bags, trained=None, area_effect: bool = False) -> Normal:
        """Law of the field at new individuals with these inputs, their white noise included."""
        law, white = self.latent(bags), self.state.noise.white.detach()
        return Normal(law.mean, (law.variance + white).sqrt())

    def over(self, bags: Bags, trained=None, area_effect: bool = False) -> Normal:
        """Law of the mean over new individuals with each bag's inputs, white noise included."""
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

    def draw_totals(self, bags: Bags, trained, samples: int, seed: int) -> Tensor:
        """Joint draws of the means over new individuals of bags (samples, B)."""
        bags = cast_bags(bags, self.state.options)
        return sum_bags(SegmentMean(bags), self.draw_rates(bags, None, samples, seed))

    def _known(self, bags: Bags) -> Tensor:
        """The mean function at individuals in natural units (N,)."""
        function, bags = self.model.options.mean_function, cast_bags(bags, self.state.options)
        return torch.zeros(len(bags.x)).to(bags.x) if function is None else evaluate(function, bags)

    @torch.no_grad()
    def conditional_mean(self, mediators: Tensor) -> Normal:
        """Law of g(y) = E[f(X) | Y = y] at covariates of bags (n, E) in natural units.

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
