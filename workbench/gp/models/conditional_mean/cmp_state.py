"""A conditional mean process put together for one source."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from workbench.gp.data.bags import Source
from workbench.gp.data.inputs import fit_inputs
from workbench.gp.fields.exact import ExactField
from workbench.gp.fields.mediated import ConditionalMeanOperator
from workbench.gp.kernels.fourier import fourier_terms
from workbench.gp.kernels.grammar import Term
from workbench.gp.likelihoods import Normal
from workbench.gp.likelihoods.links import link_named
from workbench.gp.models import assembly
from workbench.gp.models.casting import cast_source
from workbench.gp.models.conditional_mean.first_stage import LeftOut, choose_by_leaving_out
from workbench.gp.models.conditional_mean.mean_function import evaluate
from workbench.gp.models.conditional_mean.mediators import PREFIX, mediators_of
from workbench.gp.models.conditional_mean.starts import Evidence, train_from_starts
from workbench.gp.models.conditional_mean.target_noise import TargetNoise
from workbench.gp.models.conditional_mean.two_stages import Marks, Searcher, TwoStages
from workbench.gp.models.keeping import Recalled
from workbench.gp.numerics.shapes import Inputs
from workbench.gp.optimisation.hyperparameters import Hyperparameter, HyperparameterSet
from workbench.gp.optimisation.training import History

_SMALL = 1_500      # individuals for whom looking for clusters saves nothing


class CMPState(Recalled):
    """A conditional mean process assembled for one source."""

    likelihood = Normal

    def __init__(self, model, source: Source):
        self.options, self.link = model.options, link_named("identity")
        self.given, options = source, model.options
        self.rescaled = source.aggregation == "sum"
        self.source = cast_source(source.as_rates() if self.rescaled else source, options)
        bags, self.value = self.source.bags, self.source.targets.value
        self.transform = fit_inputs(bags, options.transform, options.extrapolation)
        self.x = self.transform(bags.x)
        self.scale = assembly.spread(self.value)
        terms = assembly.kernel_terms(
            options.kernel, bags.columns, self.x, options.seed, self.scale)
        self.mediators = mediators_of(
            bags, self.source.targets.mediators, options.mediator_kernel, options.seed)
        self.mean, ridge = self.mediators.bag_weights(bags.totals, model.ridge)
        self.operator = ConditionalMeanOperator(bags, self.mean, features=options.features)
        self.field = self._field(terms, self.x, self.operator)
        self._few: tuple[ConditionalMeanOperator, Inputs] | None = None
        self.noise = TargetNoise(options, self.source.targets, self.scale)
        self._known = None if options.mean_function is None else self.operator.base(
            evaluate(options.mean_function, bags))
        with torch.no_grad():
            self.field.mean.fill_(float(self.source.mean_rate) - (
                0.0 if self._known is None else float(self.operator.centre(self._known))))
        extent = bags.x.amax(0) - bags.x.amin(0)
        items = [Hyperparameter("mean", self.field.mean, None, "value"),
                 *assembly.kernel_hyperparameters(terms, self.transform, extent, self.scale),
                 *self.mediators.items, ridge, *self.noise.items]
        self.hyperparameters = assembly.finish(items, options)

    def _field(self, terms: list[Term], x: Inputs, operator: ConditionalMeanOperator):
        return ExactField(terms, x, operator)

    def _field_like(self, x: Inputs, operator: ConditionalMeanOperator,
                    terms: list[Term] | None = None):
        """The same field with other individuals, or with other terms."""
        field = ExactField(list(self.field.terms) if terms is None else terms, x, operator)
        field.mean = self.field.mean
        return field

    def training_field(self):
        """The field on all individuals that hyperparameters are refined by."""
        if not self.options.train_features:
            return self.field
        terms = fourier_terms(list(self.field.terms), self.x, self.options.train_features)
        # An operator of its own: the kept Gram matrix is of other terms with the same values.
        operator = ConditionalMeanOperator(self.source.bags, self.mean)
        return self._field_like(self.x, operator, terms)

    def evidence(self) -> Tensor:
        """Log evidence of the targets at the present hyperparameters."""
        return self._evidence(self.field, self.operator)

    def _evidence(self, field, operator: ConditionalMeanOperator) -> Tensor:
        operator.refresh()
        return field.evidence(self.gap(operator), self.noise(operator))

    def gap(self, operator: ConditionalMeanOperator) -> Tensor:
        """What is left of the targets after the conditional means of the mean function (M,)."""
        return self.value - self.known_mean(operator.weights)

    def known_mean(self, weights: Tensor) -> Tensor | float:
        """Conditional means (n,) of the mean function, for weights of bags (B, n)."""
        return 0.0 if self._known is None else self.operator.expectation(self._known, weights)

    def train(self, progress: bool, callback) -> History:
        """Maximise evidence plus log prior from several starts, then keep the posterior."""
        found = self.mediators
        rough = self._rough() if self.hyperparameters.free else None
        whole = None if rough and self._too_many() else self._whole()
        search = self._searcher(whole, rough)
        if self._left_out():
            judge = self._judge(whole, rough)
            history = TwoStages(self, search, judge).train(progress, callback)
        else:
            history = search(callback, progress)
        history.notes[:0] = found.notes
        if whole is None:
            history.notes.append(
                f"hyperparameters learnt on at most {self.options.compress} clusters per bag "
                f"(options compress and refine); the map uses all {len(self.x)} individuals")
        self.compute_posterior()
        return history

    def _too_many(self) -> bool:
        """Whether pairs of all individuals are too many to refine hyperparameters by."""
        return len(self.x) > self.options.refine and not self.options.train_features

    def _judge(self, whole: Evidence | None, rough: Evidence | None) -> Evidence:
        """The evidence that two ends of a search are compared by: what the search maximised."""
        return whole or rough

    def _whole(self) -> Evidence:
        field = self.training_field()
        return lambda: self._evidence(field, field.operator)

    def _searcher(self, whole: Evidence | None, rough: Evidence | None) -> Searcher:
        """``search(callback, progress)``, of all that is free."""
        found = self.mediators
        return lambda share, shown: train_from_starts(
            whole, rough, self.hyperparameters, found.near, found.wide, self.options, shown, share,
            found.given)

    def _left_out(self) -> bool:
        wanted = self.options.mediation
        named = wanted == "leave-one-out" or (wanted == "auto" and not self.source.matched)
        return named and bool(self.first_stage().free) and len(self.mediators.bags) > 2

    def marks(self) -> Marks:
        """All that a search moves, to be put back by `put_back`."""
        return self.hyperparameters.vector(), [list(one.inducing) for one in self.inducing_fields()]

    def put_back(self, marks: Marks) -> None:
        """Take up what `marks` gave."""
        self.hyperparameters.assign(marks[0])
        for one, inputs in zip(self.inducing_fields(), marks[1], strict=True):
            one.inducing = list(inputs)

    def first_stage(self) -> HyperparameterSet:
        """ℓ and λ."""
        return HyperparameterSet([item for item in self.hyperparameters
                                  if item.name == "ridge" or item.name.startswith(PREFIX)])

    def leave_out(self) -> LeftOut:
        """Set ℓ and λ to where left-out bags are predicted best under the present k."""
        with torch.no_grad():
            gram = self._learning().bag_gram(list(self.field.terms), self._learning_x())
        return choose_by_leaving_out(
            self.mean, gram, HyperparameterSet(self.first_stage().free))

    @torch.no_grad()
    def compute_posterior(self) -> None:
        """Keep the posterior at the present hyperparameters."""
        self.operator.refresh()
        self.field.condition(self.gap(self.operator), self.noise(self.operator))

    def recall(self, learnt: Mapping[str, Tensor]) -> None:
        """The posterior follows from the hyperparameters."""
        self.compute_posterior()

    def conditional_means(self, weights: Tensor) -> tuple[Tensor, Tensor]:
        """Posterior mean and variance (n,) of means of f - m with weights of bags (B, n)."""
        gram = self.operator.posterior_bag_gram(list(self.field.terms), self.x)
        return self.field.functionals(
            weights.mT @ gram @ self.operator.weights, (weights * (gram @ weights)).sum(0),
            self.operator.total(weights))

    def _rough(self):
        """The evidence on clusters of individuals, where there are many.

        White noise of individuals enters by the sizes of the bags as they are.
        """
        most = self.options.compress
        if most == 0 or len(self.x) <= _SMALL:
            return None
        clusters = assembly.clustered(self.operator.base, self.x, most, self.options.seed).bags
        few = ConditionalMeanOperator(clusters, self.mean)
        few.squares = self.operator.squares
        self._few = few, clusters.x
        field = self._field_like(clusters.x, few)
        return lambda: self._evidence(field, few)

    def _learning(self) -> ConditionalMeanOperator:
        return self.operator if self._few is None else self._few[0]

    def _learning_x(self) -> Inputs:
        return self.x if self._few is None else self._few[1]
