"""A fitted tree of GPs: predictions at every source and task, and the experts' weights."""

from __future__ import annotations

import torch
from torch import Tensor

from workbench.bags import Bags
from workbench.checks import choose, reject
from workbench.models.options import cast_bags
from workbench.multisource.base import SourcesFit
from workbench.multisource.tree.mixture import MixtureNode
from workbench.multisource.tree.places import aggregated
from workbench.multisource.tree.state import TopNoise
from workbench.operators import OPERATORS, AggregationOperator
from workbench.predictive import Mixture, Normal, Predictive


class TreeFit(SourcesFit):
    """A fitted MR-DGP or MR-CASCADE.

    Laws are mixtures with one Normal component for each draw of the parents: their variance is the
    mean of the components' and the variance of the components' means. A field on which nothing is
    drawn has a Normal law. The same draws serve every unit, so that predictions do not depend on
    what else is predicted.
    """

    def at(self, bags: Bags, trained=None, area_effect: bool = False, task: str | None = None,
           source: str | None = None) -> Predictive:
        """Law of a task's field at the individuals, or of the field of a source of its own.

        Parameters
        ----------
        bags : Bags
            Where.
        trained, area_effect
            Without effect: there is no area effect.
        task : str, optional
            Whose mixture; the first source's unless named.
        source : str, optional
            A source, for its own GP: in MR-DGP its base GP, with the source's bias.
        """
        return self._law(self._node(task, source), bags, None)

    def over(self, bags: Bags, trained=None, area_effect: bool = False, task: str | None = None,
             source: str | None = None) -> Predictive:
        """Law of the weighted mean (or sum) over each bag; arguments as of `at`."""
        kind = self.state.sources.named(source).source.aggregation
        return self._law(self._node(task, source), bags, kind)

    def expert_weights(self, bags: Bags, task: str | None = None) -> Tensor:
        """Weights β of a task's experts at the individuals (A, n); see `expert_names`."""
        x = self.state.transform(cast_bags(bags, self.state.options).x)
        with torch.no_grad():
            return self._mixture(task).weights(x)

    def expert_names(self, task: str | None = None) -> tuple[str, ...]:
        """Names of a task's experts: sources and, last, other tasks."""
        return self._mixture(task).names

    def expert(self, bags: Bags, name: str, task: str | None = None) -> Predictive:
        """Distribution of one expert's field: of a source mapped to the task's first."""
        mixture = self._mixture(task)
        choose("expert", name, mixture.names)
        return self._law(mixture.experts[mixture.names.index(name)], bags, None)

    def noise_std(self, bags: Bags, source: str | None = None) -> Tensor:
        """Standard deviation of an observation of each bag by a source; the first by default."""
        return self._noise(source).std(cast_bags(bags, self.state.options)).detach()

    def simulate_bags(self, bags: Bags, trained, samples: int, seed: int,
                      source: str | None = None) -> Tensor:
        """Posterior predictive observations of bags by a source (samples, B).

        The first source of a task observes its mixture, any other a field of its own.
        """
        bags, found = cast_bags(bags, self.state.options), self.state.sources.named(source)
        law = self.over(bags, **self._answers(source))
        values = self._observe(law, self._noise(source).std(bags), samples, seed)
        return values * bags.totals if found.rescaled else values

    def simulate_individuals(self, bags: Bags, trained, samples: int, seed: int,
                             source: str | None = None) -> Tensor:
        """Posterior predictive observations of individuals (samples, N), drawn marginally."""
        bags, found = cast_bags(bags, self.state.options), self.state.sources.named(source)
        law = self.at(bags, **self._answers(source))
        if found.source.aggregation == "sum" and not found.rescaled:
            law = law.scaled(bags.weight)       # an individual's contribution to a sum
        values = self._observe(law, self._noise(source).std(bags.singletons()), samples, seed)
        return values * bags.weight if found.rescaled else values

    def _answers(self, source: str | None) -> dict:
        """Whose law an observation by a source is about."""
        found = self.state.sources.named(source)
        if self.state.sources.of_task(found.task)[0] is found:
            return {"task": self.state.sources.tasks[found.task]}
        return {"source": found.name}

    def _noise(self, source: str | None):
        found = self.state.sources.named(source)
        if "task" in self._answers(source):
            return TopNoise(self.state, found.task)
        return self.state.of_source[found.name].observed.noise

    def _node(self, task: str | None, source: str | None):
        if source is None:
            return self.state.tops[self.state.sources.task_of(task)]
        found = self.state.sources.named(source)
        if task is not None and self.state.sources.task_of(task) != found.task:
            raise reject(f"a source of task {task!r}", repr(source), "name a task or a source")
        return self.state.of_source[found.name]

    def _mixture(self, task: str | None) -> MixtureNode:
        top = self.state.tops[self.state.sources.task_of(task)]
        if not isinstance(top, MixtureNode):
            raise reject("a model with experts", f"{self.model.name}, a chain without a mixture",
                         "use mr-dgp")
        return top

    @torch.no_grad()
    def _law(self, node, bags: Bags, aggregation: str | None) -> Predictive:
        """Law of a node's field at the individuals, or aggregated over the bags."""
        bags = cast_bags(bags, self.state.options)
        if aggregation is None:
            operator: AggregationOperator = OPERATORS["mean"](bags.singletons())
        else:
            operator = OPERATORS[aggregation](self.model.reduce(bags))
        x = self.state.transform(operator.bags.x)
        mean, variance = aggregated(node, operator, x, self.state.draws)
        laws = [Normal(m, v.sqrt()) for m, v in zip(mean, variance, strict=True)]
        if len(laws) == 1:
            return laws[0]
        return Mixture(torch.full((len(laws),), 1 / len(laws)).to(mean), laws)
