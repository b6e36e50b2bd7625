"""A fitted tree of GPs: predictions at every source and task, and the experts' weights."""

from __future__ import annotations

import torch
from torch import Tensor

from workbench.checks import choose, reject
from workbench.gp.data.bags import Bags
from workbench.gp.kernels.operators import OPERATORS, AggregationOperator
from workbench.gp.models.casting import cast_bags
from workbench.gp.models.several_sources.base import SourcesFit
from workbench.gp.models.several_sources.sources import StandardisedSource
from workbench.gp.models.several_sources.tree.mixture import MixtureNode
from workbench.gp.models.several_sources.tree.places import aggregated
from workbench.gp.models.several_sources.tree.state import TopNoise
from workbench.gp.predictive import Mixture, Normal, Predictive


class TreeFit(SourcesFit):
    """A fitted MR-DGP or MR-CASCADE.

    Predictive distributions are mixtures with one Normal component for each draw of the parents:
    their variance is the mean of the components' and the variance of the components' means. That of
    a field on which nothing is drawn is Normal. The same draws serve every unit, so that
    predictions do not depend on what else is predicted.
    """

    def at(self, bags: Bags, trained=None, area_effect: bool = False, task: str | None = None,
           source: str | None = None) -> Predictive:
        """Predictive distribution of a task's field, or of that of a source, at the individuals.

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
        return self._predict(self._node(task, source), bags, None)

    def over(self, bags: Bags, trained=None, area_effect: bool = False, task: str | None = None,
             source: str | None = None) -> Predictive:
        """Predictive distribution of the mean (or sum) over each bag; arguments as of `at`."""
        kind = self.state.sources.named(source).source.aggregation
        return self._predict(self._node(task, source), bags, kind)

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
        return self._predict(mixture.experts[mixture.names.index(name)], bags, None)

    def _observed(self, found: StandardisedSource) -> dict:
        """The first source of a task observes its mixture, any other a field of its own."""
        if self.state.sources.of_task(found.task)[0] is found:
            return {"task": self.state.sources.tasks[found.task]}
        return {"source": found.name}

    def _noise(self, source: str | None):
        found = self.state.sources.named(source)
        if "task" in self._observed(found):
            return TopNoise(self.state, found.task)
        return self.state.of_source[found.name].observed.noise

    def _node(self, task: str | None, source: str | None):
        if source is None:
            return self.state.tops[self.state.sources.task_of(task)]
        return self.state.of_source[self.state.sources.asked(task, source).name]

    def _mixture(self, task: str | None) -> MixtureNode:
        top = self.state.tops[self.state.sources.task_of(task)]
        if not isinstance(top, MixtureNode):
            raise reject("a model with experts", f"{self.model.name}, a chain without a mixture",
                         "use mr-dgp")
        return top

    @torch.no_grad()
    def _predict(self, node, bags: Bags, aggregation: str | None) -> Predictive:
        """Predictive distribution of a node's field at the individuals, or over the bags."""
        bags = cast_bags(bags, self.state.options)
        if aggregation is None:
            operator: AggregationOperator = OPERATORS["mean"](bags.singletons())
        else:
            operator = OPERATORS[aggregation](self.model.reduce(bags))
        x = self.state.transform(operator.bags.x)
        mean, variance = aggregated(node, operator, x, self.state.draws)
        parts = [Normal(m, v.sqrt()) for m, v in zip(mean, variance, strict=True)]
        if len(parts) == 1:
            return parts[0]
        return Mixture(torch.full((len(parts),), 1 / len(parts)).to(mean), parts)
