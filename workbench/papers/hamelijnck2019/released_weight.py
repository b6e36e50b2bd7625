"""MR-GP with the composite weight of the authors' released code, beside the estimators'.

A field, the kernel and one noise for all sources are fitted together to the *plug-in* likelihoods
log N(y_a; A_a m, σ² I), in which the field m = Φ(θ) v has no prior and no variance. With g_a the
gradient of source a's in one logarithm of a lengthscale at the end of that ascent,

    φ = Σ_a g_a² / (Σ_a g_a)².

At a maximum Σ_a g_a = 0 and φ is infinite, whatever the data, so that it tells how far the ascent
got; of two sources it is never below one half, which it is where both gradients are equal.

References
----------
Hamelijnck et al. 2019, released code (RMSProp with step 0.01, 5,000 epochs; one gradient, in the
first dimension). Deviations: the field is one GP, without weights W, around a learnt prior mean;
inputs are standardised, the kernel starts where our fit does, inducing inputs stay where they are,
sources of many individuals have clusters; RMSProp starts as PyTorch's.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor
from torch.distributions import Normal

from workbench.checks import Cancelled
from workbench.gp.fields.inducing import InducingField
from workbench.gp.kernels.grammar import inducing_inputs
from workbench.gp.kernels.operators import AggregationOperator
from workbench.gp.models.several_sources.composite import few_individuals, weights_by
from workbench.gp.models.several_sources.magnitude import Weights
from workbench.gp.models.several_sources.mr_gp import MRGP
from workbench.gp.optimisation.hyperparameters import Hyperparameter
from workbench.labelled import MRGP as LabelledMRGP

_EPOCHS, _STEP, _DECAY, _EPS = 5_000, 0.01, 0.9, 1e-10      # of RMSProp
_START = 0.1        # of the noise's standard deviation, in standard deviations of the values
_INDUCING = 100


class PlugIn:
    """Log-likelihoods of the sources of a state given one field, which is fitted with the kernel.

    Parameters
    ----------
    state : MRGPState
        Its kernel and mean are moved.
    seen : list of (Tensor (N, D), AggregationOperator)
        Individuals, or clusters of them, and bags of each source.
    """

    def __init__(self, state, seen: list[tuple[Tensor, AggregationOperator]]):
        self.state, self.seen, options = state, seen, state.options
        terms, x = list(state.field.terms), state.sources.x
        self.field = InducingField(terms, [
            None if t.finite_rank else inducing_inputs(t, x, _INDUCING, options.seed)
            for t in terms])
        self.mean = state.field.mean
        generator = torch.Generator().manual_seed(options.seed)
        self.v = torch.rand(len(self.field.q_mean), generator=generator, dtype=torch.float64)
        self.v = self.v.to(x).requires_grad_()
        start = _START * float(state.sources.scale[0])
        self.log_sd = torch.full((), start).to(x).log().requires_grad_()

    def __call__(self) -> list[Tensor]:
        """One of each source."""
        features = self.field.project(torch.cat([x for x, _ in self.seen])).features
        rows, out = features.split([len(x) for x, _ in self.seen]), []
        for part, (_, operator), of_source in zip(self.state.sources, self.seen, rows, strict=True):
            fit = operator.rows(of_source) @ self.v + operator.constant(self.mean)
            out.append(Normal(fit, self.log_sd.exp()).log_prob(part.value).sum())
        return out

    def climb(self, free: list[Hyperparameter], epochs: int = _EPOCHS, callback=None) -> None:
        """The ascent of the released code, up to where it is cancelled."""
        mean = next(i for i in self.state.hyperparameters if i.raw is self.mean)
        moved = [self.v, self.log_sd, *(i.raw for i in (mean, *free) if not i.fixed)]
        optimiser = torch.optim.RMSprop(moved, lr=_STEP, alpha=_DECAY, eps=_EPS)
        try:
            for epoch in range(epochs):
                optimiser.zero_grad()
                objective = sum(self())
                (-objective).backward()
                optimiser.step()
                if callback is not None:
                    callback(epoch + 1, float(objective.detach()), (epoch + 1) / epochs)
        except Cancelled:
            pass


def released_weight(state, free: list[Hyperparameter],
                    seen: list[tuple[Tensor, AggregationOperator]], epochs: int = _EPOCHS,
                    callback=None) -> tuple[float, np.ndarray]:
    """The weight, and the gradient of each source in the first free lengthscale.

    Parameters
    ----------
    state : MRGPState
        Its hyperparameters are moved: the caller puts them back.
    free : list of Hyperparameter
        Of the kernel.
    seen : list of (Tensor (N, D), AggregationOperator)
        See `PlugIn`.
    epochs : int
        Of the ascent.
    callback : callable, optional
        ``callback(epoch, objective, fraction)``; `Cancelled` ends the ascent where it is.
    """
    shared = next((item for item in free if "lengthscale" in item.name), free[0])
    found = PlugIn(state, seen)
    found.climb(free, epochs, callback)
    g = np.array([float(torch.autograd.grad(one, shared.raw, retain_graph=True)[0].flatten()[0])
                  for one in found()])
    return float((g**2).sum() / g.sum() ** 2) if g.sum() else float("inf"), g


class ReleasedMRGP(MRGP):
    """`MRGP` whose sources all have the weight of `released_weight`.

    Parameters
    ----------
    **options
        Fields of `MRGPOptions`; ``composite`` is not looked at.
    """

    def _composite_weights(self, state, callback) -> Weights:
        def estimate(free: list[Hyperparameter]) -> tuple[np.ndarray, Weights]:
            value, g = released_weight(state, free, few_individuals(state), callback=callback)
            like = state.given_weights
            return np.full(len(like), value), Weights(like, notes=[f"from gradients {g}"])

        return weights_by(estimate, state, "released")


class LabelledReleasedMRGP(LabelledMRGP):
    """The same of bagged datasets."""

    torch_model = ReleasedMRGP
