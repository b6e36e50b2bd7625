"""VBAgg: variational learning on aggregate outputs, with overdispersion; and its special cases.

References
----------
Law et al. 2018, Variational Learning on Aggregate Outputs with Gaussian Processes.
"""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from workbench.bags import Bags, Source
from workbench.checks import InputError, require
from workbench.fields.inducing import InducingField
from workbench.hyperparameters import Hyperparameter
from workbench.inputs import InputTransform, fit_inputs
from workbench.kernels import Term, build, inducing_inputs
from workbench.likelihoods import NegativeBinomial, Normal, Poisson, require_counts
from workbench.links import Link, link_named
from workbench.models import assembly
from workbench.models.fit import VariationalFit
from workbench.models.options import (
    ConstantOptions,
    Options,
    VariationalOptions,
    build_options,
    cast_bags,
    cast_source,
    non_defaults,
)
from workbench.natural_gradient import optimise
from workbench.objectives import Bound, View, bound_named, elbo, view
from workbench.operators import OPERATORS, AggregationOperator
from workbench.priors import LogNormal, PCStd
from workbench.training import History, maximise


class VBAgg:
    """Gaussian process on individuals, observed through weighted bags, by variational inference.

    f ~ GP(mean, k);  η_b = Σ_i w_i ψ(f(x_i));  y_b ~ Poisson, negative binomial or Normal.

    Parameters
    ----------
    **options
        Fields of `VariationalOptions`.

    Raises
    ------
    InputError
        On an unknown option, choice, kernel or hyperparameter (the nearest is suggested).

    References
    ----------
    Law et al. 2018, sections 2 and 3.
    """

    name = "vbagg"
    summary = "Gaussian process on individuals, variational (VBAgg)"
    paper = "Law et al. 2018"
    options_type: type[Options] = VariationalOptions

    def __init__(self, **options):
        self.options = build_options(self.options_type, options)

    def __repr__(self) -> str:
        given = ", ".join(f"{k}={v!r}" for k, v in non_defaults(self.options).items())
        return f"{type(self).__name__}({given})"

    def reduce(self, bags: Bags) -> Bags:
        """The bags as this model sees them."""
        return bags

    def fit(self, source: Source, *, progress: bool = False, callback=None) -> VariationalFit:
        """Learn the free hyperparameters and q; returns the fit, also when cancelled.

        Parameters
        ----------
        source : Source
            Bags and targets.
        progress : bool
            Show a progress bar.
        callback : callable, optional
            ``callback(step, objective, fraction)``; may raise `workbench.training.Cancelled`.
        """
        return self._train(source, {}, progress, callback)

    def condition(self, source: Source, hyperparameters: Mapping) -> VariationalFit:
        """Bring q to its optimum with all hyperparameters given and none trained.

        Raises
        ------
        InputError
            If a hyperparameter has no value; the message lists those missing.
        """
        return self._train(source, hyperparameters, False, None, condition=True)

    def _train(self, source, given, progress, callback, condition=False) -> VariationalFit:
        state = VariationalState(self, source)
        state.hyperparameters.fix(given)
        if condition:
            state.hyperparameters.require_all(given)
        history = state.train(progress, callback)
        return VariationalFit(self, state, history)


class CentrePointGP(VBAgg):
    """Each area as one point at its weighted mean input: the usual short cut, as a baseline."""

    name = "centre-point"
    summary = "Gaussian process on the areas' centres"
    paper = "baseline; Hamelijnck et al. 2019 (CENTER-POINT)"

    def reduce(self, bags: Bags) -> Bags:
        """One individual per bag, at its weighted mean input."""
        return bags.centres()


class Constant(VBAgg):
    """One rate everywhere: the baseline everything is compared with."""

    name = "constant"
    summary = "one flat rate"
    paper = "baseline"
    options_type = ConstantOptions


class VariationalState:
    """A variational model assembled for one source: parts, hyperparameters and q.

    Everything that is trained lives here; a `VariationalFit` reads it.
    """

    def __init__(self, model: VBAgg, source: Source):
        options: VariationalOptions = model.options
        self.options, self.link = options, link_named(options.link)
        self.likelihood_name = _likelihood_name(options, source)
        # A Normal model of counts works on rates: totals of unequal areas share no scale.
        self.rescaled = self.likelihood_name == "normal" and source.kind == "count"
        if self.likelihood_name != "normal":
            require_counts(source.targets.value)
            require(self.link.positive, f"the {self.likelihood_name} likelihood needs positive "
                    "rates; use link='exp' or link='square', not 'identity'")
        self.source = cast_source(source.as_rates() if self.rescaled else source, options)
        self.reduce = model.reduce
        self.bags = self.model_bags(self.source.bags)
        self.bound: Bound = bound_named(options.bound, self.link.name)
        self.operator: AggregationOperator = OPERATORS[self.source.aggregation](self.bags)
        self.transform: InputTransform = fit_inputs(
            self.source.bags, options.transform, options.extrapolation
        )
        self.x = self.transform(self.bags.x)
        individuals = self.transform(self.source.bags.x)
        terms = build(options.kernel, self.bags.columns, individuals, options.seed)
        self.field = self._field(terms, individuals)
        self.scale = assembly.link_scale(self.link, self.source)
        self._start_variances()
        self._hyperparameters()
        self._start_q()

    def model_bags(self, bags: Bags) -> Bags:
        """Bags as the model sees them, in its dtype and on its device."""
        return self.reduce(cast_bags(bags, self.options))

    def _field(self, terms: list[Term], individuals: Tensor) -> InducingField:
        options = self.options
        if options.layout == "joint" and len(terms) > 1:
            terms = [JointTerm(terms)]
        inducing = [
            None if term.weights else inducing_inputs(
                term, individuals, options.inducing, options.seed)
            for term in terms
        ]
        return InducingField(terms, inducing)

    def _start_variances(self) -> None:
        for term in self._kernel_terms():
            if term.name != "kernel":
                term.kernel.outputscale = term.kernel.outputscale.detach() * self.scale**2

    def _kernel_terms(self) -> list[Term]:
        out = []
        for term in self.field.terms:
            out.extend(term.parts if isinstance(term, JointTerm) else [term])
        return out

    def _hyperparameters(self) -> None:
        options, like = self.options, self.x
        extent = self.source.bags.x.amax(0) - self.source.bags.x.amin(0)
        items = [Hyperparameter("mean", self.field.mean, None, f"{self.link.name}⁻¹(rate)")]
        items += assembly.kernel_hyperparameters(
            self._kernel_terms(), self.transform, extent, self.scale)
        self._area = self._nugget = None
        prior = PCStd(self.scale, 0.05)
        if options.overdispersion == "area":
            self._area = assembly.scalar_hyperparameter(
                "area.std", 0.2 * self.scale, "link scale", prior, like)
            items.append(self._area)
        if options.nugget == "learn" or float(options.nugget) > 0:
            start = 0.2 * self.scale if options.nugget == "learn" else float(options.nugget)
            self._nugget = assembly.scalar_hyperparameter(
                "nugget.std", start, "link scale", prior, like)
            self._nugget.fixed = options.nugget != "learn"
            items.append(self._nugget)
        self.likelihood = self._likelihood(items)
        self.hyperparameters = assembly.finish(items, options)

    def _likelihood(self, items: list[Hyperparameter]):
        if self.likelihood_name == "poisson":
            return Poisson()
        if self.likelihood_name == "negative-binomial":
            r = assembly.scalar_hyperparameter(
                "dispersion", 10.0, "", LogNormal(10.0, 2.0), self.x)
            items.append(r)
            return NegativeBinomial(lambda: r.natural.reshape(()))
        if self._area is not None:
            raise InputError(
                "overdispersion='area' is for counts: the Normal likelihood's noise variance "
                "already is an iid effect of the area"
            )
        self.noise = assembly.NoiseModel(self.options.noise, self.source)
        items.extend(self.noise.items)
        squares = self.operator.coefficients().square()
        per_bag = torch.zeros(self.bags.count).to(squares).index_add(
            0, self.bags.membership, squares)
        # Under the identity link the nugget adds its bag variance to the noise, exactly.
        exact = self.link.name == "identity"
        return Normal(lambda: self.noise() + (self.nugget_variance * per_bag if exact else 0.0))

    def _start_q(self) -> None:
        start = self.link.initial(self.source.mean_rate)
        with torch.no_grad():
            if not self.hyperparameters["mean"].fixed and "mean" not in self.options.initial:
                self.field.mean.fill_(float(start))
        width = len(self.field.q_mean)
        # A narrow start: the prior covariance is hundreds of nats per bag away (Law's E log term).
        self.field.set_q(torch.zeros(width).to(self.x), 0.01 * torch.eye(width).to(self.x))

    @property
    def nugget_variance(self) -> Tensor:
        """Variance of the individual white noise in f, zero without a nugget."""
        if self._nugget is None:
            return torch.zeros(()).to(self.x)
        return self._nugget.natural.reshape(()).square()

    @property
    def area_std(self) -> Tensor | None:
        """Standard deviation of the area's iid effect, None without one."""
        return None if self._area is None else self._area.natural.reshape(())

    def view(self) -> View:
        """The source at the present hyperparameters."""
        return view(self.field, self.x, self.operator, self.bound, self.nugget_variance,
                    self.area_std)

    def objective(self, seen: View, mean: Tensor, covariance: Tensor) -> Tensor:
        """The evidence lower bound (or its named approximation) of the source."""
        return elbo(seen, self.bound, self.likelihood, self.source.targets.value, mean,
                    covariance, self.source.trust)

    def optimise_q(self, seen: View) -> float:
        """Bring q to its optimum at fixed hyperparameters."""
        fixed = seen.detach()
        mean, covariance, value = optimise(
            lambda m, s: self.objective(fixed, m, s), self.field.q_mean, self.field.q_covariance)
        self.field.set_q(mean, covariance)
        return value

    def train(self, progress: bool, callback) -> History:
        """Maximise the profiled objective plus log prior over the free hyperparameters."""

        def evaluate() -> Tensor:
            seen = self.view()
            self.optimise_q(seen)
            value = self.objective(seen, self.field.q_mean, self.field.q_covariance)
            return value + self.hyperparameters.log_prior()

        return maximise(
            evaluate, self.hyperparameters,
            snapshot=lambda: (self.field.q_mean, self.field.q_covariance),
            restore=lambda state: self.field.set_q(*state),
            max_steps=self.options.max_steps, tolerance=self.options.tolerance,
            progress=progress, callback=callback,
        )


class JointTerm(Term):
    """Several terms behind one set of inducing inputs, as in the paper."""

    def __init__(self, parts: list[Term]):
        columns = tuple(sorted({c for part in parts for c in part.columns}))
        super().__init__("+".join(part.name for part in parts), None, columns)
        self.parts = torch.nn.ModuleList(parts)

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        """Sum of the parts' kernel matrices."""
        return sum(part(x1, x2) for part in self.parts)

    def diagonal(self, x: Tensor) -> Tensor:
        """Sum of the parts' prior variances."""
        return sum(part.diagonal(x) for part in self.parts)


def _likelihood_name(options: VariationalOptions, source: Source) -> str:
    if options.likelihood != "auto":
        name = options.likelihood
    else:
        name = "poisson" if source.kind == "count" else "normal"
    if name != "normal" and source.aggregation != "sum":
        raise InputError(
            f"the {name} likelihood needs bag totals, but the values are means; multiply them by "
            "the bags' weights, or use likelihood='normal'"
        )
    return name
