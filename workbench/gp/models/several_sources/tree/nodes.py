"""Gaussian processes of a tree: base ones on the inputs, deep ones on (parent's value, inputs).

Given S draws of its parent, the expected log-likelihood of a deep GP is that of S copies of its
data with power 1/S each: its best q has the closed form of any other Normal model.

References
----------
Hamelijnck et al. 2019, section 4.3 and appendix D.4-D.7; Salimbeni and Deisenroth 2017.

Deviations: the last term of (75), K⁻¹ S K⁻¹, is added, not subtracted. Draws are common random
numbers (`workbench.gp.models.several_sources.tree.draws`), the same throughout training and in
predictions.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from workbench.gp.data.bags import Columns, Source
from workbench.gp.fields.geometry import MOST_PAIRS, Geometry, geometry
from workbench.gp.fields.inducing import InducingField
from workbench.gp.fields.projected import ProjectedData, project_data
from workbench.gp.inference.collapsed import collapsed
from workbench.gp.kernels.operators import OPERATORS
from workbench.gp.likelihoods import BagMoments, Normal
from workbench.gp.likelihoods.noise import NoiseModel
from workbench.gp.models import assembly
from workbench.gp.models.several_sources.sources import stack
from workbench.gp.models.several_sources.tree.draws import Draws
from workbench.gp.models.several_sources.tree.places import Conditional, Place, drawn
from workbench.gp.numerics.linalg import standard_normal_kl
from workbench.gp.optimisation.hyperparameters import Hyperparameter


@dataclass(frozen=True)
class Observed:
    """What a GP is fitted to.

    Parameters
    ----------
    source : Source
        Bags and values, per unit of weight.
    x : Tensor (N, D)
        Standardised inputs.
    noise : NoiseModel
        Variance of the values.
    """

    source: Source
    x: Tensor
    noise: NoiseModel


class GPNode:
    """One Gaussian process of a tree, its observations and its q.

    Parameters
    ----------
    name : str
        What its hyperparameters begin with, and how it is called in notes.
    field : InducingField
        Kernel, inducing inputs, mean and q.
    items : list of Hyperparameter
        Its mean, kernel and noise.
    observed : Observed
        What it is fitted to.
    """

    #: Position among the GPs that are sampled; None for one that is not.
    variable: int | None = None
    #: Whether it rests on draws of others.
    random = False

    def __init__(self, name: str, field: InducingField, items: list[Hyperparameter],
                 observed: Observed):
        self.name, self.field, self.items, self.observed = name, field, items, observed
        self.geometry: Geometry | None = None

    def inputs(self, place: Place) -> Tensor:
        """Inputs of the kernel (S, b, n, D'); S is one for a base GP."""
        return place.x[None]

    def conditional(self, place: Place) -> Conditional:
        """The GP inside bags under q, for each draw of its parents."""
        x, q = self.inputs(place), self.field
        flat = q.project(x.reshape(-1, x.shape[-1]))
        if x.shape[-2] == 1:
            mean, variance = flat.marginals(q.q_mean, q.q_covariance)
            return Conditional(mean.reshape(x.shape[:-1]), variance.reshape(*x.shape[:-1], 1))
        features = flat.features.reshape(*x.shape[:-1], -1)
        mean = (flat.offset + flat.features @ q.q_mean).reshape(x.shape[:-1])
        explained = (flat.features @ q.q_covariance).reshape(features.shape) @ features.mT
        return Conditional(mean, explained + q.unexplained(x, features))

    def total(self, place: Place, coefficients: Tensor) -> tuple[Tensor, Tensor]:
        """Mean and variance (S, b) of sums over the bags with coefficients (b, n).

        Aggregate, then project: the sum of the prior over pairs of a bag, and features of the sum.
        """
        if place.x.shape[1] == 1:
            one = self.conditional(place)
            a = coefficients[:, 0]
            return one.mean[..., 0] * a, one.covariance[..., 0, 0] * a.square()
        x, q = self.inputs(place), self.field
        flat = q.project(x.reshape(-1, x.shape[-1]))
        rows = torch.einsum("bn,sbnm->sbm", coefficients,
                            flat.features.reshape(*x.shape[:-1], -1))
        prior = ((q.prior(x, x) @ coefficients[..., None])[..., 0] * coefficients).sum(-1)
        mean = (flat.offset.reshape(x.shape[:-1]) * coefficients).sum(-1) + rows @ q.q_mean
        return mean, prior - rows.square().sum(-1) + ((rows @ q.q_covariance) * rows).sum(-1)

    def sample(self, place: Place) -> Tensor:
        """Draws (S, b, n)."""
        return self.conditional(place).draw(place, self.variable)

    def prepare(self, draws: Draws, count: int, seed: int) -> None:
        """Take up the training inputs; those of a deep GP are draws of its parent."""
        operator = OPERATORS[self.observed.source.aggregation](self.observed.source.bags)
        self.geometry, self.copies = geometry(self.observed.x, operator), 1

    def evidence(self, keep: bool = True) -> Tensor:
        """The bound at the best q, which is kept."""
        noise = self.observed.noise().repeat(self.copies)
        source = self.observed.source
        value, mean, covariance = collapsed(
            self.view().aggregated(), source.targets.value.repeat(self.copies), noise,
            source.trust / self.copies)
        self.field.set_q(mean, covariance)
        return value

    def bound(self) -> Tensor:
        """The bound at the present q, differentiable in it.

        `workbench.gp.inference.objectives.elbo` adds up in another order, which moves where the
        joint ascent of all GPs ends.
        """
        seen, q = self.view(), self.field
        operator, source = seen.operator, self.observed.source
        rows = operator.rows(seen.projection.features)
        variance = operator(seen.residual.times(operator.coefficients()))
        moments = BagMoments(operator(seen.projection.offset) + rows @ q.q_mean,
                             variance + ((rows @ q.q_covariance) * rows).sum(1))
        noise = self.observed.noise().repeat(self.copies)
        expected = Normal(lambda: noise).expected_log_prob(
            source.targets.value.repeat(self.copies), moments).sum()
        return (source.trust / self.copies * expected
                - standard_normal_kl(q.q_mean, q.q_covariance))

    @torch.no_grad()
    def compute_posterior(self) -> None:
        """Keep the best q at the present hyperparameters."""
        self.evidence()

    def view(self) -> ProjectedData:
        """The training data at the present hyperparameters."""
        return project_data(self.field, self.geometry, torch.zeros(()).to(self.observed.x), None)


class DeepNode(GPNode):
    """A GP on its parent's value and the inputs.

    Parameters
    ----------
    parent : GPNode or MixtureNode
        Whose draws are its first input.
    centre, spread : float
        The parent's values are standardised by these.
    columns : Columns
        Of the inputs, the parent's value first.
    name, field, items, observed
        As of `GPNode`; the kernel's first column is the parent's value.
    """

    random = True

    def __init__(self, name, field, items, observed, parent, centre: float, spread: float,
                 columns: Columns):
        super().__init__(name, field, items, observed)
        self.parent, self.centre, self.spread = parent, centre, spread
        self.columns = columns

    def inputs(self, place: Place) -> Tensor:
        """Draws of the parent, standardised, beside the inputs (S, b, n, 1 + D)."""
        value = (self.parent.sample(place) - self.centre) / self.spread
        x = place.x.expand(len(value), *place.x.shape)
        return torch.cat([value[..., None], x], -1)

    def prepare(self, draws: Draws, count: int, seed: int) -> None:
        """Draw the parent at the training individuals, and place inducing inputs among these."""
        with torch.no_grad():
            self.redraw(draws)
        x = self.geometry.x
        self.field.inducing = assembly.inducing_of(self.field.terms, x, count, seed)

    def redraw(self, draws: Draws) -> None:
        """Training inputs from the parent's present q, differentiable in it."""
        seen = self.observed
        value = drawn(self.parent, seen.source.bags, seen.x, draws)
        value = (value - self.centre) / self.spread
        self.copies = len(value)
        x = torch.cat([value.reshape(-1, 1), seen.x.repeat(self.copies, 1)], 1)
        bags = replace(stack([seen.source.bags] * self.copies), x=x.detach(), columns=self.columns)
        copies = OPERATORS[seen.source.aggregation](bags)
        few = float(copies.bags.sizes.square().sum()) <= MOST_PAIRS
        self.geometry = Geometry(x, copies, None) if few or x.requires_grad else geometry(x, copies)
