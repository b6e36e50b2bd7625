"""Each individual gets the rate of its own bag: what a map of the totals alone shows.

References
----------
Law et al. 2018, section 4 (constant): the rate of individual i of bag a is y_a / p_a.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import SimpleNamespace

import torch
from torch import Tensor, nn

from workbench.checks import ExtrapolationWarning, InputError, require, warn
from workbench.gp.data.bags import Bags, Source
from workbench.gp.data.inputs import fit_inputs
from workbench.gp.kernels.operators import OPERATORS
from workbench.gp.likelihoods.links import link_named
from workbench.gp.likelihoods.noise import FAY_HERRIOT, NoiseModel, noise_convention
from workbench.gp.models import assembly
from workbench.gp.models.base import Model
from workbench.gp.models.baselines.fit import PointFit
from workbench.gp.models.baselines.options import BagConstantOptions
from workbench.gp.models.baselines.state import point_likelihood
from workbench.gp.models.casting import cast_bags, cast_source
from workbench.gp.models.keeping import Recalled
from workbench.gp.optimisation.hyperparameters import Hyperparameter
from workbench.gp.optimisation.training import History
from workbench.gp.predictive import Point


class BagConstantState(Recalled):
    """The rates of a source's bags, and their mean."""

    def __init__(self, model: Model, source: Source):
        options: BagConstantOptions = model.options
        self.options, self.link, self.given = options, link_named("identity"), source
        kind = point_likelihood(options, source)
        self.source = cast_source(kind.observed(source), options)
        self.rescaled = kind.rescales(source)
        self.bags, self.rates = self.source.bags, self.source.as_rates().targets.value
        self.transform = fit_inputs(self.bags, options.transform, options.extrapolation)
        self.field = SimpleNamespace(terms=[])          # it looks at no input
        self.likelihood, self.noise = kind, None
        if kind.has_noise:
            known = noise_convention(options, self.source) in ("known", FAY_HERRIOT)
            self.noise = NoiseModel("known", self.source) if known else _NoNoise()
            if known:
                self.options = replace(options, noise="known")
        mean = nn.Parameter(self.source.mean_rate.reshape(1).clone())
        if "mean" in options.priors:
            raise InputError("bag-constant takes mean from the totals and so has no prior of it; "
                             "fix it instead, with hyperparameters={'mean': ...}")
        self.hyperparameters = assembly.finish(
            [Hyperparameter("mean", mean, None, "value / weight")], options)
        if not self.hyperparameters["mean"].fixed:      # known in closed form, wherever it starts
            self.hyperparameters["mean"].set(float(self.source.mean_rate))

    def evidence(self) -> Tensor:
        """Log-likelihood () of the training bags; zero for Normal values, which are met exactly."""
        y = self.source.targets.value
        if self.likelihood.has_noise:
            return torch.zeros(()).to(y)
        return self.likelihood.log_prob(y, y, None).sum()

    def train(self, progress: bool, callback) -> History:
        """There is nothing to search for; ``callback(1, objective, 1.0)`` is called once."""
        objective = float(self.evidence())
        if callback is not None:
            callback(1, objective, 1.0)
        return History([objective], converged=True)

    def positions(self, bags: Bags, trained: Tensor | None) -> Tensor:
        """Position of each bag among the training bags, -1 for others.

        Raises
        ------
        InputError
            If ``trained`` has not one entry per bag.
        """
        if trained is None:
            trained = (torch.arange(bags.count) if self.bags.same_as(bags)
                       else torch.full((bags.count,), -1))
        require(len(trained) == bags.count,
                f"expected one entry per bag ({bags.count}), got {len(trained)}")
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

    def with_hyperparameters(self, values: Mapping) -> BagConstantFit:
        """The same with another mean rate."""
        return self.model.condition(self.state.given, {**self.hyperparameters, **values})

    @property
    def objective(self) -> float:
        """Log-likelihood of the training bags; zero for Normal values, which are met exactly."""
        return float(self.state.evidence())

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
        new = int((where < 0).sum())
        if new:
            warn(f"{new:,} of {len(where):,} bags were not trained on: bag-constant knows nothing "
                 "of them and gives them the mean rate of the training bags; use another model "
                 "for new bags", ExtrapolationWarning)
        mean = state.hyperparameters["mean"].natural
        return torch.where(where >= 0, state.rates[where], mean)


class BagConstant(Model):
    """The rate of each bag, its value over its total weight, everywhere in it.

    Law et al. 2018, section 4.
    """

    name = "bag-constant"
    summary = "each bag's own rate, the same everywhere in it"
    paper = "Law et al. 2018, section 4 (constant)"
    options_type = BagConstantOptions
    state_type, fit_type = BagConstantState, BagConstantFit
