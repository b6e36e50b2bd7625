"""A point predictor assembled for one source: its parts, its loss, and its training.

The loss of some bags, nats per bag, is

    L = -1/n_b Σ_a log p(y_a | Σ_i w_i ψ(f_i)) + manifold_penalty R(g) / n_i²
        + weight_penalty ½|θ|² (Nyström: over the number of training bags) - log priors / n

with R the graph Laplacian of the individuals of these bags (`manifold`), n_i their number, g = f,
or |f| under the square link, where f and -f are the same rate; under the identity link f over the
spread of the bags' rates, so that the penalty has no unit.

References
----------
Law et al. 2018, appendix B as implemented by its authors.

Deviations: the authors divide the Nyström weight penalty by the bags of a batch, which makes it as
many times stronger as there are batches. log y! is exact everywhere. The kernel's hyperparameters
have the priors of all models here: without them their variance grows and the weights shrink until
nothing is penalised (``priors={"rbf.variance": "none", ...}`` gives the paper's loss).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from workbench.checks import require
from workbench.gp.data.bags import Bags, Source
from workbench.gp.data.inputs import fit_inputs
from workbench.gp.fields.inducing import InducingField
from workbench.gp.kernels.operators import OPERATORS
from workbench.gp.likelihoods import Likelihood, likelihood_for, noise_convention
from workbench.gp.models import assembly
from workbench.gp.models.baselines.manifold import ManifoldPenalty, RandomFeatures
from workbench.gp.models.casting import cast_bags, cast_source
from workbench.gp.models.keeping import Recalled
from workbench.gp.numerics.shapes import PerIndividual
from workbench.gp.optimisation.hyperparameters import Hyperparameter
from workbench.gp.optimisation.training import History, maximise

_CHUNK = 100_000


@dataclass(frozen=True)
class Batch:
    """Some bags of the source.

    Parameters
    ----------
    bags : Tensor (b,) of int64
        Their positions, ascending.
    rows : Tensor (n,) of int64
        Positions of their individuals.
    membership : Tensor (n,) of int64
        Bag of each of these individuals, 0 ... b - 1.
    """

    bags: Tensor
    rows: Tensor
    membership: Tensor


def point_likelihood(options, source: Source) -> type[Likelihood]:
    """Poisson or Normal, by the option and the kind of the source.

    Raises
    ------
    InputError
        If a Poisson likelihood meets means, or values that cannot be counts; or if the values are
        positives out of trials.
    """
    require(source.bags.trials is None, "the values are positives out of trials, for which the "
            "baselines have no likelihood; use vbagg, centre-point or constant, or drop the "
            "variable 'trials' and say by attributes what the values are")
    kind = likelihood_for(options.likelihood, source)
    kind.check_values(source)
    return kind


class PointState(Recalled):
    """A trained baseline assembled for one source; a `PointFit` reads it.

    Parameters
    ----------
    model : PointModel
        Gives options, function and how bags are seen.
    source : Source
        Bags and targets.
    given : mapping, optional
        Hyperparameters of ``condition``, all of them.
    """

    def __init__(self, model, source: Source, given: Mapping | None = None):
        options, self.given = model.options, source
        kind = point_likelihood(options, source)
        self.link = kind.link(options.link, source)
        self.source = cast_source(kind.observed(source), options)
        self.options = options = replace(
            options, noise=noise_convention(options, self.source, given))
        self.rescaled = kind.rescales(source)
        self.reduce = model.reduce
        self.bags = self.reduce(self.source.bags)
        self.coefficients = OPERATORS[self.source.aggregation](self.bags).coefficients()
        self.transform = fit_inputs(self.source.bags, options.transform, options.extrapolation)
        self.x = self.transform(self.bags.x)
        start = float(self.link.initial(self.source.mean_rate))
        self.scale = self.link.scale(self.source)
        self.field = model.function(self, torch.Generator().manual_seed(options.seed))
        self.likelihood = kind.assemble(self.source, options.noise)
        self.noise = getattr(self.likelihood, "noise", None)
        items = [Hyperparameter("mean", self.field.mean, None, f"{self.link.name}⁻¹(rate)"),
                 *self.field.items, *self.likelihood.items]
        self.learns_mean = options.intercept == "learn" or "mean" in options.initial
        with torch.no_grad():
            self.field.mean.fill_(start if self.learns_mean else 0.0)
        self.hyperparameters = assembly.finish(items, options)
        self.roughness = self._manifold()

    def _manifold(self) -> ManifoldPenalty | None:
        options = self.options
        if options.manifold_penalty == 0:
            return None
        return ManifoldPenalty(RandomFeatures(self.bags.columns, self.x), self.x)

    def fix_intercept(self) -> None:
        """Fix the intercept where there is none to learn."""
        if not self.learns_mean:
            self.hyperparameters["mean"].fixed = True

    def inducing_fields(self) -> list[InducingField]:
        """That of Nyström features; a network has none."""
        return [self.field.features] if hasattr(self.field, "features") else []

    def f(self, bags: Bags) -> PerIndividual:
        """f at the individuals of any bags (N,), without gradient."""
        with torch.no_grad():
            x = self.transform(cast_bags(bags, self.options).x)
            return torch.cat([self.field(chunk) for chunk in x.split(_CHUNK)])

    def batches(self, generator: torch.Generator) -> list[Batch]:
        """All bags in random batches of (nearly) a tenth of them."""
        size = max(1, self.bags.count // 10)
        count = max(1, round(self.bags.count / size))
        order = torch.randperm(self.bags.count, generator=generator).to(self.x.device)
        return [self._batch(bags.sort().values) for bags in order.tensor_split(count)]

    def _batch(self, bags: Tensor) -> Batch:
        sizes = self.bags.sizes.long()
        ends, own = sizes.cumsum(0)[bags], sizes[bags]
        steps = torch.arange(int(own.sum()), device=bags.device)
        members = torch.repeat_interleave(torch.arange(len(bags), device=bags.device), own)
        return Batch(bags, steps + (ends - own.cumsum(0))[members], members)

    def _everything(self) -> Batch:
        rows = torch.arange(len(self.x), device=self.x.device)
        return Batch(torch.arange(self.bags.count, device=self.x.device), rows,
                     self.bags.membership)

    def loss(self, batch: Batch) -> Tensor:
        """The penalised loss of some bags, nats per bag, differentiable."""
        return self._loss(batch, self.field(self.x[batch.rows]))

    def objective(self, gradient: bool = False) -> Tensor:
        """Penalised log-likelihood of all bags, minus the loss times their number, in nats."""
        if gradient:
            return -self.bags.count * self.loss(self._everything())
        with torch.no_grad():
            f = torch.cat([self.field(chunk) for chunk in self.x.split(_CHUNK)])
            return -self.bags.count * self._loss(self._everything(), f)

    def _loss(self, batch: Batch, f: Tensor) -> Tensor:
        options = self.options
        rates = self.coefficients[batch.rows] * self.link.psi(f)
        parameter = torch.zeros(len(batch.bags)).to(f).index_add(0, batch.membership, rates)
        std = None if self.noise is None else self.noise()[batch.bags].sqrt()
        observed = self.likelihood.log_prob(self.source.targets.value[batch.bags], parameter, std)
        loss = -self.source.trust * observed.mean()
        if self.roughness is not None:
            g = self.link.canonical(f)
            g = g / self.scale if self.link.linear else g
            loss = loss + options.manifold_penalty * self.roughness(batch.rows, g)
        if options.weight_penalty > 0:
            size = sum(weight.square().sum() for weight in self.field.weights) / 2
            share = self.bags.count if self.field.penalty_per_bag else 1
            loss = loss + options.weight_penalty * size / share
        return loss - self.hyperparameters.log_prior() / self.bags.count

    @property
    def large(self) -> bool:
        """Whether an evaluation of all individuals takes long: minibatches are faster then."""
        return len(self.x) > _CHUNK

    def maximise(self, progress: bool, callback) -> History:
        """Train by L-BFGS on all bags; every raw value stays within 25 of its start."""
        return maximise(
            lambda pulse: self.objective(gradient=True), self.hyperparameters,
            max_steps=self.options.max_steps,
            tolerance=self.options.tolerance, progress=progress, callback=callback,
        )
