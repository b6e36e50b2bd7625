"""Two exact baselines that Chau et al. compare with: bag centroids, and independent bags."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from workbench.checks import require
from workbench.gp.data.bags import Bags
from workbench.gp.kernels.operators import OPERATORS
from workbench.gp.models.casting import cast_bags
from workbench.gp.models.exact.bagged_gp import AggregatedGP, ExactFit, ExactState
from workbench.gp.models.fits import ModelFit
from workbench.gp.models.joint import gaussian
from workbench.gp.models.options import NOISES, AggregatedOptions, option
from workbench.gp.numerics.linalg import left
from workbench.gp.predictive import Normal


@dataclass(frozen=True)
class CentroidOptions(AggregatedOptions):
    """Options of the GP on bag centroids."""

    noise: str = option("constant", "variance of a bag's observation, as of the exact GP; no τ²",
                        choices=NOISES)


class CentroidGP(AggregatedGP):
    """Ordinary GP regression with each bag as one point at its weighted mean input."""

    name = "gpr"
    summary = "exact GP regression on bag centroids"
    paper = "Chau et al. 2021 (GPR)"
    options_type = CentroidOptions
    at_centres = True


class IndependentState(ExactState):
    """The state of `IndependentBagsGP`."""

    def evidence(self) -> Tensor:
        """Sum of the bags' own log evidences."""
        field, noise = self.field, self.noise()
        variance = field.operator.quad_diag(field.prior, field.x) + noise
        gap = self.source.targets.value - field.operator(field.mean.expand(len(field.x)))
        return torch.distributions.Normal(0.0, variance.sqrt()).log_prob(gap).sum()

    @torch.no_grad()
    def compute_posterior(self) -> None:
        """Keep each bag's weight and variance."""
        field = self.field
        gap = self.source.targets.value - field.operator(field.mean.expand(len(field.x)))
        self.total = field.operator.quad_diag(field.prior, field.x) + self.noise()
        self.alpha = gap / self.total


class IndependentFit(ExactFit):
    """A fitted `IndependentBagsGP`: bags of the training data are recognised by their inputs.

    The order of individuals does not matter.

    Raises
    ------
    InputError
        If two bags of the training data have the same inputs.
    """

    def latent(self, bags: Bags) -> Normal:
        """Distribution of f at the individuals: posterior in training bags, else prior."""
        bags = cast_bags(bags, self.state.options)
        mean, variance = (torch.empty(len(bags.x)).to(bags.x) for _ in range(2))
        for rows, cross, own in self._bags(bags):
            x = self.state.transform(bags.x[rows])
            mean[rows] = self.state.field.mean
            variance[rows] = sum(term.diagonal(x) for term in self.state.field.terms)
            if own is not None:
                mean[rows] += cross * self.state.alpha[own]
                variance[rows] = left(variance[rows], cross.square() / self.state.total[own])
        return Normal(mean.detach(), variance.detach().sqrt())

    def over(self, bags: Bags, trained=None, area_effect: bool = False) -> Normal:
        """Distribution of the bag parameter."""
        bags = cast_bags(bags, self.state.options)
        operator, field = OPERATORS[self.state.source.aggregation](bags), self.state.field
        x = self.state.transform(bags.x)
        mean = operator(field.mean.expand(len(x))).detach().clone()
        variance = operator.quad_diag(field.prior, x).detach().clone()
        a = operator.coefficients()
        for position, (rows, cross, own) in enumerate(self._bags(bags)):
            if own is not None:
                between = a[rows] @ cross
                mean[position] += between * self.state.alpha[own]
                this = slice(position, position + 1)
                variance[this] = left(variance[this], between.square() / self.state.total[own])
        return Normal(mean, variance.sqrt())

    def coefficients(self) -> dict:
        """None: slopes are of all bags, which are independent here."""
        return ModelFit.coefficients(self)

    def draw_latent(self, bags: Bags, samples: int, seed: int) -> Tensor:
        """Draws of f at the individuals, joint inside each bag (samples, N).

        Bags are independent of each other, as the model has it.
        """
        bags, field = cast_bags(bags, self.state.options), self.state.field
        generator, out = np.random.default_rng(seed), []
        for rows, cross, own in self._bags(bags):
            x = self.state.transform(bags.x[rows])
            mean, covariance = field.mean.expand(len(x)), field.prior(x, x)
            if own is not None:
                mean = mean + cross * self.state.alpha[own]
                covariance = covariance - torch.outer(cross, cross) / self.state.total[own]
            out.append(gaussian(mean.detach(), covariance.detach(), samples, generator))
        return torch.cat(out, 1)

    def draw_totals(self, bags: Bags, trained, samples: int, seed: int) -> Tensor:
        """Draws of the bag parameters, which are independent of each other (samples, B)."""
        return self.over(bags).sample(samples, seed)

    @torch.no_grad()
    def _bags(self, bags: Bags):
        """Rows of each bag, their covariance with its observation, and which bag it is."""
        state, theirs = self.state, self.state.source.bags
        a, known = state.field.operator.coefficients(), {}
        ends = theirs.sizes.long().cumsum(0).tolist()
        for j, stop in enumerate(ends):
            start = ends[j - 1] if j else 0
            require(known.setdefault(_key(theirs.x[start:stop]), (j, slice(start, stop)))[0] == j,
                    f"bag {theirs.names[j] if theirs.names else j} has the inputs of another: bags "
                    "could not be distinguished")
        stop = 0
        for size in bags.sizes.long().tolist():
            rows, stop = slice(stop, stop + size), stop + size
            found = known.get(_key(bags.x[rows]))
            if found is None:
                yield rows, None, None
                continue
            own, members = found
            cross = state.field.prior(state.transform(bags.x[rows]), state.field.x[members])
            yield rows, cross @ a[members], own


class IndependentBagsGP(AggregatedGP):
    """Exact GP on bag means with bags taken as independent of each other, BAGG-GP as published.

    A bag's value teaches about its own individuals alone: Cov(f(x), z_j) is zero unless x belongs
    to bag j. Individuals of other bags keep their prior. `AggregatedGP` is the exact model.

    Chau et al. 2021, section 5 and their code; see the remark there on an exact version of VBAGG.
    """

    name = "bagg-gp"
    summary = "exact GP on bag means, bags independent of each other, as published"
    paper = "Chau et al. 2021 (BAGG-GP)"
    options_type = AggregatedOptions

    def pairs(self, bags: Bags) -> int:
        """Pairs of individuals that are in one bag."""
        return int(bags.sizes.double().square().sum())

    state_type, fit_type = IndependentState, IndependentFit


def _key(x: Tensor) -> bytes:
    """The inputs of a bag in an order that does not depend on its individuals'."""
    table = x.numpy(force=True)
    return table[np.lexsort(table.T[::-1])].tobytes()
