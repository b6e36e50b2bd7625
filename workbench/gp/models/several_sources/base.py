"""What models of several sources and their fits have in common."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from workbench.checks import require
from workbench.gp.data.bags import Bags, Source
from workbench.gp.likelihoods import Normal
from workbench.gp.models.base import Model
from workbench.gp.models.casting import cast_bags
from workbench.gp.models.fits import ModelFit
from workbench.gp.models.keeping import Recalled
from workbench.gp.models.several_sources.sources import SourceSet, StandardisedSource
from workbench.gp.predictive import Predictive


class MultiSourceModel(Model):
    """A model of one source or of several, with one task or several.

    Of several sources the first is the one that predictions are asked of, unless said otherwise.
    """

    several = True
    same_quantity = True    # whether sources of one task are taken to measure the same


class SourcesFit(ModelFit):
    """A fit to several sources: predictions of each task's field, and of what each observes.

    The state has ``sources`` (a `SourceSet`), ``transform`` and ``hyperparameters``. ``trained``
    and ``area_effect`` are accepted for a uniform interface: there is no area effect here.
    """

    def knows_totals(self, trained, task: str | None = None, source: str | None = None) -> bool:
        """No: see above."""
        return False

    @abstractmethod
    def at(self, bags: Bags, trained=None, area_effect: bool = False, task: str | None = None,
           source: str | None = None) -> Predictive:
        """Predictive distribution at individuals of a task's field, or of what a source observes.

        Of the first source's task unless one of them is named.
        """

    @abstractmethod
    def over(self, bags: Bags, trained=None, area_effect: bool = False, task: str | None = None,
             source: str | None = None) -> Predictive:
        """Predictive distribution of the weighted mean (or sum) of the same over each bag."""

    def latent(self, bags: Bags, task: str | None = None) -> Predictive:
        """Predictive distribution of the field, as `at`: the link is the identity."""
        return self.at(bags, task=task)

    @property
    def tasks(self) -> tuple[str, ...]:
        """Names of the tasks."""
        return self.state.sources.tasks

    @property
    def composite_weights(self) -> dict[str, float]:
        """Power of each source's likelihood, by name."""
        weights = getattr(self.state, "weights", None)
        given = [p.source.trust for p in self.state.sources] if weights is None else (
            weights.tolist())
        return dict(zip([p.name for p in self.state.sources], given, strict=True))

    def rescaled(self, task: str | None = None, source: str | None = None) -> bool:
        """Whether answers on a task or source are per unit of weight of what were totals."""
        return self.state.sources.asked(task, source).rescaled

    def noise_std(self, bags: Bags, source: str | None = None) -> Tensor:
        """Standard deviation of an observation of each bag by a source; the first by default."""
        return self._noise(source).std(cast_bags(bags, self.state.options)).detach()

    def simulate_bags(self, bags: Bags, trained, samples: int, seed: int,
                      source: str | None = None) -> Tensor:
        """Posterior predictive observations of bags by a source (samples, B)."""
        bags, found = cast_bags(bags, self.state.options), self.state.sources.named(source)
        predicted = self.over(bags, **self._observed(found))
        values = self._observe(predicted, self._noise(source).std(bags), samples, seed)
        return values * bags.totals if found.rescaled else values

    def simulate_individuals(self, bags: Bags, trained, samples: int, seed: int,
                             source: str | None = None) -> Tensor:
        """Posterior predictive observations of individuals (samples, N), drawn marginally."""
        bags, found = cast_bags(bags, self.state.options), self.state.sources.named(source)
        predicted = self.at(bags, **self._observed(found))
        if found.source.aggregation == "sum" and not found.rescaled:
            predicted = predicted.scaled(bags.weight)       # an individual's contribution to a sum
        values = self._observe(predicted, self._noise(source).std(bags.singletons()), samples, seed)
        return values * bags.weight if found.rescaled else values

    def _observed(self, found: StandardisedSource) -> dict:
        """Which field a source observes, as arguments of `at` and `over`."""
        return {"source": found.name}

    def _noise(self, source: str | None):
        """Noise of a source's observations."""
        return self.state.sources.named(source).noise

    def _observe(self, predicted: Predictive, noise: Tensor, samples: int, seed: int) -> Tensor:
        require(samples > 0, f"samples must be positive, got {samples}")
        generator = np.random.default_rng(seed)
        draws = predicted.sample(samples, int(generator.integers(2**31)))
        white = torch.as_tensor(generator.standard_normal(draws.shape)).to(draws)
        return draws + noise.detach() * white


class SourcesState(Recalled):
    """Sources in the form that Normal models work in, and the first of them as *the* one.

    Parameters
    ----------
    model : MultiSourceModel
        What is assembled: its options, and how it sees bags.
    sources : Source or sequence of Source
        What it is learnt from.
    """

    likelihood = Normal

    def __init__(self, model: MultiSourceModel, sources: Source | Sequence[Source]):
        self.options, self.model = model.options, model
        self.sources = SourceSet(sources, self.options, model.reduce)
        self.given_weights = torch.tensor([p.source.trust for p in self.sources]).to(
            self.sources.x)

    @property
    def given(self) -> tuple[Source, ...]:
        """The sources as they were given."""
        return self.sources.given

    @property
    def source(self) -> Source:
        """The first source, ready for a Normal model."""
        return self.sources.parts[0].source

    @property
    def noise(self):
        """Noise of the first source."""
        return self.sources.parts[0].noise

    @property
    def rescaled(self) -> bool:
        """Whether the first source's values were totals of counts."""
        return self.sources.parts[0].rescaled

    @property
    def transform(self):
        """From natural to standardised inputs."""
        return self.sources.transform


def white_draws(covariance: Tensor, samples: int, rng: np.random.Generator) -> Tensor:
    """Draws (samples, n) of N(0, covariance); directions of no variance are left out."""
    values, vectors = torch.linalg.eigh(covariance)
    white = torch.as_tensor(rng.standard_normal((samples, len(values)))).to(covariance)
    return white @ (vectors * values.clamp_min(0).sqrt()).mT
