"""A fit of any model on tensors, and what it says of units whose total was seen."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

import torch
from torch import Tensor

from workbench.checks import InputError, NotExact
from workbench.gp.data.bags import Bags
from workbench.gp.likelihoods import Units
from workbench.gp.likelihoods.noise import AREA, IndividualNoise, NoiseModel
from workbench.gp.likelihoods.preserving import Groups, preserve
from workbench.gp.models.casting import cast_bags
from workbench.gp.models.keeping import Kept, keep_state
from workbench.gp.predictive import Normal

_CHUNK = 100_000


def units_of(state, bags: Bags, individual: bool) -> Units:
    """What is observed of the bags, or of the individuals in them, by a state's likelihood.

    Parameters
    ----------
    state : object
        With ``likelihood``, ``source``, ``rescaled``, and ``noise`` where the likelihood has one.
    bags : Bags
        Where they are.
    individual : bool
        Whether observations are of individuals.

    Raises
    ------
    InputError
        If the noise of these units is not known.
    """
    std = shared = None
    if state.likelihood.has_noise:
        if individual and getattr(state.noise, "convention", "") == AREA:
            shared = state.noise.individuals(bags)
        std = (shared.common if shared is not None else
               state.noise.std(bags.singletons() if individual else bags))
    return Units(bags, individual, state.source.aggregation == "sum", state.rescaled, std, shared)


def noise_given_totals(state, bags: Bags) -> IndividualNoise | None:
    """Noise of Normal observations of the individuals; None of others."""
    if not state.likelihood.has_noise:
        return None
    if isinstance(state.noise, NoiseModel):
        return state.noise.individuals(bags)
    return IndividualNoise(state.noise.std(bags.singletons()))


@torch.no_grad()
def prior_of(state, bags: Bags, field=None) -> Normal:
    """Prior of f at the individuals of a state whose ``field`` has terms: N(mean, Σ k_t(x, x)).

    Parameters
    ----------
    state : object
        With ``field``, ``transform`` and ``options``.
    bags : Bags
        Where.
    field : InducingField, optional
        Whose terms, if not all of the state's.
    """
    bags, field = cast_bags(bags, state.options), state.field if field is None else field
    x = state.transform(bags.x)
    variance = torch.cat([sum(term.diagonal(part) for term in field.terms)
                          for part in x.split(_CHUNK)])
    return Normal(field.mean.detach().expand(len(x)), variance.sqrt())


class ModelFit:
    """A model fitted to a source, at the hyperparameters of its state, which stays as it is.

    What takes long, such as the objective, is found once.

    Parameters
    ----------
    model : Model
        What was fitted.
    state : object
        The model assembled for the source: ``hyperparameters``, ``given`` (the source), and for
        exact models ``evidence()``.
    history : History
        What happened in training.
    """

    def __init__(self, model, state, history):
        self.model, self.state, self.history = model, state, history

    #: Whether areas keep effects over periods.
    keeps_effects = False

    @property
    def hyperparameters(self) -> dict[str, dict]:
        """Values by name in natural units; goes back into ``condition``."""
        return self.state.hyperparameters.report()

    @cached_property
    def objective(self) -> float:
        """The log evidence."""
        with torch.no_grad():
            return float(self.state.evidence())

    def fitted_sum(self, bags: Bags) -> float:
        """Sum over bags of their expected totals, with effects of areas at their prior.

        Parameters
        ----------
        bags : Bags
            Those that were trained on.

        Returns
        -------
        float
            In units of the data's totals.
        """
        predicted = self.over(bags)
        if self.state.rescaled:         # it works per unit of weight
            predicted = predicted.scaled(bags.totals)
        return float(predicted.mean.sum())

    def keep(self) -> Kept:
        """What `Model.recall` makes the fit of again."""
        return keep_state(self.state, self.history)

    def with_hyperparameters(self, values: Mapping):
        """The posterior with some hyperparameters at other values and the rest as they are."""
        return self.model.condition(self.state.given, {**self.hyperparameters, **values})

    def knows_totals(self, trained: Tensor | None) -> bool:
        """Whether effects of some bags can be given their totals; models without effects: none."""
        return False

    def prior(self, bags: Bags) -> Normal:
        """Distribution of f at the individuals before anything was observed.

        Raises
        ------
        NotExact
            If the model has none that is known.
        """
        raise NotExact(f"{self.model.name} has no prior variance of f that is known, so that what "
                       "the data told of it cannot be; vbagg, auto and the exact models of one "
                       "source have")

    def components(self, bags: Bags, by: str = "term", known: Tensor | None = None) -> dict:
        """Distribution of each summand of f at the individuals.

        Raises
        ------
        NotExact
            If the model does not keep its posterior term by term.
        """
        raise NotExact(f"{self.model.name} does not keep its posterior term by term; vbagg and "
                       "auto do")

    def draw_latent(self, bags: Bags, samples: int, seed: int) -> Tensor:
        """Joint draws of f at the individuals (samples, N).

        Raises
        ------
        InputError
            If the model has none.
        """
        raise self._no_joint_draws()

    def draw_rates(self, bags: Bags, trained: Tensor | None, samples: int, seed: int) -> Tensor:
        """Joint draws of the rate at the individuals (samples, N), see `draw_latent`.

        Effects of ``trained`` bags are conditional on their totals, others' have their prior.
        """
        raise self._no_joint_draws()

    def draw_totals(self, bags: Bags, trained: Tensor | None, samples: int, seed: int) -> Tensor:
        """Joint draws of the parameters of bags (samples, B), see `draw_latent`."""
        raise self._no_joint_draws()

    def preserve(self, bags: Bags, trained: Tensor | None, totals: Tensor, samples: int, seed: int
                 ) -> tuple[Tensor, Tensor]:
        """Expectations and observations of individuals given totals, see `draw_latent`."""
        raise NotExact(f"{self.model.name} has no draws that preserve totals; vbagg, the exact "
                         "models of one source and the baselines have: use preserve_totals=False "
                         "or one of them")

    def preserve_sums(self, bags: Bags, trained: Tensor | None, totals: Tensor, groups: Groups,
                      samples: int, seed: int) -> Tensor:
        """Observations given totals, added up over groups of individuals (samples, G)."""
        return groups.sums(self.preserve(bags, trained, totals, samples, seed)[1])

    def log_density(self, y: Tensor, bags: Bags, trained: Tensor | None, unit: str, samples: int,
                    seed: int) -> Tensor:
        """log p(y | draw of the parameter), (samples, units); one row where it is exact.

        Closed form or one-dimensional quadrature where there is one, of Normal observations of a
        Normal parameter and of counts with a log-normal one; else the parameter is drawn, and the
        density is the mean over draws (take logsumexp). An individual's binomial observation is its
        own positives among its bag's participants.

        Parameters
        ----------
        y : Tensor (units,)
            Observations of bags, or of individuals.
        bags : Bags
            Where they were made.
        trained : Tensor or None
            Position of each bag among the training bags, or -1.
        unit : {"bag", "individual"}
            Which of the two ``y`` is.
        samples, seed : int
            Draws where there is no closed form.
        """
        individual = unit == "individual"
        predicted = (self.at if individual else self.over)(bags, trained, area_effect=True)
        units = units_of(self.state, bags, individual)
        return self.state.likelihood.log_density(y, predicted, units, samples, seed)

    def _preserved(self, drawn: Tensor, bags: Bags, totals: Tensor, generator
                   ) -> tuple[Tensor, Tensor]:
        """`preserve` of draws of rates (samples, N)."""
        return preserve(self.state, drawn, bags, totals, noise_given_totals(self.state, bags),
                        generator)

    def _no_joint_draws(self) -> InputError:
        return InputError(f"{self.model.name} has no joint draws; draws of single places are "
                          "those of sample(..., joint=False)")

    def coefficients(self) -> dict:
        """Weights of linear and constant terms, mean and sd of each by term; empty without any.

        Raises
        ------
        NotExact
            If there are such terms, and the model does not keep their weights.
        """
        terms = getattr(getattr(self.state, "field", None), "terms", ())
        if names := [term.name for term in terms if getattr(term, "finite_rank", False)]:
            raise NotExact(f"{self.model.name} does not keep the weights of its terms "
                           f"{', '.join(names)}; vbagg, aggregated-gp and quasi-likelihood do")
        return {}
