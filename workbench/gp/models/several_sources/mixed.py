"""One Gaussian process behind sources that have likelihoods and links of their own.

Counts of cases and measured concentrations of one region, a survey and a register: f is common, and
source a observes p_a(y | A_a ψ_a(f + o)), with an offset o of each task but the first. Points and
areas go together as bags of one and of many.

    bound = Σ_a φ_a E_q log p_a(y_a | A_a ψ_a(f)) - KL(q || prior).

References
----------
Hamelijnck et al. 2019, eq. (1), beyond its Normal likelihood; Law et al. 2018 for each source.
"""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from workbench.checks import choose, require
from workbench.gp.data.bags import Bags, Source
from workbench.gp.data.inputs import fit_inputs
from workbench.gp.fields.geometry import geometry
from workbench.gp.fields.inducing import InducingField
from workbench.gp.inference.objectives import expected_log_likelihood
from workbench.gp.kernels.operators import OPERATORS
from workbench.gp.likelihoods import likelihood_for
from workbench.gp.models import assembly
from workbench.gp.models.casting import cast_bags, cast_source
from workbench.gp.models.keeping import Recalled
from workbench.gp.models.several_sources.base import MultiSourceModel, SourcesFit
from workbench.gp.models.several_sources.options import MixedOptions
from workbench.gp.models.several_sources.shifted import ShiftedField
from workbench.gp.models.several_sources.sources import check_together, stack
from workbench.gp.models.vbagg.design import Design, clusters_of, learning_geometry
from workbench.gp.models.vbagg.fit import VariationalFit
from workbench.gp.models.vbagg.model import VBAgg
from workbench.gp.models.vbagg.state import VariationalState
from workbench.gp.numerics.linalg import FactorisationError, standard_normal_kl
from workbench.gp.optimisation.hyperparameters import Hyperparameter
from workbench.gp.optimisation.natural_gradient import optimise
from workbench.gp.optimisation.training import RESTARTS, History, maximise
from workbench.gp.predictive import Predictive


class MixedState(Recalled):
    """The states of all sources, with one field and one q."""

    def __init__(self, model, sources):
        self.options: MixedOptions = model.options
        self.given = (sources,) if isinstance(sources, Source) else tuple(sources)
        check_together(self.given)
        names = [source.name for source in self.given]
        for option in ("likelihoods", "links"):
            for name in getattr(self.options, option):
                choose(f"source in {option}", name, names)
        self.states = self._states()
        first = self.states[0]
        self.field, self.transform = first.field, first.transform
        items, shifts = self._items(), self._shifts()
        for state, source in zip(self.states, self.given, strict=True):
            shift = shifts.get(source.task)
            state.field = self.field if shift is None else ShiftedField(self.field, shift.raw)
        self.hyperparameters = assembly.finish([*items, *shifts.values()], self.options)

    def _states(self) -> list[VariationalState]:
        models, kinds, seen = [], [], []
        for source in self.given:
            trials = source.bags.trials is not None
            counts = source.kind == "count" and not trials
            models.append(VBAgg(**self.options.of_source(source.name, counts, trials)))
            inner = models[-1].options
            kinds.append(likelihood_for(inner.likelihood, source))
            seen.append(cast_source(kinds[-1].observed(source), self.options))
        transform = fit_inputs(stack([s.bags for s in seen]), self.options.transform,
                               self.options.extrapolation)
        individuals = torch.cat([transform(s.bags.x) for s in seen])
        first = models[0].options
        scale = kinds[0].link(first.link, self.given[0]).scale(seen[0])
        terms = assembly.kernel_terms(
            first.kernel, seen[0].bags.columns, individuals, first.seed, scale)
        inducing = assembly.inducing_of(terms, individuals, first.inducing, first.seed)
        out = []
        for model, source, ready in zip(models, self.given, seen, strict=True):
            bags = cast_bags(ready.bags, self.options)
            whole = geometry(transform(bags.x), OPERATORS[ready.aggregation](bags))
            learning = learning_geometry(whole, clusters_of(model.options, whole))
            design = Design(bags, transform, whole, learning, terms, inducing, scale)
            out.append(VariationalState(model, source, design))
        return out

    def _shifts(self) -> dict[str, Hyperparameter]:
        """By task, how far the mean of f lies from that of the first source's task."""
        if self.options.offset == "none":
            return {}
        out, first = {}, self.states[0]
        start = float(first.link.initial(first.source.mean_rate))
        for state, source in zip(self.states, self.given, strict=True):
            if source.task != self.given[0].task and source.task not in out:
                own = float(state.link.initial(state.source.mean_rate))
                raw = torch.nn.Parameter(torch.tensor([own - start]).to(first.x))
                out[source.task] = Hyperparameter(f"{source.task}.offset", raw, None, "link scale")
        return out

    def _items(self) -> list:
        shared = {item.name for item in self.states[0].hyperparameters
                  if item.name == "mean" or any(
                      item.name.startswith(f"{t.name}.") for t in self.field.terms)}
        items = [i for i in self.states[0].hyperparameters if i.name in shared]
        for state, source in zip(self.states, self.given, strict=True):
            for item in state.hyperparameters:
                if item.name not in shared:
                    if len(self.given) > 1:
                        item.name = f"{source.name}.{item.name}"
                    items.append(item)
        return items

    def inducing_fields(self) -> list[InducingField]:
        """The one field behind all sources."""
        return [self.field]

    def recall(self, learnt: Mapping[str, Tensor]) -> None:
        """Project the training data of every source."""
        for state in self.states:
            state.recall(learnt)

    def bound(self, seen: list, mean: Tensor, covariance: Tensor) -> Tensor:
        """The evidence bound, or its named approximation."""
        total = -standard_normal_kl(mean, covariance)
        for state, view in zip(self.states, seen, strict=True):
            total = total + expected_log_likelihood(
                view, state.bound, state.likelihood, state.source.targets.value, mean, covariance,
                state.source.trust)
        return total

    def optimise_q(self, seen: list, pulse=None) -> None:
        """Bring q to its optimum at the present hyperparameters."""
        fixed = [view.detach() for view in seen]

        def objective(mean: Tensor, covariance: Tensor) -> Tensor:
            if pulse is not None:
                pulse()
            return self.bound(fixed, mean, covariance)

        try:
            found = optimise(objective, self.field.q_mean, self.field.q_covariance)
        except FactorisationError:
            width = len(self.field.q_mean)
            narrow = 0.01 * torch.eye(width).to(self.field.q_mean)
            found = optimise(objective, torch.zeros(width).to(narrow), narrow)
        self.field.set_q(*found[:2])

    def profile(self, pulse=None) -> Tensor:
        """The bound at the best q plus log prior, differentiable in the hyperparameters."""
        seen = [state.project(state.learning) for state in self.states]
        self.optimise_q(seen, pulse)
        value = self.bound(seen, self.field.q_mean, self.field.q_covariance)
        return value + self.hyperparameters.log_prior()

    def train(self, progress: bool, callback) -> History:
        """Maximise the bound plus log prior, then find q on all individuals."""
        history = maximise(
            self.profile, self.hyperparameters,
            snapshot=lambda: (self.field.q_mean, self.field.q_covariance),
            restore=lambda q: self.field.set_q(*q), max_steps=self.options.max_steps,
            tolerance=self.options.tolerance, progress=progress, callback=callback,
            restarts=RESTARTS)
        with torch.no_grad():
            views = [state.project() for state in self.states]
            self.optimise_q(views)
            for state, view in zip(self.states, views, strict=True):
                state.trained_data = view.detach()
        return history

    def evidence(self) -> Tensor:
        """The bound of all individuals at the present q."""
        views = [state.trained_data or state.project() for state in self.states]
        return self.bound(views, self.field.q_mean, self.field.q_covariance)

    def __getattr__(self, name: str):
        """Of the first source what a fit of one source is asked for."""
        if name in ("likelihood", "link", "rescaled", "source", "noise"):
            return getattr(self.states[0], name)
        raise AttributeError(name)


class MixedFit(SourcesFit):
    """A fit to sources of different kinds; without a name, answers are for the first source."""

    def __init__(self, model, state, history):
        super().__init__(model, state, history)
        self._fits = {source.name: VariationalFit(model, inner, history)
                      for source, inner in zip(state.given, state.states, strict=True)}

    def of(self, source: str | None = None) -> VariationalFit:
        """The fit as one of a source's model alone.

        Raises
        ------
        InputError
            If there is no such source.
        """
        if source is None:
            return next(iter(self._fits.values()))
        return self._fits[choose("source", source, self._fits)]

    @property
    def tasks(self) -> tuple[str, ...]:
        """Names of the tasks: one field is behind all."""
        return tuple(dict.fromkeys(source.task for source in self.state.given))

    @property
    def composite_weights(self) -> dict[str, float]:
        """Power of each source's likelihood, by name."""
        return {source.name: float(source.trust) for source in self.state.given}

    def latent(self, bags: Bags, task: str | None = None) -> Predictive:
        """Predictive distribution of f at the individuals."""
        return self.of(self._named(task)).latent(bags)

    def named(self, task: str | None = None, source: str | None = None) -> str:
        """The source that predictions are of, by task or by name; without both the first one."""
        return source or self._named(task) or next(iter(self._fits))

    def knows_totals(self, trained: Tensor | None, task: str | None = None,
                     source: str | None = None) -> bool:
        """Whether effects of some bags of a source can be given their totals."""
        return self.of(self.named(task, source)).knows_totals(trained)

    def at(self, bags: Bags, trained=None, area_effect: bool = False, task: str | None = None,
           source: str | None = None) -> Predictive:
        """Predictive distribution of a source's rate ψ(f) at the individuals."""
        return self.of(source or self._named(task)).at(bags, trained, area_effect)

    def over(self, bags: Bags, trained=None, area_effect: bool = False, task: str | None = None,
             source: str | None = None) -> Predictive:
        """Predictive distribution of a source's bag parameter."""
        return self.of(source or self._named(task)).over(bags, trained, area_effect)

    def draw_rates(self, bags: Bags, trained, samples: int, seed: int, task: str | None = None,
                   source: str | None = None) -> Tensor:
        """Joint draws of a source's rate at the individuals (samples, N)."""
        return self.of(source or self._named(task)).draw_rates(bags, trained, samples, seed)

    def preserve(self, bags: Bags, trained, totals: Tensor, samples: int, seed: int
                 ) -> tuple[Tensor, Tensor]:
        """Draws given totals of the first source; see `VariationalFit.preserve`."""
        return self.of().preserve(bags, trained, totals, samples, seed)

    def simulate_bags(self, bags, trained, samples, seed, source=None) -> Tensor:
        """Posterior predictive observations of bags by a source (samples, B)."""
        return self.of(source).simulate_bags(bags, trained, samples, seed)

    def simulate_individuals(self, bags, trained, samples, seed, source=None) -> Tensor:
        """Posterior predictive observations of individuals (samples, N)."""
        return self.of(source).simulate_individuals(bags, trained, samples, seed)

    def noise_std(self, bags: Bags, source: str | None = None) -> Tensor:
        """Standard deviation of a Normal source's observation of each bag."""
        state = self.of(source).state
        require(state.likelihood.has_noise, "only Normal sources have a noise of their own; "
                "simulate() draws the observations of others")
        return state.noise.std(cast_bags(bags, self.state.options)).detach()

    def coefficients(self) -> dict:
        """Posterior mean and sd of the weights of linear and constant terms."""
        return self.of().coefficients()

    def rescaled(self, task: str | None = None, source: str | None = None) -> bool:
        """Whether answers on a source are per unit of weight of what were totals."""
        return self.of(source or self._named(task)).state.rescaled

    def _named(self, task: str | None) -> str | None:
        if task is None:
            return None
        choose("task", task, self.tasks)
        return next(s.name for s in self.state.given if s.task == task)


class MRVBAgg(MultiSourceModel):
    """VBAgg of several sources: counts, means, positives out of trials, of one latent field.

    Hamelijnck et al. 2019, section 3, with the likelihoods of Law et al. 2018.
    """

    name = "mr-vbagg"
    summary = "one GP behind sources of any likelihood: counts, means, positives of trials"
    paper = "Hamelijnck et al. 2019 with Law et al. 2018"
    options_type = MixedOptions
    state_type = MixedState
    fit_type = MixedFit
