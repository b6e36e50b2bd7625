"""The parts of a variational model put together for one source, and their training."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import replace

import torch
from torch import Tensor

from workbench.checks import require
from workbench.gp.data.bags import Bags, Source
from workbench.gp.data.recurring import recurring_areas
from workbench.gp.expectations import Bound, bound_named
from workbench.gp.fields.geometry import Geometry, geometry
from workbench.gp.fields.inducing import InducingField
from workbench.gp.fields.projected import ProjectedData, project_data
from workbench.gp.inference.carrying import carried
from workbench.gp.inference.objectives import elbo, expected_log_likelihood
from workbench.gp.inference.parts import Parts, seen_in_learning
from workbench.gp.inference.shards import Shard, shared_out
from workbench.gp.inference.trainers import train
from workbench.gp.kernels.grammar import JointTerm, Term
from workbench.gp.kernels.operators import OPERATORS
from workbench.gp.kernels.persistent import VARIANCE
from workbench.gp.likelihoods import Likelihood, likelihood_for, noise_convention
from workbench.gp.models import assembly
from workbench.gp.models.casting import cast_bags, cast_source
from workbench.gp.models.keeping import Recalled
from workbench.gp.models.options import VariationalOptions
from workbench.gp.models.vbagg.correcting import correct
from workbench.gp.models.vbagg.design import MOST_FEATURES, Design, design_of, with_inducing
from workbench.gp.models.vbagg.doubts import LEFT, note_left
from workbench.gp.models.vbagg.given import PROFILE, ROUGH, find_q
from workbench.gp.models.vbagg.landmarks import learn_inducing_inputs
from workbench.gp.models.vbagg.own_noise import (
    USUAL_NUGGET,
    prior_of_effects,
    priors_over_periods,
)
from workbench.gp.models.vbagg.persistent import keeps_effects, with_kept_noise
from workbench.gp.models.vbagg.summed_out import apart, std_of_effects, with_effects_summed_out
from workbench.gp.numerics.linalg import FactorisationError
from workbench.gp.optimisation.hyperparameters import Hyperparameter
from workbench.gp.optimisation.natural_gradient import Optimum, optimise, reachable
from workbench.gp.optimisation.training import History, scaled_callback

# Steps of q on all individuals after it was found on clusters: it starts near its optimum, and an
# evaluation on hundreds of thousands of pairs is expensive.
_FEW = 30


class VariationalState(Recalled):
    """A variational model assembled for one source: parts, hyperparameters and q.

    Everything that is trained lives here; a `VariationalFit` reads it. A ``design`` of the same
    model and source saves making it again; hyperparameters that are all ``given`` say which
    effects there are.
    """

    def __init__(self, model, source: Source, design: Design | None = None,
                 given: Mapping | None = None):
        kind = likelihood_for(model.options.likelihood, source)
        once = kind.effect_in_field(source)
        options: VariationalOptions = model.options.resolved(
            kind, given, recurring_areas(source.bags), recurring_areas(source.bags, once) * once,
            once and apart(kind, model.options, source),
            1.0 if model.at_centres else float(1 / source.bags.noise_left.median()))
        self.link, self.given = kind.link(options.link, source), source
        kind.check(options, source)
        self.rescaled = kind.rescales(source)
        self.source = cast_source(kind.observed(source), options)
        self.options = options = with_inducing(
            replace(options, noise=noise_convention(options, self.source, given)),
            (design.bags if design else model.reduce(source.bags)).sizes,
            kind.has_noise and not model.at_centres)
        self.reduce, self.at_centres = model.reduce, model.at_centres
        require(options.kernel == "constant" or self.source.bags.x.shape[1] > 0,
                "the data have neither covariates nor coordinates, so that nothing tells "
                "individuals apart: use the flat model, wb.Constant()")
        self.bound: Bound = bound_named(options.bound, self.link.name)
        self.design = design or design_of(options, self.source, self.link, model.reduce)
        self.bags, self.transform = self.design.bags, self.design.transform
        self.geometry, self.learning = self.design.geometry, self.design.learning
        self.x, self.operator = self.geometry.x, self.geometry.operator
        self.scale, self.field = self.design.scale, self.design.field()
        self.trained_data: ProjectedData | None = None
        self.rough = False          # whether q and covariances come from clusters, for speed
        self.scales: Tensor | None = None      # of the terms when q was last optimised
        self.shard: Shard | None = None        # while processes share the bags
        self.summed: Term | None = None        # while effects that areas keep are integrated out
        self.tempering = 1.0        # power of the likelihood while training is annealed
        self.steps_of_q = 200       # most of them at one setting of the hyperparameters
        self._hyperparameters(kind)
        self._start_q()

    def model_bags(self, bags: Bags) -> Bags:
        """Bags as the model sees them, in its dtype and on its device."""
        return self.reduce(cast_bags(bags, self.options))

    def _kernel_terms(self) -> list[Term]:
        return [part for term in self.field.terms
                for part in (term.parts if isinstance(term, JointTerm) else [term])]

    def _hyperparameters(self, kind: type[Likelihood]) -> None:
        options, like = self.options, self.x
        extent = self.source.bags.x.amax(0) - self.source.bags.x.amin(0)
        items = [Hyperparameter("mean", self.field.mean, None, self.link.unit)]
        items += assembly.kernel_hyperparameters(
            self._kernel_terms(), self.transform, extent, self.scale)
        self._nugget = assembly.nugget_hyperparameter(
            options.nugget, self.scale, "link scale", like, USUAL_NUGGET)
        kept = keeps_effects(self)
        self._area = None if options.overdispersion != "area" else assembly.scalar_hyperparameter(
            "area.std", 0.2 * self.scale, "link scale", prior_of_effects(
                None if kept else self._nugget, self.bags.noise_left, self.scale, options), like)
        items += [] if self._area is None else [self._area]
        if kept and self._nugget is not None:
            term = self.field.terms[-1]
            term.nugget = self._nugget
            effects = [item for item in items if item.name in (VARIANCE, "area.std")]
            priors = priors_over_periods(
                self._nugget, effects, term.concentration, self.scale, options)
            for item in [*effects, self._nugget]:
                item.prior = priors.get(item.name, item.prior)
        items += [] if self._nugget is None else [self._nugget]
        # Under the identity link the nugget adds its bag variance to the noise, exactly.
        self.likelihood = kind.assemble(
            self.source, options.noise, self._white_noise() if self.link.linear else None)
        self.noise = getattr(self.likelihood, "noise", None)
        self.hyperparameters = assembly.finish([*items, *self.likelihood.items], options)

    def _white_noise(self) -> Callable[[], Tensor]:
        """Variance of the nugget in each bag's observation (B,)."""
        per_bag = self.operator.white_variance()
        return lambda: self.nugget_variance * per_bag

    def _start_q(self) -> None:
        start = self.link.initial(self.source.mean_rate)
        with torch.no_grad():
            if not self.hyperparameters["mean"].fixed and "mean" not in self.options.initial:
                self.field.mean.fill_(float(start))
        self.field.set_q(*self.narrow())

    def narrow(self) -> tuple[Tensor, Tensor]:
        """A narrow start: the prior covariance is hundreds of nats per bag away."""
        width = len(self.field.q_mean)
        return torch.zeros(width).to(self.x), 0.01 * torch.eye(width).to(self.x)

    def restart(self, mean: Tensor, covariance: Tensor) -> None:
        """Go on from this q, whatever the hyperparameters were where it was found."""
        self.field.set_q(mean, covariance)
        self.scales = None

    @property
    def nugget_variance(self) -> Tensor:
        """Variance of the individual white noise in f, zero without a nugget."""
        return assembly.variance_of(self._nugget, self.x)

    @property
    def area_std(self) -> Tensor | None:
        """Standard deviation of the area's iid effect, None without one."""
        if self.summed is not None:
            return std_of_effects(self.summed, self.bags)
        return None if self._area is None else self._area.natural.reshape(())

    def project(self, geometry: Geometry | None = None) -> ProjectedData:
        """A geometry, by default that of all individuals, at the present hyperparameters."""
        return project_data(self.field, geometry or self.geometry, self.nugget_variance,
                            self.area_std, self.summed)

    def geometry_of(self, bags: Bags) -> Geometry:
        """Geometry of other (model) bags."""
        bags = with_kept_noise(self, bags)
        return geometry(self.transform.of(bags), OPERATORS[self.source.aggregation](bags))

    def inducing_fields(self) -> list[InducingField]:
        """The one field."""
        return [self.field]

    def learnt(self) -> dict[str, Tensor]:
        """What is added to f of clusters, where q was found on these."""
        shift = self.learning.shift
        return {} if shift is None else {"shift": shift}

    def recall_clusters(self, learnt: Mapping[str, Tensor]) -> None:
        """Learn on clusters to which is added what was to those of another state."""
        if "shift" in learnt:
            self.learning = replace(self.learning, shift=learnt["shift"].to(self.x))

    def recall(self, learnt: Mapping[str, Tensor]) -> None:
        """Project the training data, where they fit."""
        self.recall_clusters(learnt)
        self.design = replace(self.design, inducing=list(self.field.inducing),
                              averaging=self.field.averaging)
        self.trained_data = self.project().detach() if self.fits else None

    def objective(self, seen: ProjectedData | Parts, mean: Tensor, covariance: Tensor, pulse=None,
                  anew: bool = False) -> Tensor:
        """The evidence lower bound, or its named approximation, of all bags.

        Of parts it is differentiable in q, or, with ``anew``, in the hyperparameters.
        """
        def one(data: ProjectedData, y: Tensor, m: Tensor, s: Tensor) -> Tensor:
            return expected_log_likelihood(data, self.bound, self.likelihood, y, m, s,
                                           self.source.trust * self.tempering)

        def expected(bags: slice, m: Tensor, s: Tensor) -> Tensor:
            if pulse is not None:
                pulse()
            given = self.source.targets.value[bags], m, s
            return seen.total(one, *given, anew) if isinstance(seen, Parts) else one(seen, *given)

        found = (expected(slice(None), mean, covariance) if self.shard is None
                 else self.shard.total(expected, mean, covariance))
        return elbo([found], mean, covariance)

    def optimise_q(self, seen: ProjectedData | Parts, steps: int = 200, nats: float = 1e-7,
                   pulse=None) -> Optimum:
        """Bring q to its optimum at fixed hyperparameters, from the present or the narrow start.

        ``pulse`` is called before every evaluation; what it raises ends the search.
        """
        fixed = seen.detach()

        def objective(mean, covariance):
            return self.objective(fixed, mean, covariance, pulse)

        try:
            found = optimise(objective, *carried(self, fixed), steps, nats)
        except FactorisationError:
            found = optimise(objective, *self.narrow(), steps, nats)
        self.field.set_q(found.mean, found.covariance)
        return found

    def profile(self, pulse=None) -> Tensor:
        """Objective at the best q plus log prior, differentiable in the free hyperparameters."""
        seen = seen_in_learning(self)
        self.optimise_q(seen, self.steps_of_q, PROFILE, pulse)
        value = self.objective(seen, self.field.q_mean, self.field.q_covariance, anew=True)
        prior = self.hyperparameters.log_prior()
        return value + (prior if self.shard is None else self.shard.once(prior))

    @with_effects_summed_out
    def compute_posterior(self) -> History:
        """Bring q to its optimum on what is learnt on, and keep no view of all individuals."""
        started, self.rough = time.perf_counter(), True
        with torch.no_grad():
            found = self.optimise_q(seen_in_learning(self), nats=ROUGH)
        least = reachable(found.value, LEFT, self.x.dtype)
        return History([found.value], converged=found.decrement <= least,
                       elapsed=time.perf_counter() - started)

    @with_effects_summed_out
    def train(self, progress: bool, callback) -> History:
        """Maximise the objective plus log prior, then find q on all individuals."""
        if not self.hyperparameters.free and not self.link.linear:
            return find_q(self, progress, callback)
        if not self.hyperparameters.free:
            self.learning = self.geometry       # where q is exact, it is that of all individuals
        moving = self.options.inducing_inputs == "learnt" and bool(self.hyperparameters.free)
        with shared_out(self) as told:
            history = train(self, progress, scaled_callback(callback, 0, 2) if moving else callback)
        history.notes += told
        if moving and not history.cancelled:
            learn_inducing_inputs(self, history, progress, scaled_callback(callback, 1, 2))
        clustered = self.learning is not self.geometry
        if clustered:
            number = "" if history.cancelled else f"{len(self.learning.x)} "
            history.notes.append(
                f"hyperparameters learnt on {number}clusters of {len(self.x)} individuals (option "
                "compress); the map uses all individuals")
        if not self.fits:
            if clustered:
                correct(self, history)
            return history
        with torch.no_grad():
            seen = seen_in_learning(self, whole=True).detach()
            found = self.optimise_q(seen, *((_FEW, ROUGH) if clustered else ()))
            self.trained_data = seen if isinstance(seen, ProjectedData) else self.project().detach()
        note_left(history, found, self.x.dtype)
        return history

    @property
    def fits(self) -> bool:
        """Whether the features of all individuals fit into memory at once."""
        return len(self.x) * len(self.field.q_mean) <= MOST_FEATURES

    def sees(self, bags: Bags) -> bool:
        """Whether these (model) bags are the ones that were trained on."""
        return self.bags.same_as(bags)
