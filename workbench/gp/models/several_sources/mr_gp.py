"""MR-GP: one Gaussian process behind several sources, conditioned in closed form.

References
----------
Hamelijnck et al. 2019, section 3.1 (MR-GP); with φ = 1 the product likelihood of VBAGG-NORMAL.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor

from workbench.checks import reject
from workbench.gp.data.bags import Bags
from workbench.gp.fields.exact import slices
from workbench.gp.kernels.operators import OPERATORS
from workbench.gp.models.casting import cast_bags
from workbench.gp.models.several_sources.base import MultiSourceModel, SourcesFit, white_draws
from workbench.gp.models.several_sources.composite import estimate_composite_weights
from workbench.gp.models.several_sources.magnitude import Weights
from workbench.gp.models.several_sources.mr_gp_state import MRGPState
from workbench.gp.models.several_sources.options import MRGPOptions
from workbench.gp.predictive import Normal


class MRGPFit(SourcesFit):
    """A fitted multi-resolution GP."""

    def at(self, bags: Bags, trained=None, area_effect: bool = False, task: str | None = None,
           source: str | None = None) -> Normal:
        """Predictive distribution of the field at the individuals."""
        state = self.state
        state.sources.asked(task, source)
        bags = cast_bags(bags, state.options)
        parts = [state.field.marginals(state.transform(bags.x[rows]))
                 for rows in slices(len(bags.x), len(state.sources.x))]
        mean, variance = (torch.cat(p).detach() for p in zip(*parts, strict=True))
        return Normal(mean, variance.clamp_min(0).sqrt())

    def over(self, bags: Bags, trained=None, area_effect: bool = False, task: str | None = None,
             source: str | None = None) -> Normal:
        """Predictive distribution of the mean or sum of the field over each bag."""
        state = self.state
        kind = state.sources.asked(task, source).source.aggregation
        bags = self.model.reduce(cast_bags(bags, state.options))
        with torch.no_grad():
            mean, variance = state.field.aggregate(
                state.transform(bags.x), OPERATORS[kind](bags))
        return Normal(mean, variance.clamp_min(0).sqrt())

    @torch.no_grad()
    def draw(self, bags: Bags, samples: int, seed: int = 0, task: str | None = None) -> Tensor:
        """Joint draws of the field at the individuals (samples, n)."""
        state, rng = self.state, np.random.default_rng(seed)
        state.sources.asked(task)
        x = state.transform(cast_bags(bags, state.options).x)
        if state.options.inducing == 0:
            mean, covariance = state.field.joint(x)
        else:
            seen, q = state.field.project(x), state.field
            mean = seen.offset + seen.features @ q.q_mean
            covariance = (seen.features @ q.q_covariance @ seen.features.mT
                          + q.unexplained(x, seen.features))
        return mean + white_draws(covariance, samples, rng)

    def joint(self, bags: Bags) -> tuple[Tensor, Tensor]:
        """Mean (n,) and covariance (n, n) of the field at the individuals.

        Raises
        ------
        InputError
            If the fit has inducing inputs.
        """
        state = self.state
        if state.options.inducing > 0:
            raise reject("an exact fit", f"{state.options.inducing} inducing inputs",
                         "fit with inducing=0")
        return state.field.joint(state.transform(cast_bags(bags, state.options).x))

    def with_hyperparameters(self, values: Mapping) -> MRGPFit:
        """The posterior with some hyperparameters at other values and all else as it is."""
        state = MRGPState(self.model, self.state.given)
        state.hyperparameters.fix({**self.hyperparameters, **values})
        state.weights, state.estimate = self.state.weights, self.state.estimate
        state.compute_posterior()
        return MRGPFit(self.model, state, self.history)


class MRGP(MultiSourceModel):
    """Multi-resolution GP: one field behind several sources of one quantity, in closed form.

    Hamelijnck et al. 2019, section 3; appendix E for its relation to VBAGG-NORMAL.
    """

    name = "mr-gp"
    summary = "one GP behind several sources, exact; composite weights for dependent ones"
    paper = "Hamelijnck et al. 2019 (MR-GP; VBAGG-NORMAL of several sources)"
    options_type = MRGPOptions
    state_type = MRGPState
    fit_type = MRGPFit

    def _assemble(self, source, callback=None) -> MRGPState:
        state = super()._assemble(source, callback)
        # Before values are given: the same sources have the same weights, conditioned or learnt.
        state.set_weights(self._composite_weights(state, callback))
        return state

    def _composite_weights(self, state: MRGPState, callback) -> Weights:
        return estimate_composite_weights(state, callback)

    def weights_of(self, sources, callback=None) -> Weights:
        """Composite weights of sources, without a fit."""
        return self._assemble(sources, callback).estimate
