"""What models of several sources and their fits have in common."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence

import numpy as np
import torch
from torch import Tensor

from workbench.bags import Bags, Source
from workbench.checks import require
from workbench.models.base import Model, ModelFit
from workbench.models.density import log_density
from workbench.models.options import cast_bags
from workbench.predictive import Predictive
from workbench.training import History


class MultiSourceModel(Model):
    """A model of one source or of several, with one task or several."""

    several = True

    @abstractmethod
    def _assemble(self, sources, callback):
        """The state of the model on its sources, with nothing learnt."""

    @abstractmethod
    def _fitted(self, state, history: History) -> SourcesFit:
        """The fit of a state that is trained."""

    def fit(self, sources: Source | Sequence[Source], *, progress: bool = False, callback=None
            ) -> SourcesFit:
        """Learn the free hyperparameters and the posterior from one source or several.

        Parameters
        ----------
        sources : Source or sequence of Source
            The first is the one that predictions are asked of, unless said otherwise.
        progress : bool
            Show a progress bar.
        callback : callable, optional
            ``callback(step, objective, fraction)``; may raise `workbench.interrupt.Cancelled`.
        """
        return self._train(self._assemble(sources, callback), progress, callback)

    def condition(self, sources: Source | Sequence[Source], hyperparameters: Mapping
                  ) -> SourcesFit:
        """The posterior with all hyperparameters given and none trained.

        Raises
        ------
        InputError
            If a hyperparameter has no value; the message lists those missing.
        """
        state = self._assemble(sources, None)
        state.hyperparameters.fix(hyperparameters)
        state.hyperparameters.require_all(hyperparameters)
        return self._train(state, False, None)

    def _train(self, state, progress: bool, callback) -> SourcesFit:
        return self._fitted(state, state.train(progress, callback))


class SourcesFit(ModelFit):
    """A fit to several sources: laws of each task's field, and of what each source observes.

    The state has ``sources`` (a `SourceSet`), ``transform`` and ``hyperparameters``. ``trained``
    and ``area_effect`` are accepted for a uniform interface: there is no area effect here.
    """

    @abstractmethod
    def at(self, bags: Bags, trained=None, area_effect: bool = False, task: str | None = None,
           source: str | None = None) -> Predictive:
        """Law at the individuals of a task's field, or of what a source observes.

        Of the first source's task unless one of them is named.
        """

    @abstractmethod
    def over(self, bags: Bags, trained=None, area_effect: bool = False, task: str | None = None,
             source: str | None = None) -> Predictive:
        """Law of the weighted mean (or sum) over each bag of the same."""

    def latent(self, bags: Bags, task: str | None = None) -> Predictive:
        """Law of the field, the same as `at`: the link is the identity."""
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
        found = self.state.sources.named(source)
        return found.noise.std(cast_bags(bags, self.state.options)).detach()

    def simulate_bags(self, bags: Bags, trained, samples: int, seed: int,
                      source: str | None = None) -> Tensor:
        """Posterior predictive observations of bags by a source (samples, B)."""
        bags, found = cast_bags(bags, self.state.options), self.state.sources.named(source)
        law = self.over(bags, source=found.name)
        values = self._observe(law, found.noise.std(bags), samples, seed)
        return values * bags.totals if found.rescaled else values

    def simulate_individuals(self, bags: Bags, trained, samples: int, seed: int,
                             source: str | None = None) -> Tensor:
        """Posterior predictive observations of individuals (samples, N), drawn marginally."""
        bags, found = cast_bags(bags, self.state.options), self.state.sources.named(source)
        law = self.at(bags, source=found.name)
        if found.source.aggregation == "sum" and not found.rescaled:
            law = law.scaled(bags.weight)       # an individual's contribution to a sum
        values = self._observe(law, found.noise.std(bags.singletons()), samples, seed)
        return values * bags.weight if found.rescaled else values

    def log_density(self, y: Tensor, bags: Bags, trained: Tensor | None, unit: str, samples: int,
                    seed: int) -> Tensor:
        """See `workbench.models.density`; of the first source."""
        return log_density(self, y, bags, trained, unit, samples, seed)

    def _observe(self, law: Predictive, noise: Tensor, samples: int, seed: int) -> Tensor:
        require(samples > 0, f"samples must be positive, got {samples}")
        generator = np.random.default_rng(seed)
        draws = law.sample(samples, int(generator.integers(2**31)))
        white = torch.as_tensor(generator.standard_normal(draws.shape)).to(draws)
        return draws + noise.detach() * white


class SourcesState:
    """What every state of such a model tells a fit: sources, and the first of them as *the* one."""

    likelihood_name = "normal"

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
