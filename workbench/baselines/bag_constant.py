"""Each individual gets the rate of its own bag: what a map of the totals alone shows.

References
----------
Law et al. 2018, section 4 (constant): the rate of individual i of bag a is y_a / p_a.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from types import SimpleNamespace

import torch
from torch import Tensor, nn

from workbench.bags import Bags, Source
from workbench.baselines.fit import PointFit
from workbench.baselines.observations import likelihood_of, log_prob
from workbench.baselines.options import BagConstantOptions
from workbench.checks import InputError, require
from workbench.hyperparameters import Hyperparameter
from workbench.inputs import fit_inputs
from workbench.links import link_named
from workbench.models import assembly
from workbench.models.base import Model
from workbench.models.options import cast_bags, cast_source
from workbench.operators import OPERATORS
from workbench.predictive import Point
from workbench.training import History


class BagConstant(Model):
    """The rate of each bag, its value over its total weight, everywhere in it.

    It says nothing of bags that it was not trained on: these get the mean rate of the training
    bags (the hyperparameter ``mean``), or are refused (option ``elsewhere``). Compare it with other
    models *inside* the bags it was trained on, whose values it repeats.

    Parameters
    ----------
    **options
        Fields of `BagConstantOptions`.

    References
    ----------
    Law et al. 2018, section 4.
    """

    name = "bag-constant"
    summary = "each bag's own rate, the same everywhere in it"
    paper = "Law et al. 2018, section 4 (constant)"
    options_type = BagConstantOptions

    def fit(self, source: Source, *, progress: bool = False, callback=None) -> BagConstantFit:
        """Take the rates; ``callback(1, objective, 1.0)`` is called once."""
        started = time.perf_counter()
        state = BagConstantState(self.options, source)
        fit = BagConstantFit(self, state, History(converged=True))
        fit.history.objective.append(fit.objective)
        if callback is not None:
            callback(1, fit.objective, 1.0)
        fit.history.elapsed = time.perf_counter() - started
        return fit

    def condition(self, source: Source, hyperparameters: Mapping) -> BagConstantFit:
        """The same with the mean rate given."""
        state = BagConstantState(self.options, source)
        state.hyperparameters.fix(hyperparameters)
        state.hyperparameters.require_all(hyperparameters)
        fit = BagConstantFit(self, state, History(converged=True))
        fit.history.objective.append(fit.objective)
        return fit


class BagConstantState:
    """The rates of a source's bags, and their mean."""

    def __init__(self, options: BagConstantOptions, source: Source):
        self.options, self.link, self.given = options, link_named("identity"), source
        self.likelihood_name = likelihood_of(options, source)
        self.rescaled = (self.likelihood_name == "normal" and source.kind == "count"
                         and source.aggregation == "sum")
        self.source = cast_source(source.as_rates() if self.rescaled else source, options)
        self.bags, self.rates = self.source.bags, self.source.as_rates().targets.value
        self.transform = fit_inputs(self.bags, options.transform, options.extrapolation)
        self.field = SimpleNamespace(terms=[])          # it looks at no input
        self.noise = None
        if self.likelihood_name == "normal":
            known = options.noise == "known"
            self.noise = assembly.NoiseModel("known", self.source) if known else _NoNoise()
        mean = nn.Parameter(self.source.mean_rate.reshape(1).clone())
        if "mean" in options.priors:
            raise InputError("bag-constant takes mean from the totals and so has no prior of it; "
                             "fix it instead, with hyperparameters={'mean': ...}")
        self.hyperparameters = assembly.finish(
            [Hyperparameter("mean", mean, None, "value / weight")], options)
        if not self.hyperparameters["mean"].fixed:      # known in closed form, wherever it starts
            self.hyperparameters["mean"].set(float(self.source.mean_rate))

    def positions(self, bags: Bags, trained: Tensor | None) -> Tensor:
        """Position of each bag among the training bags, -1 for others.

        Raises
        ------
        InputError
            If ``trained`` has not one entry per bag, or a bag is new and such are refused.
        """
        own = self.bags
        if trained is None:
            same = len(own.x) == len(bags.x) and own.count == bags.count and all(
                torch.equal(getattr(own, part), getattr(bags, part))
                for part in ("x", "weight", "membership"))
            trained = torch.arange(own.count) if same else torch.full((bags.count,), -1)
        require(len(trained) == bags.count,
                f"expected one entry per bag ({bags.count}), got {len(trained)}")
        new = (trained < 0).nonzero().flatten().tolist()
        if new and self.options.elsewhere == "refuse":
            first = bags.names[new[0]] if bags.names else new[0]
            raise InputError(
                f"bag-constant knows the bags it was trained on alone, and {len(new)} of "
                f"{bags.count} are others, the first {first!r}; elsewhere='mean-rate' gives these "
                "the mean rate"
            )
        return trained.to(self.rates.device)


class _NoNoise:
    """A Normal observation that is met exactly leaves no noise to estimate."""

    def std(self, bags: Bags) -> Tensor:
        """Refused."""
        raise InputError(
            "bag-constant repeats every value exactly, which leaves no noise variance to learn; "
            "with noise='known' it takes the dataset's noise_variance"
        )


class BagConstantFit(PointFit):
    """Fitted bag-constant model; ``trained`` says which bags it knows.

    Without ``trained`` the bags are known if they are the training bags themselves, else new.
    """

    def move(self, values: Mapping) -> BagConstantFit:
        """The same with another mean rate."""
        return self.model.condition(self.state.given, {**self.hyperparameters, **values})

    @property
    def objective(self) -> float:
        """Log-likelihood of the training bags; zero for Normal values, which are met exactly."""
        state = self.state
        if state.likelihood_name == "normal":
            return 0.0
        y = state.source.targets.value
        return float(log_prob(y, y, None).sum())

    def latent(self, bags: Bags) -> Point:
        """The rate itself: there is no f behind it."""
        return self.at(bags)

    @torch.no_grad()
    def at(self, bags: Bags, trained: Tensor | None = None, area_effect: bool = False) -> Point:
        """Rate of its bag at each individual."""
        bags = cast_bags(bags, self.state.options)
        self.state.transform(bags.x)                    # refuses other columns
        return Point(self._rates(bags, trained)[bags.membership])

    @torch.no_grad()
    def over(self, bags: Bags, trained: Tensor | None = None, area_effect: bool = False) -> Point:
        """Bag parameter: the observed value of a trained bag."""
        bags = cast_bags(bags, self.state.options)
        operator = OPERATORS[self.state.source.aggregation](bags)
        return Point(operator(self._rates(bags, trained)[bags.membership]))

    def _rates(self, bags: Bags, trained: Tensor | None) -> Tensor:
        state = self.state
        where = state.positions(bags, trained)
        mean = state.hyperparameters["mean"].natural
        return torch.where(where >= 0, state.rates[where], mean)
